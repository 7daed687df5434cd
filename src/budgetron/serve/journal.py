"""What happens, told on standard error: one JSON object a line, with time, level and message."""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from datetime import UTC, datetime
from typing import Any, TextIO

from budgetron.serve.bodies import to_json


class Journal:
    """Writes lines of JSON.

    Parameters
    ----------
    stream : where to; None: standard error

    Examples
    --------
    >>> import io
    >>> lines = io.StringIO()
    >>> Journal(lines).say("ready", model="sea")
    >>> lines.getvalue().partition('"level"')[2].strip()
    ':"info","message":"ready","model":"sea"}'
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def say(self, message: str, **more: Any) -> None:
        """Something happened that is as it should be."""
        self._write("info", message, more)

    def warn(self, message: str, **more: Any) -> None:
        """Something is not as it should be."""
        self._write("warning", message, more)

    def fault(self, message: str, error: BaseException, **more: Any) -> None:
        """A bug: with its traceback."""
        text = "".join(traceback.format_exception(error))
        self._write("error", message, {**more, "traceback": text})

    def _write(self, level: str, message: str, more: dict[str, Any]) -> None:
        when = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = to_json({"time": when, "level": level, "message": message, **more}).decode()
        stream = self._stream or sys.stderr
        with self._lock:
            try:
                stream.write(f"{line}\n")
                stream.flush()
            except (OSError, ValueError):  # nobody listens
                pass


class Heard(logging.Handler):
    """Has what a library says with `logging` stand in a journal, in a line of JSON too.

    Parameters
    ----------
    journal : where to
    """

    def __init__(self, journal: Journal) -> None:
        super().__init__(logging.WARNING)
        self._journal = journal

    def emit(self, record: logging.LogRecord) -> None:
        """Write one."""
        error = record.exc_info[1] if record.exc_info else None
        if error is None:
            self._journal.warn(record.getMessage(), by=record.name)
        else:
            self._journal.fault(record.getMessage(), error, by=record.name)
