"""The kernel's gamma as text: "auto", "median", or a multiple of the median's as "4*median"."""

from __future__ import annotations

import math
import re
from typing import Any

from sklearn.utils._param_validation import StrOptions

_MULTIPLE = re.compile(r"(?:(?P<factor>[^*]*)\*)?\s*median\s*")


def median_factor(gamma: Any) -> float | None:
    """How many times the gamma of the median rule a value stands for; None if it is no such text.

    Examples
    --------
    >>> median_factor("median"), median_factor("4*median"), median_factor("0.25 * median")
    (1.0, 4.0, 0.25)
    >>> [median_factor(other) for other in (0.5, "auto", "-1*median", "some*median")]
    [None, None, None, None]
    """
    match = _MULTIPLE.fullmatch(gamma) if isinstance(gamma, str) else None
    if match is None:
        return None
    try:
        factor = 1.0 if match["factor"] is None else float(match["factor"])
    except ValueError:
        return None
    return factor if math.isfinite(factor) and factor > 0.0 else None


class _Words(StrOptions):  # type: ignore[misc]
    """As scikit-learn's validation reads it, which knows no range beside its own."""

    def is_satisfied_by(self, val: Any) -> bool:
        return super().is_satisfied_by(val) or median_factor(val) is not None

    def __str__(self) -> str:
        return f"{super().__str__()} or a multiple as '4*median'"


class WidthText:
    """The range of such texts."""

    def constraint(self) -> Any:
        """The range as scikit-learn's validation reads it."""
        return _Words(dict.fromkeys(("median", "auto")).keys())
