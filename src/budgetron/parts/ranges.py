"""The allowed values of a parameter, given beside its default.

A range is one of the classes here, or a type (`str`), None, or a word of scikit-learn's validation
("boolean"). Nothing here needs scikit-learn until a value is checked.
"""

from __future__ import annotations

from dataclasses import Field, dataclass, field
from numbers import Integral, Real
from typing import Any, Literal, TypeVar

T = TypeVar("T")
LARGEST = 2**31 - 1  # a whole number of the core


@dataclass(frozen=True)
class Numbers:
    """Numbers between `low` and `high`; `closed` says which ends are included; None: no limit."""

    low: float | None = None
    high: float | None = None
    closed: Literal["left", "right", "both", "neither"] = "neither"
    whole: bool = False

    def constraint(self) -> Any:
        """The range as scikit-learn's validation reads it."""
        from sklearn.utils._param_validation import Interval

        return Interval(Integral if self.whole else Real, self.low, self.high, closed=self.closed)


@dataclass(frozen=True, init=False)
class OneOf:
    """One of these words."""

    words: tuple[str, ...]

    def __init__(self, *words: str) -> None:
        object.__setattr__(self, "words", words)

    def constraint(self) -> Any:
        """The range as scikit-learn's validation reads it."""
        from sklearn.utils._param_validation import StrOptions

        # Keys are a set that keeps its order: messages list the words in the given order.
        return StrOptions(dict.fromkeys(self.words).keys())


def whole(least: int, most: int | None = LARGEST) -> Numbers:
    """Whole numbers from `least` to `most`, both included; None is no limit."""
    return Numbers(least, most, "left" if most is None else "both", whole=True)


POSITIVE = Numbers(0.0)
POSITIVE_OR_INFINITE = Numbers(0.0, closed="right")
NOT_NEGATIVE = Numbers(0.0, closed="left")
SIZE = whole(1)
SIZE_OR_NO_LIMIT = whole(0)  # 0 is no limit


def parameter(default: T, *ranges: Any) -> T:
    """A field of a dataclass with its default and its ranges: a value must be in one of them."""
    made: T = field(default=default, metadata={"ranges": ranges})
    return made


def required(*ranges: Any) -> Any:
    """The same without a default."""
    return field(metadata={"ranges": ranges})


def ranges_of(of: Field[Any]) -> tuple[Any, ...]:
    """The ranges of a field; none if it has none."""
    found: tuple[Any, ...] = of.metadata.get("ranges", ())
    return found


def constraints(ranges: tuple[Any, ...]) -> list[Any]:
    """Ranges as scikit-learn's validation reads them."""
    return [each.constraint() if hasattr(each, "constraint") else each for each in ranges]
