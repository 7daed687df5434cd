"""Why Budgetron's defaults are what they are: one of them changed at a time.

    python benchmarks/ablations.py [--out docs/images] [--permutations 2]

Mistakes in per cent (test, then train) on the LIBSVM files in $BUDGETRON_DATA, float32 rows off the
disk, permutations `default_rng(seed)`. Prints the tables of docs/budgetron.md and draws its figure.
"""

from __future__ import annotations

import argparse
import lzma
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file

import budgetron
from budgetron import recipes
from budgetron.estimators.budgetron import BudgetronClassifier
from budgetron.parts import Part

SETS = ("phishing", "magic04", "a9a")
SWEEPS: dict[str, list[Any]] = {
    "admission": ["mistake", "margin"],
    "r": [0.001, 0.01, 0.03, 0.1, 0.3, 1.0, 10.0],
    "jitter": [1e-4, 1e-3, 0.01, 0.1, 1.0],
    "width": [0.0625, 0.25, 0.5, 1.0, 2.0, 4.0, 16.0],
    "budget": [10, 25, 50, 100, 200, 500, 1000, 2000],
}
DEFAULTS = {"admission": "mistake", "r": 0.1, "jitter": 0.01, "width": 1.0, "budget": 100}


class AdmittingByMargin(BudgetronClassifier):
    """Stores every row with loss while there is room."""

    def _machine(self, kernel: Part) -> Part:
        own = {name: getattr(self, name) for name in ("budget", "r", "jitter", "replace")}
        return recipes.budgetron(kernel, **own, admission="margin")


def load(name: str) -> tuple[Any, Any]:
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    path = Path(os.environ.get("BUDGETRON_DATA", beside)) / f"{name}.libsvm.xz"
    with lzma.open(path) as file:
        X, y = load_svmlight_file(file, dtype=np.float32)
    return X.toarray(), y


def mistakes(X: Any, y: Any, seed: int, **changed: Any) -> float:
    """Per cent, with these parameters changed; `width` is in terms of the median rule's gamma."""
    order = np.random.default_rng(seed).permutation(len(y))
    width = changed.pop("width", 1.0)
    by_margin = changed.pop("admission", "mistake") == "margin"
    if width != 1.0:  # gamma as the rule finds it, from the first 200 rows
        found = budgetron.make("budgetron").partial_fit(
            X[order[:200]], y[order[:200]], classes=np.unique(y)
        )
        changed["gamma"] = width * found.gamma_
    model = (AdmittingByMargin if by_margin else BudgetronClassifier)(**changed)
    model.partial_fit(X[order], y[order], classes=np.unique(y))
    return 100.0 * model.n_mistakes_ / len(y)


def draw(results: dict[str, dict[str, list[float]]], path: Path) -> None:
    import matplotlib.pyplot as plt

    shown = [name for name in SWEEPS if name != "admission"]
    figure, axes = plt.subplots(1, len(shown), figsize=(12, 3), layout="constrained")
    for axis, name in zip(axes, shown, strict=True):
        for data, curve in results[name].items():
            relative = np.array(curve) / curve[SWEEPS[name].index(DEFAULTS[name])]
            axis.plot(SWEEPS[name], relative, marker="o", markersize=3, label=data)
        axis.set_xscale("log")
        axis.axvline(float(DEFAULTS[name]), color="0.8", zorder=0)
        axis.set_xlabel("gamma, in terms of the median rule's" if name == "width" else name)
        axis.set_ylim(0.8, 2.0)
    axes[0].set_ylabel("mistakes / those of the default")
    axes[0].legend(frameon=False)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description="Budgetron with one default changed at a time.")
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    parser.add_argument("--permutations", type=int, default=2)
    options = parser.parse_args()
    warnings.simplefilter("ignore", budgetron.PrecisionWarning)
    data = {name: load(name) for name in SETS}
    results: dict[str, dict[str, list[float]]] = {}
    for parameter, values in SWEEPS.items():
        print(f"\n| {parameter} | " + " | ".join(map(str, values)) + " |")
        print("|---" * (len(values) + 1) + "|")
        for name, (X, y) in data.items():
            means = [
                float(np.mean([mistakes(X, y, seed, **{parameter: value}) for seed in seeds]))
                for seeds in [range(options.permutations)]
                for value in values
            ]
            results.setdefault(parameter, {})[name] = means
            print(f"| {name} | " + " | ".join(f"{mean:.2f}" for mean in means) + " |", flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    draw(results, options.out / "budgetron-ablations.png")


if __name__ == "__main__":
    main()
