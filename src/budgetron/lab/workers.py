"""Processes for work on all cores: one thread of linear algebra each, none left behind at work.

A learner imports scikit-learn, which takes longer than many a cell. So one process, the server,
imports all that workers need, and they are forked from it, there at once. It is started as soon as
it is known that workers will be needed (`expect`), imports while the parent reads data, stays for
later calls, and ends with the parent. Where there is no forking, or the server belongs to the
process this one was forked from, every worker starts from nothing.

There is one server in a process: who uses "forkserver" beside this gets its workers from the same,
with its modules, environment and blocked SIGINT.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from traceback import format_exception
from typing import Any, TypeVar

from budgetron.errors import BudgetronError

T = TypeVar("T")
R = TypeVar("R")

# One thread of linear algebra, for libraries that are not loaded yet.
_ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL")}
_FORKING = "forkserver" in multiprocessing.get_all_start_methods()


def expect(processes: int) -> bool:
    """Say early that `workers` will be asked for so many processes. Whether they can be forked."""
    if processes < 2 or not _FORKING:
        return False
    from multiprocessing import forkserver, resource_tracker

    resource_tracker.ensure_running()  # first: it would unblock what is blocked below
    multiprocessing.get_context("forkserver").set_forkserver_preload(["budgetron.lab.preload"])
    # Blocked, not handled: the server inherits that, and leaves Ctrl-C to the parent.
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        # The same modules as here, but what lies in the working directory may not pass for one.
        own = {
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "PYTHONSAFEPATH": "1",
            "BUDGETRON_PARENT": str(os.getpid()),
        }
        with _environment({**_ONE_THREAD, **own}):
            forkserver.ensure_running()
    except ChildProcessError:  # the server is no child of ours
        return False
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    return True


class Workers:
    """Processes at work, made by `workers`."""

    def __init__(self, pool: ProcessPoolExecutor | None) -> None:
        self._pool = pool

    def unordered(
        self, work: Callable[[T], R], jobs: Sequence[T]
    ) -> Iterator[tuple[T, R | Exception]]:
        """Each job with its result, or with the exception it raised, as they come.

        Other processes begin at once; this one works on a job when it is asked for the next result.

        Raises
        ------
        concurrent.futures.process.BrokenProcessPool
            If a worker died.
        """
        if self._pool is None:
            return ((job, _attempt(work, job)) for job in jobs)
        waiting = {self._pool.submit(_attempt, work, job): job for job in jobs}
        return ((waiting[done], done.result()) for done in as_completed(waiting))


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
_SENT: tuple[type[Exception], ...] = (
    BudgetronError,
    ValueError,
    TypeError,
    OSError,
    MemoryError,
    AttributeError,
)


def _attempt(work: Callable[[T], R], job: T) -> R | Exception:
    """The result or what was raised, as far as it can be sent; a bug with its traceback as a note.

    What is a user's mistake and what a bug: budgetron/errors.py.
    """
    try:
        return work(job)
    except Exception as error:
        kind = next((each for each in _SENT if isinstance(error, each)), RuntimeError)
        known = kind is not RuntimeError or type(error) is RuntimeError
        sent = kind(str(error) if known else repr(error))
        if kind is not BudgetronError:
            sent.add_note("".join(format_exception(error)))
        return sent


@contextmanager
def _pool(processes: int) -> Iterator[ProcessPoolExecutor]:
    context = multiprocessing.get_context("forkserver" if expect(processes) else "spawn")
    others = set(multiprocessing.active_children())
    # A server's environment is of when it started; a worker's that starts from nothing is ours.
    given = {**os.environ, **_ONE_THREAD}
    with _environment(_ONE_THREAD):
        pool = ProcessPoolExecutor(processes, context, initializer=_begin, initargs=(given,))
        try:
            yield pool
        except BaseException:
            for worker in set(multiprocessing.active_children()) - others:
                worker.terminate()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """With these variables, as it was afterwards."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _begin(environment: Mapping[str, str]) -> None:
    """In a worker: leave Ctrl-C to the parent, and end when the parent does, however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if _FORKING:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    if "numpy" in sys.modules:
        import numpy as np

        np.random.seed()  # noqa: NPY002 - else all would have the server's
        if _ONE_THREAD.items() - os.environ.items():  # the server was started by others
            from threadpoolctl import threadpool_limits

            threadpool_limits(1)
    os.environ.clear()
    os.environ.update(environment)
    warnings.simplefilter("ignore", UserWarning)  # of a candidate among many: nobody knows which
    parent: Any = multiprocessing.parent_process()

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
