"""Jobs on all cores, or on a cluster: `joblib.parallel_config` says where and how many.

By default jobs run in processes of loky. Dask and Ray get jobs as their own tasks
(`budgetron.engines`): an array is sent once for all, and jobs whose process died are repeated. The
result of a job that raises is its exception; a job whose process died is tried again, alone and at
most twice, so that a job that kills its process (for lack of memory) costs no other job. Every
process uses one thread for linear algebra, so that results do not depend on the number of
processes. Processes leave Ctrl-C to their parent and end when it ends, in any way.
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
from contextlib import ExitStack, contextmanager, nullcontext
from itertools import islice
from traceback import format_exception
from typing import Any, Self, TypeVar

from budgetron.engines import ENGINES, Died, Engine, imported, open_engine
from budgetron.errors import BudgetronError
from budgetron.verdict import NotLearningWarning

T = TypeVar("T")
R = TypeVar("R")

# One thread of linear algebra, for libraries that are not loaded yet.
_ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL")}
# Errors return from a process as the first of these types that fits, with their text.
_SENT: tuple[type[Exception], ...] = (
    BudgetronError,
    ValueError,
    TypeError,
    OSError,
    MemoryError,
    AttributeError,
)
# Processes map larger arrays from files, once for all jobs, instead of receiving them in a pipe: a
# process that is killed while it reads a long message would leave all others waiting.
_SENT_BYTES = 10_000
BACKENDS = ("loky", "dask", "ray")
_COUNTED = (UserWarning, RuntimeWarning, FutureWarning)  # other kinds are for programmers
# `texts`: the warnings of the job of this thread.
_thread = threading.local()


class JobError(RuntimeError):
    """An error of any other type; its text begins with the name of that type."""


class Workers:
    """Where jobs run.

    Parameters
    ----------
    processes : number of processes; None: from `joblib.parallel_config`, else one per core
    backend : "loky", "dask" or "ray"; None: from `joblib.parallel_config`, else loky
    address : address of the Dask or Ray cluster; None: processes of this machine
    """

    def __init__(
        self,
        processes: int | None = None,
        backend: str | None = None,
        address: str | None = None,
    ) -> None:
        from joblib import effective_n_jobs, parallel_config
        from joblib.parallel import get_active_backend

        check_backend(backend, address)
        self.warnings: Counter[str] = Counter()  # warnings of jobs, and how many jobs had them
        self._starting: Any = None
        self._engine: Engine | None = None
        self._opened: Engine | None = None  # opened here, so closed here
        if backend in ENGINES:
            self._engine = self._opened = open_engine(backend, address, processes)
        elif backend is None:
            self._engine = _engine_of(get_active_backend()[0])
        if self._engine is not None:
            there = self._engine.count
            self.count = there if processes is None else min(processes, there)
            return
        with parallel_config("loky") if backend == "loky" else nullcontext():
            self._backend, configured = get_active_backend()
            self.count = effective_n_jobs(processes or configured or -1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._starting is not None:
            _close(self._starting)  # they have no jobs: end them at once
        if self._opened is not None:
            self._opened.close()

    @property
    def here(self) -> Workers:
        """Processes of this machine, for jobs that write files."""
        return self if self._engine is None else Workers(backend="loky")

    def start(self) -> None:
        """Start processes now, so that they import modules while this one reads data."""
        if (
            self._engine is None
            and self.count > 1
            and type(self._backend).__name__ == "LokyBackend"
        ):
            with _environment(), _ctrl_c_blocked():
                self._starting = self._parallel(_import, [(i, None) for i in range(self.count)])

    def unordered(
        self, work: Callable[[T], R], jobs: Sequence[T]
    ) -> Generator[tuple[T, R | Exception], None, None]:
        """Each job with its result, or with the exception that it raised, as they finish."""
        from threadpoolctl import threadpool_limits

        if self._engine is not None:
            yield from self._elsewhere(self._engine, work, jobs)
            return
        waiting = dict(enumerate(jobs))
        with _environment(), threadpool_limits(1), self._warnings_of_threads():
            while waiting:
                sent: list[int] = []
                try:
                    for number, result in self._results(work, waiting, sent):
                        yield waiting.pop(number), result
                except BrokenProcessPool:  # it is unknown which of the jobs did it
                    for number in [each for each in sent if each in waiting]:
                        yield waiting[number], self._alone(work, waiting.pop(number))

    def _elsewhere(
        self, engine: Engine, work: Callable[[T], R], jobs: Sequence[T]
    ) -> Generator[tuple[T, R | Exception], None, None]:
        """The same on a cluster, which repeats jobs whose process died.

        If it gives up a job, it is unknown whether this job killed the processes: it is tried again
        when no other runs, twice.
        """
        from budgetron import __version__
        from budgetron.engines.payload import Payloads

        payloads = Payloads(engine)
        started: dict[Any, int] = {}

        def start(number: int) -> None:
            data, arrays = payloads.pack((work, number, jobs[number]))
            started[engine.submit(_attempt_far, __version__, data, *arrays)] = number

        def take(reference: Any) -> R | Exception:
            _, result, warned = engine.result(reference)
            self.warnings.update(warned)
            found: R | Exception = result
            return found

        numbers = iter(range(len(jobs)))
        suspects: list[int] = []
        for number in islice(numbers, 2 * self.count):  # so that no process waits for its next job
            start(number)
        while started:
            for reference in engine.wait(list(started)):
                number = started.pop(reference)
                for following in islice(numbers, 1):
                    start(following)
                try:
                    result = take(reference)
                except Died:
                    suspects.append(number)
                    continue
                yield jobs[number], result
        for number in suspects:
            found: R | Exception = BudgetronError("its process died, each time it was tried")
            for _ in range(2):
                start(number)
                ((reference, _),) = started.items()
                started.clear()
                try:
                    found = take(reference)
                    break
                except Died:
                    continue
            yield jobs[number], found

    @contextmanager
    def _warnings_of_threads(self) -> Iterator[None]:
        """Give warnings of jobs in threads to their jobs: filters belong to the process, so they
        are set once, around all jobs.
        """
        shared = self.count > 1 and getattr(self._backend, "supports_sharedmem", False)
        if not shared and threading.current_thread() is threading.main_thread():
            yield
            return
        with _collected():
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
        while len(sent) < total:  # a backend that returns results only together gets a few jobs
            answers = self._parallel(work, next_ones(None if lazy else 4 * self.count), lazy)
            try:
                for number, result, warned in answers:
                    self.warnings.update(warned)
                    yield number, result
            finally:
                if lazy:
                    _close(answers)  # if the block failed, the processes are ended

    def _alone(self, work: Callable[[T], R], job: T) -> R | Exception:
        """In its own process, twice if that dies: the first death may be another job's fault."""
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


