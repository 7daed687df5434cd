"""An append-only file of records, each with its length and a checksum.

    record = length (u32) | CRC-32 of the payload and of its number (u32) | payload

A process that is killed while it appends leaves a torn record at the end; the checksum shows it.
The checksum covers the record's number, so an old record in a wrong place is not valid.
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
    """A record as bytes of the file."""
    return _HEAD.pack(len(payload), zlib.crc32(payload, number & 0xFFFFFFFF)) + payload


def unframed(data: bytes, number: int, at: int = 0) -> Iterator[tuple[bytes, int]]:
    """The payloads in `data` from an offset on, each with its end; stops at a torn record."""
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
    """A file of records: read when the object is made, opened for writing on the first append.

    Parameters
    ----------
    path : the file
    magic : the first 16 bytes of the file
    first : number of its first record, if the file is new
    durable : records are on disk when `add` returns; else the operating system has them

    Attributes
    ----------
    first, end : numbers of the first record and of the next one
    size : bytes of valid content
    torn : bytes that were dropped at the end when the file was opened
    """

    def __init__(self, path: Path, magic: bytes, first: int, *, durable: bool) -> None:
        self.path, self._durable = path, durable
        self._handle = -1
        self.torn = 0
        self._suspect = True  # nothing is appended before the end is known to be valid
        self._wanted = 4096  # bytes of the last append that failed
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
        """The payloads that the file had when it was opened; can be read once."""
        payloads, self.payloads = self.payloads, []
        return payloads

    def add(self, payloads: Sequence[bytes]) -> None:
        """Append records, in one write and one sync.

        Raises
        ------
        OSError
            If not all were written: the file then ends before them, or the next call repairs it
            before it appends anything.
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
            with contextlib.suppress(OSError):  # otherwise the next call does
                self.mend()
            raise
        self.size += len(data)
        self.end += len(payloads)

    def mend(self) -> None:
        """Cut the file after its last valid record; raises OSError if that fails."""
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
        """Try whether there is room for the last failed append; raises OSError if there is none.

        The bytes it writes are not a record, and are removed before it returns.
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
        """Close the file."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
