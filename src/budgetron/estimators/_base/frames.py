"""Frames with named columns: pandas, polars, Arrow, and all others that scikit-learn supports.

The names of the first frame become ``feature_names_in_``. Later frames are put in this order, where
scikit-learn would raise an error; it still warns if only one of frame and model has names.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils.validation import _get_feature_names

from budgetron.errors import BudgetronError
from budgetron.estimators._base.cells import refused_cell

SHOWN = 5  # names shown in an error


def in_order(X: Any, names: NDArray[Any] | None, owner: str) -> Any:
    """X with its columns in the order of `names`; unchanged if X or the model has no names.

    Parameters
    ----------
    X : rows of any kind
    names : names of the model's features, if it has any
    owner : the model's class, for the error

    Raises
    ------
    BudgetronError
        If columns are missing, unknown or of the same name.
    """
    if isinstance(X, np.ndarray) or scipy.sparse.issparse(X):
        return X
    try:
        columns = _get_feature_names(X)
    except ValueError as error:  # several lines: two columns with the same name
        raise BudgetronError("X: " + " ".join(str(error).split())) from None
    if names is None or columns is None or np.array_equal(columns, names):
        return X
    wanted, given = names.tolist(), columns.tolist()
    wrong = {
        "missing": _without(wanted, given),
        "unknown": _without(given, wanted),
    }
    if any(wrong.values()):
        listed = "; ".join(f"{what} {_listed(those)}" for what, those in wrong.items() if those)
        raise BudgetronError(f"X has other feature names than {owner} was fitted with: {listed}")
    select = getattr(type(X), "select", None)  # a method of polars and Arrow frames
    return X[wanted] if select is None else select(X, wanted)


def float_types(X: Any) -> list[Any]:
    """The dtypes that a model may take rows in: the first, unless X has one of the others.

    scikit-learn sees only the dtypes of arrays and pandas frames; others are found here.
    """
    select = getattr(type(X), "select", None)
    try:
        if select is not None and np.asarray(X[:0]).dtype == np.float32:
            return [np.float32]
    except TypeError as error:  # dates beside numbers
        raise refused_cell(X, np.float64, dates=True) or error from None
    return [np.float64, np.float32]


def one_row(x: Any) -> Any:
    """A single row as rows: a row of a pandas frame keeps its names, an array gets two axes."""
    if scipy.sparse.issparse(x) or np.ndim(x) != 1:
        return x
    named = hasattr(x, "to_frame") and hasattr(x, "index")
    return x.to_frame().T if named else np.asarray(x)[None, :]


def _without(names: list[str], others: list[str]) -> list[str]:
    known = set(others)
    return [name for name in names if name not in known]


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(map(repr, names[:SHOWN])) + more
