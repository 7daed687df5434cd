"""Several streams one after the other, as one stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from budgetron.streams.base import (
    CHUNK_ROWS,
    RowStream,
    StreamError,
    messages_in,
    noted,
    rows_of,
)

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from budgetron.streams.base import Bookmark, Chunk, Position
    from budgetron.streams.table.roles import Layout


class ChainStream(RowStream):
    """The rows of several streams; each is opened when its turn comes.

    Parameters
    ----------
    name : name of the stream
    links : functions that open each stream, given `position`, and `layout` if they are tables
    chunk_rows : largest number of rows in a chunk; that of the links
    dtype : type of X; that of the links
    rows : end after this many rows
    position : rows to skip first, or a bookmark
    """

    def __init__(
        self,
        name: str,
        links: Sequence[Callable[..., RowStream]],
        chunk_rows: int = CHUNK_ROWS,
        dtype: DTypeLike = "float32",
        rows: int | None = None,
        position: Position = 0,
    ) -> None:
        again = partial(type(self), name, links, chunk_rows, dtype, rows)
        super().__init__(name, again, chunk_rows, rows, dtype)
        self._links = list(links)
        self._link = 0
        self._before = 0  # bad rows of finished links
        self._read = 0  # bytes of finished links
        self._rows_before = 0  # rows of finished links, with bad ones
        behind = rows_of(position)
        inner: Position = 0
        if isinstance(position, Mapping) and "link" in position:
            self._link, self._before = position["link"], position.get("bad_before", 0)
            self._position = behind
            self._bad = messages_in(position)
            inner = {
                key.removeprefix("in_"): value
                for key, value in position.items()
                if key.startswith("in_")
            }
            if self._link >= len(self._links) or "rows" not in inner:
                what = "the bookmark is in none of its files: they have changed"
                raise StreamError(name, None, what)
        self._layout: Layout | None = None
        if self._link > 0:  # the first link defines the columns
            with self._links[0](position=0) as first:
                self._layout = first.layout
        self._stream = self._opened(inner)
        while self._position < behind:
            chunk = self._take(min(chunk_rows, behind - self._position))
            if chunk is None:
                raise self._beyond_end(behind, self._position)
            self._position += len(chunk[1])

    @property
    def bookmark(self) -> Bookmark:
        inner = {f"in_{key}": value for key, value in self._stream.bookmark.items()}
        return {
            "rows": self._position,
            "link": self._link,
            "bad_before": self._before,
            **noted(messages=self._bad),
            **inner,
        }

    @property
    def grows(self) -> bool:  # type: ignore[override]
        return self._stream.grows

    @property
    def n_features(self) -> int:  # type: ignore[override]
        return self._stream.n_features

    @property
    def n_bad(self) -> int:
        return self._before + self._stream.n_bad

    @property
    def bad_messages(self) -> list[str]:
        return [*self._bad, *self._stream.bad_messages]

    @property
    def bytes_read(self) -> int:  # type: ignore[override]
        return self._read + self._stream.bytes_read

    @property
    def carried(self) -> dict[str, list[Any]]:
        return self._stream.carried

    def _take(self, rows: int) -> Chunk | None:
        while True:
            chunk = self._stream.next_chunk(rows)
            if chunk is not None:
                self._numbers = self._rows_before + self._stream.row_numbers
            if chunk is not None or self._link + 1 == len(self._links):
                return chunk
            self._before += self._stream.n_bad
            self._rows_before += self._stream.position + self._stream.n_bad
            self._read += self._stream.bytes_read
            self._bad += self._stream.bad_messages
            self._stream.close()
            self._layout = self._stream.layout
            self._link += 1
            self._stream = self._opened(0)

    def _opened(self, position: Position) -> RowStream:
        """Open the link with the layout of the first one."""
        known = {} if self._layout is None else {"layout": self._layout, "columns": None}
        return self._links[self._link](position=position, **known)

    @property
    def layout(self) -> Layout | None:
        return self._stream.layout

    def close(self) -> None:
        """Close the open file."""
        self._stream.close()
