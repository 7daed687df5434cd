"""Finished cells in a folder: one SQLite file, one transaction per cell.

The file is `cells.db`. SQLite's write-ahead log makes a cell complete or absent, whatever ends the
process, and a key occurs once. A folder of older versions, with JSON lines in `cells.jsonl`, is
imported when it is first opened.
"""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

Record = dict[str, Any]
FILE = "cells.db"


def key_of(about: Any) -> str:
    """A hash of everything a result depends on: equal only if all of it is."""
    text = json.dumps(about, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


class Store(Mapping[str, Record]):
    """Finished cells by key. An unreadable record counts as absent, and is replaced.

    Parameters
    ----------
    folder : folder of the file; None: only in memory
    name : name of the table in it, and of the older file of JSON lines

    Raises
    ------
    OSError
        If the folder is not writable, or the file is damaged or belongs to another program.
    """

    def __init__(self, folder: Path | None = None, name: str = "cells") -> None:
        self._table = f'"{name}"'
        self._folder = folder
        with _errors(folder):
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
            where = ":memory:" if folder is None else folder / FILE
            self._file = sqlite3.connect(where, timeout=60, isolation_level=None)
            self._file.execute("PRAGMA journal_mode=WAL")
            self._file.execute("PRAGMA synchronous=FULL")
            self._file.execute("BEGIN IMMEDIATE")
            if self._file.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                raise sqlite3.DatabaseError(f"{FILE} is damaged")
            columns = [each[1] for each in self._file.execute(f"PRAGMA table_info({self._table})")]
            if not columns:
                declared = "(key TEXT PRIMARY KEY, record TEXT NOT NULL)"
                self._file.execute(f"CREATE TABLE {self._table} {declared}")
                old = None if folder is None else folder / f"{name}.jsonl"
                for key, record in _lines(old) if old is not None and old.exists() else ():
                    self._insert(key, record)
            elif columns != ["key", "record"]:
                raise sqlite3.OperationalError(f"{FILE} is a database of another program")
            self._file.execute("COMMIT")

    def add(self, key: str, record: Record) -> None:
        """Store a finished cell; it is on disk when this returns."""
        with _errors(self._folder):
            self._insert(key, record)

    def _insert(self, key: str, record: Record) -> None:
        if key not in self:
            command = f"INSERT OR REPLACE INTO {self._table} VALUES (?, ?)"
            self._file.execute(command, (key, json.dumps(record)))

    def __getitem__(self, key: str) -> Record:
        for _, record in self._select("WHERE key=?", key):
            return record
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter([key for key, _ in self._select("ORDER BY rowid")])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def _select(self, rest: str, *values: str) -> list[tuple[str, Record]]:
        """Key and record of those that can be read."""
        with _errors(self._folder):
            command = f"SELECT key, record FROM {self._table} {rest}"
            rows = self._file.execute(command, values).fetchall()
        found = [(key, _record(text)) for key, text in rows]
        return [(key, record) for key, record in found if record is not None]

    def close(self) -> None:
        self._file.close()


def check_folder(folder: Path) -> None:
    """Try, before any work, whether a store can be there; creates nothing.

    Raises
    ------
    OSError
        As `Store` does.
    """
    if (folder / FILE).exists():
        Store(folder).close()
        return
    with (
        _errors(folder),
        TemporaryFile(dir=next(p for p in (folder, *folder.parents) if p.exists())),
    ):
        pass


@contextmanager
def _errors(folder: Path | None) -> Iterator[None]:
    """Errors of SQLite and of files as one line that says what to do."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        damaged = type(error) is sqlite3.DatabaseError  # no database, or malformed
        instead = f", or delete {FILE} to start again" if damaged else ""
        why = (getattr(error, "strerror", None) or str(error)).lower()
        why = "not a directory" if isinstance(error, FileExistsError) else why
        hint = f"choose another folder with --out{instead}"
        raise OSError(f"cannot keep results in {folder}: {why}; {hint}") from error


def _record(text: Any) -> Record | None:
    """The record of a text; None if it is not a JSON object."""
    try:
        found = json.loads(text)
    except (ValueError, TypeError):
        return None
    return found if isinstance(found, dict) else None


def _lines(path: Path) -> Iterator[tuple[str, Record]]:
    """Key and record of every complete line of an older file; a torn line is skipped."""
    for line in path.read_bytes().splitlines():
        try:
            entry = json.loads(line)
            if "cell" in entry:  # of `budgetron reproduce`
                yield key_of(entry["cell"]), entry["outcome"]
                continue
            for checkpoint in entry["checkpoints"]:
                for name, value in checkpoint.items():
                    checkpoint[name] = math.nan if value is None else float(value)
            yield entry.pop("key"), entry
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
