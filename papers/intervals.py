"""Intervals and sets that contain the target in the requested share of rows, in plain NumPy.

`ScoreQuantiles` follows quantiles of scores online (Gibbs & Candes 2021, "Adaptive Conformal
Inference Under Distribution Shift"); `Intervals` and `Sets` define the scores. The compiled form is
`core/model/intervals.hpp`; its head comment has the formulas.
"""

from __future__ import annotations

from typing import Any

import numpy as np

LEVELS = np.array([0.1, 0.25, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.975, 0.99, 0.995])
STEPS = np.array([0.01] * 8 + [0.0141, 0.02, 0.0316, 0.0447])
NORMAL = np.array(
    [0.158, 0.399, 0.845, 1.055, 1.299, 1.606, 1.804, 2.062, 2.456, 2.809, 3.228, 3.518]
)


class ScoreQuantiles:
    """Quantiles of scores: positive scores with multiplicative steps, others with additive ones."""

    def __init__(self, factors: bool) -> None:
        self.factors = factors
        self.rows = 0
        self.values = NORMAL.copy() if factors else np.zeros(len(LEVELS))

    def count(self, score: float) -> None:
        self.rows += 1
        steps = np.maximum(STEPS, min(0.2, 4.0 / self.rows))
        if self.factors:
            self.values *= 1.0 + steps * ((score > self.values) - (1.0 - LEVELS))
        else:
            self.values -= steps * ((score < self.values) - (1.0 - LEVELS))

    def at(self, level: float) -> float:
        """Linear in -log(1 - level) between the levels; multiplicative ones start at 0."""
        if self.factors:
            known = np.maximum.accumulate(np.append(0.0, self.values))
        else:
            known = np.minimum.accumulate(np.append(self.values[0], self.values))
        return float(np.interp(-np.log1p(-level), -np.log1p(-np.append(0.0, LEVELS)), known))


def too_few(rows: int, coverage: float) -> bool:
    """Whether there are too few rows for a statement: fewer than coverage/(1 - coverage)."""
    return rows * (1.0 - coverage) < coverage


class Intervals:
    """f(x) +- q s(x); here s is the recent size of errors, without `local` and the belief."""

    def __init__(self) -> None:
        self.rows = 0
        self.run = 0.0
        self.quantiles = ScoreQuantiles(factors=True)

    def half(self, coverage: float) -> float:
        return np.inf if too_few(self.rows, coverage) else self.quantiles.at(coverage) * self.run

    def count(self, error: float) -> None:
        """Count the |error| of a row, before it is learned."""
        self.rows += 1
        if self.rows == 1:
            return  # before the first target nothing can be predicted
        if self.rows > 2:
            score = error / self.run if self.run > 0 else (1e150 if error > 0 else 0.0)
            self.quantiles.count(score)
        most = 10.0 * self.run if self.run > 0 else error
        self.run += (min(error, most) - self.run) / min(self.rows - 1, 100)


class Sets:
    """The classes whose margin is at least t, and the predicted class."""

    def __init__(self) -> None:
        self.rows = 0
        self.size = 0.0
        self.quantiles = ScoreQuantiles(factors=False)

    def members(self, outputs: Any, coverage: float) -> Any:
        """Whether each class is in the set, from its outputs: (-f, f)/2 for two classes."""
        few = too_few(self.rows, coverage)
        least = -np.inf if few else self.size * self.quantiles.at(coverage)
        margins = np.array([margin(outputs, code) for code in range(len(outputs))])
        return (margins >= least) | (margins > 0) | (np.arange(len(outputs)) == best(outputs))

    def count(self, outputs: Any, code: int) -> None:
        """Count a decision on a row of this class, before it is learned."""
        score = margin(outputs, code)
        self.rows += 1
        if self.size > 0:
            self.quantiles.count(score / self.size)
        most = 10.0 * self.size if self.size > 0 else abs(score)
        self.size += (min(abs(score), most) - self.size) / min(self.rows, 100)


def margin(outputs: Any, code: int) -> float:
    """The output of a class minus the best other one."""
    return float(outputs[code] - np.delete(outputs, code).max())


def best(outputs: Any) -> int:
    """The predicted class; if outputs are equal, the second of two classes, else the first."""
    if len(outputs) == 2:
        return int(outputs[1] >= outputs[0])
    return int(np.argmax(outputs))
