"""The write-ahead log of rows learned since the last checkpoint, and the checkpoint itself.

The folder of checkpoints has these files for a model NAME:

    NAME.btn                    the checkpoint: a model file; its document has the number of the
                                first log record after it, and the remembered ids
    NAME.0000000000001234.log   records 1234, 1235, ...: the rows learned, in this order
    NAME.waiting                rows that wait for a label (waiting.py)

A row is learned after its record is on disk, so the model always equals the checkpoint plus the
records after it. A checkpoint starts a new log; the older logs are no longer needed.
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
    """A record of the log: what one request taught the model.

    Attributes
    ----------
    rows : as the model takes them
    labels : the labels of the rows
    key : hash of the request's id; empty: it had none
    layout : for a new model that learns a table, how to read it
    place : position after the rows in the source they come from
    """

    rows: Packed
    labels: list[Any]
    key: bytes = b""
    layout: dict[str, Any] | None = None
    place: dict[str, Any] | None = None


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Learned).decode


class Log:
    """A model's log and checkpoint in a folder.

    Parameters
    ----------
    folder : an existing folder
    name : the name of the model
    durable : as in `Settings`
    keep : keep logs that are older than the checkpoint

    Attributes
    ----------
    position : number of the next record
    torn : bytes of an unfinished record that a killed process left
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
        """Bytes of the current log."""
        return 0 if self._open is None else self._open.size

    # ---- after a start ---------------------------------------------------------------------------

    def checkpoint(self) -> tuple[Any, dict[str, Any]] | None:
        """The model of the last checkpoint and its document; None if there is none."""
        if not self.place.exists():
            return None
        return read(self.place, max_bytes=2**62)

    def replay(self, position: int) -> Iterator[Learned]:
        """The records after a checkpoint's position; afterwards the log is open for writing.

        Raises
        ------
        BudgetronError
            If records are missing or damaged, other than a torn last one.
        """
        self.position = position
        files = self._files()
        for i, (first, path) in enumerate(files):
            last = i == len(files) - 1
            if not last and files[i + 1][0] <= position:
                continue
            try:
                found = RecordFile(path, MAGIC, first, durable=self._durable)
            except OSError as error:  # its records must not be skipped
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
        """Write records; raises OSError if that fails, and then none of them counts."""
        if self._open is None:
            self._begin()
        assert self._open is not None
        self._open.add([_encode(each) for each in learned])
        self.position = self._open.end

    def probe(self) -> None:
        """Try whether the log is writable again; raises OSError if not."""
        if self._open is None:
            self._begin()
        assert self._open is not None
        self._open.probe()

    def cut(self, model: Any, extra: dict[str, Any]) -> None:
        """Write a checkpoint that ends before the next record, and start a new log.

        Raises
        ------
        OSError
            If it cannot be written: the previous checkpoint and its log then still count.
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
        """Close the log."""
        if self._open is not None:
            self._open.close()
            self._open = None


def learned_in(folder: str | os.PathLike[str], name: str) -> list[Learned]:
    """Read all records of a model's logs in a folder, in order; changes nothing.

    With `Settings.keep_logs` these are all rows that were ever learned there.
    """
    found: list[Learned] = []
    log = Log(Path(folder), name, durable=False, keep=True)
    for first, path in log._files():
        data = path.read_bytes()
        found += [_decode(payload) for payload, _ in unframed(data, first, START.size)]
    return found
