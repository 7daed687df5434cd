"""`budgetron demo`: the learners side by side, on data that needs no download.

A comparison (`budgetron.lab.compare`) in which nothing is tuned: every learner has its defaults,
and the kernel width is the median distance between the first rows. Tables go to the terminal, the
rest into a folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from budgetron.cli._console import at_work
from budgetron.cli.compare import check_extra, show

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
    import budgetron
    from budgetron.lab.compare import Settings, compare
    from budgetron.lab.report.figures import draw_panels
    from budgetron.lab.store import check_folder

    budgets = QUICK if quick else BUDGETS
    with at_work("comparing", out) as bar:
        check_folder(out)
        found = compare(
            _streams(10 if quick else 1),
            [each.name for each in budgetron.algorithms()],
            out,
            budgets=budgets,
            settings=Settings(repeats=1, keep_order=True, checkpoints=20),
            report=bar.report,
            begin=bar.begin,
        )
        draw_panels(out / "demo", found.summary, STRONG)
    then = ["try next:", *(f"  {command}" for command in NEXT)]
    show(found, out, budgets[len(budgets) // 2], [f"figure: {out / 'demo.png'}"], then)


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
