"""Rows in memory: NumPy arrays, SciPy matrices, and `.npz` files of them."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse

from budgetron.errors import BudgetronError
from budgetron.streams.base import CHUNK_ROWS, RowStream, StreamError, rows_of

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from budgetron.streams.base import Chunk, Position

# The arrays of rows and labels that an .npz file may hold, in the order they are joined.
PAIRS = (("X", "y"), ("X_train", "y_train"), ("X_test", "y_test"))


class ArrayStream(RowStream):
    """Chunks of (X, y) in memory.

    Parameters
    ----------
    X : array or sparse matrix, (n, d)
    y : labels or targets, (n,); None: there are none, and the y of chunks is NaN
    name : name of the stream
    chunk_rows : largest number of rows in a chunk
    dtype : type of X in chunks
    rows : end after this many rows
    position : rows to skip first, or a bookmark
    gaps : a NaN is a missing value instead of an error

    Examples
    --------
    >>> stream = ArrayStream(np.eye(5), np.arange(5), chunk_rows=3)
    >>> [y.tolist() for X, y in stream]
    [[0, 1, 2], [3, 4]]
    >>> stream.bookmark
    {'rows': 5}
    """

    def __init__(
        self,
        X: Any,
        y: Any = None,
        name: str = "<memory>",
        chunk_rows: int = CHUNK_ROWS,
        dtype: DTypeLike = np.float32,
        rows: int | None = None,
        position: Position = 0,
        *,
        gaps: bool = True,
    ) -> None:
        again = partial(type(self), X, y, name, chunk_rows, dtype, rows, gaps=gaps)
        super().__init__(name, again, chunk_rows, rows, dtype)
        self._X: Any = np.asarray(X) if not scipy.sparse.issparse(X) else _csr(X)
        if self._X.ndim != 2:
            raise BudgetronError(f"X must have rows and columns, not {self._X.ndim} dimensions")
        self._n = int(self._X.shape[0])
        self._y = np.full(self._n, np.nan) if y is None else np.asarray(y)
        if self._y.shape != (self._n,):
            raise BudgetronError(
                f"y must have shape ({self._n},), one label per row of X, not {self._y.shape}"
            )
        self.n_features = int(self._X.shape[1])
        self._unsound = np.isinf if gaps else _not_finite
        self._position = rows_of(position)
        if self._position > self._n:
            raise self._beyond_end(self._position, self._n)

    def _take(self, rows: int) -> Chunk | None:
        here = slice(self._position, min(self._position + rows, self._n))
        if here.start == here.stop:
            return None
        part: Any = self._X[here]
        try:
            with np.errstate(over="ignore"):
                X = part.astype(self.dtype)
        except (TypeError, ValueError) as error:
            raise StreamError(self.name, None, f"X does not hold numbers: {error}") from None
        self._check(X)
        return X, self._y[here]

    def _check(self, X: Any) -> None:
        values = X.data if isinstance(X, scipy.sparse.csr_array) else X
        if np.isfinite(values).all() or not self._unsound(values).any():
            return
        at = scipy.sparse.coo_array(X)
        bad = int(np.argmax(self._unsound(at.data)))
        row, column = self._position + int(at.row[bad]), int(at.col[bad])
        value = float(self._X[row, column])
        what = f"row {row + 1}, column {column} is {value:g}"
        if np.isnan(value):
            advice = 'scale="auto" treats it as a missing value, or fill it in'
        elif np.isinf(value):
            advice = "not a finite number: fill it in, or write NaN if it is missing"
        else:
            advice = (
                f"out of range of {self.dtype.name}: take float64 (dtype, --dtype), or scale it"
            )
        raise StreamError(self.name, None, f"{what}: {advice}")


def _not_finite(values: Any) -> Any:
    return ~np.isfinite(values)


def _csr(X: Any) -> Any:
    return scipy.sparse.csr_array(X)


def load_npz(
    path: str | os.PathLike[str], label: str | None = None, part: str | None = None
) -> tuple[Any, NDArray[Any], list[str] | None]:
    """Rows, labels and feature names of an `.npz` file; never unpickles anything.

    The file holds `X` and `y`, or `X_train`, `y_train` and perhaps `X_test`, `y_test`, which are
    joined, and perhaps `feature_names`.

    Parameters
    ----------
    path : file name
    label : name of the array of labels, if not `y`
    part : "train" or "test": only this part, if the file has both; "2:5": only rows 2, 3 and 4
    """
    name = os.fspath(path)
    span = _span(part)
    if span is None and ":" in (part or ""):
        raise StreamError(name, None, f"part {part!r} is not START:STOP with 0 <= START < STOP")
    try:
        held = np.load(path, allow_pickle=False)
        if not isinstance(held, np.lib.npyio.NpzFile):
            raise StreamError(name, None, "is a single array, not an .npz file of X and y")
        with held:
            pairs = [(X, label or y) for X, y in PAIRS if X in held.files]
            if part is not None and span is None and len(pairs) > 1:
                pairs = [pair for pair in pairs if pair[0] == f"X_{part}"]
            missing = [y for _, y in pairs if y not in held.files]
            if not pairs or missing:
                wanted = missing[0] if missing else "X"
                what = f"has no array {wanted!r}; it has {', '.join(held.files) or 'none'}"
                raise StreamError(name, None, what)
            X = np.concatenate([held[X] for X, _ in pairs])
            y = np.concatenate([held[y] for _, y in pairs])
            if span is not None:
                if span.stop > len(X):
                    raise StreamError(
                        name, None, f"has {len(X)} rows, but part {part!r} needs more"
                    )
                X, y = X[span], y[span]
            names = held["feature_names"].tolist() if "feature_names" in held.files else None
    except StreamError:
        raise
    except OSError as error:
        raise StreamError(name, None, (error.strerror or str(error)).lower()) from error
    except MemoryError:
        what = "does not fit into memory: cut it into files of fewer rows, or take CSV or Parquet"
        raise StreamError(name, None, what) from None
    except (ValueError, KeyError, EOFError, OverflowError, zipfile.BadZipFile) as error:
        what = "is not a valid .npz file of plain arrays (damaged, or it has pickled objects)"
        raise StreamError(name, None, what) from error
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise StreamError(name, None, f"X has shape {X.shape} and y {y.shape}: not rows and labels")
    for array, kinds, wanted in ((X, "biuf", "numbers"), (y, "biufU", "numbers or words")):
        if array.dtype.kind not in kinds:
            what = f"{'X' if array is X else 'y'} holds {array.dtype}, not {wanted}: convert it"
            raise StreamError(name, None, what)
    return X, y, names


def count_npz(path: str | os.PathLike[str], part: str | None = None) -> int | None:
    """The number of rows that `load_npz` returns, from the headers; None if they do not say."""
    try:
        with zipfile.ZipFile(path) as archive:
            held = set(archive.namelist())
            names = [f"{X}.npy" for X, _ in PAIRS if f"{X}.npy" in held]
            span = _span(part)
            if part is not None and span is None and len(names) > 1:
                names = [name for name in names if name == f"X_{part}.npy"]
            rows = sum(_header(archive, name)[0] for name in names)
            if not names:
                return None
            return rows if span is None else len(range(rows)[span])
    except (OSError, ValueError, IndexError, KeyError, zipfile.BadZipFile):
        return None


def _span(part: str | None) -> slice | None:
    """The rows of a part written as START:STOP; None if it is a name, or invalid."""
    start, _, stop = (part or "").partition(":")
    if not (start.isdecimal() and stop.isdecimal() and int(start) < int(stop)):
        return None
    return slice(int(start), int(stop))


def _header(archive: zipfile.ZipFile, name: str) -> tuple[int, ...]:
    """The shape of an array."""
    form = np.lib.format
    with archive.open(name) as file:
        version = form.read_magic(file)
        read = form.read_array_header_1_0 if version == (1, 0) else form.read_array_header_2_0
        return tuple(read(file)[0])


def frame_of(X: Any, y: Any, names: Sequence[str] | None, label: str = "y") -> dict[str, Any]:
    """The columns of an array and its labels by name, for a table."""
    columns = names or [str(j) for j in range(X.shape[1])]
    return {**{name: X[:, j] for j, name in enumerate(columns)}, label: np.asarray(y)}
