"""The cost of Budgetron's covariance.

    python benchmarks/covariance.py [--repeats 7]

1. The phishing stream (float32 rows), learned with default parameters: a round as a multiple of the
   bare row, averaged over the second half of the stream (see learners.py).
2. An update as a multiple of the time to read the packed covariance three times (for the product,
   for the rank-one update, and for writing it back) at the bandwidth measured here for the same
   amount of memory: a dot product of its two halves minus the call itself. The update is a round of
   a regressor, which always updates, minus its bare row.
"""

from __future__ import annotations

import argparse
import pickle
import timeit

import numpy as np
from learners import SHAPES, load, measure
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

import budgetron
from budgetron import _core
from budgetron._batch import Batch

MOST_OF_A_ROW = {100: 4.0, 400: 10.0}
MOST_OF_THREE_READS = 1.5


def best(call: object, repeats: int, number: int) -> float:
    """Microseconds per call."""
    times = timeit.repeat(call, repeat=repeats, number=number)  # type: ignore[arg-type]
    return 1e6 * min(times) / number


def update_microseconds(budget: int, repeats: int) -> float:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20 * budget + 400, 8)).astype(np.float32)
    y = rng.normal(size=len(X))
    model = budgetron.make("budgetron", task="regression", budget=budget, gamma=0.1, scale=None)
    model.partial_fit(X, y)
    assert model.n_support_ == budget
    native = pickle.loads(pickle.dumps(model._engine)).native
    rows = X[:10]  # few: a block without interruption counts
    batch = Batch(rows, y[:10])
    round_ = best(lambda: native.learn(batch), 30 * repeats, 1) / len(rows)
    return round_ - best(lambda: native.predict(rows), 30 * repeats, 1) / len(rows)


def three_reads_microseconds(budget: int, repeats: int) -> float:
    numbers = np.random.default_rng(0).normal(size=budget * (budget + 1) // 2 // 2 * 2)
    left, right = np.split(numbers, 2)
    two, others = left[:2], right[:2]
    call = best(lambda: two @ others, 30 * repeats, 10)
    return 3 * (best(lambda: left @ right, 30 * repeats, 10) - call)


def verdict(value: float, most: float) -> str:
    return f"{value:.2f} (at most {most:g}: {'ok' if value <= most else 'MISSED'})"


def main() -> None:
    parser = argparse.ArgumentParser(description="What Budgetron's covariance costs.")
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    console = Console()
    shape = next(shape for shape in SHAPES if shape.name == "phishing")
    X, codes, source = load(shape, 11_055)
    with threadpool_limits(limits=1):
        table = Table(title=f"{source}, float32, {_core.instruction_set()}")
        for heading in ("B", "updating", "bare row us", "round us", "round / row"):
            table.add_column(heading, justify="right")
        for budget, most in MOST_OF_A_ROW.items():
            cost = measure(budgetron.make("budgetron", budget=budget), X, codes, repeats)
            table.add_row(
                str(budget),
                f"{100 * cost.updates:.0f} %",
                f"{cost.row:.2f}",
                f"{cost.round:.2f}",
                verdict(cost.round / cost.row, most),
            )
        console.print(table)
        table = Table(title="an update and three reads of the packed covariance")
        for heading in ("B", "kB", "update us", "three reads us", "update / three reads"):
            table.add_column(heading, justify="right")
        for budget in (50, 100, 200, 400, 1000):
            update = update_microseconds(budget, repeats)
            reads = three_reads_microseconds(budget, repeats)
            table.add_row(
                str(budget),
                f"{4 * budget * (budget + 1) / 1000:.0f}",
                f"{update:.2f}",
                f"{reads:.2f}",
                verdict(update / reads, MOST_OF_THREE_READS),
            )
        console.print(table)


if __name__ == "__main__":
    main()
