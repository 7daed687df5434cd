"""Rows that were predicted and wait for their label, by the id of their request.

They are kept in memory within a limit of bytes and of time, and written behind: a thread adds what
is new to NAME.waiting once a second, so that a prediction never waits for the disk. A crash loses
what came in the last second. How many rows these were is known: a counter in a shared memory map
survives the process, and is compared with what the file holds.

Ages are counted by a clock that does not jump. Only a restart asks the calendar how old a row is.
"""

from __future__ import annotations

import mmap
import os
import struct
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from budgetron.model_file.atomic import write_whole
from budgetron.serve.packed import Packed
from budgetron.serve.records import START, RecordFile, framed

MAGIC = b"budgetron wait1\n"
COUNTER = struct.Struct("<Q")


class Kept(msgspec.Struct, array_like=True, frozen=True):
    """A row that waits, or one that no longer does (`rows` is None): a record of the file."""

    key: bytes
    when: float  # by the calendar
    count: int  # rows that were kept before it
    rows: Packed | None = None


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Kept).decode


class Waiting:
    """Rows that wait for a label.

    Parameters
    ----------
    path : of the file; None: they are kept in memory alone
    most_bytes, most_seconds : of all rows, and of each
    durable : the file is synced
    clock, calendar : seconds since some moment, and since 1970

    Attributes
    ----------
    kept, matched, unmatched, expired, lost : rows so far; unmatched: labels whose row is not here
    failing : why the file cannot be written; None: it can
    """

    def __init__(
        self,
        path: Path | None,
        most_bytes: int,
        most_seconds: float,
        *,
        durable: bool = True,
        clock: Callable[[], float] = time.monotonic,
        calendar: Callable[[], float] = time.time,
    ) -> None:
        self.path, self._durable = path, durable
        self._most_bytes, self._most_seconds = most_bytes, most_seconds
        self._clock, self._calendar = clock, calendar
        self._rows: OrderedDict[bytes, tuple[float, Kept]] = OrderedDict()
        self._new: list[Kept] = []
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._file: RecordFile | None = None
        self._counter: Any = None
        self.bytes = self.kept = self.matched = self.unmatched = self.expired = self.lost = 0
        self.failing: str | None = None
        if path is not None:
            try:
                self._load(path)
            except OSError as error:
                self.failing = (error.strerror or str(error)).lower()

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, key: bytes) -> bool:
        return key in self._rows

    def keys_waiting(self) -> list[bytes]:
        """The keys under which rows wait."""
        with self._lock:
            return list(self._rows)

    # ---- rows ------------------------------------------------------------------------------------

    def keep(self, key: bytes, rows: Packed) -> None:
        """Keep rows under a key; the oldest leave where there is no room."""
        with self._lock:
            self._keep(key, rows)

    def _keep(self, key: bytes, rows: Packed) -> None:
        before = self._rows.pop(key, None)
        if before is not None:
            self.bytes -= _size(before[1])
        kept = Kept(key, self._calendar(), self.kept, rows)
        self.kept += 1
        self._rows[key] = self._clock(), kept
        self.bytes += _size(kept)
        self._new.append(kept)
        if self._counter is not None:
            COUNTER.pack_into(self._counter, 0, self.kept)
        self._make_room()

    def _make_room(self) -> None:
        now = self._clock()
        while self._rows:
            key = next(iter(self._rows))
            since, kept = self._rows[key]
            if self.bytes <= self._most_bytes and now - since <= self._most_seconds:
                return
            self._drop(key, kept)
            self.expired += 1

    def _drop(self, key: bytes, kept: Kept) -> None:
        del self._rows[key]
        self.bytes -= _size(kept)
        self._new.append(Kept(key, 0.0, kept.count))

    def find(self, key: bytes) -> Packed | None:
        """The rows under a key; None if there are none, or no more."""
        with self._lock:
            self._make_room()
            found = self._rows.get(key)
            return None if found is None else found[1].rows

    def learned(self, key: bytes) -> None:
        """The rows under a key have been learned, if there are any."""
        with self._lock:
            found = self._rows.get(key)
            if found is not None:
                self._drop(key, found[1])
                self.matched += 1

    def miss(self) -> None:
        """A label came, and its row is not here."""
        with self._lock:
            self.unmatched += 1

    # ---- the file --------------------------------------------------------------------------------

    def _load(self, path: Path) -> None:
        self._file = RecordFile(path, MAGIC, 0, durable=self._durable)
        found: dict[bytes, Kept] = {}
        for payload in self._file.take():
            kept = _decode(payload)
            self.kept = max(self.kept, kept.count + (kept.rows is not None))
            found.pop(kept.key, None)
            if kept.rows is not None:
                found[kept.key] = kept
        now, today = self._clock(), self._calendar()
        for key, kept in found.items():
            self._rows[key] = now - max(0.0, today - kept.when), kept
            self.bytes += _size(kept)
        self._count(path)
        self._make_room()

    def _count(self, path: Path) -> None:
        """Find how many rows a crash has lost, and go on counting."""
        handle = os.open(path.with_name(f"{path.name}.count"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if os.fstat(handle).st_size < COUNTER.size:
                os.ftruncate(handle, COUNTER.size)
            self._counter = mmap.mmap(handle, COUNTER.size)
        finally:
            os.close(handle)
        before = COUNTER.unpack_from(self._counter)[0]
        self.lost = max(0, before - self.kept)
        self.kept = max(self.kept, before)

    def write(self) -> None:
        """Write what is new since the last call; what fails is tried again by the next."""
        if self.path is None:
            return
        with self._writing:
            with self._lock:
                self._make_room()
                new, self._new = self._new, []
            if not new and self.failing is None:
                return
            try:
                if self._file is None:
                    self._file = RecordFile(self.path, MAGIC, 0, durable=self._durable)
                    self._file.take()
                    self._count(self.path)
                self._file.add([_encode(each) for each in new])
                if self._file.size > 2 * (self.bytes + 2**20):
                    self._rewrite()
            except OSError as error:
                with self._lock:
                    self._new = new + self._new
                self.failing = (error.strerror or str(error)).lower()
            else:
                self.failing = None

    def _rewrite(self) -> None:
        """A file of the rows that still wait, in the place of one that is mostly of others."""
        assert self._file is not None
        assert self.path is not None
        with self._lock:
            left = [kept for _, kept in self._rows.values()]
            known = {each.key for each in self._new}
        left = [each for each in left if each.key not in known]
        data = b"".join(framed(_encode(each), i) for i, each in enumerate(left))
        write_whole(self.path, START.pack(MAGIC, 0) + data)
        self._file.close()
        self._file = RecordFile(self.path, MAGIC, 0, durable=self._durable)
        self._file.take()

    def close(self) -> None:
        """Write the rest; nothing is kept any more."""
        self.write()
        self.path = None  # no later call writes
        if self._file is not None:
            self._file.close()
        if self._counter is not None:
            self._counter.close()
            self._counter = None


def _size(kept: Kept) -> int:
    return 150 + (0 if kept.rows is None else kept.rows.size)
