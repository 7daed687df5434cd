"""LIBSVM text as a stream: `label index:value index:value ...`, indices from 1.

The native parser (core/io/libsvm_parser.hpp) turns text into rows; this module has the file, the
chunks and the errors. Memory is constant: one block of text and one chunk of rows. A bookmark holds
the byte after the last row returned, so that a plain file resumes with a seek, and a compressed one
without parsing again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from budgetron import _core
from budgetron.errors import BudgetronError
from budgetron.streams.base import (
    CHUNK_ROWS,
    KEPT,
    RowStream,
    StreamError,
    messages_in,
    noted,
    rows_of,
)
from budgetron.streams.contents import looks_else, looks_like_table
from budgetron.streams.source import Source

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from budgetron.streams.base import Bookmark, Chunk, Position

# A chunk ends after this much text even if it has few rows: a row can be of any width.
CHUNK_BYTES = 1 << 20
_MAX_INDEX = 2**31 - 1
_HEAD = 4096
# The message about a first word that is not a label, and a first line that contains index:value.
_NO_LABEL = re.compile("^label .* is not a number", re.DOTALL)
_PAIR = re.compile(rb"[^\s,;|]+[ \t]+[0-9]+:")


def read_as_libsvm(name: str, line: int | None = None) -> StreamError:
    """The error for a table whose format is neither given nor in its name."""
    if name in ("-", "<stdin>"):
        what = "standard input is read as LIBSVM; add --format csv"
        return StreamError("<stdin>", line, what)
    if Path(name).is_dir():
        return StreamError(name, None, "is a folder; name a file in it")
    return StreamError(name, line, "is read as LIBSVM; add --format csv, or the format it has")


class LibsvmStream(RowStream):
    """Chunks (X, y) of a LIBSVM text file: plain, .gz, .xz, .bz2, .zst, or "-": standard input.

    Parameters
    ----------
    path : file name, or "-"
    chunk_rows : largest number of rows in a chunk (a chunk also ends after about 1 MiB of text,
        and, when reading a pipe, with the rows that have come)
    dtype : type of X, float32 or float64
    skip_bad : skip malformed lines and count them, instead of stopping at the first
    n_features : width of X; a larger index is then an error. None: as wide as the largest index so
        far, so that later chunks may be wider
    rows : end after this many rows
    gaps : a value `nan` is a missing value, NaN in X, instead of an error
    position : rows to skip first, or the `bookmark` of an earlier stream over the same file

    Attributes
    ----------
    name : the path as given, or `<stdin>`
    position : rows read so far
    bookmark : the position as rows, line, byte of the decompressed text, features, bad lines and
        the messages of the first of them
    max_index : largest feature index so far, from 1; 0 if none
    n_bad : malformed lines so far
    bad_messages : the first few messages about them, as `FILE:LINE: what is wrong`
    bytes_total, bytes_read : size of the file on disk (None: unknown), and how much of it was read

    Raises
    ------
    StreamError
        The constructor raises it if the file cannot be opened; iterating raises it at a malformed
        line or damaged compressed data, after the chunk with the rows before it.

    Examples
    --------
    >>> with LibsvmStream("a9a.libsvm.xz") as stream:  # doctest: +SKIP
    ...     for X, y in stream:
    ...         model.prequential(X, y)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        chunk_rows: int = CHUNK_ROWS,
        dtype: DTypeLike = np.float32,
        skip_bad: bool = False,
        n_features: int | None = None,
        rows: int | None = None,
        position: Position = 0,
        *,
        gaps: bool = True,
    ) -> None:
        again = partial(type(self), path, chunk_rows, dtype, skip_bad, n_features, rows, gaps=gaps)
        super().__init__(os.fspath(path), again, chunk_rows, rows, dtype)
        if n_features is not None and not 1 <= n_features <= _MAX_INDEX:
            raise BudgetronError(f"n_features must be from 1 to {_MAX_INDEX}, not {n_features}")
        self._width = n_features
        self.grows = n_features is None
        self._block = b""
        self._head = b""  # the first bytes, to recognise another format
        self._used = 0  # bytes used of the block
        self._start = 0  # position in the file of the text that the parser sees
        self._earlier_bad = 0
        self._read = 0  # rows, with bad ones
        self._ended = False
        self._error: StreamError | None = None
        mark = position if isinstance(position, Mapping) and "byte" in position else {}
        if mark.get("features", 0) > _MAX_INDEX:
            raise StreamError(self.name, None, "has fewer features than this bookmark says")
        make = _core.LibsvmParser32 if self.dtype == np.float32 else _core.LibsvmParser64
        self._parser = make(
            skip_bad=skip_bad,
            max_index=n_features or _MAX_INDEX,
            line=mark.get("line", 0),
            largest=mark.get("features", 0),
            gaps=gaps,
        )
        behind = rows_of(position)
        self._source = Source(path)
        self.name = self._source.name
        if mark:
            self._jump(mark)
        while self._position < behind:
            if not self._skim(behind - self._position):
                raise self._beyond_end(behind, self._position)

    # ---- properties --------------------------------------------------------------------------

    @property
    def bookmark(self) -> Bookmark:
        return {
            "rows": self._position,
            "line": int(self._parser.lines),
            "byte": self._start + int(self._parser.resume),
            "features": self.max_index,
            "bad": self.n_bad,
            **noted(messages=self.bad_messages),
        }

    @property
    def max_index(self) -> int:
        return int(self._parser.max_index)

    @property
    def n_features(self) -> int:  # type: ignore[override]
        return self._width or self.max_index

    @property
    def n_bad(self) -> int:
        return self._earlier_bad + int(self._parser.n_bad)

    @property
    def bad_messages(self) -> list[str]:
        none = not self._position  # then the whole file may have another format
        since = [
            str(self._complaint(line, what) if none else StreamError(self.name, line, what))
            for line, what in self._parser.bad
        ]
        return [*self._bad, *since][:KEPT]

    @property
    def bytes_total(self) -> int | None:  # type: ignore[override]
        return self._source.bytes_total

    @property
    def bytes_read(self) -> int:  # type: ignore[override]
        return self._source.bytes_read

    # ---- reading -----------------------------------------------------------------------------

    def _take(self, rows: int) -> Chunk | None:
        taken = self._fill(rows)
        if not taken:
            return None
        y, indptr, indices, values, passed = self._parser.take()
        self._number(taken, passed.reshape(-1, 2))
        width = self._width or max(self.max_index, 1)
        # Both of one dtype, or SciPy makes both int64; a chunk has far fewer than 2**31 bytes.
        X = csr_array((values, indices, indptr.astype(np.int32)), shape=(taken, width))
        X.has_canonical_format = True  # the parser sorts and refuses duplicates
        return X, y

    def _number(self, rows: int, passed: NDArray[np.int64]) -> None:
        """Find the numbers of the rows taken; skipped bad lines count too."""
        before, counts = passed.T
        bad = np.repeat(before, counts)
        self._numbers = self._read + np.arange(1, rows + 1)
        self._numbers += np.searchsorted(bad, np.arange(rows), side="right")
        self._read += rows + len(bad)

    def skim(self) -> Iterator[int]:
        """Read without making arrays (for `max_index`, or to count); yields rows per chunk."""
        while rows := self._skim(self._room(self._chunk_rows)):
            yield rows

    def _skim(self, rows: int) -> int:
        read = self._fill(min(rows, self._chunk_rows))
        self._parser.discard()
        self._read = self._position + read + self.n_bad
        self._position += read
        return read

    def _fill(self, max_rows: int) -> int:
        """Parse the next chunk; return the number of its rows, 0 at the end.

        An error is raised only if there is no row before it.
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
                self._stop(self._complaint(*parser.bad[0]))
        if not parser.rows and self._error is not None:
            raise self._error
        return int(parser.rows)

    def _complaint(self, line: int, what: str) -> StreamError:
        """The error of a line; if it is the first, the file may not be LIBSVM text at all."""
        head = self._head.lstrip()
        if line == 1 and (other := looks_else(head, "libsvm")):
            return StreamError(self.name, line, other)
        if (
            line == 1
            and looks_like_table(head)
            and _NO_LABEL.search(what)
            and not _PAIR.match(head)
        ):
            return read_as_libsvm(self.name, line)
        return StreamError(self.name, line, what)

    def _jump(self, mark: Mapping[str, Any]) -> None:
        """Continue at a bookmark, which must be at the start of a line."""
        byte, behind_newline = mark["byte"], True
        try:
            if byte > 0:
                self._block = self._source.skip(byte - 1) or self._source.read()
                behind_newline = self._block[:1] == b"\n"
                self._used = 1
        except OSError as error:
            self.close()
            raise StreamError(self.name, None, f"{error}") from error
        if not behind_newline and len(self._block) != 1:  # a last line may lack its newline
            self.close()
            what = f"no line starts at byte {byte} of this bookmark: the file has changed"
            raise StreamError(self.name, None, what)
        self._start = byte
        self._position = mark["rows"]
        self._earlier_bad = mark.get("bad", 0)
        self._read = mark["rows"] + self._earlier_bad
        self._bad = messages_in(mark)

    def _read_block(self) -> None:
        try:
            self._block, self._used = self._source.read(), 0
            if len(self._head) < _HEAD:
                self._head += self._block[:_HEAD]
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
