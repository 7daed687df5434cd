"""What the straight part, the floor, the reflex, the race and the metric cost Budgetron.

    python benchmarks/parts_of_budgetron.py [--rows 30000] [--repeats 4]

Processor time of learning float32 rows with nothing given but the budget, as a multiple of the same
learner with none of them, which is Budgetron as it was before; the least of all runs. The race and
the metric take time in some of the first rows only: the fewer rows, the more they weigh. elec2 in
its own order, a9a and covtype shuffled.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from budgetron import BudgetronClassifier, datasets

MOST = 2.2
ALONE: dict[str, Any] = {"gamma": "median", "relevance": False}  # nobody races
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


if __name__ == "__main__":
    main()
