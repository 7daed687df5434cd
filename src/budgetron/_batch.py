"""Checked rows to learn, which an estimator passes to the compiled model."""

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
    y : labels; for the compiled model class codes or numbers, float64
    weights : one per row; None for all 1
    record : whether to return the decisions before learning
    unseen : whether the class of the first row is new, so that no prediction was right
    calibrate : False for rows that were learned before: decisions for them are too sure to fit
        probabilities to
    surveyed : whether the first pass of `fit` has seen the rows: what it set stays as it is
    chances : receives the probability of each row's own class before the row was learned; unchanged
        if the class is new or the only one. None: not wanted
    spans : receives two numbers per row, flat: the ends of its interval, or the size of its set of
        classes and whether its own is in it, from before it was learned. None: not wanted
    coverage : coverage of these
    """

    rows: Any
    y: NDArray[Any]
    weights: NDArray[np.float64] | None = None
    record: bool = False
    unseen: bool = False
    calibrate: bool = True
    surveyed: bool = False
    chances: NDArray[np.float64] | None = None
    spans: NDArray[np.float64] | None = None
    coverage: float = 0.9

    def coded(self, targets: NDArray[np.float64], *, unseen: bool) -> Batch:
        """The same rows with class codes for their labels."""
        flags = (self.record, unseen, self.calibrate, self.surveyed, self.chances)
        spans = (self.spans, self.coverage)
        return Batch(
            self.rows, targets, self.weights, *flags, *spans
        )  # `replace` takes three times as long

    def __getitem__(self, rows: NDArray[np.intp] | slice) -> Batch:
        weights = None if self.weights is None else self.weights[rows]
        chances = None if self.chances is None else self.chances[rows]
        spans = None if self.spans is None else self.spans.reshape(-1, 2)[rows].reshape(-1)
        return replace(
            self,
            rows=self.rows[rows],
            y=self.y[rows],
            weights=weights,
            chances=chances,
            spans=spans,
        )
