"""Missing values in rows: the error of models without units, and the numbers of flags.

A NaN is a missing value, a gap, if scale is "auto": the compiled model replaces it by the running
mean and counts it (core/model/gaps.hpp). With missing="flag" a row has an extra feature for each of
its gaps. Its number in the core is that of the feature plus `FLAGS`; a model in bytes, which
allocates its memory by width, numbers flags from the width on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetron._csr import SparseRows
from budgetron.errors import BudgetronError

FLAGS = 2**30  # number of the first flag; features have smaller numbers

ADVICE = 'scale="auto" treats it as a missing value'
OLD = "this model is from an earlier version and takes no missing values: train it again"


def refuse_gaps(rows: Any, names: NDArray[Any] | None, advice: str = ADVICE) -> None:
    """Refuse rows, an array or `SparseRows`, that have a NaN: a BudgetronError says where.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetron.estimators._base.gaps import refuse_gaps
    >>> refuse_gaps(np.array([[1.0, np.nan]]), None)
    Traceback (most recent call last):
        ...
    budgetron.BudgetronError: X has a NaN in row 0, column 1 (from 0); scale="auto" treats it as a \
missing value
    """
    sparse = isinstance(rows, SparseRows)
    start = int(rows.indptr[0]) if sparse else 0
    values = rows.values[start : rows.indptr[-1]] if sparse else rows
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isnan(values.sum()) or not (gaps := np.isnan(values)).any():
            return
    if sparse:
        at = start + int(gaps.argmax())
        row = int(np.searchsorted(rows.indptr, at, side="right")) - 1
        column = int(rows.indices[at])
    else:
        row, column = map(int, np.argwhere(gaps)[0])
    where = f"column {column} (from 0)" if names is None else f"column {names[column]!r}"
    raise BudgetronError(f"X has a NaN in row {row}, {where}; {advice}")


def with_flags_last(indices: NDArray[Any], width: int, first: int) -> tuple[NDArray[np.int64], int]:
    """Feature numbers of stored examples as columns: all features, then the flag of each.

    Returns the columns and their number.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetron.estimators._base.gaps import FLAGS, with_flags_last
    >>> with_flags_last(np.array([0, 2, FLAGS + 1]), 3, FLAGS)
    (array([0, 2, 4]), 6)
    """
    columns = indices.astype(np.int64)
    flags = columns >= first
    width = max(width, int(columns[~flags].max(initial=-1)) + 1)
    columns[flags] += width - first
    return columns, 2 * width
