"""Reasons for Budgetron's defaults: the effect of changing one at a time.

    python -m studies.ablations [--out docs/images] [--permutations 5]

Mistakes in per cent; on casp the root mean squared error of targets in [0, 1]. Test then train, on
the data sets of the proof, unscaled float32 rows, permutations `default_rng(seed)`. Prints the
tables of docs/guide/budgetron.md and draws its figure. Budgets above 500 get two permutations, and
casp, where every round updates, none.
"""

from __future__ import annotations

import argparse
import math
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import budgetron
from budgetron.estimators.budgetron import BudgetronClassifier
from budgetron.lab.rows import Rows
from budgetron.parts import Learner, Part
from studies.proof.sets import SETS

NAMES = ("phishing", "magic04", "a9a", "cod-rna", "casp")
SWEEPS: dict[str, list[Any]] = {
    "admission": [25, 50, 100, 200, 400],  # budgets, admitting by margin
    "r": [0.001, 0.01, 0.03, 0.1, 0.3, 1.0, 10.0],
    "jitter": [1e-4, 1e-3, 0.01, 0.1, 1.0],
    "width": [0.0625, 0.25, 0.5, 1.0, 2.0, 4.0, 16.0],
    "budget": [10, 25, 50, 100, 200, 500, 1000, 2000],
}
DEFAULTS = {"r": 0.1, "jitter": 0.01, "width": 1.0, "budget": 100}
LARGE, LARGE_PERMUTATIONS = 500, 2
LABELS = {
    "admission": "budget, admitting by margin",
    "width": "gamma, in terms of the median rule's",
}


class AdmittingByMargin(BudgetronClassifier):
    """Stores every row with loss while there is room."""

    def _machine(self, kernel: Part) -> Learner:
        return super()._machine(kernel).set_params(admission="margin")


@cache  # the default's errors are needed again and again
def error(rows: Rows, seed: int, *, width: float = 1.0, margin: bool = False, **own: Any) -> float:
    """The error with these parameters changed; `width` is a multiple of the median rule's gamma."""
    order = np.random.default_rng(seed).permutation(len(rows.y))
    X, y = rows.X[order], rows.y[order]
    if width != 1.0:  # gamma by the rule, from the first 200 rows
        found = budgetron.make("budgetron", task=rows.task).partial_fit(X[:200], y[:200])
        assert found.gamma_ is not None
        own["gamma"] = width * found.gamma_
    if rows.task == "regression":
        model = budgetron.make("budgetron", task=rows.task, **own)
        return math.sqrt(float(np.mean((model.prequential(X, y) - y) ** 2)))
    model = (AdmittingByMargin if margin else BudgetronClassifier)(**own)
    model.partial_fit(X, y, classes=np.unique(y))
    return 100.0 * float(model.n_mistakes_) / len(y)


def sweep(rows: Rows, name: str, permutations: int) -> list[tuple[float, float]]:
    """For every value, its mean error, and the default's on the same permutations."""
    found = []
    for value in SWEEPS[name]:
        large = name == "budget" and value > LARGE
        if large and rows.task == "regression":
            found.append((math.nan, math.nan))
            continue
        seeds = range(min(permutations, LARGE_PERMUTATIONS) if large else permutations)
        if name == "admission":
            changed, usual = {"margin": True, "budget": value}, {"budget": value}
        else:
            changed, usual = {name: value}, {}
        means = [
            float(np.mean([error(rows, seed, **own) for seed in seeds])) for own in (changed, usual)
        ]
        found.append((means[0], means[1]))
    return found


def row(name: str, rows: Rows, found: list[tuple[float, float]]) -> str:
    """A row of the table; admission has two numbers per budget, by mistake and by margin."""
    style = ".4f" if rows.task == "regression" else ".2f"
    cells = [f"{changed:{style}}" for changed, _ in found]
    if name == "admission":
        cells = [f"{usual:{style}} / {changed:{style}}" for changed, usual in found]
    return " | ".join("–" if "nan" in cell else cell for cell in cells)


def draw(results: dict[str, dict[str, list[tuple[float, float]]]], path: Path) -> None:
    """Mean errors relative to the default's: sweep -> set -> (changed, default) for each value."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullLocator

    figure, axes = plt.subplots(1, len(results), figsize=(15, 3.2), layout="constrained")
    for axis, (name, lines) in zip(axes, results.items(), strict=True):
        for data, found in lines.items():
            ratios = [changed / usual for changed, usual in found]
            colour = f"C{NAMES.index(data)}"
            axis.plot(SWEEPS[name], ratios, marker="o", ms=3.5, lw=1.3, color=colour, label=data)
        axis.set_xscale("log")
        if name in ("admission", "budget"):
            axis.set_xticks(SWEEPS[name][:: 1 if name == "admission" else 2])
            axis.xaxis.set_major_formatter("{x:.0f}")
            axis.xaxis.set_minor_locator(NullLocator())
        axis.axhline(1.0, color="0.8", zorder=0)
        if name in DEFAULTS:
            axis.axvline(DEFAULTS[name], color="0.8", zorder=0)
        axis.set_xlabel(LABELS.get(name, name))
        axis.set_ylim((0.8, 2.0) if name in ("width", "budget") else (0.94, 1.2))
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("error / that of the default")
    axes[1].legend(frameon=False)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description="Budgetron with one default changed at a time.")
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    parser.add_argument("--permutations", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore", budgetron.PrecisionWarning)
    data = {each.name: each.load() for each in SETS if each.name in NAMES}
    results: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for name, values in SWEEPS.items():
        print(f"\n| {name} | " + " | ".join(map(str, values)) + " |")
        print("|---" * (len(values) + 1) + "|")
        for each, rows in data.items():
            if name == "admission" and rows.task == "regression":
                continue
            found = sweep(rows, name, options.permutations)
            results.setdefault(name, {})[each] = found
            print(f"| {each} | {row(name, rows, found)} |", flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    draw(results, options.out / "budgetron-ablations.png")


if __name__ == "__main__":
    with threadpool_limits(limits=1):
        main()
