"""What the user sees: errors, warnings, progress (standard error) and tables (standard output)."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from budgetron._text import shown
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
    """One line on standard error, if anyone listens there."""
    with suppress(OSError):
        print(shown(" ".join(message.split())), file=sys.stderr, flush=True)


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
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    columns: list[Any] = [TextColumn("{task.description}", markup=False)]
    columns += [BarColumn(20), TimeRemainingColumn()] if total else [SpinnerColumn()]
    columns += [TextColumn("{task.fields[text]}", markup=False)]
    console = _console(stderr=True)
    with (
        Progress(*columns, console=console, transient=True) as bars,
        plain_warnings(bars.console.print),
    ):
        bar = bars.add_task(shown(what), total=total, text="")
        yield lambda done, text: bars.update(bar, completed=done, text=shown(text))


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
