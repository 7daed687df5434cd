"""Ctrl-C and SIGTERM: the first signal asks the work to stop, the second ends it at once."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any, Self

# A signal with any other handler belongs to someone else, or is ignored (nohup).
_USUAL = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}


class Interruption:
    """Note the first of these signals while the block runs; later ones act as usual.

    Parameters
    ----------
    wanted : False: the signals act as usual from the start

    Attributes
    ----------
    code : exit code, 130 after Ctrl-C and 143 after SIGTERM; None: no signal came
    """

    def __init__(self, wanted: bool = True) -> None:
        self._wanted = wanted
        self.code: int | None = None
        self._taken: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        # Only the main thread may set handlers.
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
