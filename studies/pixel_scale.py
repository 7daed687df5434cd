"""The scale of the pixels behind Forgetron's table 8.1, which its authors do not state.

    python -m studies.pixel_scale [--sets USPS,MNIST] [--splits 126]

The table's kernel is exp(-||x - x'||^2 / 2) on pixels in [0, s]. One s per set is fitted to the
Perceptron's published error alone, over the first `--splits` of the 126 splits of the digits; all
other columns of the table then test it. The error falls with s, then rises again, so that two
scales give the published number: a wide and a narrow kernel. Each is found by the secant method; a
step costs one pass of the Perceptron per split: a minute in total for USPS, most of an hour for
MNIST.

The column after each fit is one that the fit has not used, the basic Forgetron's error at B = p/4
over every tenth split: it separates the two.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from statistics import fmean

from budgetron.lab.reproduce import Set, data, read
from budgetron.lab.reproduce.protocols import online

STARTS = ((0.15, 0.17), (2.3, 2.5))  # for the wide and the narrow kernel, two start values each
TOLERANCE = 0.01  # points of the error
STEPS = 12  # at most; with few splits the error jumps


def error(data_set: Set, line: int, splits: range, scale: float) -> float:
    """Mean over the splits of a line of the table, in per cent."""
    here = replace(data_set, factor=scale)
    row = data_set.published[line]
    outcomes = (online(row, {}, data.permuted(here, seed), seed) for seed in splits)
    return fmean(outcome.value for outcome in outcomes if outcome.value is not None)


def crossing(f: Callable[[float], float], target: float, a: float, b: float) -> tuple[float, float]:
    """Where f meets the target, and f there: by secants of log f over log scale."""
    fa, fb = f(a), f(b)
    for _ in range(STEPS):
        if abs(fb - target) <= TOLERANCE or fa == fb:
            break
        slope = math.log(fb / fa) / math.log(b / a)
        a, fa, b = b, fb, b * (target / fb) ** (1 / slope)
        fb = f(b)
    return b, fb


def main() -> None:
    parser = argparse.ArgumentParser(description="Fit the scale of the digits' pixels.")
    parser.add_argument("--sets", default="USPS,MNIST")
    parser.add_argument("--splits", type=int, default=126)
    options = parser.parse_args()
    if options.splits < 1:
        parser.error("--splits must be at least 1")
    print("| set | Perceptron | scale | fitted | F (basic), p/4 | published |")
    print("|---|---|---|---|---|---|")
    for data_set in read("forgetron_table8").sets:
        if data_set.name not in options.sets.split(","):
            continue
        splits, few = range(options.splits), range(0, options.splits, 10)
        perceptron, basic = data_set.published[:2]
        target = perceptron.mean or math.nan
        perceptrons = partial(error, data_set, 0, splits)
        for start in STARTS:
            scale, fitted = crossing(perceptrons, target, *start)
            cells = (
                data_set.name,
                f"{target:.2f}",
                f"{scale:.4f}",
                f"{fitted:.2f}",
                f"{error(data_set, 1, few, scale):.2f}",
                f"{basic.mean:.2f}",
            )
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
