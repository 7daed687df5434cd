"""Fresh processes for work on all cores: one thread of linear algebra each, none left behind."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")

_LIBRARIES = ("OPENBLAS", "OMP", "MKL")


def unordered(
    work: Callable[[T], R], jobs: list[T], processes: int
) -> Iterator[tuple[T, R | Exception]]:
    """Each job with its result, or with the exception it raised, as they come.

    With one process the work is done here, in order. If the caller stops, or is interrupted, the
    workers are ended at once.

    Raises
    ------
    concurrent.futures.process.BrokenProcessPool
        If a worker died.
    """
    if processes == 1 or len(jobs) <= 1:
        from threadpoolctl import threadpool_limits

        for job in jobs:
            with threadpool_limits(1):
                result = _attempt(work, job)
            yield job, result
        return
    with _workers(min(processes, len(jobs))) as pool:
        waiting = {pool.submit(_attempt, work, job): job for job in jobs}
        for done in as_completed(waiting):
            yield waiting.pop(done), done.result()


def _attempt(work: Callable[[T], R], job: T) -> R | Exception:
    """The result or what was raised, as far as it can be sent."""
    try:
        return work(job)
    except Exception as error:
        return type(error)(*map(str, error.args)) if _plain(error) else RuntimeError(repr(error))


def _plain(error: Exception) -> bool:
    return type(error) in (ValueError, TypeError, MemoryError, RuntimeError, AttributeError)


@contextmanager
def _workers(processes: int) -> Iterator[ProcessPoolExecutor]:
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
    parent: Any = parent_process()

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
