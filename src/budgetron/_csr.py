"""Sparse rows from outside, checked and sorted, for the core.

Nothing that a sparse matrix says about itself is trusted. SciPy caches whether indices are sorted
and free of duplicates, and the cache is wrong after a change in place (`X.indices %= 64`); its own
conversions read wherever an index points. So the structure is checked first, and only then SciPy
converts. Entries with the same index are added in the order in which they are stored, as `toarray`
does: the rows equal those of the dense matrix to the bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from budgetron import _core
from budgetron.errors import BudgetronError

MOST_COLUMNS = int(np.iinfo(np.int32).max)


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Valid CSR: within bounds, every row sorted and without duplicates.

    Parameters
    ----------
    indptr, indices, values : as in SciPy, except that the first row may start anywhere (a slice)
    shape : rows and columns
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[Any]
    shape: tuple[int, int]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        return self.values.dtype

    @property
    def size(self) -> int:
        """How many values are stored."""
        return int(self.indptr[-1] - self.indptr[0])

    def __getitem__(self, rows: NDArray[np.intp] | slice) -> SparseRows:
        """Some of the rows: a view for a slice (of step 1), else a copy."""
        if isinstance(rows, slice):
            start, end, _ = rows.indices(self.shape[0])
            end = max(end, start)
            shape = (end - start, self.shape[1])
            return SparseRows(self.indptr[start : end + 1], self.indices, self.values, shape)
        lengths = self.indptr[rows + 1] - self.indptr[rows]
        indptr = _bounds(lengths)
        entries = np.repeat(self.indptr[rows] - indptr[:-1], lengths)
        entries += np.arange(indptr[-1])
        shape = (len(rows), self.shape[1])
        return SparseRows(indptr, self.indices[entries], self.values[entries], shape)

    def matrix(self) -> Any:
        """The same as a SciPy matrix."""
        start, end = self.indptr[0], self.indptr[-1]
        parts = (self.values[start:end], self.indices[start:end], self.indptr - start)
        return scipy.sparse.csr_array(parts, shape=self.shape)


def sparse_rows(X: Any) -> SparseRows:
    """The rows of a sparse matrix of any format, which does not change.

    Raises
    ------
    BudgetronError
        If indices are out of bounds, arrays do not fit together, or there are more columns than the
        core can number.

    Examples
    --------
    >>> import scipy.sparse
    >>> from budgetron._csr import sparse_rows
    >>> X = scipy.sparse.csr_array(([1.0, 2.0, 3.0], [5, 0, 5], [0, 3]), shape=(1, 8))
    >>> rows = sparse_rows(X)
    >>> rows.indices.tolist(), rows.values.tolist()
    ([0, 5], [2.0, 4.0])
    """
    if X.ndim != 2:
        raise BudgetronError(f"X is sparse and has {X.ndim} dimension; rows are a matrix: pass 2")
    shape = (int(X.shape[0]), int(X.shape[1]))
    if shape[1] > MOST_COLUMNS:
        raise BudgetronError(f"X has {shape[1]} columns; at most {MOST_COLUMNS} are possible")
    if X.format == "csr":
        if _in_order(X):
            indptr = X.indptr.astype(np.int64, copy=False)
            return SparseRows(indptr, X.indices, np.ascontiguousarray(X.data), shape)
        bounds, columns, values = _compressed(X, *shape)
        lines = np.repeat(np.arange(shape[0]), np.diff(bounds))
        return _gathered(lines, columns, values, shape)
    if X.format == "csc":
        bounds, lines, values = _compressed(X, shape[1], shape[0])
        sound = scipy.sparse.csc_array((values, lines, bounds), shape=shape)
        return sparse_rows(sound.tocsr())  # which keeps the order of duplicates
    X = X.tocoo()
    lines, columns = _within(X.row, shape[0]), _within(X.col, shape[1])
    if not lines.shape == columns.shape == X.data.shape:
        raise BudgetronError("X is damaged: row, col and data are of different lengths")
    return _gathered(lines, columns, X.data, shape)


def _in_order(X: Any) -> bool:
    """Whether CSR needs no further check: one pass, where SciPy takes four."""
    return (
        X.indptr.dtype == X.indices.dtype == np.int32
        and X.indptr.ndim == X.indices.ndim == 1
        and X.indices.shape == X.data.shape
        and X.indices.flags.c_contiguous
        and _core.csr_in_order(X.indptr, X.indices, *X.shape)
    )


def _compressed(X: Any, lines: int, width: int) -> tuple[Any, Any, Any]:
    """The arrays of CSR or CSC with so many lines of this width; BudgetronError if not valid."""
    bounds = _whole(X.indptr)
    if bounds.shape != (lines + 1,):
        raise BudgetronError(
            f"X is damaged: indptr has the shape {bounds.shape}, not ({lines + 1},)"
        )
    if bounds[0] != 0 or (bounds[1:] < bounds[:-1]).any():
        raise BudgetronError("X is damaged: indptr must be non-decreasing, from 0 on")
    count = int(bounds[-1])
    if X.indices.ndim != 1 or X.data.ndim != 1 or count > min(len(X.indices), len(X.data)):
        raise BudgetronError(
            f"X is damaged: indptr tells of {count} entries, there are "
            f"{X.indices.size} indices and {X.data.size} values"
        )
    return bounds, _within(X.indices[:count], width), X.data[:count]


def _within(indices: Any, width: int) -> NDArray[np.int64]:
    found = _whole(indices)
    bad = (found < 0) | (found >= width)
    if bad.any():
        raise BudgetronError(
            f"X is damaged: its indices must be < {width} and not negative, one is "
            f"{indices[bad.argmax()]}"
        )
    return found


def _whole(numbers: Any) -> NDArray[np.int64]:
    if numbers.dtype.kind not in "iu":
        raise BudgetronError(f"X is damaged: its indices are {numbers.dtype}, not integers")
    whole: NDArray[np.int64] = numbers.astype(np.int64)  # beyond, below 0: refused as such
    return whole


def _bounds(lengths: NDArray[Any]) -> NDArray[np.int64]:
    bounds = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=bounds[1:])
    return bounds


def _gathered(
    lines: NDArray[np.int64], columns: NDArray[np.int64], values: NDArray[Any], shape: Any
) -> SparseRows:
    """Entries in any order, within the shape; entries with the same index are added."""
    same = lines[1:] == lines[:-1]
    if not ((lines[1:] > lines[:-1]) | same & (columns[1:] > columns[:-1])).all():
        order = np.lexsort((columns, lines))  # stable
        lines, columns, values = lines[order], columns[order], values[order]
        new = np.ones(len(lines), dtype=bool)
        new[1:] = (lines[1:] != lines[:-1]) | (columns[1:] != columns[:-1])
        if not new.all():
            lines, columns, values = lines[new], columns[new], _added(values, new)
    indptr = _bounds(np.bincount(lines, minlength=shape[0]))
    return SparseRows(indptr, columns.astype(np.int32), np.ascontiguousarray(values), shape)


def _added(values: NDArray[Any], new: NDArray[np.bool_]) -> NDArray[Any]:
    """The sums of groups of values, from left to right; a group begins where `new` is True."""
    sums = np.zeros(int(new.sum()), dtype=values.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        np.add.at(sums, np.cumsum(new) - 1, values)
    if values.dtype.kind == "f" and np.isinf(sums).any() and not np.isinf(values).any():
        raise BudgetronError("X has infinite values where entries of one place are added")
    return sums
