"""Jobs on all cores, through joblib: `joblib.parallel_config` says where they run and how many.

Processes by loky unless it says otherwise. A job that raises gives its exception as its result; a
job whose process died is tried again, alone and at most twice, so that one job that kills its
process (for lack of memory) costs no other. Every process has one thread of linear algebra, so that
results do not depend on how many there are. Processes leave Ctrl-C to their parent and end when it
ends, however it does.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from traceback import format_exception
from typing import Any, Self, TypeVar

from budgetron.errors import BudgetronError
from budgetron.verdict import NotLearningWarning

T = TypeVar("T")
R = TypeVar("R")

# One thread of linear algebra, for libraries that are not loaded yet.
_ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL")}
# Errors come back from a process as the first of these that they are, with their text.
_SENT: tuple[type[Exception], ...] = (
    BudgetronError,
    ValueError,
    TypeError,
    OSError,
    MemoryError,
    AttributeError,
)
# Larger arrays go to processes as files they map, once for all jobs, not through a pipe for each: a
# process that is killed while it reads a long message leaves all others waiting.
_SENT_BYTES = 10_000
_COUNTED = (UserWarning, RuntimeWarning, FutureWarning)  # other kinds are for programmers
# `texts`: what the job of this thread warned of.
_thread = threading.local()


class JobError(RuntimeError):
    """An error of any other type; its text begins with the name of that type."""


class Workers:
    """Where jobs run.

    Parameters
    ----------
    processes : at once; None: as `joblib.parallel_config` says, else one per core
    """

    def __init__(self, processes: int | None = None) -> None:
        from joblib import effective_n_jobs
        from joblib.parallel import get_active_backend

        self._backend, configured = get_active_backend()
        self.count = effective_n_jobs(processes or configured or -1)
        self.warnings: Counter[str] = Counter()  # what jobs warned of, and how many did
        self._starting: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._starting is not None:
            _close(self._starting)  # nobody asked them anything: they are ended at once

    def start(self) -> None:
        """Start processes now, so that they import while this one reads."""
        if self.count > 1 and type(self._backend).__name__ == "LokyBackend":
            with _environment(), _ctrl_c_blocked():
                self._starting = self._parallel(_import, [(i, None) for i in range(self.count)])

    def unordered(
        self, work: Callable[[T], R], jobs: Sequence[T]
    ) -> Generator[tuple[T, R | Exception], None, None]:
        """Each job with its result, or with the exception it raised, as they come."""
        from threadpoolctl import threadpool_limits

        waiting = dict(enumerate(jobs))
        with _environment(), threadpool_limits(1), self._warnings_of_threads():
            while waiting:
                sent: list[int] = []
                try:
                    for number, result in self._results(work, waiting, sent):
                        yield waiting.pop(number), result
                except BrokenProcessPool:  # which of those that were sent did it, nobody knows
                    for number in [each for each in sent if each in waiting]:
                        yield waiting[number], self._alone(work, waiting.pop(number))

    @contextmanager
    def _warnings_of_threads(self) -> Iterator[None]:
        """Warnings of jobs in threads go to their jobs: filters are the process's, so they are
        set once, around all jobs.
        """
        shared = self.count > 1 and getattr(self._backend, "supports_sharedmem", False)
        if not shared and threading.current_thread() is threading.main_thread():
            yield
            return
        before = warnings.showwarning

        def collect(message: Any, category: Any, *place: Any, **more: Any) -> None:
            texts = getattr(_thread, "texts", None)
            if texts is None:  # not of a job
                before(message, category, *place, **more)
            elif _counts(category):
                texts.add(_on_one_line(message))

        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = collect
            yield

    def _results(
        self, work: Callable[[T], R], jobs: Mapping[int, T], sent: list[int]
    ) -> Iterator[tuple[int, R | Exception]]:
        if self._starting is not None:
            started, self._starting = self._starting, None
            for _ in started:
                pass
        total, numbered = len(jobs), iter(list(jobs.items()))

        def next_ones(most: int | None) -> Iterator[tuple[int, T]]:
            for number, job in islice(numbered, most):
                sent.append(number)
                yield number, job

        lazy = self.count == 1 or self._backend.supports_return_generator
        while len(sent) < total:  # a backend that gives results only together gets a few jobs
            answers = self._parallel(work, next_ones(None if lazy else 4 * self.count), lazy)
            try:
                for number, result, warned in answers:
                    self.warnings.update(warned)
                    yield number, result
            finally:
                if lazy:
                    _close(answers)  # if the block failed, the processes are ended

    def _alone(self, work: Callable[[T], R], job: T) -> R | Exception:
        """In a process for itself, twice if that dies: the first death may have been another's."""
        for _ in range(2):
            try:
                ((_, result, warned),) = self._parallel(work, [(0, job)], False, max(2, self.count))
            except BrokenProcessPool:
                continue
            self.warnings.update(warned)
            found: R | Exception = result
            return found
        return BudgetronError("its process died twice, perhaps for lack of memory")

    def _parallel(self, work: Any, jobs: Any, lazy: bool = True, count: int = 0) -> Any:
        from joblib import Parallel, delayed

        options: dict[str, Any] = {"return_as": "generator_unordered" if lazy else "list"}
        options["max_nbytes"] = _SENT_BYTES
        if not getattr(self._backend, "supports_sharedmem", False):
            options.update(initializer=_begin, initargs=(os.getpid(),))
        calls = (delayed(_attempt)(work, number, job) for number, job in jobs)
        return Parallel(n_jobs=count or self.count, batch_size=1, **options)(calls)


