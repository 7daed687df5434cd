"""Output for the user: errors, warnings, progress (standard error), tables (standard output)."""

from __future__ import annotations

import math
import os
import re
import sys
import textwrap
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import groupby
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from budgetron._text import shown
from budgetron.cli._wording import in_plain_words
from budgetron.errors import BudgetronError

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console
    from rich.table import Table

    Report = Callable[[int, str], None]


def fail(message: str) -> NoReturn:
    """End the command because of a user's mistake: one line, exit code 2."""
    import typer

    note(message)
    raise typer.Exit(2)


def note(message: str) -> None:
    """Print one line on standard error, if it is open: an error, a warning, or news.

    In a terminal it is wrapped between words.
    """
    line = shown(prefixed(in_plain_words(message)))
    with suppress(OSError):
        if sys.stderr.isatty():
            line = wrapped(line, _width(sys.stderr))
        print(line, file=sys.stderr, flush=True)


def wrapped(line: str, width: int) -> str:
    """Wrap a line between words; a longer word, as the name of a file, stays whole.

    >>> print(wrapped("budgetron: a.csv: no rows to learn from", 30))
    budgetron: a.csv: no rows to
    learn from
    """
    return "\n".join(textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False))


def _width(terminal: TextIO) -> int:
    """Columns of a terminal, 80 if it does not say; COLUMNS in the environment comes first."""
    given = os.environ.get("COLUMNS", "")
    if given.isdigit() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(terminal.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def prefixed(message: str) -> str:
    """Format a line for standard error: the program's name, then the message.

    >>> prefixed("a.csv:3: row 2 has 4 fields, not 5")
    'budgetron: a.csv:3: row 2 has 4 fields, not 5'
    """
    return f"budgetron: {' '.join(message.split()).removeprefix('budgetron: ')}"


def output() -> Console:
    """The console for results, on standard output."""
    return _console(file=sys.stdout)


def _console(**options: Any) -> Console:
    """A console that prints text literally: without markup and without control characters.

    It escapes strings before Rich measures and wraps them, and other objects afterwards.
    """
    from rich.console import Console
    from rich.segment import Segment
    from rich.text import Text

    class Safe(Console):
        def render_str(self, text: str, **named: Any) -> Text:
            return super().render_str(shown(text, keep="\n"), **named)

        def render(self, *given: Any, **named: Any) -> Iterator[Segment]:
            for segment in super().render(*given, **named):
                if segment.control:
                    yield segment
                else:
                    yield Segment(shown(segment.text, keep="\n"), segment.style)

    return Safe(highlight=False, markup=False, emoji=False, **options)


def print_report(title: str, lines: dict[str, str]) -> None:
    """Print a title, and below it one line per name and value."""
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False)
    table.add_column(style="dim")
    table.add_column(justify="right")
    for name, value in lines.items():
        table.add_row(name, value)
    console = output()
    console.print(Text(shown(title), style="bold"))
    console.print(table)


def print_table(table: Table) -> None:
    """Print a table; in a narrow terminal, drop columns from the right instead of cutting them."""
    console = output()
    wide = console.options.update(max_width=10_000)
    left_out: list[str] = []
    while len(table.columns) > 2 and console.measure(table, options=wide).maximum > console.width:
        left_out.insert(0, str(table.columns.pop().header).strip())
    console.print(table)
    _print_left_out(console, left_out)


def _print_left_out(console: Console, heads: list[str]) -> None:
    if heads:
        console.print(f"(wider terminals show {', '.join(heads)} too)")


def print_markdown(text: str) -> None:
    """Render Markdown in a terminal, with tables that fit its width; else print it as it is."""
    if not sys.stdout.isatty():
        print(text, flush=True)
        return
    from rich.markdown import Markdown

    console = output()
    for is_table, lines in groupby(text.splitlines(), lambda line: line.startswith("|")):
        block = list(lines)
        if is_table and len(block) > 1:
            _print_rows(console, [_cells(line) for line in (block[0], *block[2:])])
        elif any(map(str.strip, block)):
            console.print(Markdown("\n".join(block)))


def _cells(line: str) -> list[str]:
    """The cells of a table line without Markdown marks; an escaped bar does not end a cell."""
    cells = re.split(r"(?<!\\)\|", line.strip().removeprefix("|").removesuffix("|"))
    return [re.sub(r"\*\*|`|\\(?=[|*`<>\[\]])", "", cell).strip() for cell in cells]


