"""The kernel's gamma as text: "auto", "median", a multiple of it as "4*median", or "race"."""

from __future__ import annotations

import math
import re
from typing import Any

from sklearn.utils._param_validation import StrOptions

RACE = "race"  # the median's gamma, 4 times and 16 times it: the best one stays

_MULTIPLE = re.compile(r"(?:(?P<factor>[^*]*)\*)?\s*median\s*")


def median_factor(gamma: Any) -> float | None:
    """The multiple of the median rule's gamma that a text means; None if it is no such text.

    Examples
    --------
    >>> median_factor("median"), median_factor("4*median"), median_factor("0.25 * median")
    (1.0, 4.0, 0.25)
    >>> [median_factor(other) for other in (0.5, "auto", "-1*median", "some*median")]
    [None, None, None, None]
    """
    if isinstance(gamma, str) and gamma == RACE:
        return 1.0
    match = _MULTIPLE.fullmatch(gamma) if isinstance(gamma, str) else None
    if match is None:
        return None
    try:
        factor = 1.0 if match["factor"] is None else float(match["factor"])
    except ValueError:
        return None
    return factor if math.isfinite(factor) and factor > 0.0 else None


class _Words(StrOptions):  # type: ignore[misc]
    """For scikit-learn's validation, which knows only its own ranges."""

    def is_satisfied_by(self, val: Any) -> bool:
        if super().is_satisfied_by(val):
            return True
        return val != RACE and median_factor(val) is not None

    def __str__(self) -> str:
        return f"{super().__str__()} or a multiple as '4*median'"


class WidthText:
    """The range of such texts; "race" is allowed if learners can race."""

    def __init__(self, *, races: bool = False) -> None:
        self.races = races

    def constraint(self) -> Any:
        """The range as scikit-learn's validation reads it."""
        words = ("median", "auto", RACE) if self.races else ("median", "auto")
        return _Words(dict.fromkeys(words).keys())
