"""Predicted rows that wait for their label, by the id of their request.

They are kept in memory, with a limit in bytes and in time, and written asynchronously: a thread
appends new rows to NAME.waiting once per second, so that a prediction never waits for the disk. A
crash loses the rows of the last second. Their number is known: a counter in a shared memory map
survives the process, and is compared with the file.

Rows of a source wait here too. The file has the position in the source after its rows, so one write
keeps both. A label that comes before its row waits in a quarter of the memory.

Ages use a monotonic clock. Only a restart uses the calendar to find how old a row is.
"""

from __future__ import annotations

import mmap
import os
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from budgetron._held import Held
from budgetron.model_file.atomic import write_whole
from budgetron.serve.packed import Packed
from budgetron.serve.records import START, RecordFile, framed

MAGIC = b"budgetron wait1\n"
COUNTER = struct.Struct("<Q")
MOST_NEW = 1000  # records kept for a disk that fails, besides two per waiting row


class Kept(msgspec.Struct, array_like=True, frozen=True):
    """A record of the file: what waits, or no longer waits (`rows` and `label` are None)."""

    key: bytes
    when: float  # calendar time
    count: int  # rows kept before it
    rows: Packed | None = None
    label: Any = None  # of a row that has not come
    place: dict[str, Any] | None = None  # position in the source of the rows, after all before it
    counted: bool = True  # a crash may lose it; False for rows of a source, which is read again


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Kept).decode


