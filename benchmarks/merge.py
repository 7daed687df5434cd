"""The cost of merging, and of `run --workers`.

    python benchmarks/merge.py [--budgets 100,200,400,700,1000] [--workers 2] [--rows 60000]

First table: Budgetron with a full straight part of ten features, budgets B; milliseconds of one
delta (a worker makes it), of one merge of 2 and of 8 deltas, the size of a delta, and the rows that
could have been learned meanwhile. Deltas cost O(B^3), merges one factorisation and O(W B^2).

Second: rows of covtype learned by one learner and by a crew (budgetron.cli._workers), B = 400, in
turns, medians of three. Wall-clock time: seconds of both, and their ratio, which is meaningful only
on a quiet machine. Processor time: of all threads together, and of the critical path (serial
learning, the slowest worker of each piece, merges), which other processes do not affect.
"""

from __future__ import annotations

import argparse
import time
import warnings
from statistics import median
from typing import Any

import numpy as np

import budgetron
from budgetron import datasets
from budgetron.cli._workers import Crew
from budgetron.evaluate.adapters import face


def stream(rows: int, features: int = 10) -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    X = random.normal(size=(rows, features))
    wave = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * X[:, 3] + random.normal(0, 0.5, rows)
    return X, (wave > 0).astype(int)


def covtype(rows: int) -> tuple[Any, Any]:
    """The second class of covtype against the others, in a random order."""
    X, y = datasets.load("covtype", dtype="float64")
    order = np.random.default_rng(0).permutation(len(y))[:rows]
    return X[order], (y[order] == 2).astype(int)


def timed(function: Any, *args: Any) -> tuple[float, Any]:
    """Milliseconds of this thread, the median of five, and the return value."""
    found, taken = None, []
    for _ in range(5):
        start = time.thread_time()
        found = function(*args)
        taken.append(1e3 * (time.thread_time() - start))
    return median(taken), found


def costs(budget: int) -> list[str]:
    X, y = stream(12 * budget + 4000)
    model = budgetron.BudgetronClassifier(budget=budget, gamma="median", relevance=False)
    start = time.thread_time()
    model.partial_fit(X, y)
    row = 1e3 * (time.thread_time() - start) / len(y)
    base = model.base()
    workers = [base.snapshot().partial_fit(X[at::8], y[at::8]) for at in range(8)]
    one, _ = timed(workers[0].delta, base, "0")
    deltas = [worker.delta(base, str(at)) for at, worker in enumerate(workers)]
    two, _ = timed(budgetron.merge, base, deltas[:2])
    eight, _ = timed(budgetron.merge, base, deltas)
    numbers = [f"{model.n_support_}", f"{one:.0f}", f"{two:.0f}", f"{eight:.0f}"]
    return [*numbers, f"{deltas[0].nbytes / 1e6:.2f}", f"{(one + two) / row:,.0f}"]


class Timed(Crew):
    """A crew that sums the processor time of the critical path."""

    path = 0.0

    def test_then_train(self, face: Any, X: Any, y: Any) -> Any:
        self.pieces: dict[int, float] = {}

        def timing(model: Any) -> Any:
            return _Face(face(model), self)

        start = time.thread_time()
        answers = super().test_then_train(timing, X, y)
        self.path += time.thread_time() - start  # serial learning and merges
        return answers

    def _side_by_side(self, face: Any, X: Any, y: Any) -> Any:
        self.pieces = {}
        start = time.thread_time()
        found = super()._side_by_side(face, X, y)
        self.path += max(self.pieces.values()) - (time.thread_time() - start)
        return found

    def merge(self) -> None:
        if self._base is not None:  # threads make the deltas: time one of them here
            self._workers[0].delta(self._base, "0")
        super().merge()


class _Face:
    def __init__(self, inner: Any, crew: Timed) -> None:
        self._inner, self._crew = inner, crew

    def test_then_train(self, X: Any, y: Any) -> Any:
        start = time.thread_time()
        answers = self._inner.test_then_train(X, y)
        self._crew.pieces[id(self)] = time.thread_time() - start
        return answers


def learned(rows: int, count: int) -> tuple[float, float, float, float]:
    """Seconds of wall-clock, of all threads, of the critical path; and per cent of mistakes."""
    X, y = covtype(rows)
    model = budgetron.BudgetronClassifier(budget=400)

    def face_of(each: Any) -> Any:
        return face(each, "classification", np.arange(2), False)

    wall, whole = time.perf_counter(), time.process_time()
    if count == 1:
        for at in range(0, rows, 4096):
            face_of(model).test_then_train(X[at : at + 4096], y[at : at + 4096])
        path = time.process_time() - whole
    else:
        crew = Timed(model, count)
        for at in range(0, rows, 4096):
            crew.test_then_train(face_of, X[at : at + 4096], y[at : at + 4096])
        start = time.thread_time()
        crew.merge()
        crew.path += time.thread_time() - start
        crew.close()
        path = crew.path
    taken = time.perf_counter() - wall, time.process_time() - whole
    return (*taken, path, 100 * model.n_mistakes_ / rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budgets", default="100,200,400,700,1000")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| B | stored | delta, ms | merge of 2, ms | merge of 8, ms | delta, MB | in rows |")
    print("|---|---|---|---|---|---|---|")
    for budget in map(int, filter(None, options.budgets.split(","))):
        print(f"| {budget} | {' | '.join(costs(budget))} |", flush=True)
    print(f"\n{options.rows:,} rows, B = 400, 1 and {options.workers} workers:\n")
    both = [
        (learned(options.rows, 1), learned(options.rows, options.workers))
        for _ in range(options.times)
    ]
    one, several = (np.median([pair[at] for pair in both], axis=0) for at in (0, 1))
    for name, at in (("wall", 0), ("all threads", 1), ("longest way", 2)):
        ratio = one[at] / several[at]
        print(f"{name:12} {one[at]:7.2f} s  {several[at]:7.2f} s  {ratio:.2f} times as fast")
    print(f"mistakes     {one[3]:7.2f} %  {several[3]:7.2f} %  {several[3] / one[3]:.3f}")


if __name__ == "__main__":
    main()
