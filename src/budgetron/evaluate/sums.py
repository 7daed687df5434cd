"""What metrics are computed from: sums over rows, in which a row may count less the older it is.

With decay a, the row i rows ago has weight a^i; decay 1 counts all rows alike. Rows are folded in
by whole blocks, so that folding is vectorised and its rounding depends on the row numbers alone,
never on how the rows came (metrics.py keeps what does not fill a block yet).
"""

from __future__ import annotations

from copy import copy
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from budgetron.evaluate.auc import binned_auc

Floats = NDArray[np.float64]

# What is kept of a classified row: codes of its label and of the one predicted (-1: none), the
# margin for the hinge loss, and for the AUC the score (nan: the learner gave none) and its bin
# (its number; -1: none).
CLASSIFIED = np.dtype(
    [("truth", "i4"), ("guess", "i4"), ("margin", "f8"), ("score", "f8"), ("bin", "i4")]
)
# What is kept of a regressed row.
REGRESSED = np.dtype([("error", "f8")])


class Sums:
    """Weighted sums over rows; subclasses say of what.

    Folding puts new sums in the place of old ones and writes into none, so that copies share them.
    """

    dtype: np.dtype[Any]

    def __init__(self, decay: float = 1.0) -> None:
        self.decay = decay
        self.weight = 0.0

    def fold(self, rows: NDArray[Any]) -> Self:
        """Count the rows, the last of them as the newest."""
        self._fold(rows, _weights(self.decay, len(rows)), self.decay ** len(rows))
        return self

    def with_rows(self, rows: NDArray[Any]) -> Self:
        """A copy that counts these too."""
        return copy(self).fold(rows)

    def _fold(self, rows: NDArray[Any], weights: Floats, shrink: float) -> None:
        self.weight = self.weight * shrink + float(weights.sum())


class RegressionSums(Sums):
    """Squared and absolute errors."""

    dtype = REGRESSED

    def __init__(self, decay: float = 1.0) -> None:
        super().__init__(decay)
        self.squared = 0.0
        self.absolute = 0.0

    def _fold(self, rows: NDArray[Any], weights: Floats, shrink: float) -> None:
        super()._fold(rows, weights, shrink)
        errors = np.abs(rows["error"])
        self.squared = self.squared * shrink + float((weights * errors**2).sum())
        self.absolute = self.absolute * shrink + float((weights * errors).sum())


class ClassificationSums(Sums):
    """The confusion matrix, the hinge loss, and scores in bins while there are two classes.

    ``confusion[i, j]`` is the weight of rows of class i predicted as j; its last column holds those
    that got no prediction. `binned` is False where the AUC comes from the rows themselves.
    """

    dtype = CLASSIFIED

    def __init__(self, decay: float = 1.0, *, binned: bool = True) -> None:
        super().__init__(decay)
        self.binned = binned
        self.confusion = np.zeros((0, 1))
        self.hinge = 0.0
        self.margins = 0.0
        self.scores = np.zeros((2, 0))  # weights by class and number of the bin

    def grow(self, classes: int) -> None:
        """Make room for more classes."""
        before = len(self.confusion)
        if classes <= before:
            return
        confusion = np.zeros((classes, classes + 1))
        confusion[:before, :before] = self.confusion[:, :-1]
        confusion[:before, -1] = self.confusion[:, -1]
        self.confusion = confusion
        if classes > 2:
            self.scores = np.zeros((2, 0))

    def auc(self, positive: int, order: NDArray[np.intp]) -> float:
        """Binned, the bins in this order; nan without scores of exactly two classes."""
        weights = _wider(self.scores, len(order))[:, order]
        return binned_auc(weights[1 - positive], weights[positive])[0]

    def _fold(self, rows: NDArray[Any], weights: Floats, shrink: float) -> None:
        super()._fold(rows, weights, shrink)
        if not len(rows):
            return
        self.grow(1 + int(max(rows["truth"].max(), rows["guess"].max())))
        classes, columns = self.confusion.shape
        guess = np.where(rows["guess"] < 0, classes, rows["guess"])
        cells = np.bincount(rows["truth"] * columns + guess, weights, self.confusion.size)
        self.confusion = self.confusion * shrink + cells.reshape(classes, columns)
        margins = rows["margin"]
        there = ~np.isnan(margins)
        losses = np.where(there, np.maximum(0.0, 1.0 - margins), 0.0)
        self.hinge = self.hinge * shrink + float((weights * losses).sum())
        self.margins = self.margins * shrink + float((weights * there).sum())
        if self.binned and classes <= 2:
            self.scores = _wider(self.scores, 1 + int(rows["bin"].max())) * shrink
            scored = rows["bin"] >= 0
            cells = rows["truth"][scored] * self.scores.shape[1] + rows["bin"][scored]
            np.add.at(self.scores.reshape(-1), cells, weights[scored])


@lru_cache(maxsize=8)
def _all_weights(decay: float, rows: int) -> Floats:
    return decay ** np.arange(rows - 1.0, -1.0, -1.0)


def _weights(decay: float, rows: int) -> Floats:
    """Of the last so many rows, the newest last."""
    return _all_weights(decay, 1 << rows.bit_length())[-rows:] if rows else np.empty(0)


def _wider(weights: Floats, columns: int) -> Floats:
    """With so many columns at least; what is new is 0."""
    have = weights.shape[1]
    return weights if columns <= have else np.hstack([weights, np.zeros((2, columns - have))])
