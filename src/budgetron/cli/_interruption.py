"""Ctrl-C and SIGTERM where work is to be kept: the first asks to stop, the second stops at once."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any, Self

# A signal with another handler than this is somebody else's, or ignored (nohup).
_USUAL = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}


class Interruption:
    """While the block runs the first of these signals is noted; after it they act as usual.

    Parameters
    ----------
    wanted : False: they act as usual from the start

    Attributes
    ----------
    code : the exit code to end with, 130 after Ctrl-C and 143 after SIGTERM; None: go on
    """

    def __init__(self, wanted: bool = True) -> None:
        self._wanted = wanted
        self.code: int | None = None
        self._taken: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        # Python lets no other thread set handlers.
        if self._wanted and threading.current_thread() is threading.main_thread():
            for number, usual in _USUAL.items():
                if signal.getsignal(number) == usual:
                    self._taken[number] = usual
                    signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        while self._taken:
            signal.signal(*self._taken.popitem())

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.code = 128 + number
        self.__exit__()
