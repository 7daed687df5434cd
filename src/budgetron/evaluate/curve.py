"""A curve over a stream of any length, in fixed memory: sums at evenly spaced points."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from budgetron.errors import BudgetronError
from budgetron.evaluate.metrics import packed, unpacked

POINTS = 512  # at most; once there were so many, at least half as many
FIRST_STEP = 16


class Point(NamedTuple):
    """Sums over the rows so far.

    Attributes
    ----------
    rows : number of rows
    scored : number of rows that count
    loss : mistakes, or squared errors
    guess : the same for the simplest baseline: the most frequent class, or the mean
    """

    rows: float
    scored: float
    loss: float
    guess: float


P = TypeVar("P", bound=tuple[float, ...])


class Curve(Generic[P]):
    """Points along a stream, each a fixed number of rows after the one before.

    When there are too many, every second one is dropped, so that a stream of any length has about
    the same number. The chunk size has no effect.

    Parameters
    ----------
    kind : type of the points, a named tuple of numbers; the first is `rows`

    Examples
    --------
    >>> curve = Curve(Point)
    >>> for rows in range(1, 101):
    ...     if rows == curve.next:
    ...         curve.add(Point(rows, rows, 0.0, 0.0))
    >>> [int(point.rows) for point in curve.points]
    [16, 32, 48, 64, 80, 96]
    """

    def __init__(self, kind: type[P]) -> None:
        self._kind: Any = kind
        self.step = FIRST_STEP
        self.points: list[P] = []

    @property
    def next(self) -> int:
        """The row after which the next point is due."""
        return self.step * (len(self.points) + 1)

    def add(self, point: P) -> None:
        """Add the point that is due."""
        self.points.append(point)
        if len(self.points) == POINTS:
            self.points = self.points[1::2]
            self.step *= 2

    def state(self) -> dict[str, Any]:
        """The state for `restore`, as JSON."""
        return {"step": self.step, "points": packed(np.array(self.points, np.float64))}

    def restore(self, state: dict[str, Any], rows: int) -> None:
        """Continue from a state that was written after so many rows; BudgetronError for others."""
        step = state["step"]
        numbers = unpacked(state["points"], np.dtype(np.float64))
        if type(step) is not int or step < 1 or len(numbers) % len(self._kind._fields):
            raise BudgetronError("the curve is not whole")
        width = len(self._kind._fields)
        points: list[P] = [self._kind(*each) for each in numbers.reshape(-1, width).tolist()]
        due = [step * (number + 1) for number in range(rows // step)]
        if len(points) >= POINTS or [point[0] for point in points] != due:
            raise BudgetronError("the curve is of other rows")
        self.step, self.points = step, points
