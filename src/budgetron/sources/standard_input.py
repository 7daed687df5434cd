"""`stdin:`, the lines of standard input as messages.

When a run resumes from a checkpoint, the writer is expected to start from its beginning again: the
lines that were taken before are skipped.
"""

from __future__ import annotations

import os
import select
import sys
from typing import Any

from budgetron.sources.lines import Lines
from budgetron.sources.protocol import Batch, Mark
from budgetron.streams.base import StreamError
from budgetron.streams.source import BLOCK


class StandardInput:
    """Lines of standard input, until it ends."""

    unit = "messages"
    lag: int | None = None
    name = "<stdin>"

    def __init__(self, stream: Any = None) -> None:
        stream = sys.stdin if stream is None else stream
        if stream is None:
            raise StreamError(self.name, None, "standard input is closed")
        self._handle = stream.fileno()
        self._lines = Lines()
        self._messages = 0
        self._pass_over = 0
        self._ended = False

    @property
    def at_end(self) -> bool:
        """False while lines that were taken before are skipped."""
        return not self._pass_over

    def read(self, most: int, seconds: float) -> Batch | None:
        if not self._lines and not self._ended:
            self._more(seconds)
        while self._pass_over and self._lines:
            self._pass_over -= len(self._lines.take(self._pass_over))
        values = self._lines.take(most)
        if not values and self._ended:
            return None
        first = self._messages + 1
        self._messages += len(values)
        return Batch(values, {"messages": self._messages}, lambda i: str(first + i))

    def _more(self, seconds: float) -> None:
        if not select.select([self._handle], [], [], seconds)[0]:
            return
        try:
            piece = os.read(self._handle, BLOCK)
        except OSError as error:
            raise StreamError(self.name, None, (error.strerror or str(error)).lower()) from None
        self._lines.add(piece)
        if not piece:
            self._ended = True
            self._lines.finish()

    def seek(self, mark: Mark) -> None:
        self._messages = self._pass_over = messages_in(self.name, mark)

    def close(self) -> None: ...


def messages_in(name: str, mark: Mark) -> int:
    """The number of messages before a mark."""
    number = mark.get("messages")
    if type(number) is not int or number < 0:
        raise StreamError(name, None, "the checkpoint has no position in it")
    return number