def _print_rows(console: Console, rows: list[list[str]]) -> None:
    """Heads and rows; cells wrap in a narrow terminal, but words are never cut.

    Columns whose words do not fit beside the columns before them are dropped.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    heads = len(rows[0])
    rows = [[*row[:heads], *[""] * (heads - len(row))] for row in rows]
    columns = list(zip(*rows, strict=True))
    least = [
        max(len(word) for cell in (*each, "-") for word in cell.split() or "-") for each in columns
    ]
    most = [max(map(len, each)) for each in columns]
    shown = len(columns)
    while shown > 1 and sum(least[:shown]) + 3 * shown - 1 > console.width:
        shown -= 1
    spare = console.width - sum(least[:shown]) - 3 * shown + 1
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for at, (head, *_) in enumerate(columns[:shown]):
        more = max(0, min(spare, most[at] - least[at]))
        spare -= more
        table.add_column(head, overflow="fold", width=least[at] + more)
    for row in rows[1:]:
        table.add_row(*(Text(cell) for cell in row[:shown]))
    console.print(table)
    _print_left_out(console, rows[0][shown:])


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Report]:
    """Show a live line on standard error while the block runs, if that is a terminal.

    Yields a function of (amount done, text). It is cheap to call; it draws ten times per second.

    Parameters
    ----------
    what : the word before the bar
    total : the full amount; None: unknown, no bar
    """
    if not sys.stderr.isatty():
        with plain_warnings(note):
            yield lambda done, text: None
        return
    from rich.progress import Progress

    console = _console(stderr=True)
    with (
        Progress(_line(console), console=console, transient=True) as bars,
        plain_warnings(lambda text: bars.console.print(prefixed(text))),
    ):
        bar = bars.add_task(shown(what), total=total, text="")
        yield lambda done, text: bars.update(bar, completed=done, text=shown(text))


def _line(console: Console) -> Any:
    """The live line as a Rich column."""
    from rich.progress import ProgressColumn
    from rich.table import Column
    from rich.text import Text

    class Line(ProgressColumn):
        max_refresh = 0.1

        def get_table_column(self) -> Column:
            return Column(no_wrap=True, overflow="ellipsis")

        def render(self, task: Any) -> Text:
            left = task.time_remaining
            text = status_line(
                task.description,
                None if task.total is None else task.percentage,
                None if left is None else int(left),
                task.fields["text"],
                console.width,
            )
            return Text(text, overflow="ellipsis")

    return Line()


def status_line(what: str, per_cent: float | None, left: int | None, text: str, width: int) -> str:
    """Build one line of at most `width` columns; parts that do not fit are dropped from the right.

    Parameters
    ----------
    what : the name of the file
    per_cent, left : share done and seconds left; None: unknown
    text : further parts, separated by " · "
    width : columns

    Examples
    --------
    >>> status_line("a.csv", 42.1, 75, "8,000 rows · 5.1% mistakes · 9,000 rows/s", 60)
    'a.csv · 42 % · 1:15 left · 8,000 rows · 5.1% mistakes'
    """
    parts = [what]
    if per_cent is not None:
        parts.append(f"{math.floor(per_cent)} %")
    if left is not None:
        minutes, seconds = divmod(left, 60)
        hours, minutes = divmod(minutes, 60)
        clock = f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
        parts.append(f"{clock} left")
    parts += [part for part in text.split(" · ") if part]
    if len(" · ".join(parts)) > width:
        parts[0] = shortened(what, 20)
    while len(parts) > 1 and len(" · ".join(parts)) > width:
        parts.pop()
    return " · ".join(parts)


def shortened(text: str, most: int = 40) -> str:
    """Shorten a text to so many characters, with dots in the middle.

    >>> shortened("a_file_with_a_very_long_name.csv.gz", 20)
    'a_file_with_….csv.gz'
    """
    if len(text) <= most:
        return text
    end = (most - 1) * 2 // 5
    return text[: most - 1 - end] + "…" + text[len(text) - end :]


class Bar:
    """A `progress` that begins once the total is known."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._open = ExitStack()
        self._report: Report = lambda done, text: None

    def begin(self, total: int, what: str | None = None) -> None:
        """Show a bar from now on, in place of an earlier one."""
        self.close()
        self._report = self._open.enter_context(progress(what or self._what, total))

    def report(self, done: int, text: str) -> None:
        """Report how much is done."""
        self._report(done, text)

    def close(self) -> None:
        """Remove the bar from the terminal."""
        self._open.close()
        self._report = lambda done, text: None


@contextmanager
def at_work(what: str, out: Path | None = None) -> Iterator[Bar]:
    """Show a bar while the laboratory works; an error ends the command with one line.

    `out` is the folder that keeps finished cells, if they are kept.
    """
    import typer

    from budgetron.streams import StreamError

    try:
        with closing(Bar(what)) as bar:
            yield bar
    except StreamError as error:
        fail(str(error))
    except (BudgetronError, OSError) as error:
        fail(f"budgetron: {error}")
    except MemoryError:
        fail("budgetron: out of memory; take fewer --rows or --processes")
    except KeyboardInterrupt:
        kept = f": finished cells are kept in {out}; run the same command for the rest"
        note("interrupted" + (kept if out is not None else ""))
        raise typer.Exit(130) from None


@contextmanager
def plain_warnings(show: Callable[[str], None]) -> Iterator[None]:
    """Print each warning as one line, without its place in our code."""

    def line(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        show("warning: " + " ".join(str(message).split()))

    with warnings.catch_warnings():
        warnings.showwarning = line
        yield


class Ticker:
    """True at most once per `period` seconds."""

    def __init__(self, period: float = 0.1) -> None:
        self._period = period
        self._next = 0.0

    def __call__(self) -> bool:
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + self._period
        return True
