"""`budgetron demo`: the learners side by side, on data that needs no download.

A comparison (`budgetron.lab.compare`) in which nothing is tuned: every learner has its defaults,
and the kernel width is the median distance between the first rows. Tables go to the terminal, the
rest into a folder.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from budgetron.cli._console import at_work, fail, output, print_table
from budgetron.cli.compare import check_extra

if TYPE_CHECKING:
    from numpy.typing import NDArray

BUDGETS = (25, 50, 100, 200, 400)
QUICK = (5, 20)
# Of each way to keep a budget one learner has a colour in the figure.
STRONG = ("budgetron", "ahpatron", "projectron++", "bsgd-merge", "forgetron", "nogd", "fogd")
NEXT = (
    "budgetron algorithms",
    "budgetron about budgetron",
    "budgetron run synthetic:sea,rows=10000 --algorithm budgetron --budget 50",
)


def demo(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="For figure and report.")] = Path(
        "demo-output"
    ),
    quick: Annotated[
        bool, typer.Option("--quick", help="A tenth of the rows, two budgets.")
    ] = False,
) -> None:
    """Compare all learners on handwritten digits and on a noisy synthetic stream."""
    check_extra("the demo")
    _check_writable(out)
    import budgetron
    from budgetron.lab.compare import Settings, compare
    from budgetron.lab.report.figures import draw_panels
    from budgetron.lab.report.tables import rich_table

    streams = _streams(10 if quick else 1)
    budgets = QUICK if quick else BUDGETS
    with at_work("comparing", f"finished cells are kept in {out}") as bar:
        found = compare(
            streams,
            [each.name for each in budgetron.algorithms()],
            out,
            budgets=budgets,
            common={"gamma": "median"},
            settings=Settings(repeats=1, keep_order=True, checkpoints=20),
            report=bar.report,
            begin=bar.begin,
        )
        draw_panels(out / "demo", found.summary, STRONG)
    console = output()
    console.print(found.conclusion, markup=False)
    middle = budgets[len(budgets) // 2]
    for title, lines in found.summary.items():
        shown = [line for line in lines if line.budget in (middle, None)]
        print_table(rich_table(f"{title}, budget {middle}", shown))
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
    fail(f"budgetron: cannot write to {out}: {error.strerror or error}; choose another --out")


def _streams(part: int) -> list[tuple[str, NDArray[Any], NDArray[Any]]]:
    """Title, rows and labels of each."""
    from sklearn.datasets import load_digits
    from sklearn.utils import shuffle

    from budgetron.streams import two_gaussians

    digits = load_digits()
    X, y = shuffle(digits.data / 16.0, digits.target % 2, random_state=0)
    return [
        ("digits, even against odd", X[: len(X) // part], y[: len(X) // part]),
        (
            "two Gaussians, 5 % of labels flipped",
            *two_gaussians(5000 // part, flip=0.05, seed=0),
        ),
    ]
