"""Tables as streams: CSV and Parquet files, and pandas, polars or Arrow tables in memory.

pyarrow reads; encoder.py turns columns into rows. Memory is one batch of rows: a block of CSV text,
or a row group's pages of Parquet.
"""

from __future__ import annotations

import os
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from budgetron.errors import BudgetronError
from budgetron.streams.base import (
    CHUNK_ROWS,
    RowStream,
    StreamError,
    messages_in,
    noted,
    rows_of,
)
from budgetron.streams.contents import looks_else, looks_like_table
from budgetron.streams.packed import BY_HAND
from budgetron.streams.source import compression
from budgetron.streams.table import notices
from budgetron.streams.table.columns import suggested_label
from budgetron.streams.table.encoder import Encoder
from budgetron.streams.table.first_rows import first_rows, looked_at
from budgetron.streams.table.roles import INFER_ROWS, Layout, Roles
from budgetron.tables.frames import plain, table_of

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from budgetron.streams.base import Bookmark, Chunk, Position
    from budgetron.streams.table.labels import Label
    from budgetron.tables.kinds import Column


class Wanted(Protocol):
    """The columns that a reader should read, and which of them hold numbers.

    Which columns hold numbers may become known while reading: it is asked again before each block.
    """

    @property
    def needed(self) -> list[str]: ...

    @property
    def numbers(self) -> list[str]: ...

    @property
    def words(self) -> Sequence[str]:
        """Columns with few distinct texts, which may come as Arrow dictionaries."""

    @property
    def kept(self) -> Sequence[str]:
        """Columns that are passed on unread."""


class Batches(Protocol):
    """An open table: its columns' names, and its rows as Arrow record batches.

    `n_bad` rows so far had a wrong length and are in no batch; `bad_messages` is about the first of
    them, and `malformed` has their numbers, from 1, until a caller takes them out.
    """

    name: str
    names: list[str]
    bytes_total: int | None
    n_bad: int
    bad_messages: list[str]
    malformed: deque[int]

    @property
    def bytes_read(self) -> int: ...

    def read(self, wanted: Wanted, start: int, batch_rows: int) -> Iterator[Any]:
        """Batches of the wanted columns from row `start` on; StreamError if they are damaged."""

    def line_of(self, row: int) -> int | None:
        """The line of the text in which a row, from 1, starts; None if there are no lines."""

    def close(self) -> None: ...


