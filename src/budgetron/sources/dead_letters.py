"""Bad messages: counted, and kept in a file if one is given.

The file has one JSON line per message: where it was, what is wrong with it, and the message, as
text or, if it is not UTF-8, as base64. A run that resumes from a checkpoint first cuts the file to
its size then, so that each message is in it once.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable
from typing import IO

from budgetron.streams.base import StreamError


class DeadLetters:
    """A file of bad messages; None: they are not kept.

    Parameters
    ----------
    path : the file
    size : bytes to keep; the rest was written after the checkpoint. None: all
    """

    def __init__(self, path: str | None, size: int | None = None) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        if path is None:
            return
        try:
            self._file = open(path, "ab")  # noqa: SIM115 (closed by close)
            if size is not None and size < self._file.tell():
                self._file.truncate(size)
                self._file.seek(0, os.SEEK_END)
        except OSError as error:
            self._refuse(error)

    @property
    def size(self) -> int:
        return 0 if self._file is None else self._file.tell()

    def write(self, where: str, why: str, message: bytes) -> None:
        """Keep a message."""
        if self._file is None:
            return
        line: dict[str, str] = {"where": where, "error": why}
        try:
            line["message"] = message.decode()
        except UnicodeDecodeError:
            line["base64"] = base64.b64encode(message).decode()
        self._do(lambda file: file.write(json.dumps(line).encode() + b"\n"))

    def flush(self) -> None:
        """Flush what was written to the operating system: it outlives the process."""
        if self._file is not None:
            self._do(lambda file: file.flush())

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _do(self, act: Callable[[IO[bytes]], object]) -> None:
        assert self._file is not None
        try:
            act(self._file)
        except OSError as error:
            self._refuse(error)

    def _refuse(self, error: OSError) -> None:
        what = f"--dead-letters {self._path}: {(error.strerror or str(error)).lower()}"
        raise StreamError("budgetron", None, what) from error
