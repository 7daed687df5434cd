"""The cost of learning on many machines: the parts measured here, then summed for more machines.

    python -m studies.scale            measure the parts, check them with 1 and 2 workers, sum up
    python -m studies.scale --quick    fewer rows

The model of a round (budgetron/merging/rounds.py) with W workers, E rows between merges:

    seconds(W) = E/W * row(B) * slowest(W) + merge(B, W) + W (base(B) + delta(B)) / wire
    rows per second = E / seconds(W)

`row`, `merge` and the sizes are measured; `slowest` is the time of the slowest of W machines over
the mean, found by drawing their speeds; `wire` is assumed. For a fleet: bytes per key, seconds per
row, bytes of a checkpoint, and the load of the fullest bucket if keys follow a Zipf law. All times
are processor seconds of the working thread, so that other programs change little.
"""

from __future__ import annotations

import argparse
import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

import budgetron
from budgetron.fleet import Fleet
from budgetron.merging import merge
from budgetron.merging.rounds import MERGED, MERGED_EACH, pieces

FEATURES = 20
WIRE = 1.25e9  # bytes per second: 10 Gbit/s at the machine that merges
DISK = 1e9  # bytes per second of a machine's checkpoint
SPREAD = 0.1  # deviation of the logarithm of a machine's speed in one round
CORES = 32  # per machine
MEMORY = 128e9  # bytes per machine


@dataclass(frozen=True)
class Costs:
    """Measured for one budget: seconds per row, per merge and per delta in it; bytes."""

    budget: int
    row: float
    merge: float
    more: float  # for each further delta
    base: int
    delta: int


