"""How many bytes a model file may ask for, known before any is taken.

A file of a few hundred bytes can name a budget of two thousand million. What a model takes when it
is built follows from a few numbers of its spec; loading compares it with the size of the file, and
refuses what is out of all proportion unless the caller allows it.
"""

from __future__ import annotations

import os
from typing import Any

from budgetron.engine import Room
from budgetron.parts import Spec
from budgetron.sizes import parse_bytes

ALWAYS = 2**30  # bytes any file may ask for ...
TIMES = 64  # ... and how many times its own size
AT_ONCE = 4096  # the largest budget whose memory is taken as a whole (core/room.hpp)


def allowed_bytes(path: str | os.PathLike[str], most: int | str | None) -> int:
    """The bytes that a model out of this file may take; `most` is what the caller says."""
    if most is None:
        return max(ALWAYS, TIMES * os.path.getsize(path))
    return parse_bytes(most, "max_bytes") if isinstance(most, str) else int(most)


def least_bytes(spec: Spec, outputs: int, itemsize: int, room: Room) -> int:
    """What a native model of this spec takes at least, once it is built and has learned a row."""
    size = _largest(spec, ("size", "budget"))
    rank, frequencies = _largest(spec, ("rank",)), _largest(spec, ("n_components",))
    if size > AT_ONCE and not room.slots:  # then memory follows what is stored
        size, rank = 0, 0
    taken = 8 * (size * (outputs + 1) + rank * size + 2 * frequencies * outputs)
    examples = size + _largest(spec, ("window",)) + frequencies
    taken += itemsize * (examples * room.slots + 2 * room.warmup_values)
    return max(taken, room.limit)


def _largest(spec: Any, names: tuple[str, ...]) -> int:
    """The largest whole number of one of these names in the spec and its parts; 0 for none."""
    if not isinstance(spec, dict):
        return 0
    largest = max((_largest(part, names) for part in spec.values()), default=0)
    for name in names:
        number = spec.get(name)
        largest = max(largest, number) if isinstance(number, int) else largest
    return largest