class TableStream(RowStream):
    """Chunks (X, y) of a table; the first rows decide the kinds of columns that are not given.

    Parameters
    ----------
    open_batches : opens the table; `at` calls it again
    roles : the role of each column
    chunk_rows : largest number of rows in a chunk
    dtype : type of X
    skip_bad : skip bad rows, and count them
    gaps : a missing number is NaN in X; False: the row with it is bad
    rows : end after this many rows
    position : rows to skip first, or a bookmark

    Raises
    ------
    StreamError
        The constructor raises it if the table cannot be opened or lacks a column. Iterating raises
        it at a bad row, after the rows before it: a row without a label, with a value of another
        kind than its column if `strict`, or with a missing value if not `gaps`.

    Examples
    --------
    >>> from budgetron.streams import open_stream  # which makes one of a file or a frame
    >>> table = {"town": ["Rome", "Oslo"] * 3, "buys": ["yes", "no"] * 3}
    >>> stream = open_stream(table, label="buys")
    >>> type(stream).__name__, [X.shape for X, y in stream]
    ('TableStream', [(6, 11)])
    """

    _infer_rows = INFER_ROWS

    def __init__(
        self,
        open_batches: Callable[[], Batches],
        roles: Roles | None = None,
        chunk_rows: int = CHUNK_ROWS,
        dtype: DTypeLike = np.float32,
        skip_bad: bool = False,
        rows: int | None = None,
        position: Position = 0,
        *,
        gaps: bool = True,
    ) -> None:
        roles = roles or Roles()
        again = partial(
            type(self), open_batches, roles, chunk_rows, dtype, skip_bad, rows, gaps=gaps
        )
        super().__init__("", again, chunk_rows, rows, dtype)
        behind = rows_of(position)
        self._skip_bad = skip_bad
        self._batches = open_batches()
        self.name = self._batches.name
        try:
            names = self._batches.names
            likely = partial(self._likely_label, open_batches)
            self._encoder = Encoder(self.name, names, roles, self.dtype, gaps=gaps, likely=likely)
            self._raw = 0  # rows of the table used, good or bad
            self._passed = 0  # malformed rows before them
            self._carried: dict[str, list[Any]] = {}
            self._pending: Any = None
            self._error: StreamError | None = None
            self._unread: Counter[str] = Counter()
            passed = 0 if isinstance(position, int) else position.get("bad", 0)
            # skipped rows are only known after reading what comes before
            if not skip_bad or not isinstance(position, int):
                self._raw = behind + passed
                self._position, self._n_bad = behind, passed
                self._bad = messages_in(position)
                if isinstance(position, Mapping):
                    self._batches.n_bad = position.get("malformed", 0)
                    self._batches.bad_messages = messages_in(position, "malformed_messages")
                    self._unread.update(position.get("unparsed", {}))
            self._reader = self._batches.read(self._encoder, self._raw, chunk_rows)
            if self._encoder.encoding is None:
                self._infer(open_batches, may_be_empty=roles.labelled is False)
            if self._position < behind:
                self._pass_over(behind)
        except StreamError:
            self.close()
            raise

    @property
    def bookmark(self) -> Bookmark:
        return {
            "rows": self._position,
            "bad": self._n_bad,
            **noted(
                messages=self._bad,
                malformed=self._batches.n_bad,
                malformed_messages=self._batches.bad_messages,
                unparsed=dict(self._unread),
            ),
        }

    @property
    def n_bad(self) -> int:
        return self._n_bad + self._batches.n_bad

    @property
    def bad_messages(self) -> list[str]:
        return [*self._bad, *self._batches.bad_messages]

    @property
    def bytes_total(self) -> int | None:  # type: ignore[override]
        return self._batches.bytes_total

    @property
    def bytes_read(self) -> int:  # type: ignore[override]
        return self._batches.bytes_read

    @property
    def n_features(self) -> int:  # type: ignore[override]
        return self._encoder.width

    @property
    def layout(self) -> Layout | None:
        return self._encoder.layout

    @property
    def label(self) -> Label | None:
        """What the labels are, from the first rows; None: there are none."""
        return self._encoder.labels

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns with their kinds."""
        encoding = self._encoder.encoding
        return () if encoding is None else encoding.columns

    @property
    def unparsed(self) -> dict[str, int]:
        """Per column, the cells so far that were not of its kind; they were read as gaps."""
        return dict(self._unread)

    @property
    def column_notices(self) -> list[str]:
        return notices.of_columns(self.name, self.columns)

    @property
    def cell_notices(self) -> list[str]:
        damaged = getattr(self._batches, "undecoded", {})
        return [
            *notices.of_unparsed(self.name, self.columns, self._unread, self._position),
            *notices.of_undecoded(self.name, damaged),
            *notices.of_large(self.name, self._encoder.large),
            *notices.of_small(self.name, self._encoder.small, self._position, self.dtype),
        ]

    def _take(self, rows: int) -> Chunk | None:
        """The next rows; a bad row ends the chunk before it, and the next call raises its error."""
        if self._error is not None:
            raise self._error
        while True:
            batch = self._next_batch()
            if batch is None:
                return None
            part = batch.slice(0, rows)
            numbers = self._numbered(part.num_rows)
            chunk, good, bad, unread = self._encoder.encode(part, numbers)
            if bad and not self._skip_bad:
                before = int(np.argmin(good))
                line = self._batches.line_of(self._raw + before + 1)
                self._error = StreamError(self.name, line, bad[0].what)
                if before == 0:
                    raise self._error
                part = batch.slice(0, before)
                numbers = numbers[:before]
                chunk, good, _, unread = self._encoder.encode(part, numbers)
                bad = []
            for at, error in zip(np.flatnonzero(~good).tolist(), bad, strict=True):
                self._note_bad_row(self._raw + at, error)
            self._unread.update(unread)
            self._used = self._raw + np.flatnonzero(good)
            self._raw += part.num_rows
            self._pending = batch.slice(part.num_rows)
            if good.any():
                self._numbers = numbers[good]
                cells = self._encoder.carried(part)
                self._carried = {name: each.filter(good).to_pylist() for name, each in cells}
                return chunk

    def _note_bad_row(self, row: int, error: StreamError) -> None:
        """Mark a row of the batches, by its number from 0, as bad."""
        self._note_bad(error)

    def _numbered(self, rows: int) -> NDArray[np.int64]:
        """The numbers of the next rows of the batches; malformed rows, in no batch, count too."""
        malformed = self._batches.malformed
        numbers = np.empty(rows, np.int64)
        start = 0
        while start < rows:
            number = self._raw + start + self._passed + 1
            while malformed and malformed[0] <= number:
                malformed.popleft()
                self._passed += 1
                number += 1
            end = min(rows, start + (malformed[0] - number)) if malformed else rows
            numbers[start:end] = np.arange(number, number + end - start)
            start = end
        return numbers

    @property
    def carried(self) -> dict[str, list[Any]]:
        return self._carried

    def _infer(self, open_batches: Callable[[], Batches], *, may_be_empty: bool) -> None:
        """Infer the columns from the first rows, which are read again, or kept."""
        encoder = self._encoder
        if self._raw:
            encoder.infer(first_rows(open_batches, self._infer_rows, encoder.needed).to_batches())
            return
        kept: list[Any] = []
        lacking = self._infer_rows
        while lacking > 0 and (batch := next(self._reader, None)) is not None:
            kept.append(batch)
            lacking -= batch.num_rows
        if not kept and may_be_empty:
            return
        if not kept:
            raise StreamError(self.name, None, "has no rows")
        rest = kept[-1].num_rows + min(lacking, 0)
        encoder.infer([*kept[:-1], kept[-1].slice(0, rest)])
        self._reader = chain(kept, self._reader)

    def _likely_label(self, open_batches: Callable[[], Batches]) -> str | None:
        """The probable label column, from the first rows, if they can be read."""
        try:
            if self._batches.bytes_total is None and not isinstance(self._batches, FrameBatches):
                return self._batches.names[-1]  # a pipe
            table = first_rows(open_batches, self._infer_rows)
            return suggested_label(looked_at(self.name, table, Roles()))[0]
        except BudgetronError:
            return self._batches.names[-1]

    def _next_batch(self) -> Any:
        while self._pending is None or self._pending.num_rows == 0:
            self._pending = next(self._reader, None)
            if self._pending is None:
                return None
        return self._pending

    def _pass_over(self, position: int) -> None:
        """Read up to a position, to count good rows."""
        while self._position < position:
            chunk = self._take(min(self._chunk_rows, position - self._position))
            if chunk is None:
                raise self._beyond_end(position, self._position)
            self._position += len(chunk[1])

    def close(self) -> None:
        """Close the file; rows not yet read are lost."""
        self._batches.close()


class FrameBatches:
    """A table in memory: pandas, polars, Arrow, or any object with Arrow's C stream interface."""

    bytes_total: int | None = None
    bytes_read = 0
    n_bad = 0
    bad_messages: list[str]
    malformed: deque[int]

    def __init__(self, table: Any, name: str) -> None:
        arrow(name)
        self.name = name
        self.bad_messages = []
        self.malformed = deque()
        try:
            self._table = table_of(table)
        except BudgetronError as error:
            raise StreamError(name, None, str(error)) from None
        self.names = self._table.column_names

    def with_column(self, name: str, values: Any) -> Any:
        """The table with one more column."""
        import pyarrow as pa

        column = pa.array(np.asarray(values))
        return self._table.append_column(name, column)

    def read(self, wanted: Wanted, start: int, batch_rows: int) -> Iterator[Any]:
        check_start(self.name, start, self._table.num_rows)
        table = self._table.select(wanted.needed)
        yield from table.slice(start).combine_chunks().to_batches(max_chunksize=batch_rows)

    def line_of(self, row: int) -> int | None:
        return None

    def close(self) -> None: ...


