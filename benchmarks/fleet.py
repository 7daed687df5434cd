"""Fleets: how many keys fit, the memory of an idle key, and the cost of a round over random keys.

    python benchmarks/fleet.py [--keys 1000000] [--algorithm forgetron]

Keys of budget 8 and 10 features in float32 within 1 GB, all models full: labels are random, so
every second row is a mistake. A round over random keys is measured beside the same round on one
model, which stays in the cache, in turns; the result is the ratio of medians. Not part of `make
bench`: it takes minutes.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import budgetron

ROWS = 1 << 16
CONTENT = 8 * (10 * 4 + 8)  # bytes of eight examples: values in float32, coefs in float64


def resident() -> int:
    """The resident bytes of this process."""
    with open("/proc/self/status") as status:
        return 1024 * next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def main() -> None:
    """Fill a fleet, then time rounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--algorithm", default="forgetron")
    parser.add_argument("--memory", default="1GB")
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 10)).astype(np.float32)
    settings: dict[str, Any] = {"classes": [0, 1], "shared": None, "gamma": 0.1, "scale": None}
    # So that imports are not timed.
    budgetron.Fleet("rbp", memory="10MB", **settings).learn([0], X[:1], [0])
    before = resident()
    fleet = budgetron.Fleet(arguments.algorithm, memory=arguments.memory, **settings)
    while fleet.info().get("examples", 0) < 0.999 * 8 * arguments.keys:
        order = rng.permutation(arguments.keys)
        for start in range(0, len(order), ROWS):
            keys = order[start : start + ROWS]
            fleet.learn(keys, X[: len(keys)], rng.integers(0, 2, len(keys)))
        told = fleet.info()
        if told["left"]:
            break
    told = fleet.info()
    print(f"{arguments.algorithm}: {told['keys']:,} keys, {told['examples']:,} examples")
    print(
        f"memory {told['bytes'] / 1e6:,.0f} MB of {told['memory'] / 1e6:,.0f} MB, resident ", end=""
    )
    print(f"{(resident() - before) / 1e6:,.0f} MB; examples that had to leave: {told['left']:,}")
    print(
        f"a full key takes {fleet.key_bytes_:.0f} bytes, {fleet.key_bytes_ / CONTENT:.2f} times ",
        end="",
    )
    print(f"the {CONTENT} bytes of its examples")
    one = budgetron.Fleet(arguments.algorithm, memory="10MB", **settings)
    alone = np.zeros(ROWS, dtype=int)
    for _ in range(2):
        one.learn(alone, X, rng.integers(0, 2, ROWS))
    for name in ("learn", "predict"):
        times: dict[str, list[float]] = {"random keys": [], "one key": []}
        for _ in range(15):
            keys, y = rng.integers(0, arguments.keys, ROWS), rng.integers(0, 2, ROWS)
            for what, model, named in (("random keys", fleet, keys), ("one key", one, alone)):
                start = time.perf_counter()
                model.learn(named, X, y) if name == "learn" else model.predict(named, X)
                times[what].append(time.perf_counter() - start)
        mean = {what: float(np.median(found)) / ROWS * 1e9 for what, found in times.items()}
        ratio = mean["random keys"] / mean["one key"]
        print(f"{name}: {mean['random keys']:.0f} ns over random keys, ", end="")
        print(f"{mean['one key']:.0f} ns on one key: {ratio:.2f} times")


if __name__ == "__main__":
    main()
