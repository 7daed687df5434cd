"""LIBSVM text as a stream: `label index:value index:value ...`, indices from 1.

The native parser (core/libsvm.hpp) turns text into rows; here are the file around it, the chunks
and the errors. Memory is constant: a block of text and a chunk of rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from budgetron import _core
from budgetron.streams.protocol import StreamError
from budgetron.streams.source import Source

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import DTypeLike, NDArray

# A chunk ends after this much text even if it has few rows: a row can be of any width.
CHUNK_BYTES = 1 << 20
_MAX_INDEX = 2**31 - 1


class LibsvmStream:
    """Chunks (X, y) of a LIBSVM text file: plain, .gz, .xz, .bz2, or "-" for standard input.

    Parameters
    ----------
    path : file name, or "-"
    chunk_rows : largest number of rows in a chunk (a chunk also ends after about 1 MiB of text,
        and, reading a pipe, with what has come)
    dtype : float32 or float64, of X
    skip_bad : pass over malformed lines and count them, instead of stopping at the first
    n_features : width of X; a larger index is then an error. None: as wide as the largest index so
        far, so that later chunks may be wider
    position : rows to pass over first (the `position` of an earlier stream over the same file)

    Attributes
    ----------
    name : the path as given, or `<stdin>`
    position : rows read so far
    max_index : largest feature index read so far, from 1; 0 if none
    n_bad : malformed lines so far
    bad_messages : the first few of them, as `FILE:LINE: what is wrong`
    bytes_total, bytes_read : size of the file on disk (None: unknown), and how much of it was read

    Raises
    ------
    StreamError
        By the constructor if the file cannot be opened; while iterating, after the chunk with the
        rows before it, at a malformed line or where compressed data is damaged.

    Examples
    --------
    >>> with LibsvmStream("a9a.libsvm.xz") as stream:  # doctest: +SKIP
    ...     for X, y in stream:
    ...         model.prequential(X, y)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        chunk_rows: int = 4096,
        dtype: DTypeLike = np.float32,
        skip_bad: bool = False,
        n_features: int | None = None,
        position: int = 0,
    ) -> None:
        if chunk_rows < 1:
            raise ValueError(f"chunk_rows must be at least 1, not {chunk_rows}")
        if n_features is not None and not 1 <= n_features <= _MAX_INDEX:
            raise ValueError(f"n_features must be from 1 to {_MAX_INDEX}, not {n_features}")
        if np.dtype(dtype) not in (np.float32, np.float64):
            raise ValueError(f"dtype must be float32 or float64, not {np.dtype(dtype).name}")
        single = np.dtype(dtype) == np.float32
        parser = _core.LibsvmParser32 if single else _core.LibsvmParser64
        self._parser = parser(skip_bad=skip_bad, max_index=n_features or _MAX_INDEX)
        self._chunk_rows = chunk_rows
        self._n_features = n_features
        self._source = Source(path)
        self._block = b""
        self._used = 0  # of the block
        self._ended = False
        self._error: StreamError | None = None
        self._position = 0
        while self._position < position:
            if not self._skim(position - self._position):
                self.close()
                what = f"position {position} is behind the end, which is {self._position}"
                raise StreamError(self.name, None, what)

    # ---- what it says of itself --------------------------------------------------------------

    @property
    def name(self) -> str:
        return self._source.name

    @property
    def position(self) -> int:
        return self._position

    @property
    def max_index(self) -> int:
        return int(self._parser.max_index)

    @property
    def n_bad(self) -> int:
        return int(self._parser.n_bad)

    @property
    def bad_messages(self) -> list[str]:
        return [str(StreamError(self.name, line, what)) for line, what in self._parser.bad]

    @property
    def bytes_total(self) -> int | None:
        return self._source.bytes_total

    @property
    def bytes_read(self) -> int:
        return self._source.bytes_read

    # ---- reading -----------------------------------------------------------------------------

    def __iter__(self) -> Iterator[tuple[csr_array[Any], NDArray[np.float64]]]:
        while rows := self._fill(self._chunk_rows):
            y, indptr, indices, values = self._parser.take()
            width = self._n_features or max(self.max_index, 1)
            X = csr_array((values, indices, indptr), shape=(rows, width))
            X.has_canonical_format = True  # the parser sorts and refuses duplicates
            self._position += rows
            yield X, y

    def skim(self) -> Iterator[int]:
        """Read on without making arrays (for `max_index`, or to count); yields rows per chunk."""
        while rows := self._skim(self._chunk_rows):
            yield rows

    def _skim(self, rows: int) -> int:
        read = self._fill(min(rows, self._chunk_rows))
        self._parser.discard()
        self._position += read
        return read

    def _fill(self, max_rows: int) -> int:
        """Parse the next chunk; the number of its rows, 0 at the end.

        An error is raised only by the call that finds no row before it.
        """
        parser = self._parser
        start = parser.bytes
        while not self._ended and (rows := parser.rows) < max_rows:
            if rows and parser.bytes - start >= CHUNK_BYTES:
                break
            if self._used < len(self._block):
                self._used = parser.feed(self._block, self._used, max_rows)
            elif rows and self._source.live:
                break
            else:
                self._read_block()
            if parser.failed and self._error is None:
                self._stop(StreamError(self.name, *parser.bad[0]))
        if not parser.rows and self._error is not None:
            raise self._error
        return int(parser.rows)

    def _read_block(self) -> None:
        try:
            self._block, self._used = self._source.read(), 0
        except OSError as error:
            self._stop(StreamError(self.name, self._parser.lines + 1, str(error)))
            return
        if not self._block:
            self._parser.finish()
            self._stop(None)

    def _stop(self, error: StreamError | None) -> None:
        self._error = error
        self._ended = True
        self.close()

    def close(self) -> None:
        """Close the file; rows not yet read are lost."""
        self._ended = True
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
