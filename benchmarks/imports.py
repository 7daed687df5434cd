"""How long imports take: `budgetron` alone, and an estimator beyond scikit-learn's own import.

Measures the processor time of fresh processes, in turns, the best of several: the cost of the code,
also on a busy machine; the first run of a day also pays for the disk. Exits with 1 if a bar is
missed.
"""

from __future__ import annotations

import subprocess
import sys
from argparse import ArgumentParser

# What is imported, and its bar in seconds; None: the reference for the next one.
SKLEARN = "import sklearn.base, sklearn.utils.validation, sklearn.utils.multiclass, scipy.sparse"
LINES = {
    "budgetron": ("import budgetron", 0.5),
    "scikit-learn": (SKLEARN, None),
    "an estimator": ("from budgetron import AhpatronClassifier", None),
}
OVER = 0.2  # an estimator over scikit-learn


def seconds(statement: str) -> float:
    """The seconds of a fresh process."""
    clock = "time.process_time()"
    timed = f"import time; start = {clock}; {statement}; print({clock} - start)"
    run = subprocess.run([sys.executable, "-c", timed], capture_output=True, text=True, check=True)
    return float(run.stdout)


def main() -> int:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    found = {name: float("inf") for name in LINES}
    for _ in range(repeats):
        for name, (statement, _bar) in LINES.items():
            found[name] = min(found[name], seconds(statement))
    missed = 0
    for name, taken in found.items():
        bar = LINES[name][1]
        print(f"import {name:14} {taken:6.3f} s" + (f" (expected below {bar} s)" if bar else ""))
        missed += bar is not None and taken >= bar
    over = found["an estimator"] - found["scikit-learn"]
    print(f"the estimator over scikit-learn {over:+.3f} s (expected at most {OVER} s)")
    return int(missed > 0 or over > OVER)


if __name__ == "__main__":
    sys.exit(main())
