"""The bytes of a source: a file or standard input, decompressed, in blocks.

The first bytes show the compression, so a wrong or missing file ending does no harm, and standard
input works too. Memory is one block and the decompressor's own, whatever a block unpacks to.
"""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, cast

from budgetron.streams.base import StreamError
from budgetron.streams.packed import unpacker

if TYPE_CHECKING:
    from typing import Self

# Bytes per read: so large that calls cost nothing, so small that it stays in cache.
BLOCK = 256 * 1024

_MAGIC = {
    b"\x1f\x8b": "gz",
    b"\xfd7zXZ\x00": "xz",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zst",
}
_LONGEST = max(len(magic) for magic in _MAGIC)


class Source:
    """Decompressed bytes of `path` ("-": standard input).

    Attributes
    ----------
    name : the path as given, or `<stdin>`
    live : someone is producing the bytes (a pipe): `read` returns what has come
    bytes_total : size of the file on disk, or None
    bytes_read : bytes of it used so far, before decompression
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = os.fspath(path)
        self.bytes_total: int | None = None
        self._raw: IO[bytes] | None = None
        try:
            if self.name == "-":
                self.name = "<stdin>"
                if sys.stdin is None:
                    raise StreamError(self.name, None, "standard input is closed")
                tape = _Tape(getattr(sys.stdin.buffer, "read1", sys.stdin.buffer.read))
            else:
                self._raw = open(path, "rb", buffering=0)  # noqa: SIM115 (closed by close)
                status = os.fstat(self._raw.fileno())
                if stat.S_ISREG(status.st_mode):
                    self.bytes_total = status.st_size
                tape = _Tape(self._raw.read)
            self._tape = tape
            self._read, self.kind = self._reader(tape.peek(_LONGEST))
        except OSError as error:
            self.close()
            raise StreamError(self.name, None, _reason(error)) from error
        except BaseException:
            self.close()
            raise
        self.live = self.bytes_total is None and self.kind is None

    @property
    def bytes_read(self) -> int:
        return self._tape.count

    def read(self) -> bytes:
        """The next block; empty at the end.

        Raises
        ------
        OSError
            If reading failed or the compressed data is damaged; its text says which, on one line.
        """
        try:
            return self._read(BLOCK)
        except EOFError as error:
            raise OSError(f"the .{self.kind} data ends too early: copy it again") from error
        except MemoryError:
            raise
        except Exception as error:
            if self.kind is None or (isinstance(error, OSError) and error.errno):
                raise OSError(_reason(error)) from error
            raise OSError(f"the .{self.kind} data is damaged: copy it again") from error

    def skip(self, count: int) -> bytes:
        """Skip `count` decompressed bytes; return what was read after them.

        This is a seek if the file allows it; else the bytes are read and dropped. Call it before
        anything is read.

        Raises
        ------
        OSError
            As `read`; also if there are not so many bytes.
        """
        if self._raw is not None and self.kind is None and self.bytes_total is not None:
            if count > self.bytes_total:
                raise OSError(f"has only {self.bytes_total} bytes: it has changed")
            self._raw.seek(count)
            self._tape.jump(count)
            return b""
        while count > 0:
            block = self.read()
            if not block:
                raise OSError(f"ends {count} bytes early: it has changed")
            if len(block) > count:
                return block[count:]
            count -= len(block)
        return b""

    def close(self) -> None:
        if self._raw is not None:
            self._raw.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _reader(self, head: bytes) -> tuple[Callable[[int], bytes], str | None]:
        """How to read data that starts with `head`, and the compression's name.

        Uses read1, not read: that would lose the good bytes before a damaged part.
        """
        kind = compression(head)
        if kind == "gz":
            import gzip

            tape = cast(IO[bytes], self._tape)
            return gzip.GzipFile(fileobj=tape, mode="rb").read1, kind
        if kind is not None:
            return unpacker(self.name, kind, self._tape.read), kind
        ending = os.path.splitext(self.name)[1][1:]
        if not head and ending in _MAGIC.values():
            raise StreamError(self.name, None, f"the .{ending} file is empty")
        return self._tape.read, None


def compression(head: bytes) -> str | None:
    """The compression of data with these first bytes; None: not compressed."""
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)


class _Tape(io.RawIOBase):
    """Raw bytes, counted; the first ones can be inspected before reading."""

    def __init__(self, read: Callable[[int], bytes | None]) -> None:
        self._source = read
        self._head = b""
        self.count = 0

    def peek(self, size: int) -> bytes:
        while len(self._head) < size:
            more = self._source(size - len(self._head))
            if not more:
                break
            self._head += more
        return self._head

    def jump(self, count: int) -> None:
        self._head = b""
        self.count = count

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if self._head:
            size = len(self._head) if size < 0 else size
            data, self._head = self._head[:size], self._head[size:]
        else:
            data = self._source(BLOCK if size < 0 else size) or b""
        self.count += len(data)
        return data


def _reason(error: BaseException) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    text = " ".join(text.split()) or type(error).__name__
    return text[0].lower() + text[1:]
