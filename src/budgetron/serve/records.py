"""Records in a file to which is only added: each has its length and a checksum before it.

    record = length (u32) | CRC-32 of the payload and of its number (u32) | payload

A process that is killed while it adds leaves a torn record at the end, which its checksum betrays.
The number of a record is in its checksum, so that an old one in its place is none.
"""

from __future__ import annotations

import contextlib
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

_HEAD = struct.Struct("<II")
START = struct.Struct("<16sQ")
LARGEST = 2**30


def framed(payload: bytes, number: int) -> bytes:
    """A record as it stands in a file."""
    return _HEAD.pack(len(payload), zlib.crc32(payload, number & 0xFFFFFFFF)) + payload


def unframed(data: bytes, number: int, at: int = 0) -> Iterator[tuple[bytes, int]]:
    """The payloads in `data` from a place on, each with where it ends; ends at what is torn."""
    while at + _HEAD.size <= len(data):
        length, check = _HEAD.unpack_from(data, at)
        start, end = at + _HEAD.size, at + _HEAD.size + length
        if not 0 < length <= LARGEST or end > len(data):  # a power cut may leave zeros
            return
        payload = data[start:end]
        if zlib.crc32(payload, number & 0xFFFFFFFF) != check:
            return
        yield payload, end
        at, number = end, number + 1


class RecordFile:
    """A file of records: read when it is made, opened for writing when something is added.

    Parameters
    ----------
    path : of the file
    magic : what the file begins with, 16 bytes
    first : number of its first record, if it is new
    durable : records are on disk when `add` returns; else they are with the system

    Attributes
    ----------
    first, end : number of the first record, and of the next
    size : bytes of what is sound
    torn : bytes at the end that were dropped when it was opened
    """

    def __init__(self, path: Path, magic: bytes, first: int, *, durable: bool) -> None:
        self.path, self._durable = path, durable
        self._handle = -1
        self.torn = 0
        self._suspect = True  # nothing is added before the end is known to be sound
        self._wanted = 4096  # bytes that could not be added
        data = path.read_bytes() if path.exists() else b""
        self._start = START.pack(magic, first)
        self.first = self.end = first
        self.size = 0
        self.payloads: list[bytes] = []
        if len(data) >= START.size:
            if data[:16] != magic:
                raise OSError(0, "not a file of records", str(path))
            self.first = self.end = START.unpack_from(data)[1]
            self.size = START.size
            for payload, end in unframed(data, self.first, START.size):
                self.payloads.append(payload)
                self.size, self.end = end, self.end + 1
            self.torn = len(data) - self.size

    def take(self) -> list[bytes]:
        """The payloads that the file had when it was opened; once."""
        payloads, self.payloads = self.payloads, []
        return payloads

    def add(self, payloads: Sequence[bytes]) -> None:
        """Add records, in one write and one sync.

        Raises
        ------
        OSError
            If they are not all there: the file then ends before them, or is mended by the next
            call before it adds anything.
        """
        if self._suspect:
            self.mend()
        data = b"".join(framed(each, self.end + i) for i, each in enumerate(payloads))
        try:
            self._write(data)
            if self._durable:
                os.fsync(self._handle)
        except OSError:
            self._suspect = True
            self._wanted = len(data)
            with contextlib.suppress(OSError):  # else by the next call
                self.mend()
            raise
        self.size += len(data)
        self.end += len(payloads)

    def mend(self) -> None:
        """End the file behind its last sound record; OSError if that cannot be done."""
        if self._handle < 0:
            self._handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.ftruncate(self._handle, self.size)
        os.lseek(self._handle, self.size, os.SEEK_SET)
        if not self.size:
            self._write(self._start)
        os.fsync(self._handle)
        self.size = self.size or len(self._start)
        self._suspect = False

    def probe(self) -> None:
        """Try whether there is room for what could not be added last; OSError if there is none.

        What it writes is no record, and is gone when it returns.
        """
        self.mend()
        self._suspect = True
        try:
            self._write(b"\xff" * self._wanted)
            os.fsync(self._handle)
        finally:
            self.mend()

    def _write(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[os.write(self._handle, left) :]

    def close(self) -> None:
        """No more is added."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
