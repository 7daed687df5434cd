"""Parameters and labels as JSON, exactly and without trust.

A float keeps every bit (JSON's shortest text reads back as the same number; infinities have names),
a part is its class and its parameters, labels keep their type. Reading makes only these.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetron import parts
from budgetron.errors import BudgetronError
from budgetron.parts import Part

PARTS: dict[str, type[Part]] = {
    part.__name__: part
    for part in (
        *parts.KERNELS,
        *parts.LOSSES,
        *parts.REGRESSION_LOSSES,
        *parts.UPDATES,
        *parts.BUDGETS,
    )
}
# Label types by their name in a file: text as text, Python objects as such.
NUMBERS = ("bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))
FLOATS = ("float16", "float32", "float64")


def encode(value: Any) -> Any:
    """A parameter's value as JSON; TypeError if it cannot be written."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Part):
        inner = {name: encode(each) for name, each in value.get_params(deep=False).items()}
        return {"part": type(value).__name__, "params": inner}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):  # weights by label
        return {"dict": [[encode(key), encode(inner)] for key, inner in value.items()]}
    raise TypeError(f"{type(value).__name__} cannot be written")


def decode(value: Any) -> Any:
    """The value that `encode` wrote; raises BudgetronError for anything else."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict) and value.keys() == {"float"} and value["float"] in ("inf", "-inf"):
        return float(value["float"])
    if isinstance(value, dict) and value.keys() == {"dict"}:
        return {decode(key): float(decode(inner)) for key, inner in value["dict"]}
    if isinstance(value, dict) and value.keys() == {"part", "params"}:
        part, params = PARTS.get(value["part"]), value["params"]
        if part is not None and isinstance(params, dict):
            return part(**{name: decode(inner) for name, inner in params.items()})
    raise BudgetronError("a parameter has a value of an unknown kind")


def encode_labels(labels: NDArray[Any]) -> dict[str, Any]:
    """Labels of type str, bool, int or float, with their type; TypeError for others."""
    values = labels.tolist()
    name = labels.dtype.name
    if labels.dtype.kind == "U":
        name = "str"
    elif labels.dtype == object:
        kinds = {type(value) for value in values}
        if len(kinds) > 1 or not kinds <= {str, bool, int, float}:
            raise TypeError(f"labels are {' and '.join(sorted(kind.__name__ for kind in kinds))}")
    elif name not in NUMBERS + FLOATS:
        raise TypeError(f"labels are {name}")
    return {"type": name, "values": values}


def decode_labels(written: Any) -> NDArray[Any]:
    """The labels that `encode_labels` wrote; raises BudgetronError for anything else."""
    if not isinstance(written, dict) or written.keys() != {"type", "values"}:
        raise BudgetronError("labels have no type")
    name, values = written["type"], written["values"]
    kinds = {type(value) for value in values} if isinstance(values, list) else {list}
    if name == "str" and kinds <= {str}:
        return np.array(values, dtype=str)
    if name == "object" and len(kinds) <= 1 and kinds <= {str, bool, int, float}:
        labels = np.empty(len(values), dtype=object)
        labels[:] = values
        return labels
    wanted = {bool} if name == "bool" else {float} if name in FLOATS else {int}
    if name in NUMBERS + FLOATS and kinds <= wanted:
        return np.array(values, dtype=name)
    raise BudgetronError("labels are not of their type")
