"""Fresh processes for work on all cores: one thread of linear algebra each, none left behind."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")

_LIBRARIES = ("OPENBLAS", "OMP", "MKL")


class Workers:
    """Processes at work, made by `workers`."""

    def __init__(self, pool: ProcessPoolExecutor | None) -> None:
        self._pool = pool

    def unordered(
        self, work: Callable[[T], R], jobs: Sequence[T]
    ) -> Iterator[tuple[T, R | Exception]]:
        """Each job with its result, or with the exception it raised, as they come.

        Raises
        ------
        concurrent.futures.process.BrokenProcessPool
            If a worker died.
        """
        if self._pool is None:
            for job in jobs:
                yield job, _attempt(work, job)
            return
        waiting = {self._pool.submit(_attempt, work, job): job for job in jobs}
        for done in as_completed(waiting):
            yield waiting[done], done.result()


@contextmanager
def workers(processes: int) -> Iterator[Workers]:
    """So many processes; one is this one. If the block fails, they are ended at once."""
    if processes > 1:
        with _pool(processes) as pool:
            yield Workers(pool)
        return
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield Workers(None)


# Errors come back from a worker as the first of these that they are, with their text.
_SENT: tuple[type[Exception], ...] = (ValueError, TypeError, OSError, MemoryError, AttributeError)


def _attempt(work: Callable[[T], R], job: T) -> R | Exception:
    """The result or what was raised, as far as it can be sent."""
    try:
        return work(job)
    except Exception as error:
        for kind in _SENT:
            if isinstance(error, kind):
                return kind(str(error))
        text = str(error) if type(error) is RuntimeError else repr(error)
        return RuntimeError(text)


@contextmanager
def _pool(processes: int) -> Iterator[ProcessPoolExecutor]:
    before = {library: os.environ.get(f"{library}_NUM_THREADS") for library in _LIBRARIES}
    others = set(active_children())
    for library in _LIBRARIES:
        os.environ[f"{library}_NUM_THREADS"] = "1"  # read by a worker when it starts
    pool = ProcessPoolExecutor(processes, get_context("spawn"), initializer=_begin)
    try:
        yield pool
    except BaseException:
        for worker in set(active_children()) - others:
            worker.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        for library, value in before.items():
            if value is None:
                del os.environ[f"{library}_NUM_THREADS"]
            else:
                os.environ[f"{library}_NUM_THREADS"] = value


def _begin() -> None:
    """In a worker: leave Ctrl-C to the parent, and end when the parent does, however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore", UserWarning)  # of a candidate among many: nobody knows which
    parent: Any = parent_process()

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
