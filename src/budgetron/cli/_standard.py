"""Standard input, output and error as they may be: closed, on a full disk, without a reader."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

# What a shell says of a program that writes to a pipe nobody reads.
BROKEN_PIPE = 128 + getattr(signal, "SIGPIPE", 13)


class OutputFailed(Exception):
    """Standard output cannot be written to. No OSError: it is taken for no other file's."""

    def __init__(self, error: OSError) -> None:
        super().__init__((error.strerror or str(error)).lower())
        self.broken_pipe = error.errno == errno.EPIPE


class Output:
    """Standard output that says by `OutputFailed` what goes wrong with it.

    Parameters
    ----------
    stream : the one to write to
    closed : it only stands for one that is closed: whatever is written fails
    """

    def __init__(self, stream: Any, *, closed: bool = False) -> None:
        self._stream = stream
        self._closed = closed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """As that of a file."""
        try:
            if self._closed:
                raise OSError(errno.EBADF, "it is closed")
            return int(self._stream.write(text))
        except OSError as error:
            raise OutputFailed(error) from None

    def flush(self) -> None:
        """As that of a file."""
        try:
            self._stream.flush()
        except OSError as error:
            raise OutputFailed(error) from None

    def forget_output(self) -> None:
        """What is still buffered has nowhere to go: without this Python complains at exit."""
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())


@contextmanager
def standard_streams() -> Iterator[Output]:
    """While the block runs `sys.stdout` and `sys.stderr` are there, and the first is an `Output`.

    Python has None for what was closed when it started (`>&-`). Its number is free then, and the
    next file that is opened would get it, and what is printed: so nothing is opened in its place.
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
        if nowhere is not None and spare is not None:
            nowhere.close()
            os.close(spare)