class ParquetBatches:
    """A Parquet file, one row group after the other; row groups before the start are not read."""

    n_bad = 0
    bad_messages: list[str]
    malformed: deque[int]

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = os.fspath(path)
        pa = arrow(self.name)
        import pyarrow.parquet as pq

        if self.name == "-":
            what = "Parquet is read from its end: save standard input to a file first"
            raise StreamError("<stdin>", None, what)
        try:
            refuse_packed(self.name, "Parquet")
            self.bytes_total: int | None = os.stat(path).st_size
            self._file = pq.ParquetFile(path)
            self.names = list(self._file.schema_arrow.names)
        except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
            raise unreadable(self.name, "Parquet", b"PAR1", error) from error
        self.bytes_read = 0
        self.bad_messages = []
        self.malformed = deque()

    def read(self, wanted: Wanted, start: int, batch_rows: int) -> Iterator[Any]:
        import pyarrow as pa

        meta = self._file.metadata
        check_start(self.name, start, meta.num_rows)
        group = 0
        while group < meta.num_row_groups and start >= meta.row_group(group).num_rows:
            start -= meta.row_group(group).num_rows
            group += 1
        try:
            for each in range(group, meta.num_row_groups):
                batches = self._file.iter_batches(batch_rows, [each], wanted.needed)
                for batch in batches:
                    drop = min(start, batch.num_rows)
                    start -= drop
                    yield plain(batch.slice(drop))
                self.bytes_read = (self.bytes_total or 0) * (each + 1) // meta.num_row_groups
        except (OSError, pa.ArrowException) as error:
            raise unreadable(self.name, "Parquet", b"PAR1", error) from error

    def line_of(self, row: int) -> int | None:
        return None

    def close(self) -> None:
        self._file.close()