def _close(answers: Any) -> None:
    """Of results nobody waits for; joblib would warn of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answers.close()


def _attempt(
    work: Callable[[T], R], number: int, job: T
) -> tuple[int, R | Exception, tuple[str, ...]]:
    """The result or what was raised, as far as it can be sent, and what was warned of."""
    if threading.current_thread() is not threading.main_thread():
        _thread.texts = set()  # filled by `Workers._warnings_of_threads`
        try:
            return number, _result(work, job), tuple(_thread.texts)
        finally:
            del _thread.texts
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = _result(work, job)
    _freeze()
    found = [each.message for each in caught if _counts(each.category)]
    return number, result, tuple({_on_one_line(message) for message in found})


def _counts(category: type[Warning]) -> bool:
    """A cell that does not learn stands in the table beside the simplest guesses."""
    return issubclass(category, _COUNTED) and not issubclass(category, NotLearningWarning)


def _on_one_line(message: Any) -> str:
    return " ".join(str(message).split())


def _result(work: Callable[[T], R], job: T) -> R | Exception:
    """The result or what was raised, as far as it can be sent; a bug with its traceback as a note.

    What is a user's mistake and what a bug: budgetron/errors.py.
    """
    try:
        return work(job)
    except Exception as error:
        other = RuntimeError if type(error) is RuntimeError else JobError
        kind = next((each for each in _SENT if isinstance(error, each)), other)
        sent = kind(f"{type(error).__name__}: {error}" if kind is JobError else str(error))
        if kind is not BudgetronError:
            sent.add_note("".join(format_exception(error)))
        return sent


def _import(_: None) -> None:
    """In a process: what takes long."""
    import budgetron.lab.cells
    import budgetron.lab.tune  # noqa: F401


_started = False  # whether this is a process of ours that has not frozen its imports yet


def _freeze() -> None:
    """After a process's first job: what it has imported is no garbage.

    loky collects garbage every second, and looking at all of scikit-learn takes 70 ms.
    """
    global _started
    if _started:
        gc.freeze()
        _started = False


def _begin(parent: int) -> None:
    """In a new process: leave Ctrl-C to the parent, and end when the parent does."""
    global _started
    _started = True
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.2)
        os._exit(1)

    if hasattr(os, "getppid") and os.getppid() == parent:
        threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _ctrl_c_blocked() -> Iterator[None]:
    """Processes started meanwhile inherit it, and do not hear Ctrl-C while they import."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    from joblib.externals.loky.backend import resource_tracker as of_loky

    resource_tracker.ensure_running()  # first: they would unblock what is blocked below
    of_loky.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _environment() -> Iterator[None]:
    """For processes that are started: one thread each, and loky's tracker says nothing of files
    and semaphores that it removes for one that died. As it was afterwards.
    """
    quiet = ",".join(filter(None, [os.environ.get("PYTHONWARNINGS"), "ignore:resource_tracker"]))
    values = {**_ONE_THREAD, "PYTHONWARNINGS": quiet}
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
