"""Waiting for a server that is not reachable: growing pauses, a line when it goes and returns."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from budgetron.sources.protocol import Gone

FIRST, LONGEST = 0.1, 30.0  # seconds of the first and the longest pause
_Answer = TypeVar("_Answer")


class Patience:
    """Repeats a call until the server answers.

    Parameters
    ----------
    name : name of the server
    tell : receives a line for people
    stop : whether to give up

    Examples
    --------
    >>> answers = iter([Gone("connection refused"), 7])
    >>> def ask():
    ...     answer = next(answers)
    ...     if isinstance(answer, Gone):
    ...         raise answer
    ...     return answer
    >>> lines = []
    >>> Patience("redis://host/rows", lines.append, lambda: False)(ask)
    7
    >>> lines[0]
    'redis://host/rows: not reachable (connection refused): waiting for it'
    """

    def __init__(
        self, name: str, tell: Callable[[str], None], stop: Callable[[], bool], first: float = FIRST
    ) -> None:
        self._name, self._tell, self._stop = name, tell, stop
        self._first = first

    def __call__(self, ask: Callable[[], _Answer]) -> _Answer | None:
        """The answer; None if it gave up."""
        pause, since = self._first, 0.0
        while True:
            try:
                answer = ask()
            except Gone as gone:
                if not since:
                    since = time.monotonic()
                    self._tell(f"{self._name}: not reachable ({gone}): waiting for it")
                if not self._sleep(pause):
                    return None
                pause = min(2 * pause, LONGEST)
                continue
            if since:
                gone_for = time.monotonic() - since
                self._tell(f"{self._name}: back after {gone_for:.1f} s")
            return answer

    def _sleep(self, seconds: float) -> bool:
        """Sleep; False if it was asked to stop before."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self._stop():
                return False
            time.sleep(min(left, 0.1))
        return not self._stop()
