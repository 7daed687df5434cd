"""The sums from which metrics are computed; older rows may count less.

With decay a, the row i rows ago has weight a^i; decay 1 counts all rows equally. Rows are added in
whole blocks, so that adding is vectorised and its rounding depends only on the row numbers, never
on the chunk size (metrics.py keeps the rows of an incomplete block).
"""

from __future__ import annotations

from copy import copy
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from budgetron.evaluate.auc import binned_auc

Floats = NDArray[np.float64]

# What is kept of a classified row: codes of its label and of the predicted one (-1: none), the
# margin for the hinge loss, for the AUC the score (nan: none) and the number of its bin (-1: none),
# and the predicted probability of its label (nan: none).
CLASSIFIED = np.dtype(
    [
        ("truth", "i4"),
        ("guess", "i4"),
        ("margin", "f8"),
        ("score", "f8"),
        ("bin", "i4"),
        ("chance", "f8"),
    ]
)
# What is kept of a regression row: its target, the errors of the prediction and of the mean of the
# targets before, and whether it counts.
REGRESSED = np.dtype([("target", "f8"), ("error", "f8"), ("of_mean", "f8"), ("known", "?")])
# A smaller probability counts as this in the log loss, which would be infinite (as scikit-learn).
LEAST_CHANCE = float(np.finfo(np.float64).eps)


class Sums:
    """Weighted sums over rows; subclasses say of what.

    Adding replaces old sums and never writes into them, so that copies can share them.
    """

    dtype: np.dtype[Any]
    numbers: tuple[str, ...]  # attributes that are one number each

    def __init__(self, decay: float = 1.0) -> None:
        self.decay = decay
        self.weight = 0.0

    def fold(self, rows: NDArray[Any]) -> Self:
        """Count the rows; the last one is the newest."""
        self._fold(rows, _weights(self.decay, len(rows)), self.decay ** len(rows))
        return self

    def with_rows(self, rows: NDArray[Any]) -> Self:
        """A copy that also counts these rows."""
        return copy(self).fold(rows)

    def _fold(self, rows: NDArray[Any], weights: Floats, shrink: float) -> None:
        self.weight = self.weight * shrink + float(weights.sum())


class RegressionSums(Sums):
    """Squared and absolute errors, also those of the running mean; the targets' variance.

    Sums that are too large for a float64 are infinite, or NaN where one is subtracted from another.
    """

    dtype = REGRESSED
    numbers = (
        "weight",
        "scored",
        "squared",
        "absolute",
        "mean_squared",
        "mean_absolute",
        "centre",
        "spread",
    )

    def __init__(self, decay: float = 1.0) -> None:
        super().__init__(decay)
        self.scored = 0.0  # weight of the rows that count
        self.squared = 0.0
        self.absolute = 0.0
        self.mean_squared = 0.0
        self.mean_absolute = 0.0
        self.centre = 0.0  # mean target
        self.spread = 0.0  # sum of (target - centre)^2

    def _fold(self, rows: NDArray[Any], weights: Floats, shrink: float) -> None:
        super()._fold(rows, weights, shrink)
        with np.errstate(over="ignore", invalid="ignore"):
            known = rows["known"]
            weights = np.where(known, weights, 0.0)
            errors = np.where(known, np.abs(rows["error"]), 0.0)
            of_mean = np.where(known, np.abs(rows["of_mean"]), 0.0)
            self.squared = self.squared * shrink + float((weights * errors**2).sum())
            self.absolute = self.absolute * shrink + float((weights * errors).sum())
            self.mean_squared = self.mean_squared * shrink + float((weights * of_mean**2).sum())
            self.mean_absolute = self.mean_absolute * shrink + float((weights * of_mean).sum())
            self._spread_out(rows["target"], weights, shrink)

    def _spread_out(self, targets: Floats, weights: Floats, shrink: float) -> None:
        """Combine the variance of more targets with that of those before (Chan et al., 1979)."""
        before, more = self.scored * shrink, float(weights.sum())
        self.scored = before + more
        self.spread *= shrink
        if more == 0.0:
            return
        centre = float((weights * targets).sum()) / more
        inner = float((weights * (targets - centre) ** 2).sum())
        apart = centre - self.centre
        self.centre += apart * (more / self.scored)
        self.spread += inner + apart * apart * (before * more / self.scored)


