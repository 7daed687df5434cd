"""`open_stream`: one function to open any source of rows."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from budgetron.errors import BudgetronError
from budgetron.streams.base import CHUNK_ROWS, StreamError
from budgetron.streams.table.roles import Roles

if TYPE_CHECKING:
    from budgetron.streams.base import Position, RowStream

FORMATS = ("libsvm", "csv", "parquet", "arrow", "jsonl", "npz")
TABLES = ("csv", "parquet", "arrow", "jsonl")
_PACKED = (".gz", ".xz", ".bz2", ".zst")
_ENDINGS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".npz": "npz",
}


@dataclass(frozen=True)
class SourceOptions(Roles):
    """How to read a source; options for other formats must keep their defaults.

    For an npz file `label` is the name of the array of labels; `columns` and kinds are as for a
    table.

    Parameters
    ----------
    label : name or number (from 0; -1 is the last) of the label column; None: the one column
        called label, target, class or y; False: there is none, and y is NaN
    columns : names or numbers of the features, in the order wanted; None: all but the label
    types : the kinds of columns by name or number, as in `TableEncoder`; others are inferred
    categorical, hashed : columns that are "category" and "hash"
    hash_width : buckets of texts, hashed columns and columns of many categories
    decimal, fill_gaps, strict : as of `TableEncoder`
    ids : columns of which every value is another one are features too
    labelled : False: labels are not looked at; the label's column, if there is one, is left out.
        None: labels are read if there are any, else y is NaN
    layout : how an earlier table was read; nothing is inferred
    carry : columns whose cells are kept unchanged beside the rows, features or not
    format : "libsvm", "csv", "parquet", "arrow", "jsonl" or "npz"; None: by the file's ending, else
        libsvm
    delimiter : csv: None: the first line decides
    part : npz: "train" or "test", if the file has both, or rows from START to before STOP as
        "START:STOP"; None: all, one part after the other
    header : csv: whether the first line names the columns; None: it does, unless it has a number
        that does not look like a name
    n_features : width of X, if known; more features are then an error
    skip_bad : skip malformed lines and rows, and count them
    gaps : a missing number (an empty cell, NaN, NA, null, ?) is NaN in X; False: the row with it is
        bad
    rows : end after this many rows
    chunk_rows : largest number of rows in a chunk
    dtype : type of X, "float32" or "float64"
    live : sources of messages: a `budgetron.sources.messages.Live`; None: its defaults

    Examples
    --------
    >>> from budgetron.streams import SourceOptions, open_stream
    >>> table = {"age": [31, 54, 27, 60], "buys": ["no", "yes", "no", "yes"]}
    >>> [(X, y)] = open_stream(table, SourceOptions(label="buys", dtype="float64"))
    >>> X.dtype.name, y.tolist()
    ('float64', ['no', 'yes', 'no', 'yes'])
    """

    format: str | None = None
    delimiter: str | None = None
    header: bool | None = None
    part: str | None = None
    n_features: int | None = None
    skip_bad: bool = False
    gaps: bool = True
    rows: int | None = None
    chunk_rows: int = CHUNK_ROWS
    dtype: Any = "float32"
    live: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.format is not None and self.format not in FORMATS:
            raise BudgetronError(f"format must be one of {', '.join(FORMATS)}, not {self.format!r}")


def open_stream(
    source: Any, options: SourceOptions | None = None, *, position: Position = 0, **changes: Any
) -> RowStream:
    """Open the stream of a source of any kind.

    Parameters
    ----------
    source : a file name (LIBSVM text, .csv, .tsv, .parquet, .arrow, .feather, .jsonl, .npz; text
        may be compressed: .gz, .xz, .bz2 or .zst); "-", standard input;
        "synthetic:NAME,setting=value..." (see `budgetron.streams.synthetic`); "data:NAME", a data
        set of `budgetron.datasets`; "tail:FILE", "stdin:" and others of `budgetron.sources`; a pair
        (X, y) of arrays or sparse matrices; a pandas, polars or Arrow table
    options : how to read it
    position : rows to skip first, or the bookmark of an earlier stream over the same source
    **changes : options by name

    Raises
    ------
    StreamError
        If the source cannot be opened, or an option does not fit its format.

    Examples
    --------
    >>> import numpy as np
    >>> stream = open_stream((np.eye(4), [0, 1, 0, 1]), chunk_rows=3)
    >>> [X.shape for X, y in stream]
    [(3, 4), (1, 4)]
    """
    options = replace(options or SourceOptions(), **changes)
    stream = _opened(source, options, position)
    wanted = options.n_features
    if wanted is not None and not stream.grows and stream.n_features != wanted:
        stream.close()
        what = f"has {stream.n_features} features, not {wanted}"
        raise StreamError(stream.name, None, what)
    return stream


def _opened(source: Any, options: SourceOptions, position: Position) -> RowStream:
    if isinstance(source, tuple):
        return _arrays(*source, options=options, position=position)
    if not isinstance(source, str | os.PathLike):
        return _table(source, options, position)
    name = os.fspath(source)
    if name.startswith("synthetic:"):
        return _synthetic(name.removeprefix("synthetic:"), options, position)
    if name.startswith("data:"):
        return _data_set(name.removeprefix("data:"), options, position)
    if is_live(name):
        return _live(name, options, position)
    kind = format_of(name, options.format)
    if kind == "npz":
        return _npz(name, options, position)
    if kind in TABLES:
        return _file_table(name, kind, options, position)
    return _libsvm(source, options, position)


def is_live(name: str) -> bool:
    """Whether it names a source of messages (`budgetron.sources`)."""
    from budgetron import sources

    return sources.is_live(name)


def _live(name: str, options: SourceOptions, position: Position) -> RowStream:
    from budgetron.sources import open_live, without_password

    if options.live is None:
        what = "has no end: use `budgetron run`, or in Python set when it ends (live=)"
        raise StreamError(without_password(name), None, what)
    stream: RowStream = open_live(name, options, position)
    return stream


def format_of(name: str, given: str | None = None) -> str:
    """The format of a file, given or from its name without compression.

    >>> format_of("rows.csv.gz"), format_of("a9a.xz")
    ('csv', 'libsvm')
    """
    if given is not None:
        return given
    stem, ending = os.path.splitext(name.lower())
    if ending in _PACKED:
        ending = os.path.splitext(stem)[1]
    return _ENDINGS.get(ending, "libsvm")


def _common(options: SourceOptions, position: Position) -> dict[str, Any]:
    return {
        "chunk_rows": options.chunk_rows,
        "dtype": options.dtype,
        "rows": options.rows,
        "position": position,
    }


def _refuse(name: str, kind: str, options: SourceOptions, *unfit: str) -> None:
    """Refuse an option that would be ignored."""
    plain = SourceOptions()
    for option in unfit:
        if getattr(options, option) != getattr(plain, option):
            flag = _FLAGS.get(option, "")
            raise StreamError(name, None, f"{option}{flag} does not work with {kind}")


_OF_COLUMNS = ("columns", "types", "categorical", "hashed", "decimal", "strict", "carry")
_OF_TABLES = ("label", *_OF_COLUMNS)
_FLAGS = {"types": " (--types, --numeric, --ignore, --text)", "hashed": " (--hash)"}


def _libsvm(source: Any, options: SourceOptions, position: Position) -> RowStream:
    from budgetron.streams.libsvm import LibsvmStream, read_as_libsvm

    name = os.fspath(source)
    of_tables = (*_OF_TABLES, "delimiter", "header")
    if options.format is None and any(
        getattr(options, each) != getattr(SourceOptions(), each) for each in of_tables
    ):
        raise read_as_libsvm(name)
    _refuse(name, "LIBSVM text", options, *of_tables)
    return LibsvmStream(
        source,
        n_features=options.n_features,
        skip_bad=options.skip_bad,
        gaps=options.gaps,
        **_common(options, position),
    )


def open_batches(name: str, kind: str, options: SourceOptions) -> Callable[[], Any]:
    """A function that opens the table of a file in one of the formats TABLES."""
    from budgetron.streams.table import ParquetBatches
    from budgetron.streams.table.arrow_file import ArrowBatches
    from budgetron.streams.table.csv_text import CsvBatches
    from budgetron.streams.table.json_lines import JsonBatches

    if kind == "csv":
        how = (options.delimiter, options.header, options.skip_bad)
        return partial(CsvBatches, name, *how, lone=not options.labelled)
    readers: dict[str, tuple[str, Any]] = {
        "parquet": ("Parquet", ParquetBatches),
        "arrow": ("Arrow", ArrowBatches),
        "jsonl": ("JSON lines", JsonBatches),
    }
    title, reader = readers[kind]
    _refuse(name, title, options, "delimiter", "header")
    return partial(reader, name, options.skip_bad) if kind == "jsonl" else partial(reader, name)


def _file_table(name: str, kind: str, options: SourceOptions, position: Position) -> RowStream:
    from budgetron.streams.table import TableStream

    return TableStream(
        open_batches(name, kind, options),
        options,
        skip_bad=options.skip_bad,
        gaps=options.gaps,
        **_common(options, position),
    )


def _table(table: Any, options: SourceOptions, position: Position, **roles: Any) -> RowStream:
    from budgetron.streams.table import FrameBatches, TableStream
    from budgetron.tables.frames import refuse_lazy

    refuse_lazy(table)
    known = hasattr(table, "__arrow_c_stream__") or hasattr(table, "iloc") or type(table) is dict
    if not known:
        kinds = "a file name, a pair (X, y), or a pandas, polars or Arrow table"
        raise TypeError(f"source must be {kinds}, not {type(table).__name__}")
    name = roles.pop("name", "<table>")
    _refuse(name, "tables", options, "delimiter", "header")
    return TableStream(
        partial(FrameBatches, table, name),
        replace(options, **roles),
        skip_bad=options.skip_bad,
        gaps=options.gaps,
        **_common(options, position),
    )


def _arrays(
    X: Any, y: Any = None, *, options: SourceOptions, position: Position, name: str = "<memory>"
) -> RowStream:
    from budgetron.streams.arrays import ArrayStream, frame_of
    from budgetron.tables.frames import refuse_lazy

    refuse_lazy(X)
    if hasattr(X, "__arrow_c_stream__") or hasattr(X, "iloc"):
        from budgetron.streams.table import FrameBatches

        table = FrameBatches(X, name).with_column("<y>", y)
        return _table(table, options, position, name=name, label="<y>")
    _refuse(name, "arrays", options, "delimiter", "header")
    if not _says_columns(options):
        return ArrayStream(X, y, name, **_common(options, position), gaps=options.gaps)
    return _table(frame_of(X, y, None, "<y>"), options, position, name=name, label="<y>")


def _says_columns(options: SourceOptions) -> bool:
    """Whether to read arrays as a table."""
    plain = SourceOptions()
    listed = (*_OF_COLUMNS, "layout")
    return any(getattr(options, each) != getattr(plain, each) for each in listed)


def _npz(name: str, options: SourceOptions, position: Position) -> RowStream:
    from budgetron.streams.arrays import frame_of, load_npz

    if name == "-":
        raise StreamError("<stdin>", None, "npz is not read from standard input: save it first")
    label = options.label
    if label is not None and not isinstance(label, str):
        raise StreamError(name, None, f"label must name an array of the npz file, not {label}")
    X, y, names = load_npz(name, label, options.part)
    options = replace(options, label=None)
    if not _says_columns(options):
        return _arrays(X, y, options=options, position=position, name=name)
    return _table(frame_of(X, y, names, "<y>"), options, position, name=name, label="<y>")


def _data_set(text: str, options: SourceOptions, position: Position) -> RowStream:
    """The files of a data set in order; options not given have the values that suit it."""
    from budgetron import datasets
    from budgetron.streams.chain import ChainStream

    plain = SourceOptions()
    asked = {
        each.name: getattr(options, each.name)
        for each in fields(options)
        if getattr(options, each.name) != getattr(plain, each.name) and each.name != "rows"
    }
    try:
        found = datasets.sources(text)
    except datasets.DataError as error:
        what = str(error).removeprefix(f"{text.partition('/')[0]}: ")
        raise StreamError(f"data:{text}", None, what) from None
    links = [partial(open_stream, path, replace(known, **asked)) for path, known in found]
    if len(links) == 1:
        path, known = found[0]
        return open_stream(path, replace(known, **asked, rows=options.rows), position=position)
    return ChainStream(f"data:{text}", links, **_common(options, position))


def _synthetic(text: str, options: SourceOptions, position: Position) -> RowStream:
    from budgetron.streams.synthetic import synthetic

    name = f"synthetic:{text}"
    _refuse(name, "synthetic streams", options, *_OF_TABLES, "delimiter", "header", "format")
    common = _common(options, position)
    if options.rows is None:
        del common["rows"]
    try:
        return synthetic(text, **common)
    except StreamError:
        raise
    except BudgetronError as error:
        raise StreamError(name, None, str(error)) from None
