"""The log on standard error: one JSON object per line, with time, level and message.

While a `heard` block runs, other text for standard error becomes such a line too: Python's
warnings, messages of libraries that use `logging`, and uncaught errors.
"""

from __future__ import annotations

import logging
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TextIO

from budgetron.serve.bodies import to_json


class Journal:
    """Writes JSON lines.

    Parameters
    ----------
    stream : where to write; None: standard error

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
        """Log a normal event."""
        self._write("info", message, more)

    def warn(self, message: str, **more: Any) -> None:
        """Log a problem."""
        self._write("warning", message, more)

    def fault(self, message: str, error: BaseException, **more: Any) -> None:
        """Log a bug, with its traceback."""
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
            except (OSError, ValueError):  # nobody reads it
                pass


class Heard(logging.Handler):
    """A `logging` handler that writes messages of libraries into a journal.

    Parameters
    ----------
    journal : where to write
    """

    def __init__(self, journal: Journal) -> None:
        super().__init__(logging.WARNING)
        self._journal = journal

    def emit(self, record: logging.LogRecord) -> None:
        """Write one."""
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            self._journal.fault(record.getMessage(), error, by=record.name)
        else:
            self._journal.warn(record.getMessage(), by=record.name)


@contextmanager
def heard(journal: Journal) -> Iterator[None]:
    """Write all that this process prints on standard error into the journal during the block.

    Examples
    --------
    >>> import io
    >>> lines = io.StringIO()
    >>> with heard(Journal(lines)):
    ...     warnings.warn("two rows are alike", stacklevel=1)
    >>> lines.getvalue().partition('"level"')[2].strip()
    ':"warning","message":"two rows are alike","kind":"UserWarning"}'
    """
    handler = Heard(journal)
    before = (warnings.showwarning, threading.excepthook, sys.unraisablehook)

    def warned(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        thread = threading.current_thread()  # the thread that learns a model has its name
        by = {} if thread is threading.main_thread() else {"by": thread.name}
        journal.warn(" ".join(str(message).split()), kind=category.__name__, **by)

    def uncaught(what: Any) -> None:
        where = getattr(what, "thread", None)
        name = {} if where is None else {"thread": where.name}
        if what.exc_value is not None:
            journal.fault("an error was not caught", what.exc_value, **name)

    logging.getLogger().addHandler(handler)
    warnings.showwarning = warned
    threading.excepthook = sys.unraisablehook = uncaught
    try:
        yield
    finally:
        warnings.showwarning, threading.excepthook, sys.unraisablehook = before
        logging.getLogger().removeHandler(handler)