def rows_of(count: int, seed: int = 0) -> tuple[Any, Any]:
    """Rows whose classes no straight line separates."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, FEATURES)).astype(np.float32)
    return X, (np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] > 0).astype(int)


def timed(work: Any) -> tuple[float, Any]:
    """Processor seconds of this thread, and the return value."""
    start = time.thread_time()
    found = work()
    return time.thread_time() - start, found


def settled(budget: int) -> Any:
    """A model that has learned enough to be a base."""
    X, y = rows_of(4000)
    return budgetron.make("budgetron", budget=budget, random_state=0).partial_fit(X, y)


def costs_of(budget: int, rows: int) -> Costs:
    """Learn like a worker; merge two and six deltas."""
    base = settled(budget).base()
    X, y = rows_of(rows, 1)
    worker = base.snapshot()
    worker.partial_fit(X[:200], y[:200])  # allocates its buffers
    seconds, _ = timed(lambda: worker.partial_fit(X[200:], y[200:]))
    deltas = [worker.delta(base, str(name)) for name in range(6)]
    two = min(timed(lambda: merge(base, deltas[:2]))[0] for _ in range(2))
    six = min(timed(lambda: merge(base, deltas))[0] for _ in range(2))
    more = max(0.0, (six - two) / 4)
    sizes = len(pickle.dumps(base)), len(pickle.dumps(deltas[0]))
    return Costs(budget, seconds / (rows - 200), two - 2 * more, more, *sizes)


def every(budget: int) -> int:
    """Rows between merges, as in `run --workers`."""
    return max(MERGED, MERGED_EACH * budget)


def slowest(workers: int, spread: float = SPREAD, draws: int = 400) -> float:
    """The time of the slowest of so many machines over the mean: speeds are drawn."""
    rng = np.random.default_rng(workers)
    times = np.exp(rng.normal(0.0, spread, (draws, workers)))
    return float(times.max(axis=1).mean() / times.mean())


def predicted(costs: Costs, rows: int, workers: int, spread: float = SPREAD) -> tuple[float, ...]:
    """Seconds of a round, and its parts: learning, merging, sending."""
    slow = slowest(workers, spread) if spread else 1.0
    learning = rows / workers * costs.row * slow
    merging = costs.merge + workers * costs.more
    sending = workers * (costs.base + costs.delta) / WIRE if workers > 1 else 0.0
    return learning + merging + sending, learning, merging, sending


def checked(budget: int, rows: int, workers: int) -> float:
    """A real round in threads: the longest learning time, and the serial work."""
    X, y = rows_of(rows, 2)
    base = settled(budget).base()
    copies = [base.snapshot() for _ in range(workers)]

    def learn(worker: Any, piece: slice) -> float:
        return timed(lambda: worker.partial_fit(X[piece], y[piece]))[0]

    with ThreadPoolExecutor(workers) as threads:
        longest = max(threads.map(learn, copies, pieces(rows, workers)))
    deltas = [worker.delta(base, str(number)) for number, worker in enumerate(copies)]
    merged, _ = timed(lambda: merge(base, deltas))
    return longest + merged


def fleet_costs(keys: int, rows_per_key: int) -> dict[str, float]:
    """A fleet of small models: bytes per key, seconds per row, bytes per key in a checkpoint."""
    count = keys * rows_per_key
    X, y = rows_of(count, 3)
    names = np.random.default_rng(4).permutation(np.repeat(np.arange(keys), rows_per_key))
    fleet = Fleet("budgetron", memory="2GB", classes=[0, 1], shared=50, random_state=0)
    fleet.learn(names[:1000], X[:1000], y[:1000])
    seconds, _ = timed(lambda: fleet.learn(names[1000:], X[1000:], y[1000:]))
    saving, data = timed(fleet.to_bytes)
    return {
        "key_bytes": fleet.key_bytes_,
        "row_seconds": seconds / (count - 1000),
        "saved_bytes": len(data) / len(fleet),
        "saving_seconds": saving / len(fleet),
    }


def hottest(power: float, keys: int = 10**9) -> float:
    """The share of rows of the most frequent of so many keys that follow a Zipf law."""
    if power == 0:
        return 1 / keys
    first = np.arange(1.0, 1e6 + 1)
    total = float((first**-power).sum())
    low, high = 1e6 + 0.5, keys + 0.5  # the rest as an integral
    rest = np.log(high / low) if power == 1 else (high ** (1 - power) - low ** (1 - power))
    return float(1 / (total + rest / (1 if power == 1 else 1 - power)))


def fullest(power: float, buckets: int, keys: int = 10**9, seed: int = 0) -> float:
    """The load of the fullest bucket over the mean: frequent keys are assigned at random."""
    rng = np.random.default_rng(seed)
    ranks = np.arange(1.0, min(keys, 10**6) + 1)
    shares = ranks**-power if power else np.full(len(ranks), 1.0)
    top = hottest(power, keys) * shares if power else shares / keys
    load = np.bincount(rng.integers(0, buckets, len(top)), weights=top, minlength=buckets)
    rest = max(0.0, 1.0 - float(top.sum()))  # rare keys are spread evenly
    return float((load + rest / buckets).max() * buckets)


def main() -> None:
    """Print the tables of docs/results/engines.md."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer rows")
    quick = parser.parse_args().quick
    rows = 2000 if quick else 6000
    found = [costs_of(budget, rows) for budget in ((50,) if quick else (50, 100, 200))]
    print("| budget | rows/s per core | merge of 2, ms | delta more, ms | base, kB | delta, kB |")
    print("|---:|---:|---:|---:|---:|---:|")
    for each in found:
        both = 1e3 * (each.merge + 2 * each.more)
        sizes = f"{1e3 * each.more:.2f} | {each.base / 1e3:.0f} | {each.delta / 1e3:.0f}"
        print(f"| {each.budget} | {1 / each.row:,.0f} | {both:.1f} | {sizes} |")
    print("\n| budget | workers | rows of the round | predicted, s | measured, s |")
    print("|---:|---:|---:|---:|---:|")
    for each in found:
        for workers in (1, 2):
            count = 2 * rows
            said = predicted(each, count, workers, spread=0.0)
            expected = said[0] - said[3]  # threads send nothing
            seen = checked(each.budget, count, workers)
            print(f"| {each.budget} | {workers} | {count:,} | {expected:.3f} | {seen:.3f} |")
    print("\n| budget | workers | rows/s | learning | merging | sending |")
    print("|---:|---:|---:|---:|---:|---:|")
    for each in found:
        for workers in (1, 2, 4, 8, 32, 128, 512):
            total, *parts = predicted(each, every(each.budget), workers)
            shares = " | ".join(f"{part / total:.0%}" for part in parts)
            print(f"| {each.budget} | {workers} | {every(each.budget) / total:,.0f} | {shares} |")
    print("\n| budget | workers | rows from merge to merge | seconds | rows/s |")
    print("|---:|---:|---:|---:|---:|")
    for each in found:
        for workers in (8, 32, 128, 512, 2048):
            _, learning, merging, sending = predicted(each, every(each.budget), workers)
            needed = every(each.budget) * 9 * (merging + sending) / learning
            total = 10 * (merging + sending)
            rate = f"{needed:,.0f} | {total:.2f} | {needed / total:,.0f}"
            print(f"| {each.budget} | {workers} | {rate} |")
    keys = 2000 if quick else 20_000
    fleet = fleet_costs(keys, 8)
    print(f"\nfleet: {fleet['key_bytes']:,.0f} bytes per key in memory, ", end="")
    print(f"{1 / fleet['row_seconds']:,.0f} rows/s per core, ", end="")
    print(f"{fleet['saved_bytes']:,.0f} bytes per key in a checkpoint, ", end="")
    print(f"{1 / fleet['saving_seconds']:,.0f} keys/s written")
    memory, saved = 1e9 * fleet["key_bytes"], 1e9 * fleet["saved_bytes"]
    cores = 1e7 * fleet["row_seconds"]
    machines = max(memory / MEMORY, cores / CORES)
    print(f"10^9 keys: {memory / 1e12:.2f} TB in memory, {saved / 1e12:.2f} TB per checkpoint")
    print(f"10^7 rows/s: {cores:,.0f} cores; machines: {machines:,.0f} ", end="")
    print(f"({memory / MEMORY:,.0f} by memory, {cores / CORES:,.0f} by cores)")
    writing = max(saved / machines / DISK, 1e9 * fleet["saving_seconds"] / machines / CORES)
    print(f"a checkpoint of all takes each machine {writing:,.0f} s")
    buckets = int(np.ceil(cores))
    print("\n| Zipf power | rows/s of the hottest key at 10^7 | fullest bucket, of the mean |")
    print("|---:|---:|---:|")
    for power in (0.0, 0.8, 1.0, 1.2):
        share = hottest(power)
        print(f"| {power} | {1e7 * share:,.0f} | {fullest(power, buckets):.1f} |")


if __name__ == "__main__":
    main()
