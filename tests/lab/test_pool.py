"""Workers: where joblib starts them, their threads and warnings, and dead workers."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

from budgetron import BudgetronError
from budgetron.lab.cells import finish, said
from budgetron.lab.store import Store
from budgetron.lab.workers import Workers

# With a module that only this process's path has.
SEEN = """
import os, sys
sys.path.insert(0, sys.argv[1])
from budgetron.lab.workers import Workers

def look(job):
    import of_this_path, scipy.linalg
    from threadpoolctl import threadpool_info
    threads = {each["num_threads"] for each in threadpool_info()}
    return of_this_path.NUMBER, os.environ["LATER"], threads, os.getpid() != job

if __name__ == "__main__":
    os.environ["LATER"] = "changed"
    with Workers(2) as pool:
        for _, found in pool.unordered(look, [os.getpid()] * 2):
            print(found)
    print(os.environ.get("OMP_NUM_THREADS"))
"""

# As in a terminal, all processes get the signal, while they start or work.
INTERRUPTED = """
import os, signal, sys, time
from budgetron.lab.workers import Workers

if __name__ == "__main__":
    signal.signal(signal.SIGALRM, lambda *_: os.killpg(0, signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, float(sys.argv[1]))
    try:
        with Workers(2) as pool:
            pool.start()
            list(pool.unordered(time.sleep, [60, 60]))
    except KeyboardInterrupt:
        print("interrupted")
"""


def running(script: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(each for each in sys.path if each)
    given = {**os.environ, "PYTHONPATH": path}
    for name in ("OPENBLAS", "OMP", "MKL"):
        given.pop(f"{name}_NUM_THREADS", None)
    return subprocess.run(
        [sys.executable, str(script), *arguments],
        env=given,
        capture_output=True,
        text=True,
        timeout=120,
        start_new_session=True,
    )


def test_processes_have_one_thread_our_modules_and_variables(tmp_path: Path) -> None:
    (tmp_path / "of_this_path.py").write_text("NUMBER = 7\n")
    script = tmp_path / "seen.py"
    script.write_text(SEEN)
    found = running(script, str(tmp_path))
    assert found.stdout == "(7, 'changed', {1}, True)\n" * 2 + "None\n", found.stderr


@pytest.mark.long
@pytest.mark.parametrize("seconds", ["0.3", "5"])
def test_ctrl_c_is_left_to_the_parent(tmp_path: Path, seconds: str) -> None:
    script = tmp_path / "interrupted.py"
    script.write_text(INTERRUPTED)
    begun = time.monotonic()
    ended = running(script, seconds)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "interrupted\n", "")
    assert time.monotonic() - begun < 50


def where(job: int) -> tuple[int, bool]:
    time.sleep(0.2)
    return os.getpid(), threading.current_thread() is threading.main_thread()


@pytest.mark.parametrize("backend", ["threading", "multiprocessing", "loky"])
def test_joblib_says_where(backend: str) -> None:
    with joblib.parallel_config(backend=backend, n_jobs=2), Workers() as pool:
        assert pool.count == 2
        found = [result for _, result in pool.unordered(where, list(range(9)))]
    assert len(found) == 9
    pids = {result[0] for result in found if not isinstance(result, Exception)}
    assert (pids == {os.getpid()}) == (backend == "threading")
    assert len(pids) >= (1 if backend == "threading" else 2)


def kinds(job: tuple[Any, Any]) -> list[tuple[str, float]]:
    return [(type(each).__name__, float(each.sum())) for each in job]


def test_arrays_are_mapped_not_sent_with_every_job() -> None:
    short, long = np.ones(100), np.ones(5000)
    with Workers(2) as pool:
        found = [result for _, result in pool.unordered(kinds, [(short, long)] * 4)]
    assert found == [[("ndarray", 100.0), ("memmap", 5000.0)]] * 4


def test_how_many() -> None:
    assert Workers().count == joblib.cpu_count()
    with joblib.parallel_config(n_jobs=3):
        assert Workers().count == 3
        assert Workers(2).count == 2
    with Workers(1) as pool:
        assert [result for _, result in pool.unordered(where, [1])] == [(os.getpid(), True)]


def dying(job: tuple[str, Path]) -> str:
    """Dies the first time, always, or never."""
    kind, folder = job
    (folder / f"{kind}-{os.getpid()}-{time.monotonic_ns()}").touch()
    if kind == "always" or (kind.startswith("once") and len(list(folder.glob(f"{kind}-*"))) == 1):
        os._exit(3)
    time.sleep(0.05)
    return kind


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:A worker stopped")
def test_a_job_whose_process_died_is_repeated_and_the_others_are_there(tmp_path: Path) -> None:
    names = [f"fine {i}" for i in range(8)]
    names[2:2] = ["once 1"]
    names[6:6] = ["always"]
    names += ["once 2"]
    with Workers(2) as pool:
        jobs = [(name, tmp_path) for name in names]
        found = [(job[0], result) for job, result in pool.unordered(dying, jobs)]
    assert sorted(name for name, _ in found) == sorted(names)
    results = dict(found)
    died = results.pop("always")
    assert isinstance(died, BudgetronError)
    assert "died twice" in str(died)
    assert all(name == result for name, result in results.items())
    assert len(list(tmp_path.glob("once 1-*"))) == 2


class Dying:
    """A cell that kills its process the first time."""

    own = False

    def __init__(self, name: str, folder: Path) -> None:
        self.key = self.title = name
        self.folder = folder

    def run(self) -> dict[str, Any]:
        return {"said": dying((self.key, self.folder))}


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:A worker stopped")
def test_a_cell_is_kept_once(tmp_path: Path) -> None:
    store = Store(tmp_path / "kept")
    cells = [Dying(name, tmp_path) for name in ("a", "once b", "c", "c", "always", "d")]
    with Workers(2) as pool:
        (failure,) = finish(cells, store, pool)
    assert str(failure) == ("always: its process died twice, perhaps for lack of memory")
    assert sorted(store) == ["a", "c", "d", "once b"]
    assert store["once b"] == {"said": "once b"}


def warn(job: int) -> int:
    warnings.warn(f"odd\n  {job % 2}", RuntimeWarning, stacklevel=1)
    warnings.warn("for programmers", DeprecationWarning, stacklevel=1)
    return job


@pytest.mark.parametrize("processes", [1, 2])
def test_warnings_are_counted_not_shown(
    processes: int, capfd: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    with Workers(processes) as pool:
        assert len(list(pool.unordered(warn, list(range(5))))) == 5
    assert pool.warnings == {"odd 0": 3, "odd 1": 2}
    assert capfd.readouterr().err == ""
    assert not list(recwarn)


def test_warnings_of_threads_are_counted_too(
    capfd: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    before = warnings.showwarning
    with joblib.parallel_config(backend="threading", n_jobs=2), Workers() as pool:
        assert len(list(pool.unordered(warn, list(range(5))))) == 5
    assert pool.warnings == {"odd 0": 3, "odd 1": 2}
    with ThreadPoolExecutor(1) as thread:  # one job at a time, but not in the main thread
        alone = thread.submit(
            lambda: (pool := Workers(1), list(pool.unordered(warn, [1])))
        ).result()
    assert alone[0].warnings == {"odd 1": 1}
    assert warnings.showwarning is before
    assert capfd.readouterr().err == ""
    assert not list(recwarn)


def boom(job: type[Exception]) -> None:
    raise job("boom")


@pytest.mark.parametrize("kind", [KeyError, ZeroDivisionError, RuntimeError, ValueError])
def test_an_error_keeps_the_name_of_its_type(kind: type[Exception]) -> None:
    ((_, error),) = Workers(1).unordered(boom, [kind])
    assert isinstance(error, Exception)
    error = pickle.loads(pickle.dumps(error))
    text = "'boom'" if kind is KeyError else "boom"
    assert said(error).startswith(f"{kind.__name__}: {text} (test_pool.py, line ")
