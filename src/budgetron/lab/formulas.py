"""Settings that depend on the stream: numbers and formulas of a table's file.

A parameter's value is a number or a formula of T, the number of rows learned, or p, the number of
examples that the Perceptron stores on the same stream: "T", "8/T^2", "100/sqrt(T)", "p/4"; "none"
is None, which TOML lacks.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from budgetron.errors import BudgetronError

_FORMULA = re.compile(r"(?P<top>[\d.e+-]+|T|p)(?:/(?P<bottom>sqrt\(T\)|T\^2|T|[\d.]+))?")


def value(formula: Any, T: int, p: int | None = None) -> Any:
    """The value of a parameter's formula; other values stay as they are.

    Examples
    --------
    >>> value("100/sqrt(T)", T=400), value("p/4", T=400, p=99), value("aggressive", T=400)
    (5.0, 24, 'aggressive')
    """
    if formula == "none":
        return None
    match = _FORMULA.fullmatch(formula) if isinstance(formula, str) else None
    if match is None:
        return formula
    top, bottom = match["top"], match["bottom"]
    if top == "p" and p is None:
        raise BudgetronError(f"{formula!r} needs the Perceptron's number of examples")
    divisor = {None: 1.0, "sqrt(T)": math.sqrt(T), "T^2": float(T) ** 2, "T": float(T)}
    below = divisor[bottom] if bottom in divisor else float(bottom)
    if top in ("T", "p"):
        return int((T if top == "T" else p or 0) / below)
    return float(top) / below


def needs_p(params: Mapping[str, Any]) -> bool:
    """Whether one of the formulas uses p."""
    return any(isinstance(v, str) and re.fullmatch(r"p(/[\d.]+)?", v) for v in params.values())
