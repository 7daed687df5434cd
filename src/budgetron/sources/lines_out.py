"""Answers as JSON lines in a file; a resumed run first cuts it to its size at the checkpoint."""

from __future__ import annotations

import os

from budgetron.sources.protocol import Mark
from budgetron.streams.base import StreamError


class LinesFile:
    """A file to which answers are appended, one per line."""

    def __init__(self, path: str) -> None:
        self.name = path
        try:
            self._file = open(path, "ab")  # noqa: SIM115 (closed by close)
        except OSError as error:
            raise StreamError(path, None, (error.strerror or str(error)).lower()) from None

    def write(self, answers: list[tuple[str, bytes]]) -> None:
        try:
            self._file.write(b"".join(line + b"\n" for _, line in answers))
        except OSError as error:
            raise StreamError(self.name, None, (error.strerror or str(error)).lower()) from None

    def flush(self) -> None:
        try:
            self._file.flush()
        except OSError as error:
            raise StreamError(self.name, None, (error.strerror or str(error)).lower()) from None

    def mark(self) -> Mark:
        return {"bytes": self._file.tell()}

    def seek(self, mark: Mark) -> None:
        size = mark.get("bytes")
        there = self._file.tell()
        if type(size) is not int or not 0 <= size <= there:
            what = f"has {there} bytes, but {size} at the checkpoint: choose another file"
            raise StreamError(self.name, None, what)
        self._file.truncate(size)
        self._file.seek(0, os.SEEK_END)

    def close(self) -> None:
        self._file.close()
