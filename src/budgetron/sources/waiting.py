"""Waiting for what goes away: growing pauses, one line when it goes and one when it is back."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from budgetron.sources.protocol import Gone

FIRST, LONGEST = 0.1, 30.0  # seconds of the pauses
_Answer = TypeVar("_Answer")


class Patience:
    """Calls what may be gone until it answers.

    Parameters
    ----------
    name : what is called
    tell : takes a line for people
    stop : whether to give up

    Examples
    --------
    >>> answers = iter([Gone("connection refused"), 7])
    >>> def ask():
    ...     answer = next(answers)
    ...     if isinstance(answer, Gone):
    ...         raise answer
    ...     return answer
    >>> told = []
    >>> Patience("redis://host/rows", told.append, lambda: False)(ask)
    7
    >>> told[0]
    'redis://host/rows: gone (connection refused): waiting for it'
    """

    def __init__(
        self, name: str, tell: Callable[[str], None], stop: Callable[[], bool], first: float = FIRST
    ) -> None:
        self._name, self._tell, self._stop = name, tell, stop
        self._first = first

    def __call__(self, ask: Callable[[], _Answer]) -> _Answer | None:
        """The answer; None if it was given up."""
        pause, since = self._first, 0.0
        while True:
            try:
                answer = ask()
            except Gone as gone:
                if not since:
                    since = time.monotonic()
                    self._tell(f"{self._name}: gone ({gone}): waiting for it")
                if not self._sleep(pause):
                    return None
                pause = min(2 * pause, LONGEST)
                continue
            if since:
                gone_for = time.monotonic() - since
                self._tell(f"{self._name}: back after {gone_for:.1f} s")
            return answer

    def _sleep(self, seconds: float) -> bool:
        """Sleep; False if it was to stop before."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self._stop():
                return False
            time.sleep(min(left, 0.1))
        return not self._stop()
