"""Budgets in bytes: the largest budget whose whole model fits.

Nothing here knows what a learner keeps. A native model that is given room takes all the memory it
will ever need when it is made, and says how much that is: so the largest budget is searched for, by
making models. It depends on the parameters, the width, the classes and the dtype alone.

Sparse rows: how many different features the stored examples will have is not known in advance, and
each takes a slot as long as the budget. There is room for `SLOTS_AN_EXAMPLE` times the budget, or
the whole width if that is less, and for as many more as fit. Rows whose features find no slot meet
a full budget.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from budgetron.engine import Room

SLOTS_AN_EXAMPLE = 64
SLOTS_OF_A_MAP = 256  # where no examples are stored: other features are drawn when they occur
WARM_UP_ROWS = 200
WARM_UP_SHARE = 4  # the warm-up takes at most a quarter of the bytes


@dataclass(frozen=True)
class Shape:
    """What is known of the rows before the first.

    Parameters
    ----------
    width : number of features
    itemsize : bytes of a number
    sparse : whether they come sparse
    stores : whether the learner stores examples
    """

    width: int
    itemsize: int
    sparse: bool
    stores: bool

    def slots(self, budget: int) -> int:
        """The slots that go with a budget."""
        if not self.sparse:
            return self.width
        return min(self.width, SLOTS_AN_EXAMPLE * budget if self.stores else SLOTS_OF_A_MAP)

    def room(self, limit: int, slots: int) -> Room:
        """Room for so many slots, and for a warm-up of at most a quarter of the bytes."""
        values = min(self.width, SLOTS_AN_EXAMPLE) if self.sparse else self.width
        a_row = values * (self.itemsize + 4) + 64

        def fits(rows: int) -> bool:  # its numbers, and the distances between all
            return rows * a_row + 4 * rows * (rows - 1) <= limit // WARM_UP_SHARE

        rows = _most(fits, 2, WARM_UP_ROWS)
        return Room(limit, slots, rows, rows * values)


def largest(
    limit: int, least: int, most: int, shape: Shape, peak: Callable[[int, Room], int], name: str
) -> tuple[int, Room]:
    """The largest budget whose model, at its peak, takes at most `limit` bytes, and its room.

    Parameters
    ----------
    limit : bytes
    least, most : what the budget may be
    shape : of the rows
    peak : the bytes of a model with this budget and room
    name : of the parameter, for the error

    Raises
    ------
    ValueError
        If the least budget takes more; it says how much.
    """

    def room(budget: int) -> Room:
        return shape.room(limit, shape.slots(budget))

    def fits(budget: int) -> bool:
        return peak(budget, room(budget)) <= limit

    if not fits(least):
        needed = peak(least, room(least))
        raise ValueError(
            f"{name}: {limit} bytes are too few for a budget of {least} with {shape.width} "
            f"features: the least that works is about '{_enough(needed, least, shape, peak)}B'"
        )
    budget = _most(fits, least, most)
    slots = shape.slots(budget)
    if slots < shape.width:
        slots = _most(lambda n: peak(budget, shape.room(limit, n)) <= limit, slots, shape.width)
    return budget, shape.room(limit, slots)


def _enough(needed: int, least: int, shape: Shape, peak: Callable[[int, Room], int]) -> int:
    """The least limit that works: the warm-up grows with it, up to a quarter."""
    low, high = needed // 2, 2 * needed

    def works(limit: int) -> bool:
        return peak(least, shape.room(limit, shape.slots(least))) <= limit

    while not works(high):
        high *= 2
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if works(middle) else (middle, high)
    return high


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
