"""Two cores against one: `compare` in processes, `predict` in threads.

    python benchmarks/cores.py

`compare` runs four learners on ten permutations of 40,000 rows, 50 checkpoints each, and writes its
tables, figures and report, which is timed too; all modules are already imported, as in a session.
Both sides of a ratio take turns and count with their best time. The result is worthless on a
machine whose cores are busy with other things: look at the load that is printed with it. The same
holds for two cores that are threads of one core, or that share the memory bandwidth. The limit of
the machine is measured beside it, in the same turns: two processes that share nothing learn such
rows, B = 1,000 of 100 features, from memory.
"""

from __future__ import annotations

import tempfile
import time

import numpy as np
from measuring import at_least, console, finish, table
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from budgetron.catalogue import as_printed
from budgetron.lab.compare import Settings, compare
from budgetron.lab.workers import Workers

FASTER, PASSES, CALLS = 1.8, 3, 150
ROWS, WIDTH, BUDGET, REPEATS = 40_000, 100, 1000, 10
LEARNERS = ("rbp", "forgetron", "bogd", "bpas")
# Turns of the machine's measurement before each pass; calls of 4,000 rows per turn.
TURNS, LOT = 5, 20
Seconds = dict[int, float]


def clouds(rows: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Two clouds that overlap."""
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
            LEARNERS,
            folder,
            budgets=[BUDGET],
            common={"gamma": 1 / WIDTH},
            settings=Settings(repeats=REPEATS),
            processes=processes,
        )
        assert not found.failures
        return time.perf_counter() - start


def predict_seconds() -> Seconds:
    X, y = clouds(4 * BUDGET)
    model = as_printed("rbp", budget=BUDGET, gamma=1 / WIDTH, random_state=0)
    model.partial_fit(X, y)
    best = {1: float("inf"), 2: float("inf")}
    for _ in range(CALLS):
        for jobs in best:
            model.set_params(n_jobs=jobs)
            start = time.perf_counter()
            model.decision_function(X[:2000])
            best[jobs] = min(best[jobs], time.perf_counter() - start)
    return best


def lot_of_its_own(_: int) -> float:
    """Seconds of learning, in a separate process."""
    X, y = clouds(4 * BUDGET)
    model = as_printed("rbp", budget=BUDGET, gamma=1 / WIDTH, random_state=0)
    model.prequential(X, y)
    start = time.perf_counter()
    for _ in range(LOT):
        model.prequential(X, y)
    return time.perf_counter() - start


def take_turns(machine: Seconds, compared: Seconds) -> None:
    """Put the best times into both dicts."""
    with Workers(2) as pool:
        for _ in range(TURNS):
            for lots in machine:
                results = pool.unordered(lot_of_its_own, list(range(lots)))
                took = [seconds for _, seconds in results if isinstance(seconds, float)]
                machine[lots] = min(machine[lots], 2 / lots * max(took))
    for processes in compared:
        compared[processes] = min(compared[processes], compare_seconds(processes))


def main() -> None:
    machine, compared = ({1: float("inf"), 2: float("inf")} for _ in range(2))
    with threadpool_limits(1):
        predict = predict_seconds()
        for _ in range(PASSES):
            take_turns(machine, compared)
    listed = [
        (name, times[1], times[2], times[1] / times[2])
        for name, times in (
            (f"compare, {len(LEARNERS) * REPEATS} cells", compared),
            ("predict, 2,000 rows", predict),
            ("learning, in processes that share nothing", machine),
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
