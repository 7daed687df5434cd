"""Recognises rows and labels that a model can read unchanged, so that no check has to convert them.

scikit-learn's checks take half a millisecond per call for any input: they look for frames, lists,
pandas types and dtypes first. An array or CSR of the model's own dtype and width only needs a look
at its numbers, and skips them; everything else goes through them, and they report what is wrong.
For labels that skip them, scikit-learn does not warn that most of them differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetron._csr import SparseRows


def plain_rows(X: Any, dtypes: list[Any], width: int | None = None, *, gaps: bool = False) -> bool:
    """Whether X is a C-ordered array or `SparseRows` of such a dtype, not empty, all finite.

    `width` None: any width. `gaps`: values may be missing (NaN).

    Examples
    --------
    >>> import numpy as np
    >>> from budgetron.estimators._base.plain import plain_rows
    >>> X = np.ones((2, 3))
    >>> plain_rows(X, [np.float64], 3), plain_rows(X.T, [np.float64])
    (True, False)
    """
    if type(X) is np.ndarray:
        values = X
        if X.ndim != 2 or not (X.flags.c_contiguous and X.flags.aligned):
            return False
    elif type(X) is SparseRows:
        values = X.values
    else:
        return False
    if X.dtype not in dtypes or 0 in X.shape or X.shape[1] != (width or X.shape[1]):
        return False
    return _finite(values) or (gaps and not bool(np.isinf(values).any()))


def plain_labels(y: Any) -> bool:
    """Whether y is an array of labels: text, booleans or whole numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetron.estimators._base.plain import plain_labels
    >>> plain_labels(np.array([0.0, 1.0])), plain_labels(np.array([0.5])), plain_labels([0, 1])
    (True, False, False)
    """
    if type(y) is not np.ndarray or y.ndim != 1 or y.size == 0:
        return False
    if y.dtype.kind == "f":
        within = float(y.min()) > -(2**63) and float(y.max()) < 2**63  # false for NaN
        return within and bool((y == np.rint(y)).all())
    return y.dtype.kind in "biuU"


def codes(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp] | None:
    """The class codes of labels, or None if not all of them are known classes.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetron.estimators._base.plain import codes
    >>> codes(np.array(["b", "a", "b"]), np.array(["a", "b"]))
    array([1, 0, 1])
    >>> codes(np.array(["c"]), np.array(["a", "b"])) is None
    True
    """
    alike = comparable(classes, y)
    if len(classes) == 0 or alike is None:
        return None
    classes, y = alike
    if len(classes) == 2:  # a search takes ten times as long
        second = y == classes[1]
        return second.astype(np.intp) if bool((second | (y == classes[0])).all()) else None
    places: NDArray[np.intp] = np.searchsorted(classes[1:], y, side="right")
    return places if bool((classes[places] == y).all()) else None


def comparable(classes: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Both in types that NumPy can compare without error; None if there is no common type.

    NumPy compares numbers of two types in a third; for int64 with uint64 or float64 that is
    float64, where 2**53 and 2**53 + 1 are equal. Then both become 64-bit integers, if these can
    hold all.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetron.estimators._base.plain import comparable
    >>> comparable(np.array([2**53, 2**53 + 1]), np.array([7.0]))
    (array([9007199254740992, 9007199254740993]), array([7]))
    >>> comparable(np.array([-1]), np.array([2**63 + 5], dtype=np.uint64)) is None
    True
    """
    if classes.dtype == y.dtype or classes.size == 0 or y.size == 0:
        return classes, y
    if numeric(classes) != numeric(y):
        return None
    if not numeric(y) or _hold(np.result_type(classes, y), classes, y):
        return classes, y
    for dtype in (np.dtype(np.int64), np.dtype(np.uint64)):
        if _hold(dtype, classes, y):
            return classes.astype(dtype), y.astype(dtype)
    return None


def _hold(dtype: np.dtype[Any], *arrays: NDArray[Any]) -> bool:
    """Whether this type can hold these numbers exactly."""
    if dtype.kind == "f":
        most = 2 ** (np.finfo(dtype).nmant + 1)
        low, high = -most, most
        arrays = tuple(numbers for numbers in arrays if numbers.dtype.kind != "f")
    elif dtype.kind == "b":
        return True
    else:
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    for numbers in arrays:
        if numbers.dtype.kind == "f" and not (np.rint(numbers) == numbers).all():
            return False
        least, largest = numbers.min(), numbers.max()
        if not np.isfinite([least, largest]).all() or not low <= int(least) <= int(largest) <= high:
            return False
    return True


def numeric(labels: NDArray[Any]) -> bool:
    """Whether labels are numbers."""
    return labels.dtype.kind in "biuf"


def _finite(values: NDArray[Any]) -> bool:
    """False also for numbers whose sum is too large: the caller has to check these."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()))