def check_backend(backend: str | None, address: str | None) -> None:
    """Raise BudgetronError for an unknown backend, one not installed, or an address without one."""
    if backend not in (None, *BACKENDS):
        raise BudgetronError(f"backend={backend!r} is not one of {', '.join(BACKENDS)}")
    if address is not None and backend in (None, "loky"):
        raise BudgetronError("an address is for a cluster: name its backend, dask or ray")
    if backend in ENGINES:
        imported(backend, ENGINES[backend])


def _engine_of(backend: Any) -> Engine | None:
    """The engine behind a joblib backend that the user has configured; None for processes."""
    kind = type(backend).__name__
    if kind == "DaskDistributedBackend":
        from budgetron.engines.dask_engine import DaskEngine

        return DaskEngine(backend.client)
    if kind == "RayBackend":
        return open_engine("ray")
    return None


@contextmanager
def _collected() -> Iterator[None]:
    """Assign the warnings of jobs in threads to their jobs: filters belong to the process, so they
    are set once, around all jobs.
    """
    before = warnings.showwarning

    def collect(message: Any, category: Any, *place: Any, **more: Any) -> None:
        texts = getattr(_thread, "texts", None)
        if texts is None:  # not from a job
            before(message, category, *place, **more)
        elif _counts(category):
            texts.add(_on_one_line(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = collect
        yield


class _Around:
    """The settings of a cluster's process while jobs run there, in one thread or several.

    One thread for linear algebra, and warnings collected: set with the first job, restored after
    the last.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = 0
        self._held = ExitStack()

    def __enter__(self) -> None:
        from threadpoolctl import threadpool_limits

        with self._lock:
            if not self._running:
                self._held.enter_context(threadpool_limits(1))
                self._held.enter_context(_collected())
            self._running += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._running -= 1
            if not self._running:
                self._held.close()


_around = _Around()


def _attempt_far(version: str, data: bytes, *arrays: Any) -> tuple[int, Any, tuple[str, ...]]:
    """In a process of a cluster: `_attempt`."""
    from budgetron import __version__
    from budgetron.engines.payload import unpack

    if __version__ != version:
        what = f"a worker has budgetron {__version__}, you have {version}"
        raise BudgetronError(f"{what}: install the same on all machines")
    with _around:
        return _attempt(*unpack(data, arrays))


def _close(answers: Any) -> None:
    """Close results that nobody waits for; joblib would warn about them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answers.close()


def _attempt(
    work: Callable[[T], R], number: int, job: T
) -> tuple[int, R | Exception, tuple[str, ...]]:
    """The result or the exception, as far as it can be sent, and the warnings."""
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
    """Ignore `NotLearningWarning`: the table shows the baselines beside such a cell."""
    return issubclass(category, _COUNTED) and not issubclass(category, NotLearningWarning)


def _on_one_line(message: Any) -> str:
    return " ".join(str(message).split())


def _result(work: Callable[[T], R], job: T) -> R | Exception:
    """The result or the exception, as far as it can be sent; a bug has its traceback as a note.

    budgetron/errors.py says what is a user's mistake and what is a bug.
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
    """In a process: do the slow imports."""
    import budgetron.lab.cells
    import budgetron.lab.tune  # noqa: F401


_started = False  # whether this is one of our processes that has not frozen its imports yet


def _freeze() -> None:
    """After a process's first job: its imported modules are not garbage.

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
    """Processes started in this block inherit it, and ignore Ctrl-C while they import."""
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
    """For new processes: one thread each, and loky's tracker does not report files and semaphores
    that it removes for one that died. Restored afterwards.
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
