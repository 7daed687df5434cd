"""Reading while learning: a thread reads the next chunk of a stream while this one is learned.

Parsing, decompressing and learning release Python's lock, so on two cores they overlap.
"""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from budgetron.streams.base import Bookmark, Chunk, RowStream
    from budgetron.streams.table.roles import Layout


class Place(NamedTuple):
    """The position of a stream after a chunk: the values of its attributes then.

    `ids` are those of the chunk's rows, only for messages.
    """

    name: str
    position: int
    bookmark: Bookmark
    layout: Layout | None
    bytes_read: int
    ids: list[Any] | None = None


def read_ahead(stream: RowStream, *, waits: bool = False) -> Generator[tuple[Place, Chunk]]:
    """The chunks of a stream and the position after each; one chunk is read ahead.

    The stream itself may be one chunk ahead, so use `Place` for its position. An error is raised
    where the stream would have raised it: after the chunks before it. Closing the iterator waits
    for the chunk that is being read.

    Parameters
    ----------
    stream : the stream to read
    waits : whether reading may wait for others (a pipe): then it is done in this thread. A waiting
        thread could not be stopped, and rows that have come are learned at once anyway

    Examples
    --------
    >>> import numpy as np
    >>> from budgetron.streams import open_stream
    >>> stream = open_stream((np.eye(4), [0, 1, 0, 1]), chunk_rows=3)
    >>> [(place.position, len(y)) for place, (X, y) in read_ahead(stream)]
    [(3, 3), (4, 1)]
    """
    chunks = iter(stream)

    def take() -> tuple[Place, Chunk] | None:
        chunk = next(chunks, None)
        return None if chunk is None else (place_of(stream), chunk)

    if waits:
        yield from iter(take, None)
        return
    with ThreadPoolExecutor(1, "read-ahead") as reader:
        taken = take()
        while taken is not None:
            coming = reader.submit(take)
            yield taken
            taken = coming.result()


def place_of(stream: RowStream) -> Place:
    """The current position of a stream."""
    return Place(
        stream.name,
        stream.position,
        stream.bookmark,
        stream.layout,
        stream.bytes_read,
        getattr(stream, "ids", None),
    )
