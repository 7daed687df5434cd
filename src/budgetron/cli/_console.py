"""What the user sees: errors, warnings, progress (standard error) and tables (standard output)."""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
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
    """End the command because of a mistake of the user's: one line, exit code 2."""
    import typer

    note(message)
    raise typer.Exit(2)


def note(message: str) -> None:
    """One line on standard error, if anyone listens there: an error, a warning, or news."""
    with suppress(OSError):
        print(shown(prefixed(in_plain_words(message))), file=sys.stderr, flush=True)


def prefixed(message: str) -> str:
    """A line for standard error: who speaks, then what it is about.

    >>> prefixed("a.csv:3: row 2 has 4 fields, not 5")
    'budgetron: a.csv:3: row 2 has 4 fields, not 5'
    """
    return f"budgetron: {' '.join(message.split()).removeprefix('budgetron: ')}"


def output() -> Console:
    """The console for results, on standard output."""
    return _console(file=sys.stdout)


def _console(**options: Any) -> Console:
    """A console that takes text for text: no markup in it, and no control character.

    Strings are escaped before Rich measures and wraps them, whatever else afterwards.
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


def print_table(table: Table) -> None:
    """Print a table; a narrow terminal leaves columns out, from the right, but cuts none."""
    console = output()
    wide = console.options.update(max_width=10_000)
    left_out: list[str] = []
    while len(table.columns) > 2 and console.measure(table, options=wide).maximum > console.width:
        left_out.insert(0, str(table.columns.pop().header).strip())
    console.print(table)
    if left_out:
        console.print(f"(wider terminals show {', '.join(left_out)} too)")


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Report]:
    """A live line on standard error while the block runs; nothing unless that is a terminal.

    Yields a function of (amount done, text): cheap to call often, it draws ten times a second.

    Parameters
    ----------
    what : the word before the bar
    total : the amount that is all; None: unknown, there is no bar
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
    """The live line as a column of Rich's."""
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
    """One line of at most so many columns: what does not fit is left out from the right.

    Parameters
    ----------
    what : the name of the file
    per_cent, left : how much is done, and the seconds that the rest takes; None: unknown
    text : what else there is to say, parts with " · " between
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
    """A text of at most so many characters, with dots in its middle if it had more.

    >>> shortened("a_file_with_a_very_long_name.csv.gz", 20)
    'a_file_with_….csv.gz'
    """
    if len(text) <= most:
        return text
    end = (most - 1) * 2 // 5
    return text[: most - 1 - end] + "…" + text[len(text) - end :]


class Bar:
    """A `progress` that begins when it is known how much there is to do."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._open = ExitStack()
        self._report: Report = lambda done, text: None

    def begin(self, total: int, what: str | None = None) -> None:
        """From now on there is a bar; another one, if there was one already."""
        self.close()
        self._report = self._open.enter_context(progress(what or self._what, total))

    def report(self, done: int, text: str) -> None:
        """So much is done."""
        self._report(done, text)

    def close(self) -> None:
        """The bar leaves the terminal."""
        self._open.close()
        self._report = lambda done, text: None


@contextmanager
def at_work(what: str, out: Path | None = None) -> Iterator[Bar]:
    """A bar while the laboratory works; what goes wrong ends the command with one line.

    `out` is the folder where finished cells are kept, if they are.
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
        fail("budgetron: it does not fit into memory; take fewer --rows or --processes")
    except KeyboardInterrupt:
        kept = f": finished cells are kept in {out}; the same command does the rest"
        note("interrupted" + (kept if out is not None else ""))
        raise typer.Exit(130) from None


@contextmanager
def plain_warnings(show: Callable[[str], None]) -> Iterator[None]:
    """Warnings as one line each, without the place in our code that raised them."""

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
    """True at most once per `period` seconds: for work worth doing now and then."""

    def __init__(self, period: float = 0.1) -> None:
        self._period = period
        self._next = 0.0

    def __call__(self) -> bool:
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + self._period
        return True
