"""Which rows to have labelled, if labels cost something and only a share of the rows gets one.

A row is asked for if its margin divided by the belief's deviation is below a threshold. The
threshold falls when a row is asked for and rises when none is, so that the given share is kept. A
third of the labels goes to rows at even distances instead: a model that is sure and wrong would
otherwise never find out. All of the first rows are asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetron.errors import BudgetronError

FIRST = 100  # rows that are all asked for
EVEN = 0.35  # share of the labels that goes to rows at even distances
STEP = 0.01  # relative change of the threshold
REPAID = 0.8  # factor of the share while more labels than that were used
LEAST, MOST = 1e-3, 1e3  # limits of the threshold


@dataclass
class Asking:
    """The state of asking after the rows so far.

    Parameters
    ----------
    threshold : rows with a smaller margin over deviation are asked for
    rows : number of rows considered
    asked : number of rows asked for
    due : progress to the next row at even distances, from 0 to 1
    """

    threshold: float = 1.0
    rows: int = 0
    asked: int = 0
    due: float = 0.0

    def choose(self, certain: NDArray[np.float64], share: float) -> NDArray[np.bool_]:
        """Whether to ask for each row, by its margin over its deviation, one after the other."""
        asked = [self.asks(size, share) for size in certain.tolist()]
        return np.array(asked, dtype=bool)

    def asks(self, certain: float, share: float) -> bool:
        """Whether to ask for the next row."""
        self.due += EVEN * share
        room = self.asked < share * self.rows + FIRST
        ask = self.rows < FIRST or self.due >= 1.0 or (room and certain < self.threshold)
        ask = ask or share >= 1.0
        if self.due >= 1.0:
            self.due -= 1.0
        wanted = share if self.asked <= share * self.rows else REPAID * share
        self.rows += 1
        self.asked += ask
        factor = 1.0 + STEP * (wanted - ask)
        self.threshold = min(max(self.threshold * factor, LEAST), MOST)
        return ask


def check_share(share: Any) -> None:
    """Raise BudgetronError if it is not a share of the rows."""
    number = isinstance(share, Real) and not isinstance(share, bool)
    if not number or not 0.0 < float(share) <= 1.0:
        raise BudgetronError(f"share={share!r} must be a number above 0 and at most 1")
