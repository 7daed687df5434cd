"""Feature names and their numbers in the core."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from numbers import Number
from typing import Any

from budgetron.errors import BudgetronError

LARGEST = 2**31 - 1  # larger than any feature number: CSR matrices must be able to hold it


class Names(dict[Any, int]):
    """Name -> feature number: a plain dict that the core reads, row by row.

    Numbers count up in the order in which names were first learned; names that came with one row
    are sorted, so that the order of the row's dict does not change the rounding of sums. Or numbers
    are hashes of the names, for learners that draw random numbers per feature: these must not
    depend on when a feature appears. Two names with the same hash are one feature.

    Parameters
    ----------
    hashed : whether numbers are hashes
    most : largest number of names; None: any number
    largest : larger than any feature number
    """

    def __init__(
        self, *, hashed: bool = False, most: int | None = None, largest: int = LARGEST
    ) -> None:
        super().__init__()
        self.hashed = hashed
        self.most = most
        self.largest = largest

    def __reduce__(self) -> Any:
        return _restored, (self.hashed, self.most, dict(self), self.largest)

    def unknown(self, names: Iterable[Any]) -> list[Any]:
        """Those of the names that are unknown."""
        return [name for name in names if name not in self]

    def fresh(self, unknown: list[Any], learning: bool) -> list[int]:
        """Numbers for unknown names; changes nothing.

        Raises
        ------
        BudgetronError
            If they are to be learned and there is no room for them.
        """
        size = len(self)
        if learning and self.most is not None and size + len(unknown) > self.most:
            raise BudgetronError(
                f"feature {unknown[self.most - size]!r} is one more than max_features={self.most}"
            )
        if self.hashed:
            return [hashed(name) % self.largest for name in unknown]
        numbers = dict(zip(_in_order(unknown), range(size, size + len(unknown)), strict=True))
        return [numbers[name] for name in unknown]


def _restored(
    hashed: bool, most: int | None, numbers: dict[Any, int], largest: int = LARGEST
) -> Names:
    names = Names(hashed=hashed, most=most, largest=largest)
    names.update(numbers)
    return names


def _in_order(names: list[Any]) -> list[Any]:
    """The names sorted; names of different types by type, then by their text."""
    try:
        return sorted(names)
    except TypeError:
        return sorted(names, key=lambda name: (type(name).__name__, repr(name)))


def hashed(name: Any) -> int:
    """A number below `LARGEST` that depends only on the name, the same in every process.

    Names that are equal as keys of a dict have the same number: numbers use Python's own hash,
    which is the same for 1, 1.0 and True and, unlike that of text, the same everywhere.
    """
    if isinstance(name, str):
        text = "s" + name
    elif isinstance(name, Number):
        text = f"n{hash(name)}"
    else:
        text = f"r{name!r}"
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") % LARGEST
