"""The area under the ROC curve: exact for rows in memory, binned for a stream in fixed memory.

The AUC is the probability that a row of the positive class scores above one of the other, ties
counted half. A stream's scores cannot be kept, and their range is not known beforehand. They are
counted in bins that need no range: the leading 16 bits of the float32, which are its sign, exponent
and 7 bits of mantissa, in the order of the numbers. Two scores are in one bin only if they differ
by less than 1 part in 128. Such pairs count as ties, so the error of the binned AUC is at most half
their share, which `binned_auc` returns beside it. Every checkpoint reads all bins, so only used
bins are numbered and kept.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from budgetron.errors import BudgetronError

Floats = NDArray[np.float64]

BINS = 1 << 16


def bins(scores: Floats) -> NDArray[np.uint32]:
    """The bin of every score: larger scores never have a lower bin."""
    with np.errstate(over="ignore"):
        bits = (scores + 0.0).astype(np.float32).view(np.uint32)  # + 0.0: one zero, not two
    negative = bits >> 31 == 1
    ordered = np.where(negative, ~bits, bits | np.uint32(1 << 31))
    return (ordered >> 16).astype(np.uint32)


class Bins:
    """The used bins, numbered as they first occur: some thousands of all.

    `used` are those already in use, in this order; anything else is a BudgetronError.
    """

    def __init__(self, used: NDArray[np.uint32] | None = None) -> None:
        self._numbers = np.full(BINS, -1, np.int32)
        self.used = np.empty(0, np.uint32) if used is None else used
        if self.used.max(initial=0) >= BINS or len(np.unique(self.used)) < len(self.used):
            raise BudgetronError("the bins of the scores are none")
        self._numbers[self.used] = np.arange(len(self.used))

    def __len__(self) -> int:
        return len(self.used)

    def numbers(self, scores: Floats) -> NDArray[np.int32]:
        """The number of every score's bin; -1 for nan."""
        there = ~np.isnan(scores)
        found = np.full(len(scores), -1, np.int32)
        places = bins(scores[there])
        numbers = self._numbers[places]
        if numbers.min(initial=0) < 0:
            new = np.unique(places[numbers < 0])
            self._numbers[new] = np.arange(len(self), len(self) + len(new))
            self.used = np.append(self.used, new)
            numbers = self._numbers[places]
        found[there] = numbers
        return found

    @property
    def order(self) -> NDArray[np.intp]:
        """The numbers in the order of the scores."""
        return np.argsort(self.used)


def binned_auc(others: Floats, positives: Floats) -> tuple[float, float]:
    """The AUC from weights in bins, and its largest error; nan if a class is missing."""
    pairs = float(others.sum() * positives.sum())
    if pairs == 0:
        return float("nan"), float("nan")
    below = np.cumsum(others) - others
    # Not the BLAS product: its rounding depends on the number of threads.
    tied = float((positives * others).sum())
    return (float((positives * below).sum()) + tied / 2) / pairs, tied / 2 / pairs


def exact_auc(positive: NDArray[np.bool_], scores: Floats) -> float:
    """The AUC of these rows; nan if a class is missing."""
    from scipy.stats import rankdata

    n = int(positive.sum())
    pairs = n * (len(positive) - n)
    if pairs == 0:
        return float("nan")
    ranks = float(rankdata(scores)[positive].sum())
    return (ranks - n * (n + 1) / 2) / pairs
