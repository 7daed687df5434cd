"""Resident memory of a long run: constant once the model is full.

    python benchmarks/memory.py [--rows 10000000] [--algorithm rbp]

Rows are made, learned and dropped in chunks; the memory is read after each hundred thousand rows.
Prints the growth after the first of these, which is the only number with a bar.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np

from budgetron.catalogue import as_printed

CHUNK, FIRST, WIDTH, BUDGET, GROWTH = 10_000, 100_000, 16, 100, 5.0


def resident() -> float:
    """The resident megabytes of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def long_run(algorithm: str, rows: int) -> list[float]:
    """Megabytes after each `FIRST` rows."""
    random = np.random.default_rng(0)
    model = as_printed(algorithm, budget=BUDGET, gamma=0.1, random_state=0)
    seen = []
    for done in range(CHUNK, rows + 1, CHUNK):
        y = random.integers(0, 2, CHUNK)
        X = random.standard_normal((CHUNK, WIDTH), dtype=np.float32)
        X += np.where(y, 0.5, -0.5).astype(np.float32)[:, None]
        model.prequential(X, y, classes=[0, 1])
        if done % FIRST == 0:
            seen.append(resident())
    assert model.n_seen_ == rows // CHUNK * CHUNK
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description="Resident memory of a long run.")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--algorithm", default="rbp")
    options = parser.parse_args()
    if options.rows < 2 * FIRST:
        parser.error(f"--rows must be at least {2 * FIRST}, not {options.rows}")
    start = time.perf_counter()
    seen = long_run(options.algorithm, options.rows)
    spent = time.perf_counter() - start
    growth = max(seen) - seen[0]
    print(
        f"{options.algorithm}, {options.rows:,} rows in {spent:.0f} s: {seen[0]:.1f} MB after "
        f"{FIRST:,} rows, {max(seen):.1f} MB at the most, {seen[-1]:.1f} MB at the end"
    )
    from measuring import at_most, finish

    what = f"{options.algorithm}, {options.rows:,} rows: growth after {FIRST:,}"
    finish("memory", [at_most(what, GROWTH, growth, "MB")], megabytes=seen)


if __name__ == "__main__":
    main()
