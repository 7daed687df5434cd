"""Tensors of the Open Inference Protocol as rows, and answers as tensors.

Inputs are one matrix of numbers, or one tensor per column, by its name; data is flat in row order
or nested. Outputs are `predict`, and for a classifier `probabilities`, whose parameters name the
classes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from budgetron.serve.bodies import Tensor, Wanted
from budgetron.serve.errors import Refused, bad
from budgetron.serve.rows import Reader

NUMBERS = {f"{kind}{bits}" for kind in ("UINT", "INT") for bits in (8, 16, 32, 64)}
NUMBERS |= {"FP16", "FP32", "FP64", "BOOL"}
DATATYPES = (*sorted(NUMBERS), "BYTES")
PREDICT, PROBABILITIES = "predict", "probabilities"


def rows_of(inputs: Sequence[Tensor], reader: Reader, most: int) -> list[Any]:
    """The rows in the tensors, up to a limit: lists of numbers, or objects by column name."""
    if not inputs:
        raise bad("inputs is empty: send a matrix, or one tensor per column")
    if any(each.shape and each.shape[0] > most for each in inputs):
        raise Refused(413, f"a request has at most {most:,} rows")
    if len(inputs) == 1 and (len(inputs[0].shape) == 2 and inputs[0].shape[1] != 1):
        return _matrix(inputs[0])
    if len(inputs) == 1 and inputs[0].name not in reader.columns:
        return _matrix(inputs[0])
    columns = {each.name: _column(each) for each in inputs}
    if len(columns) < len(inputs):
        raise bad("two tensors have the same name")
    if len({len(each) for each in columns.values()}) != 1:
        raise bad("the tensors have different numbers of rows")
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def _values(tensor: Tensor) -> list[Any]:
    """The data of a tensor in row order; as many values as its shape says."""
    if tensor.datatype not in DATATYPES:
        raise bad(f"tensor {tensor.name!r}: unknown datatype {tensor.datatype!r:.20}")
    if not 1 <= len(tensor.shape) <= 2 or any(not 0 <= size < 2**31 for size in tensor.shape):
        raise bad(f"tensor {tensor.name!r}: the shape must have one or two sizes, at least 0")
    values = tensor.data
    for _ in tensor.shape[1:]:
        if values and isinstance(values[0], list):
            if not all(isinstance(each, list) for each in values):
                raise bad(f"tensor {tensor.name!r}: data must be flat, or nested as the shape says")
            values = [value for each in values for value in each]
    if len(values) != math.prod(tensor.shape):
        what = f"the shape has {math.prod(tensor.shape)} values, but data has {len(values)}"
        raise bad(f"tensor {tensor.name!r}: {what}")
    wanted: tuple[type, ...] = (str,) if tensor.datatype == "BYTES" else (int, float, bool)
    if not all(each is None or isinstance(each, wanted) for each in values):
        what = "texts" if tensor.datatype == "BYTES" else "numbers"
        raise bad(f"tensor {tensor.name!r}: {tensor.datatype} holds {what}")
    return values


def _matrix(tensor: Tensor) -> list[Any]:
    values = _values(tensor)
    if len(tensor.shape) != 2 or tensor.datatype == "BYTES":
        raise bad(f"tensor {tensor.name!r}: rows are a matrix of numbers, shape [rows, features]")
    rows, width = tensor.shape
    if not rows:
        raise bad(f"tensor {tensor.name!r} has no rows")
    if not width:
        raise bad(f"tensor {tensor.name!r} has no features")
    return [values[i * width : (i + 1) * width] for i in range(rows)]


def _column(tensor: Tensor) -> list[Any]:
    values = _values(tensor)
    if len(values) != tensor.shape[0]:
        raise bad(f"tensor {tensor.name!r}: a column must have the shape [rows] or [rows, 1]")
    return values


# ---- answers -------------------------------------------------------------------------------------


def datatype_of(classes: Any) -> str:
    """The datatype of labels, a NumPy array."""
    return {"f": "FP64", "i": "INT64", "u": "UINT64", "b": "BOOL"}.get(classes.dtype.kind, "BYTES")


def outputs(
    labels: list[Any], chances: Any, classes: Any, wanted: Sequence[Wanted] | None
) -> list[dict[str, Any]]:
    """The requested output tensors; all if none is requested.

    Parameters
    ----------
    labels : one prediction per row
    chances : probabilities of the classes, (rows, classes); None in regression
    classes : an array; None in regression
    wanted : names of the requested outputs
    """
    there = [PREDICT] if chances is None else [PREDICT, PROBABILITIES]
    names = there if wanted is None else [each.name for each in wanted]
    found: list[dict[str, Any]] = []
    for name in names:
        if name not in there:
            raise bad(f"there is no output {name!r:.60}; the model has {', '.join(there)}")
        if name == PREDICT:
            datatype = "FP64" if classes is None else datatype_of(classes)
            tensor: dict[str, Any] = {
                "name": name,
                "shape": [len(labels)],
                "datatype": datatype,
                "data": labels,
            }
        else:
            flat = np.asarray(chances).ravel().tolist()
            tensor = {"name": name, "shape": [*chances.shape], "datatype": "FP64", "data": flat}
            tensor["parameters"] = {"classes": classes.tolist()}
        found.append(tensor)
    return found
