"""How many bytes a model file may allocate, checked before allocating.

A file of a few hundred bytes can name a budget of two thousand million. A few numbers of its spec
give the size of the model; loading compares it with the size of the file, and refuses a size out of
proportion unless the caller allows it.
"""

from __future__ import annotations

import os
from math import inf
from typing import Any

from numpy.typing import NDArray

from budgetron._engine import Room
from budgetron.errors import BudgetronError
from budgetron.estimators._base.sizes import parse_bytes
from budgetron.parts import Spec

ALWAYS = 2**30  # bytes that any file may use ...
TIMES = 64  # ... and how many times its own size
AT_ONCE = 4096  # the largest budget whose memory is allocated at once (core/storage/byte_limit.hpp)
Arrays = dict[str, NDArray[Any]]
# Learners that keep a factor of the Gram matrix of all examples, and those that keep the matrix.
_FACTORED = {"project", "project-smallest", "projectron-plus"}
_WITH_GRAM = {"halve", "remove-margin", "pomdr", "greedy"}


def allowed_bytes(size: int, most: int | str | None) -> int:
    """The bytes that a model from a file of this size may use; `most` is the caller's limit.

    Raises BudgetronError if the file itself is too large to be read: above both ALWAYS and the
    caller's limit, or above the memory of the machine.
    """
    if most is None:
        readable = _memory()
        allowed = max(ALWAYS, TIMES * size)
    else:
        allowed = parse_bytes(most, "max_bytes") if isinstance(most, str) else int(most)
        readable = max(ALWAYS, allowed)
    if size > readable:
        raise BudgetronError(f"the file has {size:,} bytes, more than the {readable:,} it may have")
    return allowed


def _memory() -> float:
    """The memory of this machine in bytes, as far as the system says."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return inf


def least_bytes(spec: Spec, outputs: int, itemsize: int, room: Room, arrays: Arrays) -> int:
    """The least size of a native model of this spec with these arrays, after learning a row.

    Memory is allocated for the whole budget, up to AT_ONCE examples: one number per example and
    output, per example and feature of dense rows, and, if a learner keeps one, per pair of
    examples.
    """
    size = _largest(spec, ("size", "budget"))
    rank, frequencies = _largest(spec, ("rank",)), _largest(spec, ("n_components",))
    if size > AT_ONCE and not room.slots:  # then memory follows the number of stored examples
        size = max(
            (len(array) for name, array in arrays.items() if name.endswith("/ids")), default=0
        )
        rank = min(rank, size)
    taken = 8 * (size * (outputs + 1) + rank * size + 2 * frequencies * outputs)
    examples = size + _largest(spec, ("window",))
    taken += itemsize * (examples * max(room.slots, _dense_width(arrays)))
    taken += itemsize * frequencies * max(room.slots, len(arrays.get("learner/features", ())))
    taken += itemsize * 2 * room.warmup_values
    kinds = _kinds(spec)
    pairs = size * (size + 1) // 2
    taken += 8 * pairs * (2 * ("budgetron" in kinds) + bool(kinds & _FACTORED))
    taken += itemsize * pairs * bool(kinds & _WITH_GRAM)
    return max(taken, room.limit)


def _dense_width(arrays: Arrays) -> int:
    """How wide the stored dense examples are."""
    widths = arrays.get("learner/expansion/support/widths")
    return 0 if widths is None else max(0, int(widths.max(initial=0)))


def _kinds(spec: Any) -> set[str]:
    """What the spec and its parts are called, and which variants of it."""
    if not isinstance(spec, dict):
        return set()
    return {str(spec.get("kind")), str(spec.get("variant"))}.union(*map(_kinds, spec.values()))


def _largest(spec: Any, names: tuple[str, ...]) -> int:
    """The largest whole number of one of these names in the spec and its parts; 0 for none."""
    if not isinstance(spec, dict):
        return 0
    largest = max((_largest(part, names) for part in spec.values()), default=0)
    for name in names:
        number = spec.get(name)
        largest = max(largest, number) if isinstance(number, int) else largest
    return largest
