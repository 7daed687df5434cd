"""Any table as an Arrow table: pandas, polars, Arrow, dicts of arrays, NumPy arrays, dicts.

Columns are only read as Arrow, so that the same values become the same features wherever they come
from. A column of Python objects of several types has no Arrow type: its values become text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from budgetron.errors import BudgetronError

PANDAS_GAPS = ("NAType", "NaTType")


def arrow() -> Any:
    """The pyarrow module, or an error that says what to install."""
    try:
        import pyarrow
    except ImportError:
        what = "encoding tables needs pyarrow: pip install 'budgetron[lab]'"
        raise BudgetronError(what) from None
    return pyarrow


def table_of(frame: Any, names: Sequence[str] | None = None) -> Any:
    """The frame as a pyarrow Table whose columns have text as names.

    Parameters
    ----------
    frame : a pandas or polars frame, an Arrow table or record batch, any object with Arrow's C
        stream interface, a dict of columns, or a NumPy array with two dimensions
    names : column names for an array, which has none; None: x0, x1, ...

    Raises
    ------
    BudgetronError
        If two columns have the same name, the columns differ in length, or an array has another
        width.
    TypeError
        If it is none of these.
    """
    pa = arrow()
    refuse_lazy(frame)
    if scipy.sparse.issparse(frame):
        raise TypeError("a sparse matrix already holds numbers: it needs no TableEncoder")
    if isinstance(frame, pa.Table):
        table = frame
    elif isinstance(frame, pa.RecordBatch):
        table = pa.Table.from_batches([frame])
    elif isinstance(frame, Mapping):
        table = _of_columns(list(frame), [_of_any(each) for each in frame.values()])
    elif hasattr(frame, "iloc") and hasattr(frame, "columns"):  # pandas: its index is not a column
        columns = [_of_any(frame.iloc[:, j]) for j in range(frame.shape[1])]
        table = _of_columns(list(frame.columns), columns)
    elif hasattr(frame, "__arrow_c_stream__"):
        table = pa.table(frame)
    else:
        table = _of_array(frame, names)
    table = plain(table.rename_columns([str(each) for each in table.column_names]))
    seen: set[str] = set()
    for name in table.column_names:
        if name in seen:
            raise BudgetronError(f"two columns are called {name!r}: rename one")
        seen.add(name)
    return table


def check_columns(wanted: Iterable[Any], columns: Iterable[Any]) -> None:
    """BudgetronError if a table with these columns lacks one that is wanted.

    >>> from budgetron.tables.frames import check_columns
    >>> check_columns(["pay", "age"], ["age", "town"])
    Traceback (most recent call last):
    budgetron.BudgetronError: the table has no column 'pay'; it has ['age', 'town']
    """
    known = list(columns)
    lacks = [each for each in wanted if each not in known]
    if lacks:
        raise BudgetronError(f"the table has no column {lacks[0]!r}; it has {known}")


def is_frame(rows: Any) -> bool:
    """Whether it is a table with named columns: pandas, polars, Arrow, or a dict.

    >>> is_frame({"age": [31, 45]}), is_frame([[31.0], [45.0]])
    (True, False)
    """
    if isinstance(rows, np.ndarray | list | tuple):
        return False
    if isinstance(rows, Mapping) or _is_lazy(rows):
        return True
    named = hasattr(rows, "columns") or hasattr(rows, "schema")
    return named and (hasattr(rows, "iloc") or hasattr(rows, "__arrow_c_stream__"))


def refuse_lazy(frame: Any) -> None:
    """Raise TypeError for a lazy polars frame."""
    if _is_lazy(frame):
        raise TypeError("a LazyFrame has no rows yet: call its .collect() first")


def _is_lazy(frame: Any) -> bool:
    return type(frame).__name__ == "LazyFrame" and hasattr(frame, "collect")


def plain(rows: Any) -> Any:
    """An Arrow table or record batch whose texts have a type that all Arrow functions support.

    polars writes its texts, and the values of its categories, as views, which some functions of
    Arrow (take, filter) do not support.
    """
    pa = arrow()
    for at, field in enumerate(rows.schema):
        kind = field.type
        keyed = pa.types.is_dictionary(kind)
        values = kind.value_type if keyed else kind
        if pa.types.is_string_view(values):
            other = pa.large_string()
        elif pa.types.is_binary_view(values):
            other = pa.large_binary()
        else:
            continue
        other = pa.dictionary(kind.index_type, other, kind.ordered) if keyed else other
        column = rows.column(at).cast(other)
        rows = rows.set_column(at, field.with_type(other), column)
    return rows


def column_of(values: Iterable[Any]) -> Any:
    """Python objects as an Arrow array; as text if they have several types."""
    pa = arrow()
    values = list(values)
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, OverflowError, UnicodeEncodeError):
        return pa.array([_text(each) for each in values], pa.string())


def _of_columns(names: list[Any], columns: list[Any]) -> Any:
    pa = arrow()
    lengths = {len(each) for each in columns}
    if len(lengths) > 1:
        raise BudgetronError(f"the columns differ in length: {sorted(lengths)}")
    return pa.table(columns, names=[str(each) for each in names])


def _of_any(column: Any) -> Any:
    """A column of any library as an Arrow array."""
    pa = arrow()
    if isinstance(column, pa.Array | pa.ChunkedArray):
        return column
    dtype = getattr(column, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "OUS":
        return column_of(np.asarray(column, dtype=object).tolist())
    if hasattr(column, "iloc"):  # pandas: it may already hold Arrow data
        column = column.array
    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowException, TypeError, OverflowError):
        return column_of(list(column))


def _of_array(frame: Any, names: Sequence[str] | None) -> Any:
    X = np.asarray(frame)
    if X.dtype.kind == "c":
        raise BudgetronError("Complex data not supported: columns hold numbers, words or dates")
    if X.ndim != 2:
        hint = "Reshape your data: a table has two dimensions"
        raise BudgetronError(f"Expected 2D array, got {X.ndim}D array instead. {hint}")
    if names is None:
        names = [f"x{j}" for j in range(X.shape[1])]
    elif len(names) != X.shape[1]:
        raise BudgetronError(
            f"X has {X.shape[1]} features, but TableEncoder is expecting "
            f"{len(names)} features as input"
        )
    return _of_columns(list(names), [_of_any(X[:, j]) for j in range(X.shape[1])])


def _text(value: Any) -> str | None:
    """A Python object as the text that Arrow's cast would make; None for a gap."""
    if value is None or value != value or type(value).__name__ in PANDAS_GAPS:
        return None
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float | np.floating):
        return str(arrow().scalar(float(value)).cast("string"))
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value).encode("utf-8", "replace").decode()
