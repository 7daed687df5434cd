"""AVM's delta as a multiple of the median distance: the factor of delta="auto".

    python -m studies.delta [--factors F ...] [--budget B]

Mistakes in per cent (classification, test then train) or 100 (1 - R2) (regression, on the second
half of the rows, after `fit` on the first half), with core points in brackets. Shuffled sets have
at most 10,000 rows in a random order; streams their first 20,000 rows in their own order. "1" is
delta=1.0, the earlier default. The table is in docs/develop/decisions/0046.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes, make_friedman1

import budgetron
from budgetron import datasets
from budgetron.estimators import avm

SHUFFLED = ("phishing", "a9a", "w8a", "ijcnn1", "magic04", "spambase", "SUSY-30k")
ROWS, STREAM_ROWS = 10_000, 20_000


def classified() -> Iterator[tuple[str, Any, Any]]:
    for name in SHUFFLED:
        X, y = datasets.load(name)
        order = np.random.default_rng(0).permutation(len(y))[:ROWS]
        yield name, X[order], y[order]
    folder = Path(os.environ.get("BUDGETRON_DATA", "data")) / "streams"
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as stored:
            yield path.stem, stored["X"][:STREAM_ROWS].astype(float), stored["y"][:STREAM_ROWS]


def regressed() -> Iterator[tuple[str, Any, Any]]:
    yield "diabetes", *load_diabetes(return_X_y=True)
    yield "friedman1", *make_friedman1(4000, random_state=0)
    X, y = make_friedman1(4000, n_features=5, random_state=0)
    yield "friedman1, 1e-3 to 1e3", X * [1e-3, 1.0, 1e3, 10.0, 0.1], y
    X, y = datasets.load("casp")
    order = np.random.default_rng(0).permutation(len(y))[:ROWS]
    yield "casp", X[order], y[order]


def cell(task: str, X: Any, y: Any, budget: int | None, **params: Any) -> str:
    model: Any = budgetron.make("avm", task, budget=budget, random_state=0, **params)
    if task == "classification":
        model.partial_fit(X, y, classes=np.unique(y))
        error = 100 * model.n_mistakes_ / len(y)
    else:
        order = np.random.default_rng(1).permutation(len(y))
        first, second = np.split(order, [len(y) // 2])
        error = 100 * (1 - model.fit(X[first], y[first]).score(X[second], y[second]))
    return f"{error:.1f} ({model.n_support_})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    factors = [0.125, 0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0]
    parser.add_argument("--factors", type=float, nargs="+", default=factors)
    parser.add_argument("--budget", type=int)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| set | 1 |", " | ".join(f"{factor:g} d" for factor in options.factors), "|")
    print("|---" * (len(options.factors) + 2) + "|")
    for task, sets in (("classification", classified()), ("regression", regressed())):
        for name, X, y in sets:
            cells = [cell(task, X, y, options.budget, delta=1.0)]
            for factor in options.factors:
                avm.AUTO = factor
                cells.append(cell(task, X, y, options.budget))
            print(f"| {name} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
