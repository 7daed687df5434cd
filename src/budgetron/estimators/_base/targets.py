"""Labels and numbers to learn from, converted from any y; a missing one is refused with its row.

Labels are of one kind: text, or numbers and booleans. None, NaN, NaT and pandas' NA are not labels:
NumPy cannot sort them with the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite, nan
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetron.errors import BudgetronError, as_budgetron_error
from budgetron.estimators._base.plain import plain_labels
from budgetron.estimators._base.scikit import check_classification_targets, column_or_1d

Floats = NDArray[np.float64]


def labels(y: Any, what: str = "Input y") -> NDArray[Any]:
    """Y as a 1-d array of labels that our classifiers take: no fractions, no bytes."""
    found = any_labels(y, what)
    if not plain_labels(found):
        check_classification_targets(found)
    return found


def any_labels(y: Any, what: str = "Input y", first: int = 0) -> NDArray[Any]:
    """Y as a 1-d array of labels.

    Parameters
    ----------
    y : an array, a list or a Series
    what : its name in an error
    first : the number of its first row

    Raises
    ------
    BudgetronError
        If a label is missing, infinite or of another kind than the first; in one line.

    Examples
    --------
    >>> from budgetron.estimators._base.targets import any_labels
    >>> any_labels(["spam", None])
    Traceback (most recent call last):
    budgetron.BudgetronError: Input y contains None in row 1: leave the row out, or give it a label
    """
    if y is None:
        raise BudgetronError("this classifier requires y to be passed, but the target y is None")
    given = y
    if isinstance(y, list | tuple):
        y = told_apart(y, what, first)
        if y.dtype.kind == "U":  # NumPy turns everything into text then
            check_labels(given, what, first)
    found: NDArray[Any] = y if plain_labels(y) else column_or_1d(y, warn=True)
    if found.dtype.kind == "O":
        check_labels(found.tolist(), what, first)
    elif found.dtype.kind in "fmM":
        advice = "leave the row out, or give it a label"
        _check_rows(np.isfinite(found), found, what, first, advice)
    return found


def check_labels(values: Iterable[Any], what: str = "Input y", first: int = 0) -> None:
    """Raise BudgetronError if a label is missing, or text is mixed with other labels."""
    one: Any = None
    for row, value in enumerate(values, start=first):
        if _missing(value):
            raise BudgetronError(
                f"{what} contains {_shown(value)} in row {row}: "
                "leave the row out, or give it a label"
            )
        if row == first:
            one = value
        elif isinstance(value, str) != isinstance(one, str):
            raise BudgetronError(
                f"{what} contains {_shown(one)} in row {first} and {_shown(value)} in row {row}: "
                "labels must be all text or all numbers"
            )


def told_apart(given: Sequence[Any], what: str = "Input y", first: int = 0) -> NDArray[Any]:
    """The array that NumPy makes from labels, or one that does not round large integers.

    Examples
    --------
    >>> from budgetron.estimators._base.targets import told_apart
    >>> told_apart([2**53 + 1, 5.0]).tolist(), told_apart([2**63 + 5, 2]).dtype
    ([9007199254740993, 5], dtype('uint64'))
    """
    with as_budgetron_error():  # lists of different lengths
        found: NDArray[Any] = np.asarray(given)
    if found.dtype.kind != "f" or found.ndim != 1 or not (np.abs(found) >= 2.0**53).any():
        return found
    for row, (value, number) in enumerate(zip(given, found.tolist(), strict=True), start=first):
        if isinstance(value, Integral) and int(value) != number:  # as Python compares: exactly
            whole = [int(label) for label in given if isfinite(label) and label == int(label)]
            for dtype in (np.int64, np.uint64) if len(whole) == len(given) else ():
                if np.iinfo(dtype).min <= min(whole) and max(whole) <= np.iinfo(dtype).max:
                    return np.array(whole, dtype=dtype)
            raise BudgetronError(
                f"{what} contains {_shown(value)} in row {row} and numbers of another kind, with "
                "which it cannot be distinguished from its neighbours: pass labels as text"
            )
    return found


def numbers(y: Any, first: int = 0) -> Floats:
    """Y as a 1-d array of finite float64; a BudgetronError names the row that is not."""
    if y is None:
        raise BudgetronError("this regressor requires y to be passed, but the target y is None")
    y = column_or_1d(y, warn=True)
    try:
        if y.dtype.kind in "mM":
            raise TypeError("a date is not a number")
        targets: Floats = np.ascontiguousarray(y, dtype=np.float64)
        finite = np.isfinite(targets)
    except (TypeError, ValueError, OverflowError):
        finite = np.array([_is_number(value) for value in y.tolist()])
    _check_rows(finite, y, "Input y", first, "targets must be finite numbers")
    return targets


def number(y: Any) -> float:
    """One target as a finite float; BudgetronError if it is not one."""
    try:
        target = float(y)
    except (TypeError, ValueError, OverflowError):
        target = nan
    if not isfinite(target):
        raise BudgetronError(f"target {y!r} is not a finite number")
    return target


def _check_rows(
    fine: NDArray[np.bool_], y: NDArray[Any], what: str, first: int, advice: str
) -> None:
    if not fine.all():
        row = int(fine.argmin())
        value = y.tolist()[row] if y.dtype.kind in "mM" else y[row]
        raise BudgetronError(f"{what} contains {_shown(value)} in row {first + row}: {advice}")


def _missing(value: Any) -> bool:
    """Whether it is None, NaN, NaT or NA, whose comparison with itself is not even a boolean."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def _is_number(value: Any) -> bool:
    try:
        number(value)
    except BudgetronError:
        return False
    return True


def _shown(value: Any) -> str:
    """A value for an error: as NumPy and Python write it, NaN as scikit-learn does."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return "NaN" if value != value else "infinity" if not isfinite(value) else repr(value)
    return repr(value)
