"""Workers: their environment, their threads, and the server they are forked from."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# In a process of its own: a server is there once, and the tests' may be running.
OTHERS = """
import multiprocessing, os, sys
from multiprocessing import forkserver
from budgetron.lab.workers import workers

def look(job):
    from threadpoolctl import threadpool_info
    threads = {each["num_threads"] for each in threadpool_info()}
    return os.environ["FIRST"], "LATER" in os.environ, "numpy" in sys.modules, threads

if __name__ == "__main__":
    multiprocessing.get_context("forkserver").set_forkserver_preload(["numpy"])
    forkserver.ensure_running()
    os.environ["FIRST"], os.environ["LATER"] = "changed", ""
    with workers(2) as pool:
        for _, found in pool.unordered(look, [1, 2]):
            print(found)
"""

# With a module that only this process's path has, and a backend that nothing can draw with.
FORKED = """
import os, sys
sys.path.insert(0, sys.argv[1])
from budgetron.lab.workers import workers

def draw(job):
    import signal, numpy, of_this_path
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    return numpy.random.random(), (of_this_path.NUMBER, len(blocked))

def main():
    with workers(2) as pool:
        found = [each for _, each in pool.unordered(draw, range(40))]
    return len({number for number, _ in found}), {rest for _, rest in found}

if __name__ == "__main__":
    print(main(), flush=True)
    child = os.fork()
    print(main(), flush=True)
    if child:
        os.waitpid(child, 0)
"""

# As in a terminal, all processes get the signal.
INTERRUPTED = """
import os, signal, time
from budgetron.lab.workers import expect

expect(2)
time.sleep(0.7)
try:
    os.killpg(0, signal.SIGINT)
    time.sleep(1)
except KeyboardInterrupt:
    print("interrupted")
"""


def running(arguments: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(each for each in sys.path if each)
    given = {**os.environ, "PYTHONPATH": path, **environment}
    for name in ("OPENBLAS", "OMP", "MKL"):
        given.pop(f"{name}_NUM_THREADS", None)
    return subprocess.run(
        [sys.executable, *arguments],
        env=given,
        capture_output=True,
        text=True,
        timeout=120,
        start_new_session=True,
    )


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one thread anyway")
def test_forked_from_the_server_of_others(tmp_path: Path) -> None:
    """With NumPy loaded and threads of its own: one thread here, and the variables of now."""
    script = tmp_path / "others.py"
    script.write_text(OTHERS)
    found = running([str(script)], FIRST="as it was")
    assert found.stdout == "('changed', True, True, {1})\n" * 2, found.stderr


def test_workers_draw_their_own_numbers_find_our_modules_and_serve_forks(
    tmp_path: Path,
) -> None:
    (tmp_path / "of_this_path.py").write_text("NUMBER = 7\n")
    script = tmp_path / "forked.py"
    script.write_text(FORKED)
    found = running([str(script), str(tmp_path)], MPLBACKEND="nonsense")
    assert found.stdout == "(40, {(7, 0)})\n" * 3, found.stderr
    assert found.stderr == ""


def test_a_server_does_not_outlive_a_parent_that_ends_early() -> None:
    """What it imports is shown on the parent's output, so its end is awaited here."""
    ended = running(
        ["-c", "from budgetron.lab.workers import expect; expect(2)"], PYTHONPROFILEIMPORTTIME="1"
    )
    assert ended.returncode == 0
    modules = {line.rpartition("|")[2].strip() for line in ended.stderr.splitlines()}
    assert "multiprocessing.forkserver" in modules
    assert "budgetron.lab.preload" not in modules  # named when all of it is imported


def test_ctrl_c_while_the_server_imports_is_left_to_the_parent() -> None:
    ended = running(["-c", INTERRUPTED])
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "interrupted\n", "")
