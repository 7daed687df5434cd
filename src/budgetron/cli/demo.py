"""`budgetron demo`: the learners side by side, on data that needs no download.

Nothing is tuned: every learner has its defaults, and the kernel width is the median distance
between the first rows. Tables go to the terminal, figure and report into a
folder (cli/demo_report.py).
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from budgetron._text import bytes_text
from budgetron.cli._console import fail, output, print_table, progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BUDGETS = (25, 50, 100, 200, 400)
QUICK = (5, 20)
NEXT = (
    "budgetron algorithms",
    "budgetron about budgetron",
    "budgetron run synthetic:sea,rows=10000 --algorithm budgetron --budget 50",
)


@dataclass(frozen=True)
class Trial:
    """One learner with one budget on one stream; budget None: it has none."""

    stream: str
    algorithm: str
    budget: int | None
    grows: bool
    mistake_rate: float
    stored: int
    memory_bytes: int
    microseconds_a_row: float


def demo(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="For figure and report.")] = Path(
        "demo-output"
    ),
    quick: Annotated[
        bool, typer.Option("--quick", help="A tenth of the rows, two budgets.")
    ] = False,
) -> None:
    """Compare all learners on handwritten digits and on a noisy synthetic stream."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        fail("budgetron: the demo draws a figure: pip install 'budgetron[lab]'")
    from budgetron.cli._demo_report import draw, write_report

    _check_writable(out)
    streams = _streams(10 if quick else 1)
    budgets = QUICK if quick else BUDGETS
    planned = [(title, *setup) for title in streams for setup in _setups(budgets)]
    trials: list[Trial] = []
    with progress("comparing", len(planned)) as report:
        for title, name, budget in planned:
            report(len(trials), f"{name} on {title}")
            trials.append(_try(title, *streams[title], name, budget))
    try:
        draw(trials, out / "demo")
        write_report(trials, out / "report.html", (out / "demo.svg").read_text(encoding="utf-8"))
    except OSError as error:
        _fail_to_write(out, error)
    middle = budgets[len(budgets) // 2]
    for title in streams:
        _print_table(f"{title}, budget {middle}", _of_budget(trials, title, middle))
    console = output()
    console.print("* grows with the stream; the others have fixed memory.")
    for what, name in (("figure", "demo.png"), ("report", "report.html")):
        console.print(f"{what}: {out / name}", markup=False, soft_wrap=True)
    console.print("try next:")
    for command in NEXT:
        console.print(f"  {command}", markup=False, soft_wrap=True)


def _check_writable(out: Path) -> None:
    """Make the folder and try it, before the work."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        _fail_to_write(out, error)


def _fail_to_write(out: Path, error: OSError) -> NoReturn:
    fail(f"budgetron: cannot write to {out}: {error.strerror}; choose another --out")


def _streams(part: int) -> dict[str, tuple[NDArray[np.float64], NDArray[Any]]]:
    """Title -> rows and labels."""
    from sklearn.datasets import load_digits
    from sklearn.utils import shuffle

    from budgetron.streams import two_gaussians

    digits = load_digits()
    X, y = shuffle(digits.data / 16.0, digits.target % 2, random_state=0)
    return {
        "digits, even against odd": (X[: len(X) // part], y[: len(X) // part]),
        "two Gaussians, 5 % of labels flipped": two_gaussians(5000 // part, flip=0.05, seed=0),
    }


def _setups(budgets: tuple[int, ...]) -> Iterator[tuple[str, int | None]]:
    """Every learner with every budget, those without one once."""
    import budgetron

    for algorithm in budgetron.algorithms():
        if "budget" not in algorithm.parameters:
            yield algorithm.name, None
            continue
        for budget in budgets:
            yield algorithm.name, budget


def _try(
    title: str, X: NDArray[np.float64], y: NDArray[Any], name: str, budget: int | None
) -> Trial:
    import budgetron

    params: dict[str, Any] = {} if budget is None else {"budget": budget}
    model = budgetron.make(name, gamma="median", random_state=0, **params)
    start = time.perf_counter()
    model.prequential(X, y)
    seconds = time.perf_counter() - start
    return Trial(
        title,
        name,
        budget,
        budget is None and model.n_support_ > 0,  # FOGD has no examples to store
        model.n_mistakes_ / model.n_seen_,
        model.n_support_,
        model.memory_bytes_,
        1e6 * seconds / model.n_seen_,
    )


def _of_budget(trials: list[Trial], title: str, budget: int) -> list[Trial]:
    """Those of a stream with this budget or none, the best first."""
    chosen = [t for t in trials if t.stream == title and t.budget in (budget, None)]
    return sorted(chosen, key=lambda trial: trial.mistake_rate)


def _print_table(title: str, trials: list[Trial]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    table.add_column("algorithm", no_wrap=True)
    for name in ("mistakes", "memory", "stored", "µs a row"):
        table.add_column(name, justify="right", no_wrap=True)
    for trial in trials:
        table.add_row(
            trial.algorithm + (" *" if trial.grows else ""),
            f"{trial.mistake_rate:.2%}",
            bytes_text(trial.memory_bytes),
            f"{trial.stored:,}",
            f"{trial.microseconds_a_row:.2f}",
        )
    print_table(table)
