"""Messages as a stream of rows: a table's stream whose position is one in the source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from budgetron.sources.messages import with_columns
from budgetron.streams.base import CHUNK_ROWS, StreamError, rows_of
from budgetron.streams.table import TableStream
from budgetron.streams.table.encoder import Encoder
from budgetron.streams.table.roles import Roles

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from budgetron.sources.joining import Joined
    from budgetron.sources.messages import MessageBatches
    from budgetron.streams.base import Bookmark, Chunk, Position


class LiveStream(TableStream):
    """Chunks (X, y) of messages; a bad message never ends the stream.

    Parameters
    ----------
    open_messages : opens the source, given the mark to continue after, or None
    roles, chunk_rows, dtype, skip_bad, rows, position, gaps : as in `TableStream`; a position is 0
        or a bookmark, and bad messages are always skipped

    Attributes
    ----------
    lag : how much waits in the source, as far as known, with its unit; empty: not known
    ids : for the last chunk, if wanted, the first carried column, or the source's name for the
        message of each row
    """

    ids: list[str]

    def __init__(
        self,
        open_messages: Callable[[Any], MessageBatches],
        roles: Roles | None = None,
        chunk_rows: int = CHUNK_ROWS,
        dtype: DTypeLike = np.float32,
        skip_bad: bool = True,
        rows: int | None = None,
        position: Position = 0,
        *,
        gaps: bool = True,
    ) -> None:
        self._roles = roles or Roles()
        mark = position.get("source") if isinstance(position, Mapping) else None
        if rows_of(position) and not isinstance(mark, dict):
            what = "a source of messages resumes from a bookmark, not from a number of rows"
            raise StreamError("budgetron", None, what)

        def opened(mark: Any = mark) -> MessageBatches:
            self._messages = open_messages(mark)
            return self._messages

        self._infer_rows = min(self._infer_rows, rows or self._infer_rows)
        super().__init__(opened, roles, chunk_rows, dtype, True, rows, position, gaps=gaps)
        self._passed = self._messages.n_bad

    @property
    def bookmark(self) -> Bookmark:
        mark = self._messages.mark_at(self._raw)
        return {**super().bookmark, "source": mark}

    @property
    def exact_bookmark(self) -> Bookmark | None:
        """The bookmark with the source's own position after the last row, for others to continue.

        None if the source has no position there.
        """
        mark = self._messages.exact_mark(self._raw)
        return None if mark is None else {**super().bookmark, "source": mark}

    @property
    def at_end(self) -> bool:
        """Whether the source has been read to its end, as it said last."""
        return self._messages.source.at_end

    @property
    def lag(self) -> str:
        lag, unit = self.behind
        return "" if lag is None else f"lag {lag:,} {unit}"

    @property
    def behind(self) -> tuple[int | None, str]:
        """How much waits in the source, as far as known, and its unit."""
        source = self._messages.source
        return source.lag, source.unit

    def refuse(self, which: list[int], why: str) -> None:
        """Mark rows of the last chunk, by their numbers in it, as bad later."""
        for at in which:
            self._note_bad_row(int(self._used[at]), StreamError(self.name, None, why))
        self._position -= len(which)

    @property
    def joined(self) -> Joined | None:
        """The source itself, if it joins rows with late labels."""
        from budgetron.sources.joining import Joined

        source = self._messages.source
        return source if isinstance(source, Joined) else None

    def unlabelled(self, values: list[bytes]) -> tuple[Any, NDArray[np.intp]]:
        """Rows of JSON messages without labels: X, and the number of each row's message."""
        from budgetron.sources.values import Json

        tables, origin, _ = Json().parse(values, None)
        layout = self.layout
        if layout is None or not len(origin):
            return None, np.zeros(0, np.intp)
        roles = replace(self._roles, layout=layout, labelled=False, strict=False)
        encoder = Encoder(self.name, self._messages.names, roles, self.dtype)
        [table] = tables
        [batch] = with_columns(table, encoder.needed).to_batches()
        X, _ = encoder.encode(batch, origin.astype(np.int64)).chunk
        return X, origin

    def stop_when(self, asked: Callable[[], bool]) -> None:
        """End the stream as soon as `asked` returns True; it may be waiting for messages."""
        self._messages.stop_when(asked)

    def _take(self, rows: int) -> Chunk | None:
        self._messages.mark_at(self._raw)  # releases the messages used before
        chunk = super()._take(rows)
        self._messages.settle(self._raw)
        if self._messages.live.ids and chunk is not None:
            named = next(iter(self.carried.values()), [None] * len(self._used))
            found = self._messages.where(self._used)
            self.ids = [b if a is None else a for a, b in zip(named, found, strict=True)]
        return chunk

    def _note_bad_row(self, row: int, error: StreamError) -> None:
        what = error.what.removesuffix(": fill it in, or add --skip-bad")
        super()._note_bad_row(row, StreamError(self.name, None, what))
        self._messages.refuse(row, what)
