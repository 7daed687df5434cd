"""`tail:FILE`, a file that grows: every line is a message, as soon as it is complete.

A program that rotates its log moves FILE to FILE.1, FILE-20260131 or the like, often compresses it
(.gz) and starts a new FILE. The old file is first read to its end, then the files between, oldest
first, then FILE. A file that becomes shorter was truncated: it is read from its start.

The position is the byte after the last line and a digest of the bytes at the file's start and
before that position: with these a later run finds the file again, whatever its name is by then.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from budgetron.sources.lines import KEPT, Lines
from budgetron.sources.protocol import Batch, Gone, Mark
from budgetron.streams.base import StreamError
from budgetron.streams.source import BLOCK, Source

POLL = 0.05  # seconds between two checks of the file
_ROTATED = re.compile(r"[.-](\d[\d.-]*)(\.gz|\.xz|\.bz2|\.zst)?")


class Tail:
    """The lines of a growing file, of the files it was moved to, and of those that follow.

    Parameters
    ----------
    path : the file
    tell : receives a line for people
    """

    unit = "bytes"
    at_end = True

    def __init__(self, path: str, tell: Callable[[str], None] = lambda text: None) -> None:
        self.name = f"tail:{path}"
        self.lag: int | None = None
        self._path = Path(path)
        self._tell = tell
        self._file: _Growing | _Finished | None = None
        self._messages = 0
        self._left_at = 0.0  # when the file was found moved and read to its end

    def read(self, most: int, seconds: float) -> Batch | None:
        until = time.monotonic() + seconds
        while True:
            if self._file is None:
                self._file = self._begin()
            file = self._file
            if not file.lines and not self._more(file):
                if time.monotonic() >= until:
                    return self._taken(file, 0)
                time.sleep(POLL)
                continue
            if file.lines:
                return self._taken(file, most)

    def _taken(self, file: _Growing | _Finished, most: int) -> Batch:
        first = self._messages + 1
        values = file.lines.take(most)
        self._messages += len(values)
        self.lag = max(0, file.size - file.byte)
        return Batch(values, self._mark(), lambda i: str(first + i))

    def seek(self, mark: Mark) -> None:
        try:
            byte, check = int(mark["byte"]), str(mark["check"])
            self._messages = int(mark["messages"])
        except (KeyError, TypeError, ValueError):
            raise StreamError(self.name, None, "the checkpoint has no position in it") from None
        if not byte:
            return
        for path in reversed(self._files()):
            found = _placed(path, byte, check, growing=path == self._path)
            if found is not None:
                self._file = found
                return
        what = "neither it nor a rotated copy has the last learned lines: continuing at its start"
        self._tell(f"{self.name}: {what}; rows between are lost")

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _begin(self) -> _Growing:
        try:
            return _Growing(self._path)
        except OSError as error:
            if isinstance(error, FileNotFoundError):
                raise Gone("no such file") from None
            what = (error.strerror or str(error)).lower()
            raise StreamError(self.name, None, what) from None

    def _mark(self) -> Mark:
        file = self._file
        assert file is not None
        return {"byte": file.byte, "check": file.check(), "messages": self._messages}

    def _more(self, file: _Growing | _Finished) -> bool:
        """Read more; False if there is nothing to read now."""
        try:
            if file.more():
                return True
        except OSError as error:
            raise StreamError(self.name, None, str(error)) from None
        if isinstance(file, _Growing):
            if file.emptied():
                self._tell(f"{self.name}: it became shorter: continuing at its start")
                file.restart()
                return True
            if not file.moved():
                self._left_at = 0.0
                return False
            # Its writer may still append to it, until it opens the new file.
            self._left_at = self._left_at or time.monotonic()
            if time.monotonic() - self._left_at < 2 * POLL:
                return False
        return self._next(file)

    def _next(self, file: _Growing | _Finished) -> bool:
        """Continue with the next file; False if there is none yet."""
        files = self._files()
        ours = next((at for at, path in enumerate(files) if file.same(path)), None)
        if ours is None:
            ours = next(
                (at for at, path in enumerate(files[:-1]) if _is_at(path, file)), len(files) - 2
            )
        following = files[ours + 1 :]
        if not following or not following[0].exists():
            return False
        file.lines.finish()
        if file.lines:
            return True
        path = following[0]
        self._left_at = 0.0
        before = self._file
        self._file = _Growing(path) if path == self._path else _Finished(path, 0, b"", b"")
        if before is not None:
            before.close()
        return True

    def _files(self) -> list[Path]:
        """The rotated files, oldest first, and the file itself."""
        found: list[tuple[int, int, Path]] = []
        for path in self._path.parent.glob(f"{glob_escape(self._path.name)}*"):
            rotated = _ROTATED.fullmatch(path.name.removeprefix(self._path.name))
            if rotated is None or not path.is_file():
                continue
            if rotated[2] and path.with_suffix("").exists():  # still being compressed
                continue
            number = int(rotated[1]) if rotated[1].isdigit() and len(rotated[1]) < 6 else 0
            found.append((path.stat().st_mtime_ns, -number, path))
        return [*(path for _, _, path in sorted(found)), self._path]


class _Growing:
    """The file itself, which may grow, be truncated or be moved."""

    def __init__(self, path: Path, byte: int = 0, last: bytes = b"") -> None:
        self._path = path
        self._handle = os.open(path, os.O_RDONLY)
        if not path.is_file():
            self.close()
            raise OSError("is not a regular file")
        self.lines = Lines(last)
        self._start = self._read = byte  # where lines were first taken; how far it was read
        self._head = os.pread(self._handle, min(KEPT, byte), 0)

    @property
    def byte(self) -> int:
        return self._start + self.lines.taken

    @property
    def size(self) -> int:
        return os.fstat(self._handle).st_size

    def more(self) -> bool:
        if self._head and self._replaced():
            return False
        piece = os.pread(self._handle, BLOCK, self._read)
        if len(self._head) < KEPT and piece:
            self._head = os.pread(self._handle, min(KEPT, self._read + len(piece)), 0)
        self._read += len(piece)
        self.lines.add(piece)
        return bool(piece)

    def emptied(self) -> bool:
        return self.size < self._read or self._replaced()

    def _replaced(self) -> bool:
        """Whether it was truncated and written again."""
        return os.pread(self._handle, len(self._head), 0) != self._head

    def restart(self) -> None:
        self.lines = Lines()
        self._start = self._read = 0
        self._head = b""

    def moved(self) -> bool:
        """Whether its name is now that of another file."""
        return self._path.exists() and not self.same(self._path)

    def same(self, path: Path) -> bool:
        try:
            return os.path.samestat(os.stat(path), os.fstat(self._handle))
        except OSError:
            return False

    def check(self) -> str:
        return _digest(self._head[: self.byte], self.lines.last)

    def close(self) -> None:
        os.close(self._handle)


class _Finished:
    """A rotated file, compressed or not, which no longer grows."""

    def __init__(self, path: Path, byte: int, head: bytes, last: bytes) -> None:
        self._source = Source(path)
        self._status = os.stat(path)
        self.lines = Lines(last)
        self._start = byte
        self._head = head
        if byte:
            self._take(self._source.skip(byte))

    @property
    def byte(self) -> int:
        return self._start + self.lines.taken

    @property
    def size(self) -> int:
        return self.byte  # unknown for compressed bytes

    def more(self) -> bool:
        return self._take(self._source.read())

    def _take(self, piece: bytes) -> bool:
        if len(self._head) < KEPT:
            self._head = (self._head + piece)[:KEPT]
        self.lines.add(piece)
        return bool(piece)

    def same(self, path: Path) -> bool:
        try:
            return os.path.samestat(os.stat(path), self._status)
        except OSError:
            return False

    def check(self) -> str:
        return _digest(self._head[: self.byte], self.lines.last)

    def close(self) -> None:
        self._source.close()


def _is_at(path: Path, file: _Growing | _Finished) -> bool:
    found = _placed(path, file.byte, file.check(), growing=False)
    if found is not None:
        found.close()
    return found is not None


def _placed(path: Path, byte: int, check: str, *, growing: bool) -> _Growing | _Finished | None:
    """The file at the position, if the bytes there match the check."""
    try:
        with Source(path) as source:
            if source.bytes_total is not None and source.kind is None and source.bytes_total < byte:
                return None
            head, last = _ends(source.read, byte)
        if _digest(head, last) != check:
            return None
        return _Growing(path, byte, last) if growing else _Finished(path, byte, head, last)
    except (OSError, StreamError):  # missing, too short, or damaged
        return None


def _ends(read: Callable[[], bytes], byte: int) -> tuple[bytes, bytes]:
    """The first bytes of a text, and those before a position."""
    head = last = b""
    for piece in _pieces(read, byte):
        head = (head + piece)[:KEPT] if len(head) < KEPT else head
        last = (last + piece)[-KEPT:]
    return head, last


def _pieces(read: Callable[[], bytes], byte: int) -> Iterator[bytes]:
    while byte > 0 and (piece := read()):
        yield piece[:byte]
        byte -= len(piece)


def _digest(head: bytes, last: bytes) -> str:
    return hashlib.sha256(head + last).hexdigest()


def glob_escape(name: str) -> str:
    """A file's name as a pattern that matches only it."""
    return re.sub(r"([*?[])", r"[\1]", name)
