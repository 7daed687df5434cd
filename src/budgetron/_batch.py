"""Rows to learn, all of them checked: what an estimator hands to the compiled model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(eq=False, slots=True)
class Batch:
    """Rows with labels and weights; the estimator has checked all of them.

    The compiled model reads it by the names of its fields (bindings/python_batch.hpp) and copies
    nothing.

    Parameters
    ----------
    rows : C-ordered array or `SparseRows`, of the model's dtype
    y : labels; when the compiled model reads them, class codes or numbers, float64
    weights : one per row; None for all 1
    record : whether the decisions before learning are wanted
    unseen : whether the class of the first row has just joined, so that no prediction was right
    calibrate : False for rows that were learned before: decisions on them are too sure to fit
        probabilities to
    surveyed : whether the first pass of `fit` has seen the rows: what it settled stays as it is
    chances : takes the probability that each row's own class had before the row was learned; left
        as it is where its class has just joined or is the only one. None: not wanted
    """

    rows: Any
    y: NDArray[Any]
    weights: NDArray[np.float64] | None = None
    record: bool = False
    unseen: bool = False
    calibrate: bool = True
    surveyed: bool = False
    chances: NDArray[np.float64] | None = None

    def coded(self, targets: NDArray[np.float64], *, unseen: bool) -> Batch:
        """The same rows with class codes for their labels."""
        flags = (self.record, unseen, self.calibrate, self.surveyed, self.chances)
        return Batch(self.rows, targets, self.weights, *flags)  # a third of what `replace` takes

    def __getitem__(self, rows: NDArray[np.intp] | slice) -> Batch:
        weights = None if self.weights is None else self.weights[rows]
        chances = None if self.chances is None else self.chances[rows]
        return replace(self, rows=self.rows[rows], y=self.y[rows], weights=weights, chances=chances)