class ClassificationSums(Sums):
    """Rows per class, hinge and log loss, and scores in bins while there are two classes.

    Attributes
    ----------
    actual, predicted, right : per class the weight of the rows that belong to it, that were
        predicted to, and both
    binned : False if the AUC is computed from the rows themselves
    """

    dtype = CLASSIFIED
    numbers = ("weight", "hinge", "margins", "logs", "chances")

    def __init__(self, decay: float = 1.0, *, binned: bool = True) -> None:
        super().__init__(decay)
        self.binned = binned
        self.actual = self.predicted = self.right = np.zeros(0)
        self.hinge = 0.0
        self.margins = 0.0
        self.logs = 0.0
        self.chances = 0.0
        self.scores = np.zeros((2, 0))  # weights by class and number of the bin

    def grow(self, classes: int) -> None:
        """Extend the arrays for more classes."""
        more = np.zeros(max(classes - len(self.actual), 0))
        if not len(more):
            return
        self.actual = np.append(self.actual, more)
        self.predicted = np.append(self.predicted, more)
        self.right = np.append(self.right, more)
        if classes > 2:
            self.scores = np.zeros((2, 0))

    def auc(self, positive: int, order: NDArray[np.intp]) -> float:
        """Binned, the bins in this order; nan without scores of exactly two classes."""
        weights = wider(self.scores, len(order))[:, order]
        return binned_auc(weights[1 - positive], weights[positive])[0]

    def _fold(self, rows: NDArray[Any], weights: Floats, shrink: float) -> None:
        super()._fold(rows, weights, shrink)
        if not len(rows):
            return
        truth, guess = rows["truth"], rows["guess"]
        self.grow(1 + int(max(truth.max(), guess.max())))
        said, right = guess >= 0, truth == guess
        self.actual = self.actual * shrink + self._by_class(truth, weights)
        self.predicted = self.predicted * shrink + self._by_class(guess[said], weights[said])
        self.right = self.right * shrink + self._by_class(truth[right], weights[right])
        margins = rows["margin"]
        there = ~np.isnan(margins)
        losses = np.where(there, np.maximum(0.0, 1.0 - margins), 0.0)
        self.hinge = self.hinge * shrink + float((weights * losses).sum())
        self.margins = self.margins * shrink + float((weights * there).sum())
        there = ~np.isnan(rows["chance"])
        losses = -np.log(np.maximum(np.where(there, rows["chance"], 1.0), LEAST_CHANCE))
        self.logs = self.logs * shrink + float((weights * losses).sum())
        self.chances = self.chances * shrink + float((weights * there).sum())
        if self.binned and len(self.actual) <= 2:
            self.scores = wider(self.scores, 1 + int(rows["bin"].max())) * shrink
            scored = rows["bin"] >= 0
            cells = truth[scored] * self.scores.shape[1] + rows["bin"][scored]
            np.add.at(self.scores.reshape(-1), cells, weights[scored])

    def _by_class(self, codes: NDArray[np.intc], weights: Floats) -> Floats:
        return np.asarray(np.bincount(codes, weights, len(self.actual)), np.float64)


@lru_cache(maxsize=8)
def _all_weights(decay: float, rows: int) -> Floats:
    return decay ** np.arange(rows - 1.0, -1.0, -1.0)


def _weights(decay: float, rows: int) -> Floats:
    """The last so many rows, the newest last."""
    return _all_weights(decay, 1 << rows.bit_length())[-rows:] if rows else np.empty(0)


def wider(weights: Floats, columns: int) -> Floats:
    """With at least so many columns; new ones are 0."""
    have = weights.shape[1]
    return weights if columns <= have else np.hstack([weights, np.zeros((2, columns - have))])
