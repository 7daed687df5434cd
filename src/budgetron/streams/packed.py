"""Decompression in pieces of bounded size, whatever they unpack to.

One loop for xz, bz2 and zstd, over decompressors of one frame with the interface of the standard
library. Memory is one piece and the decompressor's window, which is limited too.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import Any, Protocol

from budgetron.streams.base import StreamError

# Largest window of zstd, as in the zstd command. A larger one is refused.
_WINDOW_LOG = 27
# Memory limit of xz, mostly its dictionary: xz -9 has 64 MiB.
_XZ_MOST = 136 << 20
# Input of one call: if it is damaged, what the call unpacked before the damage is lost.
_PIECE = 8192
_SKIPPED = b"\x2a\x4d\x18"  # bytes 1 to 3 of the magic of frames without data


class Frame(Protocol):
    """A decompressor of one frame, as in the standard library."""

    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


def unpacker(name: str, kind: str, read: Callable[[int], bytes]) -> Callable[[int], bytes]:
    """Return a function from n to the next unpacked bytes, a bounded number; none at the end.

    It raises EOFError if the last frame is incomplete, an OSError with a number if unpacking needs
    too much memory, and the decompressor's own error if data is damaged.

    Parameters
    ----------
    name : name of the source, for messages
    kind : "xz", "bz2" or "zst"
    read : returns the packed bytes
    """
    new = {"xz": _xz, "bz2": _bz2, "zst": _zst}[kind](name)
    frame: Frame | None = None
    rest = b""

    def unpacked(size: int) -> bytes:
        nonlocal frame, rest
        while True:
            if frame is None:
                rest = (rest or read(_PIECE)).lstrip(b"\0")  # xz pads its frames
                if not rest:
                    return b""
                frame = new()
            elif frame.needs_input:
                rest = read(_PIECE)
                if not rest:
                    raise EOFError
            try:
                found = frame.decompress(rest, size)
            except Exception as error:
                if "memory" in str(error).lower():
                    what = f"takes too much memory to unpack: {BY_HAND[kind]} FILE | budgetron ..."
                    raise OSError(errno.E2BIG, what) from error
                raise
            rest = b""
            if frame.eof:
                rest, frame = frame.unused_data, None
            if found:
                return found

    return unpacked


BY_HAND = {"gz": "gzip -dc", "xz": "xz -dc", "bz2": "bzip2 -dc", "zst": "zstd -dc --long=31"}


def _xz(name: str) -> Callable[[], Frame]:
    import lzma

    return lambda: lzma.LZMADecompressor(memlimit=_XZ_MOST)


def _bz2(name: str) -> Callable[[], Frame]:
    import bz2

    return bz2.BZ2Decompressor


def _zst(name: str) -> Callable[[], Frame]:
    """By Python's own module or by `zstandard`."""
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        pass
    else:
        limit: Any = {zstd.DecompressionParameter.window_log_max: _WINDOW_LOG}
        return lambda: zstd.ZstdDecompressor(options=limit)  # type: ignore[no-any-return, unused-ignore]
    try:
        import zstandard  # noqa: F401
    except ImportError:
        what = "reading .zst needs pip install zstandard, or: zstd -dc FILE | budgetron run -"
        raise StreamError(name, None, what) from None
    return _ZstandardFrame


class _ZstandardFrame:
    """A zstd decompressor with the package `zstandard`, whose own unpacks all its input at once.

    So it gets one block of the format at a time: no block unpacks to more than 128 KiB.
    """

    def __init__(self) -> None:
        import zstandard

        window = 1 << _WINDOW_LOG
        self._inner = zstandard.ZstdDecompressor(max_window_size=window).decompressobj()
        self._held = b""  # input that is not a whole block yet
        self._in_blocks = False  # after the header
        self._checksum = 0  # bytes after the last block
        self._skip: int | None = None  # bytes left of a frame without data
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._inner.eof or self._skip == 0

    @property
    def unused_data(self) -> bytes:
        return self._held

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """The content of the next block, if all of it has come."""
        self._held += data
        if self._skip is None and not self._in_blocks and self._holds_no_data():
            self._skip = 8 + int.from_bytes(self._held[4:8], "little")
        if self._skip is not None:
            left = max(0, self._skip - len(self._held))
            self._held, self._skip = self._held[self._skip :], left
            self.needs_input = left > 0
            return b""
        size = self._block() if self._in_blocks else self._header()
        self.needs_input = len(self._held) < size
        if self.needs_input:
            return b""
        part, self._held = self._held[:size], self._held[size:]
        if not self._in_blocks:
            self._in_blocks = True
            self._checksum = 4 if part[4] & 4 else 0
        return self._inner.decompress(part)

    def _holds_no_data(self) -> bool:
        """Whether it is a skippable frame whose length has come."""
        held = self._held
        return len(held) >= 8 and held[1:4] == _SKIPPED and held[0] >> 4 == 5

    def _header(self) -> int:
        """The size of the header, as far as known."""
        held = self._held
        if held[1:4] == _SKIPPED and held[0] >> 4 == 5:
            return 8
        if len(held) < 5:
            return 5
        single = held[4] >> 5 & 1
        content = (single, 2, 4, 8)[held[4] >> 6]
        return 5 + (1 - single) + (0, 1, 2, 4)[held[4] & 3] + content

    def _block(self) -> int:
        """The size of the next block, with the checksum after the last one."""
        if len(self._held) < 3:
            return 3
        head = int.from_bytes(self._held[:3], "little")
        last, repeated, size = head & 1, head >> 1 & 3 == 1, head >> 3
        return 3 + (1 if repeated else size) + (self._checksum if last else 0)
