"""Standard input, output and error in all conditions: closed, disk full, pipe without reader."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

# The exit code that shells report for a program that writes to a closed pipe.
BROKEN_PIPE = 128 + getattr(signal, "SIGPIPE", 13)


class OutputFailed(Exception):
    """Standard output cannot be written. Not an OSError, so it is not taken for another file's."""

    def __init__(self, error: OSError) -> None:
        super().__init__((error.strerror or str(error)).lower())
        self.broken_pipe = error.errno == errno.EPIPE


class Output:
    """Standard output that raises `OutputFailed` when writing fails.

    Parameters
    ----------
    stream : the stream to write to
    closed : the real stream is closed, so every write fails
    """

    def __init__(self, stream: Any, *, closed: bool = False) -> None:
        self._stream = stream
        self._closed = closed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write, as a file does."""
        try:
            if self._closed:
                raise OSError(errno.EBADF, "it is closed")
            return int(self._stream.write(text))
        except OSError as error:
            raise OutputFailed(error) from None

    def flush(self) -> None:
        """Flush, as a file does."""
        try:
            self._stream.flush()
        except OSError as error:
            raise OutputFailed(error) from None

    def forget_output(self) -> None:
        """Drop the buffer, which cannot be written: otherwise Python complains at exit."""
        _drop_buffer(self._stream)


def _drop_buffer(stream: Any) -> None:
    """Let what the stream still has go nowhere."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def standard_streams() -> Iterator[Output]:
    """Make `sys.stdout` (an `Output`) and `sys.stderr` usable while the block runs.

    Python sets them to None if they were closed when it started (`>&-`). Their descriptors are free
    then; the next file opened would get one, and with it the output. So nothing is opened for them.
    """
    before = sys.stdin, sys.stdout, sys.stderr
    spare = None
    if None in before:
        while (spare := os.open(os.devnull, os.O_RDWR)) <= 2:
            pass
    nowhere = open(os.devnull, "w") if spare is not None else None  # noqa: SIM115
    output = Output(nowhere if sys.stdout is None else sys.stdout, closed=sys.stdout is None)
    sys.stdout = output
    sys.stderr = sys.stderr or nowhere
    try:
        yield output
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
        if sys.stderr is not None:
            try:
                sys.stderr.flush()
            except OSError:  # a full disk: Python would end with the exit code 120
                _drop_buffer(sys.stderr)
        if nowhere is not None and spare is not None:
            nowhere.close()
            os.close(spare)
