"""The cost of Budgetron's straight part, floor, reflex, race and metric.

    python benchmarks/parts_of_budgetron.py [--rows 30000] [--repeats 4]

Processor time of learning float32 rows with default settings, as a multiple of the same learner
without these parts; the least of all runs. The race and the metric take time only in some of the
first rows: the fewer rows, the more they count. elec2 in its own order, a9a and covtype shuffled.

A second table has the cost of a round with loss beyond its decision, with all parts but the drift
rule, relative to three reads of all factors, U of P and U of Kinv: rows come again with labels that
the model predicts wrongly. A read is BLAS's dot product of as many float32 numbers with themselves.
"""

from __future__ import annotations

import argparse
import copy
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from budgetron import BudgetronClassifier, datasets

MOST = 2.2
MOST_READS = 1.5
ALONE: dict[str, Any] = {"gamma": "median", "relevance": False}  # no race
PLAIN = ALONE | {"straight": "none", "floor": 0.0, "reflex": False}


def load(name: str, rows: int) -> tuple[np.ndarray, np.ndarray]:
    if name == "elec2":
        folder = Path(os.environ["BUDGETRON_DATA"]) / "streams"
        with np.load(folder / "elec2.npz") as file:
            return file["X"][:rows].astype(np.float32), file["y"][:rows]
    X, y = datasets.load(name)
    order = np.random.default_rng(0).permutation(len(y))[:rows]
    X = X[order]
    X = X.toarray() if hasattr(X, "toarray") else X
    return np.ascontiguousarray(X, dtype=np.float32), y[order]


def seconds(X: np.ndarray, y: np.ndarray, repeats: int, **params: Any) -> float:
    found = []
    for _ in range(repeats):
        model = BudgetronClassifier(**params)
        start = time.process_time()
        model.partial_fit(X, y, classes=np.unique(y))
        found.append(time.process_time() - start)
    return min(found)


def reads(budget: int, features: int, rows: int = 2000) -> float:
    """The cost of a round with loss beyond its decision, relative to three reads of the factors."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, features)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=len(X)) > 0).astype(int)
    model = BudgetronClassifier(budget=budget, replace="never").partial_fit(X, y)
    again = X[-rows:]
    wrong = 1 - model.predict(again)
    learned, decided = [], []
    for _ in range(5):
        twin = copy.deepcopy(model)
        start = time.process_time()
        twin.partial_fit(again, wrong)
        learned.append((time.process_time() - start) / (twin.n_updates_ - model.n_updates_))
        start = time.process_time()
        model.decision_function(again)
        decided.append((time.process_time() - start) / rows)
    update = min(learned) - min(decided)
    coordinates = budget + features + 1
    factors = np.ones(coordinates * (coordinates + 1) // 2 + budget * (budget + 1) // 2, np.float32)
    times = []
    for _ in range(50):
        start = time.process_time()
        for _ in range(30):
            factors.dot(factors)
        times.append((time.process_time() - start) / 30)
    return update / (3 * min(times))


def main() -> None:
    parser = argparse.ArgumentParser(description="What the parts of Budgetron cost.")
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--repeats", type=int, default=4)
    args = parser.parse_args()
    table = Table("stream", "budget", "straight part and floor", "and reflex", "all", "at most")
    for name in ("elec2", "a9a", "covtype"):
        X, y = load(name, args.rows)
        for budget in (100, 400):
            plain = seconds(X, y, args.repeats, budget=budget, **PLAIN)
            parts = [
                seconds(X, y, args.repeats, budget=budget, **params) / plain
                for params in (ALONE | {"reflex": False}, ALONE, {})
            ]
            table.add_row(name, str(budget), *(f"{part:.2f}" for part in parts), str(MOST))
    Console().print(table)
    updates = Table("budget", "features", "an update, in three reads", "at most")
    for budget, features in ((100, 8), (100, 54), (400, 8), (400, 54), (400, 123)):
        updates.add_row(
            str(budget), str(features), f"{reads(budget, features):.2f}", str(MOST_READS)
        )
    Console().print(updates)


if __name__ == "__main__":
    main()
