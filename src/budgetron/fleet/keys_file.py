"""Models that had to leave memory: an SQLite table, one row per key.

The file is part of the fleet's memory, not a backup: a saved fleet (parts.py) holds its models too.
It is written at the end of each piece of rows, in one transaction, whose pages SQLite keeps until
it ends: pieces are small enough (core/fleet/flight.hpp), and SQLite's cache is part of the fleet's
memory.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetron.errors import BudgetronError
from budgetron.fleet.keys import BYTES, Ids

_AT_ONCE = 500  # keys per query; SQLite takes at least 999
_MARK = 0x42544654  # application id in the file: it is one of ours


class KeysFile:
    """The file of a fleet.

    Parameters
    ----------
    path : the file; it is made if it does not exist
    anew : start empty, even if the file has keys
    cache : bytes of the file that SQLite may cache
    """

    def __init__(
        self, path: str | os.PathLike[str], *, anew: bool = True, cache: int = 2 << 20
    ) -> None:
        self.path = os.fspath(path)
        try:
            self._base = sqlite3.connect(self.path, check_same_thread=False)
            mark = self._base.execute("PRAGMA application_id").fetchone()[0]
            tables = self._base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if mark != _MARK and tables:
                raise BudgetronError(f"{self.path}: belongs to another program; choose a new file")
            self._base.execute(f"PRAGMA application_id = {_MARK}")
            self._base.execute("PRAGMA journal_mode = MEMORY")
            self._base.execute("PRAGMA synchronous = OFF")  # a crash resumes from what was saved
            self._base.execute(f"PRAGMA cache_size = -{cache // 1024}")  # in kB
            self._base.execute(
                "CREATE TABLE IF NOT EXISTS models (key BLOB PRIMARY KEY, model BLOB) WITHOUT ROWID"
            )
            if anew:
                self._base.execute("DELETE FROM models")
            self._base.commit()
        except sqlite3.Error as error:
            raise BudgetronError(f"{self.path}: cannot be used for keys ({error})") from None
        self._count: int = self._base.execute("SELECT count(*) FROM models").fetchone()[0]

    def __len__(self) -> int:
        return self._count

    def sizes(self, keys: list[bytes]) -> dict[bytes, int]:
        """The size in bytes of the models of those keys that are in the file."""
        return dict(self._asked("key, length(model)", keys))

    def fetch(self, keys: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """The keys in the file with their models, one by one."""
        return self._asked("key, model", keys)

    def _asked(self, what: str, keys: list[bytes]) -> Iterator[tuple[bytes, Any]]:
        for start in range(0, len(keys), _AT_ONCE):
            some = keys[start : start + _AT_ONCE]
            marks = ",".join("?" * len(some))
            yield from self._base.execute(f"SELECT {what} FROM models WHERE key IN ({marks})", some)

    def change(self, models: list[tuple[bytes, bytes]], back: Ids) -> None:
        """Write models, and delete those of keys that went back to memory."""
        try:
            gone = self._delete(back)
            self._base.executemany("INSERT OR REPLACE INTO models VALUES (?, ?)", models)
            self._base.commit()
        except sqlite3.Error as error:
            self._base.rollback()
            raise BudgetronError(f"{self.path}: cannot be written ({error})") from None
        self._count += len(models) - gone

    def _delete(self, ids: Ids) -> int:
        """Delete keys without a commit; return how many were there."""
        if not len(ids):
            return 0
        keys = [(row.tobytes(),) for row in ids]
        return self._base.executemany("DELETE FROM models WHERE key = ?", keys).rowcount

    def remove(self, ids: Ids) -> None:
        """Delete the models of keys that are in memory from now on."""
        gone = self._delete(ids)
        self._base.commit()
        self._count -= gone

    def add(self, ids: Ids, data: bytes, ends: NDArray[np.int64]) -> None:
        """Add models of a saved fleet; models of keys that are already here are replaced."""
        starts = np.append(0, ends[:-1]).tolist()
        models = [
            (row.tobytes(), data[start:end])
            for row, start, end in zip(ids, starts, ends.tolist(), strict=True)
        ]
        self.change(models, ids)

    def pieces(self, size: int) -> Iterator[tuple[Ids, bytes, NDArray[np.int64]]]:
        """All models in the order of their keys' bytes, in pieces of about `size` bytes."""
        some: list[tuple[bytes, bytes]] = []
        held = 0
        for row in self._base.execute("SELECT key, model FROM models ORDER BY key"):
            some.append(row)
            held += len(row[1])
            if held >= size:
                yield _joined(some)
                some, held = [], 0
        if some:
            yield _joined(some)

    def close(self) -> None:
        """Close the file, which stays on disk."""
        self._base.close()


def _joined(rows: list[tuple[bytes, bytes]]) -> tuple[Ids, bytes, NDArray[np.int64]]:
    keys = np.frombuffer(b"".join(key for key, _ in rows), dtype=np.uint64)
    ends = np.cumsum([len(model) for _, model in rows])
    return keys.reshape(-1, BYTES // 8), b"".join(model for _, model in rows), ends
