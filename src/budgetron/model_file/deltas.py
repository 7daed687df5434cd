"""Deltas of workers as files: like model files, with their own document.

The document has what the header should show: the base's digest, the workers, how many rows they
have learned, the classes. The arrays are those of the delta. All is checked before it is used:
names and types here, sizes against the base when it is merged, and by the compiled model.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from budgetron.errors import BudgetronError
from budgetron.merging import Delta
from budgetron.model_file.limits import Arrays
from budgetron.model_file.values import decode_labels, encode_labels

FORMAT = "delta 1"  # not a number: an earlier version must not take it for a model
KINDS = ("belief", "example", "gaps", "largest", "last", "mean", "sum", "units", "window")
MOST = 2**62


def describe_delta(delta: Delta) -> tuple[dict[str, Any], Arrays]:
    """The document of a delta, and its arrays."""
    arrays = {name: np.ascontiguousarray(array) for name, array in delta.arrays.items()}
    document = {
        "delta": {
            "base": delta.base,
            "workers": list(delta.workers),
            "rows": delta.rows,
            "estimator": delta.estimator,
            "width": delta.width,
            "classes": None if delta.classes is None else encode_labels(delta.classes),
        }
    }
    return document, arrays


def restore_delta(document: dict[str, Any], arrays: Arrays) -> Delta:
    """The delta, or any exception if document and arrays are not one."""
    written = document["delta"]
    base, workers = written["base"], written["workers"]
    if not isinstance(base, str) or len(base) != 64 or not set(base) <= set("0123456789abcdef"):
        raise BudgetronError("the base has no digest")
    if not workers or not all(isinstance(name, str) for name in workers):
        raise BudgetronError("the workers have no names")
    for name in ("rows", "width"):
        if type(written[name]) is not int or not 0 <= written[name] < MOST:
            raise BudgetronError(f"its {name} are not a number")
    if not isinstance(written["estimator"], str):
        raise BudgetronError("the estimator has no name")
    for name, array in arrays.items():
        if name.split("/")[0] not in KINDS or array.ndim != 1 or array.dtype.kind not in "iuf":
            raise BudgetronError(f"there is no {name[:40]!r} in a delta")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise BudgetronError(f"{name[:40]} is not finite")
    rows_of = arrays.get("largest/rows", np.zeros(1, np.int64))
    known = ("largest/rows" in arrays) == ("largest/worker" in arrays)
    if not known or rows_of.shape != (1,) or rows_of.dtype.kind not in "iu":
        raise BudgetronError("its largest worker is not known")
    labels = written["classes"]
    return Delta(
        base=base,
        workers=tuple(workers),
        rows=written["rows"],
        estimator=written["estimator"],
        width=written["width"],
        classes=None if labels is None else decode_labels(labels),
        arrays=dict(arrays),
    )