def refuse_packed(path: str, title: str) -> None:
    """Say what to do with a compressed file of a format that is read from its end."""
    with open(path, "rb") as file:
        packed = compression(file.read(8))
    if packed is not None:
        what = f"is {title} packed as .{packed}: unpack it first ({BY_HAND[packed]} {path} > FILE)"
        raise StreamError(path, None, f"{what}; {title} is compressed inside")


def check_start(name: str, start: int, end: int) -> None:
    if start > end:
        what = f"position {start} is after the end, which is {end}"
        raise StreamError(name, None, what)


def arrow(name: str) -> Any:
    """The pyarrow module, or what to install."""
    try:
        import pyarrow
    except ImportError:
        what = "reading tables needs pyarrow: pip install 'budgetron[lab]'"
        raise StreamError(name, None, what) from None
    return pyarrow


def unreadable(name: str, title: str, magic: bytes, error: BaseException) -> StreamError:
    """Why a file of a format that begins with `magic` cannot be read, and what to do."""
    if isinstance(error, OSError) and error.errno and error.strerror:
        return StreamError(name, None, error.strerror[:1].lower() + error.strerror[1:])
    try:
        with open(name, "rb") as file:
            head = file.read(4096)
    except OSError as reason:  # a folder
        return StreamError(name, None, str(reason.strerror).lower())
    damaged = f"is damaged, or an incomplete copy of a{'n'[: title == 'Arrow']} {title} file"
    what = looks_else(head, title.lower()) or f"is not a{'n'[: title == 'Arrow']} {title} file"
    if not head:
        what = "is empty"
    elif head.startswith(magic):
        what = f"{damaged}: copy it again"
    elif what.startswith("is no") and looks_like_table(head):
        what += ": is it CSV text (--format csv)?"
    return StreamError(name, None, what)


def off_main(call: Callable[[], Any]) -> Any:
    """Call in a thread other than the main one, where pyarrow takes over SIGINT and SIGTERM.

    There it would stop in the middle even if the signal's handler continues. Python's own handlers
    run while the main thread waits here.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    with ThreadPoolExecutor(1, "arrow") as other:
        return other.submit(call).result()
