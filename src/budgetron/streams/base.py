"""The protocol of all streams, their error class, and the base class of the library's streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from budgetron.errors import BudgetronError

if TYPE_CHECKING:
    from typing import Self

    import numpy as np
    from numpy.typing import DTypeLike, NDArray
    from scipy.sparse import csr_array

    from budgetron.streams.table.roles import Layout

    Chunk: TypeAlias = tuple[csr_array[Any] | NDArray[Any], NDArray[Any]]
    Bookmark: TypeAlias = dict[str, Any]
    Position: TypeAlias = int | Mapping[str, Any]

CHUNK_ROWS = 4096
# How many bad rows keep their message.
KEPT = 5
# The entries of bookmarks that are numbers.
_COUNTED = ("rows", "bad", "bad_before", "line", "byte", "features", "link")


class StreamError(BudgetronError):
    """An error in a source; its text is `FILE:LINE: what is wrong`, on one line.

    Parameters
    ----------
    name : the source as the user named it
    line : the line, from 1; None if the error is about the whole source, or if `what` names row
        and column
    what : what is wrong
    """

    def __init__(self, name: str, line: int | None, what: str) -> None:
        super().__init__(name, line, what)
        self.name = name
        self.line = line
        self.what = what

    def __str__(self) -> str:
        where = self.name if self.line is None else f"{self.name}:{self.line}"
        return f"{where}: {self.what}"


@runtime_checkable
class Stream(Protocol):
    """Rows in order, one chunk (X, y) at a time.

    Iterating continues from the position; a chunk's rows count as read when it is returned. The
    cut into chunks has no meaning.
    """

    @property
    def name(self) -> str:
        """The name of the stream, for tables and messages."""

    @property
    def position(self) -> int:
        """Rows read so far: a new stream with this position continues after them."""

    @property
    def bookmark(self) -> Bookmark:
        """The position with what makes it quick to find again; a small dict that JSON can hold."""

    def at(self, position: Position) -> Stream:
        """The same stream opened again, after `position` rows or at a bookmark."""

    def __iter__(self) -> Iterator[Chunk]: ...


class RowStream:
    """The base class of the library's streams: position, limit, bad rows, closing.

    A subclass implements `_take`, which returns the next rows.

    Parameters
    ----------
    name : name of the stream
    again : opens the stream again, given `position`
    chunk_rows : largest number of rows in a chunk
    rows : the stream ends after this many rows, counted from its start; None: no limit
    dtype : type of X, float32 or float64

    Attributes
    ----------
    n_features : width of X so far; 0 if that is not known yet
    grows : whether X may become wider later
    n_bad, bad_messages : number of malformed rows that were skipped, and the first few messages;
        a bookmark keeps those before it
    bytes_total, bytes_read : size of the file on disk (None: unknown), and how much of it was read
    """

    name: str
    n_features: int = 0
    grows: bool = False
    bytes_total: int | None = None
    bytes_read: int = 0

    def __init__(
        self,
        name: str,
        again: Callable[..., Any],
        chunk_rows: int,
        rows: int | None,
        dtype: DTypeLike,
    ) -> None:
        import numpy as np

        if chunk_rows < 1:
            raise BudgetronError(f"chunk_rows must be at least 1, not {chunk_rows}")
        if rows is not None and rows < 0:
            raise BudgetronError(f"rows must be at least 0, not {rows}")
        if np.dtype(dtype) not in (np.float32, np.float64):
            raise BudgetronError(f"dtype must be float32 or float64, not {np.dtype(dtype).name}")
        self.name = name
        self.dtype = np.dtype(dtype)
        self._again = again
        self._chunk_rows = chunk_rows
        self._rows = rows
        self._position = 0
        self._n_bad = 0
        self._bad: list[str] = []
        self._numbers: NDArray[np.int64] | None = None  # None: no row was skipped
        self._taken = 0

    @property
    def position(self) -> int:
        return self._position

    @property
    def bookmark(self) -> Bookmark:
        return {"rows": self._position}

    @property
    def n_bad(self) -> int:
        return self._n_bad

    @property
    def bad_messages(self) -> list[str]:
        return list(self._bad)

    @property
    def amount(self) -> int | None:
        """How much there is to read, in bytes or rows; None: unknown."""
        return self._rows or self.bytes_total

    def amount_done(self, position: int, bytes_read: int) -> int:
        """How much of `amount` comes before a position.

        With a row limit these are rows, or bytes, which may end earlier.
        """
        if not self._rows:
            return bytes_read
        share = bytes_read / self.bytes_total if self.bytes_total else 0.0
        return max(position, int(self._rows * min(share, 1.0)))

    @property
    def layout(self) -> Layout | None:
        """How a table's columns became features, so far; None if there are no columns."""
        return None

    @property
    def skipped(self) -> str:
        """A message about the skipped rows; empty if there are none."""
        if not self.n_bad:
            return ""
        rows = "row" if self.n_bad == 1 else "rows"
        # The user has already set the flag that the message names.
        said = [each.removesuffix(", or add --skip-bad") for each in self.bad_messages[:1]]
        first = "".join(f"; the first: {each}" for each in said)
        return f"{self.n_bad} bad {rows} skipped{first}"  # an old bookmark has no messages

    @property
    def column_notices(self) -> list[str]:
        """Messages about the inferred kinds of a table's columns."""
        return []

    @property
    def cell_notices(self) -> list[str]:
        """Messages about values of a table that could not be read."""
        return []

    def at(self, position: Position) -> Self:
        """The same stream opened again, after `position` rows or at a bookmark."""
        made: Self = self._again(position=position)
        return made

    def __iter__(self) -> Iterator[Chunk]:
        while (chunk := self.next_chunk(self._chunk_rows)) is not None:
            yield chunk

    def next_chunk(self, rows: int) -> Chunk | None:
        """The next chunk, of at most `rows` rows; None at the end."""
        room = self._room(min(rows, self._chunk_rows))
        self._numbers = None
        chunk = self._take(room) if room > 0 else None
        if chunk is not None:
            self._taken = len(chunk[1])
            self._position += self._taken
        return chunk

    @property
    def carried(self) -> dict[str, list[Any]]:
        """For tables: the cells of the carried columns, for the last chunk, unchanged."""
        return {}

    @property
    def row_numbers(self) -> NDArray[np.int64]:
        """The number of each row of the last chunk in the source, from 1.

        Skipped rows have numbers too, which are left out. At the end there were
        ``position + n_bad`` rows.
        """
        import numpy as np

        if self._numbers is None:
            return np.arange(self._position - self._taken, self._position, dtype=np.int64) + 1
        return self._numbers

    def skim(self) -> Iterator[int]:
        """Read without returning rows (for `n_features`, or to count); yields rows per chunk."""
        for _, y in self:
            yield len(y)

    def _room(self, rows: int) -> int:
        """How many of the next `rows` rows belong to the stream."""
        return rows if self._rows is None else min(rows, self._rows - self._position)

    def _take(self, rows: int) -> Chunk | None:
        """The next chunk, of at least one and at most `rows` rows; None at the end."""
        raise NotImplementedError

    def _note_bad(self, error: StreamError) -> None:
        self._n_bad += 1
        if len(self._bad) < KEPT:
            self._bad.append(str(error))

    def _beyond_end(self, position: int, end: int) -> StreamError:
        self.close()
        return StreamError(self.name, None, f"position {position} is after the end, which is {end}")

    def close(self) -> None:
        """Close the file, if there is one; rows not yet read are lost."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def noted(**of_bad_rows: int | list[str] | dict[str, int]) -> Bookmark:
    """The entries of a bookmark about bad rows and cells: counts and lists, if not 0 or empty."""
    return {name: copy(value) for name, value in of_bad_rows.items() if value}


def messages_in(position: Position, name: str = "messages") -> list[str]:
    """The messages about bad rows in a bookmark; none if it is old.

    >>> messages_in({"rows": 3, "bad": 1, "messages": ["a.csv:2: no number"]}), messages_in(3)
    (['a.csv:2: no number'], [])
    """
    return list(position.get(name, ())) if isinstance(position, Mapping) else []


def rows_of(position: Position) -> int:
    """The number of rows before a position or bookmark, checked.

    >>> rows_of(3), rows_of({"rows": 3, "byte": 40})
    (3, 3)
    """
    rows = position.get("rows") if isinstance(position, Mapping) else position
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 0:
        raise BudgetronError(f"position must be a number of rows or a bookmark, not {position!r}")
    return rows


def checked_bookmark(written: Any) -> Bookmark:
    """A bookmark from a file, with whole numbers; raises BudgetronError for anything else.

    >>> checked_bookmark({"rows": 3, "byte": 40})
    {'rows': 3, 'byte': 40}
    """
    if not isinstance(written, dict) or "rows" not in written:
        raise BudgetronError("the bookmark has no row")
    for name, number in written.items():
        counts = name.removeprefix("in_") in _COUNTED
        if counts and (type(number) is not int or not 0 <= number < 2**62):
            raise BudgetronError(f"the bookmark's {name} is not a number")
    cells = written.get("unparsed", {})
    if not isinstance(cells, dict) or not all(type(each) is int for each in cells.values()):
        raise BudgetronError("the bookmark's unparsed are not numbers")
    return written
