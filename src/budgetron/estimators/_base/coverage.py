"""The share of targets that intervals or sets should hold."""

from __future__ import annotations

from numbers import Real
from typing import Any

from budgetron.errors import BudgetronError

LEAST, MOST = 0.01, 0.995  # outside, no quantile of the errors is kept (core/model/intervals.hpp)


def check_coverage(coverage: Any) -> None:
    """Raise BudgetronError if it is not a possible coverage."""
    number = isinstance(coverage, Real) and not isinstance(coverage, bool)
    if not number or not LEAST <= float(coverage) <= MOST:
        raise BudgetronError(f"coverage={coverage!r} must be a number from {LEAST} to {MOST}")
