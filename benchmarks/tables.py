"""How fast tables are read and encoded, against the readers of pyarrow and pandas, in one run.

A CSV of numbers, made here from a seed, is read by pyarrow's own reader on one thread, and by a
stream with inferred columns. The census table (`census_income.csv.xz`, if it is there) is read by
pandas, and is read, encoded and learned in one pass. The best of several rounds, taken in turns, in
processor time, which other programs do not affect.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pyarrow.csv
from measuring import at_most, finish

from budgetron import BudgetronClassifier, datasets
from budgetron.streams import open_stream

ROUNDS = 3
ROWS, COLUMNS = 200_000, 20


def main() -> None:
    """Print seconds and ratios; exit code 1 if a ratio is above its bar."""
    bars = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "numbers.csv"
        random = np.random.default_rng(0)
        names = [f"c{j}" for j in range(COLUMNS)]
        frame = pandas.DataFrame(random.normal(size=(ROWS, COLUMNS)).round(4), columns=names)
        frame["label"] = random.integers(0, 2, ROWS)
        frame.to_csv(path, index=False)
        ours, theirs = race(lambda: encoded(path, "label"), lambda: by_pyarrow(path))
        print(f"numbers, {ROWS:,} x {COLUMNS}: pyarrow.csv {theirs:.2f} s, encoded {ours:.2f} s")
        bars.append(at_most("CSV of numbers / pyarrow.csv", 1.5, ours / theirs))
    try:
        [(census, known)] = datasets.sources("census-income")
    except datasets.DataError as error:
        print(f"census: not measured: {error}")
    else:
        ours, theirs = race(lambda: learned(census, known.label), lambda: pandas.read_csv(census))
        print(f"census: pandas.read_csv {theirs:.2f} s, encoded and learned {ours:.2f} s")
        bars.append(at_most("census in one pass / pandas.read_csv", 3.0, ours / theirs))
    finish("tables", bars)


def race(*calls: Callable[[], Any]) -> list[float]:
    """Processor seconds of each, the best of several rounds in turns."""
    best = [float("inf")] * len(calls)
    for _ in range(ROUNDS):
        for i, call in enumerate(calls):
            start = time.process_time()
            call()
            best[i] = min(best[i], time.process_time() - start)
    return best


def by_pyarrow(path: Path) -> None:
    options = pyarrow.csv.ReadOptions(use_threads=False)
    pyarrow.csv.read_csv(path, options)


def encoded(path: Any, label: str) -> None:
    with open_stream(path, label=label) as stream:
        for _ in stream:
            pass


def learned(path: Any, label: Any) -> None:
    model = BudgetronClassifier(budget=100, scale="auto", gamma="median")
    with open_stream(path, label=label) as stream:
        for X, y in stream:
            model.partial_fit(X, y, classes=["- 50000.", "50000+."])


if __name__ == "__main__":
    main()
