"""The one protocol of all streams, and the one error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    Chunk: TypeAlias = tuple[csr_array[Any] | NDArray[Any], NDArray[np.float64]]


class StreamError(ValueError):
    """What is wrong in a source; its text is `FILE:LINE: what is wrong`, on one line.

    Parameters
    ----------
    name : the source as the user named it
    line : the line it is about, from 1; None if it is about the source as a whole
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
    """Rows in order, a chunk (X, y) at a time.

    Iterating goes on from the position; a chunk's rows count as read when it is handed out. How
    rows are cut into chunks means nothing.
    """

    @property
    def name(self) -> str:
        """What to call it in a table or a message."""

    @property
    def position(self) -> int:
        """Rows read so far: a stream made anew with this position goes on behind them."""

    def __iter__(self) -> Iterator[Chunk]: ...