class Waiting:
    """Rows that wait for a label.

    Parameters
    ----------
    path : the file; None: rows are only kept in memory
    most_bytes, most_seconds : limits for all rows, and for each
    durable : the file is synced
    labels : labels may come before their rows, and may use a quarter of the bytes
    clock, calendar : monotonic seconds, and seconds since 1970

    Attributes
    ----------
    kept, matched, unmatched, expired, lost : rows so far; unmatched: labels without a row here
    failing : why the file cannot be written; None: it can
    place : position in the source after the last row kept; None: there is none
    """

    def __init__(
        self,
        path: Path | None,
        most_bytes: int,
        most_seconds: float,
        *,
        durable: bool = True,
        labels: bool = False,
        clock: Callable[[], float] = time.monotonic,
        calendar: Callable[[], float] = time.time,
    ) -> None:
        self.path, self._durable = path, durable
        self.most_bytes = most_bytes
        self._calendar = calendar
        early = most_bytes // 4 if labels else 0
        self._rows: Held[bytes, Kept] = Held(most_bytes - early, most_seconds, clock)
        self._labels: Held[bytes, Kept] = Held(early, most_seconds, clock)
        self._whole: dict[bytes, Any] = {}  # labels of rows that came after them, until learned
        self._fresh: list[tuple[bytes, Any]] = []  # those of them not yet returned
        self.place: dict[str, Any] | None = None
        self._place_written: dict[str, Any] | None = None
        self._new: list[Kept] = []  # records to write
        self._behind = False  # too many new records: write all rows
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._file: RecordFile | None = None
        self._counter: Any = None
        self.kept = self.matched = self.unmatched = self.expired = self.lost = 0
        self.failing: str | None = None
        if path is not None:
            try:
                self._load(path)
            except OSError as error:
                self.failing = (error.strerror or str(error)).lower()

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def size(self) -> int:
        """Bytes of all rows, and of labels whose rows have not come."""
        return self._rows.bytes + self._labels.bytes

    @property
    def labels(self) -> int:
        """Labels whose rows have not come."""
        return len(self._labels)

    def __contains__(self, key: bytes) -> bool:
        return key in self._rows

    def keys_waiting(self) -> list[bytes]:
        """The keys under which rows wait."""
        with self._lock:
            return list(self._rows)

    def keys_of_labels(self) -> list[bytes]:
        """The keys of labels whose rows have not come."""
        with self._lock:
            return list(self._labels)

    # ---- rows ------------------------------------------------------------------------------------

    def keep(self, key: bytes, rows: Packed) -> None:
        """Keep rows under a key; if there is no room, the oldest rows leave."""
        with self._lock:
            self._keep(key, rows)

    def keep_all(self, rows: list[tuple[bytes, Packed]], place: dict[str, Any]) -> None:
        """Keep rows of a source, each under its key, and the position after them."""
        with self._lock:
            for key, each in rows:
                self._keep(key, each, counted=False)
            self.place = place
            self._note(Kept(b"", 0.0, self.kept, place=place))

    def _keep(self, key: bytes, rows: Packed, counted: bool = True) -> None:
        kept = Kept(key, self._calendar(), self.kept, rows, counted=counted)
        self.kept += counted
        self._rows.put(key, kept, _size(kept))
        self._note(kept)
        if self._counter is not None:
            COUNTER.pack_into(self._counter, 0, self.kept)
        early = self._labels.pop(key)
        if early is not None:
            self._found(key, early.label)
        self._make_room()

    def _found(self, key: bytes, label: Any) -> None:
        self._whole[key] = label
        self._fresh.append((key, label))

    def keep_label(self, key: bytes, label: Any) -> None:
        """Keep a label whose row has not come."""
        with self._lock:
            if key in self._rows:  # the row has just come
                self._note(Kept(key, self._calendar(), self.kept, label=label))
                self._found(key, label)
                return
            kept = Kept(key, self._calendar(), self.kept, label=label)
            self._labels.put(key, kept, _size(kept))
            self._note(kept)
            self._make_room()

    @property
    def has_labels(self) -> bool:
        """Whether a label waits for its row, or for who calls `whole`."""
        with self._lock:
            return bool(self._labels or self._fresh)

    def whole(self) -> list[tuple[bytes, Any]]:
        """Keys and labels of rows that came after their labels, since the last call."""
        with self._lock:
            found, self._fresh = self._fresh, []
            return found

    def _note(self, record: Kept) -> None:
        """Queue a record for the file, if there is one; a failing disk gets a limited number."""
        if self.path is None or self._behind:
            return
        self._new.append(record)
        if self.failing is not None and len(self._new) > MOST_NEW + 2 * len(self._rows):
            self._behind, self._new = True, []

    def _make_room(self) -> None:
        for key, kept in self._rows.leaving():
            self._note(Kept(key, 0.0, kept.count))
            self._whole.pop(key, None)
            self.expired += 1
        for key, kept in self._labels.leaving():
            self._note(Kept(key, 0.0, kept.count))
            self.unmatched += 1

    def find(self, key: bytes) -> Packed | None:
        """The rows under a key; None if there are none, or no longer."""
        with self._lock:
            self._make_room()
            found = self._rows.get(key)
            return None if found is None else found.rows

    def learned(self, key: bytes) -> None:
        """Remove the rows under a key, which have been learned, and a label that waits for them."""
        with self._lock:
            rows, label = self._rows.pop(key), self._labels.pop(key)
            self._whole.pop(key, None)
            found = rows or label
            if found is not None:
                self._note(Kept(key, 0.0, found.count))
                self.matched += rows is not None

    def miss(self) -> None:
        """Count a label without a row here."""
        with self._lock:
            self.unmatched += 1

    # ---- the file --------------------------------------------------------------------------------

    def _load(self, path: Path) -> None:
        self._file = RecordFile(path, MAGIC, 0, durable=self._durable)
        found: dict[bytes, Kept] = {}
        early: dict[bytes, Kept] = {}
        for payload in self._file.take():
            kept = _decode(payload)
            self.kept = max(self.kept, kept.count + (kept.rows is not None and kept.counted))
            self.place = kept.place or self.place
            if kept.label is not None:
                early[kept.key] = kept
                continue
            found.pop(kept.key, None)
            if kept.rows is not None:
                found[kept.key] = kept
            else:
                early.pop(kept.key, None)
        self._place_written = self.place
        today = self._calendar()
        for key, kept in found.items():
            self._rows.put(key, kept, _size(kept), age=today - kept.when)
        for key, kept in early.items():
            if key in found:
                self._found(key, kept.label)
            else:
                self._labels.put(key, kept, _size(kept), age=today - kept.when)
        self._count(path)
        self._make_room()

    def _count(self, path: Path) -> None:
        """Find how many rows a crash has lost, and continue the count."""
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
        """Write new records; if that fails, the next call tries again."""
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
                places = [each.place for each in new if each.place is not None]
                self._place_written = places[-1] if places else self._place_written
                if self._behind or self._file.size > 2 * (self.size + 2**20):
                    self._rewrite()
            except OSError as error:
                with self._lock:
                    self._new = [] if self._behind else new + self._new
                self.failing = (error.strerror or str(error)).lower()
            else:
                self.failing = None

    def _rewrite(self) -> None:
        """Replace the file by one with only the rows that still wait."""
        assert self._file is not None
        assert self.path is not None
        with self._lock:
            behind, self._behind = self._behind, False
            left = [kept for held in (self._rows, self._labels) for _, kept, _ in held.items()]
            early = [Kept(key, 0.0, 0, label=label) for key, label in self._whole.items()]
            known = {each.key for each in self._new if each.key}
            written = next((each.count for each in self._new if each.rows is not None), self.kept)
            later = any(each.place is not None for each in self._new)
            place = self._place_written if later else self.place
        # The count: otherwise matched rows would be counted as lost.
        count = Kept(b"", 0.0, written, place=place)
        left = [count, *early, *(each for each in left if each.key not in known)]
        data = b"".join(framed(_encode(each), i) for i, each in enumerate(left))
        try:
            write_whole(self.path, START.pack(MAGIC, 0) + data)
        except OSError:
            self._behind = self._behind or behind
            raise
        self._place_written = place
        self._file.close()
        self._file = RecordFile(self.path, MAGIC, 0, durable=self._durable)
        self._file.take()

    def close(self) -> None:
        """Write the rest; nothing is kept after that."""
        self.write()
        self.path = None  # no later call writes
        if self._file is not None:
            self._file.close()
        if self._counter is not None:
            self._counter.close()
            self._counter = None


def _size(kept: Kept) -> int:
    return 150 + (len(str(kept.label)) if kept.rows is None else kept.rows.size)
