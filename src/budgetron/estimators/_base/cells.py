"""The value of X that is not a finite number, for rows that scikit-learn's checks refused."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from math import isinf
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from budgetron._text import shown
from budgetron.errors import BudgetronError
from budgetron.tables.frames import PANDAS_GAPS, is_frame

ENCODES = "TableEncoder turns words and dates into numbers"
LONGEST = 40  # characters of a value that are shown


def refused_cell(
    X: Any, dtype: Any, names: NDArray[Any] | None = None, dates: bool = False
) -> BudgetronError | None:
    """The error that names the first value of X, by columns, that is not a finite number.

    None if all are. Takes time: only for rows that were refused.

    Parameters
    ----------
    X : refused rows: a frame, a sparse matrix, or what NumPy takes as an array
    dtype : float type of the model
    names : names of the columns of an array
    dates : whether dates that NumPy could convert were refused too, since other columns have
        numbers

    Examples
    --------
    >>> import numpy as np
    >>> from budgetron.estimators._base.cells import refused_cell
    >>> print(refused_cell([[1.0, 2.0], [3.0, np.inf]], np.float32))
    X has infinity in row 1, column 1 (from 0): numbers must be finite
    >>> print(refused_cell({"age": [31, 45], "town": ["Rome", "Oslo"]}, float))
    X has 'Rome' in row 0, column 'town', not a number: TableEncoder turns words and dates into \
numbers
    """
    real = np.dtype(dtype)
    if scipy.sparse.issparse(X):
        matrix: Any = X
        entries = matrix.tocoo()
        found = _first(entries.data, real, dates)
        if found is None:
            return None
        at, what = found
        return _error(what, int(entries.row[at]), _place(int(entries.col[at]), names), real)
    for place, column in _columns(X, names):
        found = _first(column, real, dates)
        if found is not None:
            return _error(found[1], found[0], place, real)
    return None


def _columns(X: Any, names: NDArray[Any] | None) -> Iterator[tuple[str, NDArray[Any]]]:
    """The columns of rows, each with its place for the error; none if X has no two axes."""
    if is_frame(X):
        if hasattr(X, "iloc"):
            each = [(name, X.iloc[:, j]) for j, name in enumerate(X.columns)]
        else:
            listed = X if isinstance(X, dict) else getattr(X, "column_names", None) or X.columns
            each = [(name, X[name]) for name in listed]
        for name, column in each:
            yield f"column {shown(repr(name))}", np.asarray(column)
        return
    try:
        rows = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
    except ValueError:  # arrays of different shapes
        return
    if rows.ndim == 2:
        for j in range(rows.shape[1]):
            yield _place(j, names), rows[:, j]


def _place(column: int, names: NDArray[Any] | None) -> str:
    if names is not None and column < len(names):
        return f"column {shown(repr(names[column]))}"
    return f"column {column} (from 0)"


def _first(values: NDArray[Any], real: np.dtype[Any], dates: bool) -> tuple[int, Any] | None:
    """The number of the first value that is not a finite number of this type, and the value."""
    if values.dtype.kind in "mM":
        known = ~np.isnat(values)
        if not (dates and known.any()):
            return None
        at = int(known.argmax())
        return at, values[at].astype(f"{values.dtype.kind}8[us]").item()
    if values.dtype.kind in "biuf":
        with np.errstate(over="ignore"):
            wrong = np.isinf(values.astype(real))
        if not wrong.any():
            return None
        at = int(wrong.argmax())
        return at, values[at].item()
    for at, value in enumerate(values.tolist()):
        if _is_wrong(value, real):
            return at, value
    return None


def _is_wrong(value: Any, real: np.dtype[Any]) -> bool:
    try:
        with np.errstate(over="ignore"):
            return bool(np.isinf(np.float64(value).astype(real)))
    except (TypeError, ValueError, OverflowError):
        return value is not None and type(value).__name__ not in PANDAS_GAPS


def _error(value: Any, row: int, place: str, real: np.dtype[Any]) -> BudgetronError | None:
    """None for a value that is no number, word or date: scikit-learn's error says more."""
    where = f"in row {row}, {place}"
    if isinstance(value, float):
        if isinf(value):
            return BudgetronError(f"X has infinity {where}: numbers must be finite")
        what = f"X has {value:.6g} {where}, which is too large for {real.name}"
        return BudgetronError(f"{what}: scale the data, or start again with float64 rows")
    if isinstance(value, str):
        word = value if len(value) <= LONGEST else f"{value[:LONGEST]}..."
        return BudgetronError(f"X has {word!r} {where}, not a number: {ENCODES}")
    if isinstance(value, timedelta) or hasattr(value, "strftime"):
        return BudgetronError(f"X has {value} {where}, not a number: {ENCODES}")
    return None
