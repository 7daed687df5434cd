"""Which values parameters may have, by name: stated once for estimators and for parts."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints

from budgetron.parts import LOSSES, REGRESSION_LOSSES, Halve, Part, PegasosUpdate, Project

_POSITIVE = Interval(Real, 0.0, None, closed="neither")
_OR_INFINITE = Interval(Real, 0.0, None, closed="right")
_NOT_NEGATIVE = Interval(Real, 0.0, None, closed="left")
_SIZE = Interval(Integral, 1, 2**31 - 1, closed="both")
# A budget in bytes is text, as "256KB" (sizes.py).
HALVED_BUDGET: list[Any] = [Interval(Integral, 2, 2**31 - 1, closed="both"), str]

RANGES: dict[str, list[Any]] = {
    "C": [_POSITIVE],
    "alpha": [Interval(Real, 0.0, 1.0, closed="right")],
    "budget": [_SIZE, str],
    "clip": [_OR_INFINITE],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "damping": [_NOT_NEGATIVE],
    "degree": [Interval(Integral, 1, 100, closed="both")],
    "epsilon": [Interval(Real, 0.0, 1.0, closed="neither")],
    "gamma": [_POSITIVE],
    "jitter": [_POSITIVE],
    "loss": [StrOptions({part.kind for part in LOSSES})],
    "margin": [_POSITIVE],
    "max_coef": [_OR_INFINITE],
    "norm": [_NOT_NEGATIVE],
    "r": [_POSITIVE],
    "radius": [_OR_INFINITE],
    "regularization": [_NOT_NEGATIVE],
    "replace": [StrOptions({"auto", "never", "always"})],
    "ridge": [_POSITIVE],
    "sampling": [StrOptions({"uniform", "nonuniform"})],
    "shrink": [Interval(Real, 0.0, 1.0, closed="right")],
    "size": [_SIZE],
    "step": [_POSITIVE],
    "tau": [_POSITIVE],
    "threshold": [Interval(Real, 0.0, 1.0, closed="left")],
    "variant": [StrOptions({"I", "II"})],
}


def ranges(*names: str) -> dict[str, list[Any]]:
    """Constraints of these parameters, as scikit-learn's validation reads them."""
    return {name: RANGES[name] for name in names}


# Where regression means something else by a name.
REGRESSION: dict[str, list[Any]] = {
    "epsilon": [_NOT_NEGATIVE],
    "loss": [StrOptions({part.kind for part in REGRESSION_LOSSES})],
}


def regression_ranges(*names: str) -> dict[str, list[Any]]:
    """Constraints of these parameters of a regressor."""
    return {name: REGRESSION.get(name) or RANGES[name] for name in names}


# Where a part is stricter than the name alone.
STRICTER: dict[type[Part], dict[str, list[Any]]] = {
    Halve: {"size": HALVED_BUDGET[:1]},
    # size 0 is no limit, a negative threshold none
    Project: {
        "size": [Interval(Integral, 0, None, closed="left")],
        "threshold": [Interval(Real, None, 1.0, closed="neither")],
    },
    PegasosUpdate: {"regularization": [_POSITIVE]},
}


def check_part(part: Part) -> None:
    """Raise ValueError where a parameter of a part, or of a part inside it, is out of range."""
    params = part.get_params(deep=False)
    inner = {name: value for name, value in params.items() if isinstance(value, Part)}
    allowed = {**RANGES, **STRICTER.get(type(part), {})}
    known = {name: allowed[name] for name in params if name in allowed and name not in inner}
    validate_parameter_constraints(known, params, caller_name=type(part).__name__)
    if "loss" in params and type(params["loss"]) not in LOSSES:
        names = ", ".join(f"{part.__name__}()" for part in LOSSES)
        raise ValueError(f"loss={params['loss']!r} of {type(part).__name__} must be one of {names}")
    for value in inner.values():
        check_part(value)
