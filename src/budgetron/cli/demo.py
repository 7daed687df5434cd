"""`budgetron demo`: the learners side by side, on data that needs no download."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from budgetron.cli.console import bytes_text, fail, output, progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Trial:
    """One learner on one stream."""

    stream: str
    algorithm: str
    bounded: bool
    mistake_rate: float
    stored: int
    memory_bytes: int
    microseconds_a_row: float


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the figure.")] = Path("demo-output"),
    budget: Annotated[int, typer.Option(min=2, help="Stored examples of the budgeted.")] = 100,
) -> None:
    """Compare all learners on handwritten digits and on a noisy synthetic stream."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        fail("budgetron: the demo draws a figure: pip install 'budgetron[lab]'")
    import budgetron

    streams = _streams()
    algorithms = budgetron.algorithms()
    trials: list[Trial] = []
    total = len(streams) * len(algorithms)
    with progress("comparing", total) as report:
        for title, (X, y, gamma) in streams.items():
            for algorithm in algorithms:
                report(len(trials), f"{algorithm.name} on {title}")
                trials.append(_try(title, algorithm, X, y, gamma, budget))
    for title in streams:
        _print_table(title, [trial for trial in trials if trial.stream == title])
    out.mkdir(parents=True, exist_ok=True)
    figure = out / "demo.png"
    _draw(trials, list(streams), budget, figure)
    console = output()
    console.print(f"figure: {figure}")
    console.print("try next:")
    for command in (
        "budgetron algorithms",
        "budgetron run FILE --algorithm ahpatron --budget 400 --gamma 0.5",
        "budgetron run --help",
    ):
        console.print(f"  {command}", markup=False)


def _streams() -> dict[str, tuple[NDArray[np.float64], NDArray[Any], float]]:
    """Title -> rows, labels, kernel width."""
    from sklearn.datasets import load_digits
    from sklearn.utils import shuffle

    from budgetron.streams.synthetic import two_gaussians

    digits = load_digits()
    X, y = shuffle(digits.data / 16.0, digits.target % 2, random_state=0)
    noisy, labels = two_gaussians(n_per_class=5000, flip=0.05, seed=0)
    return {
        "digits, even against odd": (X, y, 0.2),
        "two Gaussians, 5 % of labels flipped": (noisy, labels, 0.5),
    }


def _try(
    title: str, algorithm: Any, X: NDArray[np.float64], y: NDArray[Any], gamma: float, budget: int
) -> Trial:
    import budgetron

    bounded = bool({"budget", "n_components"} & set(algorithm.parameters))
    params: dict[str, Any] = {"gamma": gamma, "random_state": 0}
    if "budget" in algorithm.parameters:
        params["budget"] = budget
    model = budgetron.make(algorithm.name, **params)
    start = time.perf_counter()
    model.prequential(X, y)
    seconds = time.perf_counter() - start
    return Trial(
        title,
        algorithm.name,
        bounded,
        model.n_mistakes_ / model.n_seen_,
        model.n_support_,
        model.memory_bytes_,
        1e6 * seconds / model.n_seen_,
    )


def _print_table(title: str, trials: list[Trial]) -> None:
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("algorithm")
    for name in ("mistakes", "stored", "memory", "µs a row"):
        table.add_column(name, justify="right")
    for trial in sorted(trials, key=lambda trial: trial.mistake_rate):
        table.add_row(
            trial.algorithm,
            f"{trial.mistake_rate:.2%}",
            f"{trial.stored:,}",
            bytes_text(trial.memory_bytes),
            f"{trial.microseconds_a_row:.2f}",
        )
    output().print(table)


def _draw(trials: list[Trial], titles: list[str], budget: int, path: Path) -> None:
    """Mistake rates as bars, a panel a stream; what each learner stored is written beside them."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.patches import Patch

    colours = {True: "#0072B2", False: "#E69F00"}  # Okabe and Ito's blue and orange
    names = {True: f"fixed memory, at most {budget} stored examples", False: "grows"}
    rows = len(trials) // len(titles)
    figure, axes = plt.subplots(
        1, len(titles), figsize=(11, 2.2 + 0.24 * rows), layout="constrained"
    )
    for axis, title in zip(axes, titles, strict=True):
        chosen = sorted(
            (trial for trial in trials if trial.stream == title),
            key=lambda trial: trial.mistake_rate,
            reverse=True,
        )
        rates = [100 * trial.mistake_rate for trial in chosen]
        bars = axis.barh(
            [trial.algorithm for trial in chosen],
            rates,
            color=[colours[trial.bounded] for trial in chosen],
        )
        axis.bar_label(
            bars, [f" {100 * t.mistake_rate:.1f} %, {t.stored:,} stored" for t in chosen]
        )
        axis.set_xlim(0, 1.45 * max(rates))
        axis.set_title(title, loc="left")
        axis.set_xlabel("mistakes, % of rows (each predicted before it was learned)")
        axis.spines[["top", "right"]].set_visible(False)
    kinds = sorted({trial.bounded for trial in trials}, reverse=True)
    figure.legend(
        handles=[Patch(color=colours[kind], label=names[kind]) for kind in kinds],
        loc="outside upper center",
        ncols=len(kinds),
        frameon=False,
    )
    figure.savefig(path, dpi=150)
    plt.close(figure)
