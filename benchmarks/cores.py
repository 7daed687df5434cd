"""Two cores against one: `compare` in processes, `predict` in threads.

    python benchmarks/cores.py

Both sides of a ratio take turns and count with their best time. It says nothing on a machine whose
cores are busy with other things: look at the load that is printed with it. Nor of two that are
threads of one core: what the machine itself allows, processes that sum numbers of their own and
share nothing, is measured beside it.
"""

from __future__ import annotations

import multiprocessing
import tempfile
import time

import numpy as np
from measuring import at_least, console, finish, table
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

import budgetron
from budgetron.compare import Settings, compare

FASTER, PASSES, CALLS = 1.8, 2, 150
ROWS, WIDTH, BUDGET, REPEATS = 40_000, 100, 1000, 16


def clouds(rows: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Two that overlap."""
    random = np.random.default_rng(0)
    y = random.integers(0, 2, rows)
    X = random.standard_normal((rows, WIDTH)) + np.where(y, 0.1, -0.1)[:, None]
    return X.astype(np.float32), y


def compare_seconds(processes: int) -> float:
    X, y = clouds(ROWS)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        found = compare(
            [("clouds", X, y)],
            ["rbp", "forgetron"],
            folder,
            budgets=[BUDGET],
            common={"gamma": 1 / WIDTH},
            settings=Settings(repeats=REPEATS),
            processes=processes,
        )
        assert not found.failures
        return time.perf_counter() - start


def predict_seconds() -> dict[int, float]:
    X, y = clouds(4 * BUDGET)
    model = budgetron.make("rbp", budget=BUDGET, gamma=1 / WIDTH, random_state=0)
    model.partial_fit(X, y)
    best = {1: float("inf"), 2: float("inf")}
    for _ in range(CALLS):
        for jobs in best:
            model.set_params(n_jobs=jobs)
            start = time.perf_counter()
            model.decision_function(X[:2000])
            best[jobs] = min(best[jobs], time.perf_counter() - start)
    return best


def sums_of_its_own(count: int) -> float:
    """Seconds of so many sums over 16 kB."""
    numbers = np.ones(2000)
    start = time.perf_counter()
    for _ in range(count):
        numbers.sum()
    return time.perf_counter() - start


def machine_seconds() -> dict[int, float]:
    """For two lots of sums, one after the other or each in a process of its own."""
    lot, best = 200_000, {1: float("inf"), 2: float("inf")}
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for _ in range(3):
            best[1] = min(best[1], 2 * pool.apply(sums_of_its_own, (lot,)))
            best[2] = min(best[2], max(pool.map(sums_of_its_own, [lot, lot], chunksize=1)))
    return best


def main() -> None:
    with threadpool_limits(1):
        machine = machine_seconds()
        predict = predict_seconds()
        compared = {1: float("inf"), 2: float("inf")}
        for _ in range(PASSES):
            for processes in compared:
                compared[processes] = min(compared[processes], compare_seconds(processes))
    listed = [
        (name, times[1], times[2], times[1] / times[2])
        for name, times in (
            ("compare, 32 cells", compared),
            ("predict, 2,000 rows", predict),
            ("processes that share nothing", machine),
        )
    ]
    columns = ["what", "1 core, s", "2 cores, s", "times as fast"]
    out = console()
    out.print(
        table(
            f"B = {BUDGET}, d = {WIDTH}",
            columns,
            [(a, f"{b:.3f}", f"{c:.3f}", d) for a, b, c, d in listed],
        )
    )
    allowed = listed[-1][-1]
    bars = [
        at_least(f"{name}: 2 cores to 1 (the machine allows {allowed:.2f} x)", FASTER, ratio)
        for name, _, _, ratio in listed[:2]
    ]
    finish("cores", bars, seconds=listed)


if __name__ == "__main__":
    main()
