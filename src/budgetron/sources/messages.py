"""Messages of a source as the batches of a table, with the position after every row.

The position of a run is the source's mark after a block of messages and the number of rows of the
next block that were used: a later run seeks the mark, reads that block again and skips these rows.
Bad messages count when the rows after them are used, so that each is counted, and kept in the file
of dead letters, once.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from budgetron.sources.dead_letters import DeadLetters
from budgetron.sources.protocol import Batch, Gone
from budgetron.sources.waiting import Patience
from budgetron.streams.base import KEPT, StreamError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from budgetron.sources.protocol import Mark, Source
    from budgetron.sources.values import Format, Parsed
    from budgetron.streams.table import Wanted

SECONDS = 0.2  # wait of one read: how soon a request to stop is seen
PATIENT = 5.0  # seconds after which it says what it waits for


def _never() -> bool:
    return False


def _say_nothing(text: str) -> None: ...


@dataclass(frozen=True)
class Join:
    """The source of labels, and how they find their rows.

    Parameters
    ----------
    source : the source of labels
    id : key of a row's id, in both
    most_bytes, seconds : limits of what may wait for its counterpart, and how long
    """

    source: str
    id: str
    most_bytes: int = 16_000_000
    seconds: float = 3600.0


@dataclass(frozen=True)
class Live:
    """Options only for sources of messages.

    Parameters
    ----------
    idle : the stream ends after so many seconds without a message; None: it never ends by itself
    dead_letters : file for bad messages; None: they are only counted
    tell : receives a line for people: that a source is not reachable, or is back
    ids : whether `LiveStream.ids` is needed
    join : labels come later, from another source; None: they are in the rows
    stop : the stream ends as soon as this returns True; `stop_when` sets another
    """

    idle: float | None = None
    dead_letters: str | None = None
    tell: Callable[[str], None] = _say_nothing
    ids: bool = False
    join: Join | None = None
    stop: Callable[[], bool] = _never


class _Block(NamedTuple):
    """Messages whose rows are used: those from `start` to before `end`."""

    start: int
    end: int
    batch: Batch
    origin: NDArray[np.intp]


class MessageBatches:
    """An open source as a table.

    Parameters
    ----------
    source : the source of messages
    format : how they are parsed
    live : when to end, and how to report
    first : messages that define the table's columns
    known : columns that are known beforehand
    mark : from `mark_at`, to continue after it; None: from the start
    """

    bytes_total: int | None = None
    bytes_read = 0

    def __init__(
        self,
        source: Source,
        format: Format,
        live: Live,
        first: int,
        known: Sequence[str] = (),
        mark: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = source.name
        self.source = source
        self._format = format
        self.live = live
        self._stop = live.stop
        self._came = time.monotonic()
        self._ended = False
        self._patience = Patience(self.name, live.tell, self._given_up)
        self.n_bad = 0
        self.bad_messages: list[str] = []
        self.malformed: deque[int] = deque()
        self._blocks: deque[_Block] = deque()
        self._pending: list[tuple[int, str, str, bytes]] = []
        self._first: Batch | None = None  # read, but not used
        self._parser: ThreadPoolExecutor | None = None
        self._mark: Mark | None = None
        self._skip = self._used = 0
        size = None
        if mark is not None:
            try:
                self.names = [str(each) for each in mark["names"]]
                self._mark, self._skip, size = mark["mark"], int(mark["skip"]), int(mark["dead"])
            except (KeyError, TypeError, ValueError):
                raise StreamError(self.name, None, "the checkpoint has no position in it") from None
            if self._mark is not None:
                source.seek(self._mark)
        self._dead = DeadLetters(live.dead_letters, size)
        self._mark_row = -1  # the row after the mark; known when reading begins
        if mark is None:
            self._first, tables = self._look(first)
            self.names = list(dict.fromkeys([*format.names(tables), *known]))

    def stop_when(self, asked: Callable[[], bool]) -> None:
        """End the stream as soon as `asked` returns True."""
        self._stop = asked

    def read(self, wanted: Wanted, start: int, batch_rows: int) -> Iterator[Any]:
        raw = self._mark_row = start - self._skip
        self._used = start
        while (batch := self._next(batch_rows)) is not None:
            tables, origin, bad = self._parsed(batch, wanted, batch_rows)
            block = _Block(raw, raw + len(origin), batch, origin)
            self._blocks.append(block)
            self._note(block, bad, start)
            for table in tables:
                skip = max(0, start - raw)
                raw += table.num_rows
                yield from with_columns(table, wanted.needed).slice(skip).to_batches(batch_rows)
        self._dead.flush()

    def _parsed(self, batch: Batch, wanted: Wanted, most: int) -> Parsed:
        """The rows of a batch; while they are parsed, the messages after it are fetched.

        Not if labels come later: then a row is answered when it is read, so all rows before it must
        be learned by then.
        """
        if self.live.join is not None or self._first is not None:
            return self._format.parse(batch.values, wanted)
        if self._parser is None:
            self._parser = ThreadPoolExecutor(1, "parse")
        coming = self._parser.submit(self._format.parse, batch.values, wanted)
        try:
            if not self._ended and not self._stop():
                ahead = self.source.read(most, 0.0)
                self._ended = ahead is None
                if ahead is not None and ahead.values:
                    self._came = time.monotonic()
                    self._first = ahead
        except Gone:  # the next call reports it, and waits
            pass
        finally:
            found = coming.result()
        return found

    def _note(self, block: _Block, bad: list[tuple[int, str]], start: int) -> None:
        """Keep bad messages until the rows after them are used."""
        for at, why in bad:
            row = block.start + int(np.searchsorted(block.origin, at))
            if self._skip and row <= start:
                continue  # counted before
            passed = self.n_bad + len(self._pending)
            self._pending.append((row, block.batch.where(at), why, block.batch.values[at]))
            self.malformed.append(row + passed + 1)
        if not len(block.origin):  # all before it was used: otherwise it would not be read yet
            self.settle(self._used)
            self.mark_at(self._used)

    def refuse(self, row: int, why: str) -> None:
        """Mark a row, by its number from 0, as bad later: its message is kept too."""
        block = next(each for each in self._blocks if row < each.end)
        at = int(block.origin[row - block.start])
        self._dead.write(block.batch.where(at), why, block.batch.values[at])

    def settle(self, row: int) -> None:
        """All rows before this one were used: count the bad messages among them."""
        self._used = row
        used = sum(each[0] <= row for each in self._pending)
        for _, where, why, value in self._pending[:used]:
            self.n_bad += 1
            if len(self.bad_messages) < KEPT:
                self.bad_messages.append(f"{self.name}: message {where} {why}")
            self._dead.write(where, why, value)
        del self._pending[:used]
        self._dead.flush()

    def where(self, rows: NDArray[np.int64]) -> list[str]:
        """The ids of the messages of rows, given by number from 0."""
        found = []
        blocks = iter(self._blocks)
        block = next(blocks)
        for row in rows.tolist():
            while row >= block.end:
                block = next(blocks)
            found.append(block.batch.where(int(block.origin[row - block.start])))
        return found

    def mark_at(self, row: int) -> dict[str, Any]:
        """The position after a row, for checkpoints."""
        while self._blocks and self._blocks[0].end <= row:
            block = self._blocks.popleft()
            self._mark, self._mark_row = block.batch.mark, block.end
        return {
            "mark": self._mark,
            "skip": max(0, row - self._mark_row),
            "names": self.names,
            "dead": self._dead.size,
            "format": self._format.state(),
        }

    def exact_mark(self, row: int) -> dict[str, Any] | None:
        """The same without rows of a block to skip; None: the source has no such position there."""
        found = self.mark_at(row)
        if not found["skip"]:
            return found
        block = next(each for each in self._blocks if row < each.end)
        behind = getattr(block.batch.where, "mark", None)
        if behind is None:
            return None
        return {**found, "mark": behind(int(block.origin[row - block.start])), "skip": 0}

    def _next(self, most: int) -> Batch | None:
        """The next messages, however long they take; None at the end."""
        if self._first is not None:
            batch, self._first = self._first, None
            return batch
        while not self._ended:
            found = self._patience(lambda: self.source.read(most, self._seconds()))
            if found is None:
                self._ended = True
            elif found.values:
                self._came = time.monotonic()
                return found
            elif self._given_up():
                self._ended = True
        return None

    def _seconds(self) -> float:
        idle = self.live.idle
        left = SECONDS if idle is None else max(0.0, self._came + idle - time.monotonic())
        return min(SECONDS, left)

    def _given_up(self) -> bool:
        idle = self.live.idle
        late = idle is not None and time.monotonic() - self._came >= idle
        return late or self._stop()

    def _look(self, rows: int) -> tuple[Batch, list[Any]]:
        """The first messages, with so many rows or all there are; and these rows."""
        batches: list[Batch] = []
        tables: list[Any] = []
        found = 0
        begun = time.monotonic()
        while found < rows and (batch := self._next(rows - found)) is not None:
            batches.append(batch)
            if time.monotonic() - begun > PATIENT:
                begun = float("inf")
                what = f"the first {rows:,} rows, to infer its columns"
                self.live.tell(f"{self.name}: waiting for {what}")
            parsed = self._format.parse(batch.values, None)
            found += len(parsed.origin)
            tables += parsed.tables
        if not batches:
            raise StreamError(self.name, None, "no message came")
        if not tables:
            what = "no message could be read"
            wrong = self._format.parse(batches[0].values, None).bad
            if wrong:
                what += f"; message {batches[0].where(wrong[0][0])} {wrong[0][1]}"
            raise StreamError(self.name, None, what)
        return _joined(batches), tables

    def line_of(self, row: int) -> int | None:
        return None

    def close(self) -> None:
        if self._parser is not None:
            self._parser.shutdown()
        self.source.close()
        self._dead.close()


def with_columns(table: Any, names: list[str]) -> Any:
    """The columns of an Arrow table by these names; missing columns are gaps."""
    import pyarrow as pa

    for name in names:
        if name not in table.column_names:
            table = table.append_column(name, pa.nulls(table.num_rows))
    return table.select(names).combine_chunks()


def _joined(batches: list[Batch]) -> Batch:
    """Several batches as one."""
    ends = np.cumsum([len(each.values) for each in batches])

    def where(i: int) -> str:
        at = int(np.searchsorted(ends, i, side="right"))
        return batches[at].where(i - int(ends[at - 1]) if at else i)

    return Batch([value for each in batches for value in each.values], batches[-1].mark, where)
