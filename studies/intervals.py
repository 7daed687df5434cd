"""Intervals of Budgetron: their coverage and their width.

    python -m studies.intervals [--coverage 0.9] [--out docs/images]

casp (shuffled), airlines-nyc2013 (in order), make_friedman1, a set whose noise depends on the row,
and one that changes twice. Test, then train; the first 200 rows do not count. Prints the share of
targets inside, the window of 2,000 rows with the largest deviation from it, and the mean width
relative to that of a constant interval around the same predictions, chosen in hindsight to have
exactly the requested coverage. Then other regressors, and the cost for every learner. `--out` draws
the figure of docs/guide/intervals.md.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_friedman1

import budgetron
from budgetron import BudgetronRegressor, datasets

BURN, WINDOW = 200, 2000


def heteroscedastic(rows: int = 40_000) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(rows, 5))
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 5 * X[:, 2]
    return X, f + rng.normal(size=rows) * (0.2 + 3 * X[:, 3] ** 2)


def changing(rows: int = 40_000) -> tuple[Any, Any]:
    """Targets grow threefold after a third of the rows; after two thirds features are swapped."""
    X, y = make_friedman1(rows, noise=1.0, random_state=3)
    y[rows // 3 :] *= 3.0
    order = np.random.default_rng(2).permutation(X.shape[1])
    X[2 * rows // 3 :] = X[2 * rows // 3 :, order]
    return X, y


def real(name: str, *, shuffled: bool) -> tuple[Any, Any]:
    X, y = datasets.load(name, dtype="float64")
    X = X if isinstance(X, np.ndarray) else X.toarray()
    order = np.random.default_rng(0).permutation(len(y)) if shuffled else np.arange(len(y))
    return X[order], np.asarray(y, dtype=np.float64)[order]


def streams() -> dict[str, tuple[Any, Any]]:
    found = {
        "make_friedman1": make_friedman1(50_000, noise=1.0, random_state=0),
        "noise by row": heteroscedastic(),
        "two changes": changing(),
    }
    if datasets.here("casp"):
        found["casp"] = real("casp", shuffled=True)
    if datasets.here("airlines-nyc2013"):
        found["airlines, in order"] = real("airlines-nyc2013", shuffled=False)
    return found


def line(name: str, model: Any, X: Any, y: Any, coverage: float) -> str:
    lower, upper = model.prequential_interval(X, y, coverage=coverage)[BURN:].T
    y = y[BURN:]
    inside = (lower <= y) & (y <= upper)
    whole = len(inside) // WINDOW * WINDOW
    worst = np.abs(inside[:whole].reshape(-1, WINDOW).mean(axis=1) - coverage).max()
    width = upper - lower
    errors = np.abs(y - (lower + upper) / 2)
    constant = 2 * np.quantile(errors, coverage)
    equal = width.mean() * np.quantile(2 * errors / width, coverage)
    return (
        f"| {name} | {100 * inside.mean():.2f} | {100 * worst:.1f} | {width.mean():.4g} | "
        f"{100 * (width.mean() / constant - 1):+.1f} % | {100 * (equal / constant - 1):+.1f} % |"
    )


HEAD = (
    "| | inside, % | worst window, points | mean width | beside constant | at equal coverage |\n"
    "|---|---|---|---|---|---|"
)


def cost() -> None:
    """The cost of a round with intervals or sets, relative to one without; medians of 9."""
    X, y = make_friedman1(20_000, noise=1.0, random_state=0)
    print("\n| learner | task | time with / without |\n|---|---|---|")
    cells = [("budgetron", "regression"), ("forgetron", "regression"), ("fogd", "regression")]
    cells += [("budgetron", "classification"), ("forgetron", "classification")]
    for name, task in cells:
        flag = "intervals" if task == "regression" else "sets"
        targets = y if task == "regression" else y > np.median(y)
        seconds: dict[bool, list[float]] = {False: [], True: []}
        for _ in range(9):
            for on in (False, True):
                model = budgetron.make(name, task, **{flag: on})
                start = time.process_time()
                model.prequential(X, targets)
                seconds[on].append(time.process_time() - start)
        ratio = np.median(seconds[True]) / np.median(seconds[False])
        print(f"| {name} | {task} | {ratio:.3f} |", flush=True)


def draw(path: Path) -> None:
    """Targets, predictions and intervals of a curve whose noise grows; coverage under a change."""
    import matplotlib.pyplot as plt

    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, size=6000)
    y = np.sin(2 * x) + rng.normal(size=len(x)) * (0.05 + 0.25 * (x > 0) * x)
    model = BudgetronRegressor().partial_fit(x[:, None], y)
    grid = np.linspace(-4, 4, 400)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    left.plot(x[::10], y[::10], ".", markersize=2, color="0.6")
    for coverage, alpha in ((0.99, 0.15), (0.9, 0.25), (0.5, 0.4)):
        lower, upper = model.predict_interval(grid[:, None], coverage).T
        left.fill_between(
            grid, lower, upper, alpha=alpha, color="C0", lw=0, label=f"{coverage:.0%}"
        )
    left.plot(grid, model.predict(grid[:, None]), color="C0", lw=1.5)
    left.set(title="noise that depends on the row; no row beyond 3", xlabel="x", ylabel="y")
    left.legend(loc="lower left", ncol=3)
    X, y = changing()
    lower, upper = BudgetronRegressor().prequential_interval(X, y).T
    inside = (lower <= y) & (y <= upper)
    step = 1000
    at = np.arange(step, len(y) + 1, step)
    right.plot(at, 100 * inside.reshape(-1, step).mean(axis=1), color="C0", label="inside, %")
    right.plot(at, (upper - lower)[: len(y)].reshape(-1, step)[:, 1:].mean(axis=1), color="C1")
    right.plot([], [], color="C1", label="mean width")
    right.axhline(90, color="0.4", ls="--", lw=1)
    for change in (len(y) // 3, 2 * len(y) // 3):
        right.axvline(change, color="0.7", lw=1)
    right.set(title="two changes; 1,000 rows per point", xlabel="rows", ylim=(0, 100))
    right.legend(loc="center left")
    path.mkdir(parents=True, exist_ok=True)
    figure.savefig(path / "intervals.png", dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--coverage", type=float, default=0.9)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    found = streams()
    print(HEAD)
    for name, (X, y) in found.items():
        print(line(name, BudgetronRegressor(), X, y, options.coverage), flush=True)
    print("\nmake_friedman1, other regressors:\n\n" + HEAD)
    for name in ("forgetron", "projectron", "bogd", "fogd", "nogd"):
        X, y = found["make_friedman1"]
        print(line(name, budgetron.make(name, "regression"), X, y, options.coverage), flush=True)
    cost()
    if options.out is not None:
        draw(options.out)


if __name__ == "__main__":
    main()
