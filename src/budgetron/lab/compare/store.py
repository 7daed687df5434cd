"""Finished cells in a file: a line of JSON each, added when the cell is done.

A line is written by one call and flushed to the disk, so an interruption loses at most the line
that was being written; what is left of that one is cut off before the next is added.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

Record = dict[str, Any]


class Store:
    """The finished cells of a folder, by key."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.records: dict[str, Record] = {}
        self._whole = 0  # bytes up to the end of the last whole line
        if path.exists():
            self._read()

    def _read(self) -> None:
        content = self._path.read_bytes()
        for line in content.splitlines(keepends=True):
            try:
                record = json.loads(line)
                key = record["key"]
            except (ValueError, KeyError, TypeError):
                key = None
            if key is not None and line.endswith(b"\n"):
                self.records[key] = _with_nan(record)
            if line.endswith(b"\n"):
                self._whole += len(line)

    def add(self, record: Record) -> None:
        """Keep a finished cell."""
        line = json.dumps(_without_nan(record), allow_nan=False) + "\n"
        file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            if self._whole < os.fstat(file).st_size and not self._ends_well():
                os.ftruncate(file, self._whole)
            data = line.encode()
            if os.write(file, data) != len(data):
                raise OSError(f"{self._path}: the disk is full")
            os.fsync(file)
            self._whole = os.fstat(file).st_size
        finally:
            os.close(file)
        self.records[record["key"]] = _with_nan(json.loads(line))

    def _ends_well(self) -> bool:
        with self._path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"


def _without_nan(value: Any) -> Any:
    """The record as JSON has it: what is not finite becomes null, or text in the parameters."""
    if isinstance(value, dict):
        return {name: _without_nan(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def _with_nan(record: Record) -> Record:
    for checkpoint in record["checkpoints"]:
        for name, value in checkpoint.items():
            checkpoint[name] = math.nan if value is None else float(value)
    return record
