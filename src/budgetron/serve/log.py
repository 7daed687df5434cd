"""The log of what was learned since the last checkpoint, and the checkpoint: one model on disk.

In the folder of checkpoints a model NAME has

    NAME.btn                    a model file; in its document the number of the log record it ends
                                before, and the ids it remembers
    NAME.0000000000001234.log   records 1234, 1235, ...: what was learned, in this order
    NAME.waiting                rows that wait for a label (waiting.py)

A row is learned after its record is on disk, so the model is always that of the checkpoint and of
the records behind it. A checkpoint begins a new log; the logs before it are then of no use.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from budgetron.errors import BudgetronError
from budgetron.model_file import read, to_bytes
from budgetron.model_file.atomic import sync_folder, write_whole
from budgetron.serve.packed import Packed
from budgetron.serve.records import START, RecordFile, unframed

MAGIC = b"budgetron log 1\n"


class Learned(msgspec.Struct, array_like=True, frozen=True):
    """What a request had learned: a record of the log.

    Attributes
    ----------
    rows : as the model takes them
    labels : of the rows
    key : of the request's id; empty: it had none
    layout : of a new model that learns a table, how it is read
    """

    rows: Packed
    labels: list[Any]
    key: bytes = b""
    layout: dict[str, Any] | None = None


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Learned).decode


class Log:
    """A model's log and checkpoint in a folder.

    Parameters
    ----------
    folder : which exists
    name : of the model
    durable : as of `Settings`
    keep : logs before a checkpoint stay

    Attributes
    ----------
    position : number of the next record
    torn : bytes of a record that was not finished when the process before was killed
    """

    def __init__(self, folder: Path, name: str, *, durable: bool, keep: bool) -> None:
        self.folder, self.name = folder, name
        self._durable, self._keep = durable, keep
        self.place = folder / f"{name}.btn"
        self._open: RecordFile | None = None
        self.position = 0
        self.torn = 0

    @property
    def bytes(self) -> int:
        """Bytes of the log that is written to."""
        return 0 if self._open is None else self._open.size

    # ---- after a start ---------------------------------------------------------------------------

    def checkpoint(self) -> tuple[Any, dict[str, Any]] | None:
        """The model of the last checkpoint and its document; None if there is none."""
        if not self.place.exists():
            return None
        return read(self.place, max_bytes=2**62)

    def replay(self, position: int) -> Iterator[Learned]:
        """What was learned behind a checkpoint's position; then the log is open to add to.

        Raises
        ------
        BudgetronError
            If records are missing or damaged that cannot be those of the last moment.
        """
        self.position = position
        files = self._files()
        for i, (first, path) in enumerate(files):
            last = i == len(files) - 1
            if not last and files[i + 1][0] <= position:
                continue
            try:
                found = RecordFile(path, MAGIC, first, durable=self._durable)
            except OSError as error:  # what it holds must not be passed over
                why = (error.strerror or str(error)).lower()
                what = "make it readable, put it back, or start in a new folder"
                raise BudgetronError(f"{path}: {why}: {what}") from None
            if last:
                self._open = found
                self.torn = found.torn
            else:
                found.close()
            if found.torn and not last:
                raise BudgetronError(f"{path}: damaged before its end: remove the folder's files")
            if found.first > self.position:
                what = f"records {self.position} to {found.first - 1} are missing"
                raise BudgetronError(
                    f"{path}: {what}: put the files back, or start in a new folder"
                )
            for number, payload in enumerate(found.take(), found.first):
                if number >= self.position:
                    yield _decode(payload)
                    self.position += 1
        if self._open is None or self._open.end < self.position:
            self._begin()

    def _files(self) -> list[tuple[int, Path]]:
        """The logs of this model by the number of their first record."""
        found = []
        for path in self.folder.iterdir():
            start, dot, end = path.name[: -len(".log")].rpartition(".")
            if path.name.endswith(".log") and dot and start == self.name and end.isdigit():
                found.append((int(end), path))
        return sorted(found)

    # ---- while serving ---------------------------------------------------------------------------

    def add(self, learned: Sequence[Learned]) -> None:
        """Write records down; OSError if that fails, and then none of them counts."""
        if self._open is None:
            self._begin()
        assert self._open is not None
        self._open.add([_encode(each) for each in learned])
        self.position = self._open.end

    def probe(self) -> None:
        """Try whether the log can be written to again; OSError if it cannot."""
        if self._open is None:
            self._begin()
        assert self._open is not None
        self._open.probe()

    def cut(self, model: Any, extra: dict[str, Any]) -> None:
        """Write a checkpoint that ends before the next record, and begin a new log.

        Raises
        ------
        OSError
            If it cannot be written: the checkpoint before and its log then still count.
        """
        write_whole(self.place, to_bytes(model, extra))
        before = self._open
        if before is None or before.first < self.position:
            self._begin()
        if before is not None and before is not self._open:
            before.close()
        if not self._keep:
            for first, path in self._files():
                if first < self.position:
                    path.unlink(missing_ok=True)

    def _begin(self) -> None:
        path = self.folder / f"{self.name}.{self.position:016d}.log"
        begun = RecordFile(path, MAGIC, self.position, durable=self._durable)
        begun.mend()
        self._open = begun
        if self._durable:
            sync_folder(self.folder)

    def close(self) -> None:
        """No more is added."""
        if self._open is not None:
            self._open.close()
            self._open = None


def learned_in(folder: str | os.PathLike[str], name: str) -> list[Learned]:
    """All records of a model's logs that are in a folder, in their order; nothing is changed.

    With `Settings.keep_logs` they are all that was ever learned there.
    """
    found: list[Learned] = []
    log = Log(Path(folder), name, durable=False, keep=True)
    for first, path in log._files():
        data = path.read_bytes()
        found += [_decode(payload) for payload, _ in unframed(data, first, START.size)]
    return found
