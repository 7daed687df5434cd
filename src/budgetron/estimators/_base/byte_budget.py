"""Budgets in bytes: the largest budget whose whole model fits.

This module does not know what a learner keeps. A native model with a room allocates all the memory
it will ever need when it is made, and reports how much that is. The largest budget is found by
search, making models. It depends only on the parameters, the width, the classes and the dtype.

Sparse rows: the number of distinct features of the stored examples is not known in advance, and
each takes a slot as long as the budget. There is room for `SLOTS_AN_EXAMPLE` times the budget, or
the whole width if that is less, and for as many more as fit. Before a row whose features find no
slot is stored, examples leave until it fits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from budgetron._engine import Room
from budgetron.errors import BudgetronError

SLOTS_AN_EXAMPLE = 64
SLOTS_OF_A_MAP = 256  # if no examples are stored: other features are drawn when they occur
WARM_UP_ROWS = 200
ENOUGH_ROWS = 50  # rows of a warm-up: more rows take at most an eighth of the bytes
_PROBE = 16  # columns come in groups of so many
WARM_UP_SHARE = 4  # a warm-up takes at most a quarter of the bytes


@dataclass(frozen=True)
class Shape:
    """What is known about the rows before the first one.

    Parameters
    ----------
    width : number of features
    itemsize : bytes per number
    sparse : whether they are sparse
    stores : whether the learner stores examples
    share : up to ENOUGH_ROWS rows of a warm-up take at most 1/share of the bytes
    """

    width: int
    itemsize: int
    sparse: bool
    stores: bool
    share: int = WARM_UP_SHARE

    def slots(self, budget: int) -> int:
        """The number of slots for a budget."""
        if not self.sparse:
            return self.width
        return min(self.width, SLOTS_AN_EXAMPLE * budget if self.stores else SLOTS_OF_A_MAP)

    def room(self, limit: int, slots: int) -> Room:
        """A room with so many slots, and a warm-up, whose memory is freed after its rows."""
        values = min(self.width, SLOTS_AN_EXAMPLE) if self.sparse else self.width
        numbers = 0 if values == self.width else 4  # bytes of a feature number, if there are any
        a_row = values * (self.itemsize + numbers) + 64

        def most(share: int, limit_of_rows: int) -> int:  # numbers, and all distances
            def fits(rows: int) -> bool:
                return rows * a_row + 4 * rows * (rows - 1) <= limit // share

            return _most(fits, 2, limit_of_rows)

        rows = most(self.share, ENOUGH_ROWS)
        if rows == ENOUGH_ROWS:
            rows = max(rows, most(2 * WARM_UP_SHARE, WARM_UP_ROWS))
        return Room(limit, slots, rows, rows * values)


def largest(
    limit: int, least: int, most: int, shape: Shape, peak: Callable[[int, Room], int], name: str
) -> tuple[int, Room]:
    """The largest budget whose model takes at most `limit` bytes at its peak, and its room.

    Parameters
    ----------
    limit : bytes
    least, most : limits of the budget
    shape : shape of the rows
    peak : returns the bytes of a model with this budget and room
    name : name of the parameter, for the error

    Raises
    ------
    BudgetronError
        If the smallest budget takes more; the message says how much.
    """

    def bytes_of(budget: int) -> int:
        return peak(budget, shape.room(limit, shape.slots(budget)))

    needed = bytes_of(least)
    if needed > limit:
        raise BudgetronError(
            f"{name}: {limit} bytes are too few for a budget of {least} with {shape.width} "
            f"features: the least that works is about '{_enough(needed, least, shape, peak)}B'"
        )
    budget = _most_within(bytes_of, limit, least, most)
    slots = shape.slots(budget)
    if slots < shape.width:
        slots = _most_within(
            lambda n: peak(budget, shape.room(limit, n)), limit, slots, shape.width
        )
    return budget, shape.room(limit, slots)


def _enough(needed: int, least: int, shape: Shape, peak: Callable[[int, Room], int]) -> int:
    """The smallest limit that works: the warm-up grows with it, up to a quarter."""
    low, high = needed // 2, 2 * needed

    def works(limit: int) -> bool:
        return peak(least, shape.room(limit, shape.slots(least))) <= limit

    while not works(high):
        high *= 2
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if works(middle) else (middle, high)
    return high


def _most_within(cost: Callable[[int], int], limit: int, least: int, most: int) -> int:
    """The largest number from `least`, which fits, to `most` whose cost is within the limit.

    Asking for a cost allocates the memory, so all numbers tried stay below the limit but for the
    last steps. Costs grow at most as the square of the number: if the number at most doubles, the
    slope at most doubles, and is at most three times that of the step before.
    """
    low, paid, slope = least, cost(least), 0.0
    step = min(_PROBE, most - low)
    while step > 0 and (now := cost(low + step)) <= limit:
        slope = max(slope, (now - paid) / step)
        low, paid = low + step, now
        step = min(low, most - low)
        if slope > 0:
            step = min(step, int((limit - paid) / (3 * slope)))
    return _most(lambda number: cost(number) <= limit, low, most)


def _most(holds: Callable[[int], bool], least: int, most: int) -> int:
    """The largest number from `least` to `most` that holds, if smaller ones do; or `least`."""
    step = 1
    low = least
    while low + step <= most and holds(low + step):
        low += step
        step *= 2
    high = min(low + step, most + 1)  # does not hold
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
