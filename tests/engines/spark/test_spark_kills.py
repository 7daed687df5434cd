"""A killed query and a killed worker: nothing is lost, nothing is learned twice.

Each run is a process with its own cluster (query.py). Killed means SIGKILL to the process group:
the driver, its Java machine and both workers at once, as when a machine loses power.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas
import pytest

from tests.engines.spark.query import BUCKETS
from tests.engines.spark.rows import FILES, learned, written

PATIENCE = 1200  # seconds for anything to happen, on a machine that has much else to do
EXECUTOR = b"CoarseGrainedExecutorBackend"


class Run:
    """A process of query.py, with all that it starts in one group."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._log = open(folder / "log.txt", "ab")  # noqa: SIM115
        command = [sys.executable, "-m", "tests.engines.spark.query", str(folder)]
        self._process = subprocess.Popen(
            command, stdout=self._log, stderr=self._log, start_new_session=True
        )

    def kill(self) -> None:
        """Kill the whole group at once, if it exists."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._log.close()

    def finish(self) -> dict[int, dict[str, Any]]:
        """Wait for its end; the state of all buckets."""
        assert self._process.wait(PATIENCE) == 0, self.told()
        return by_bucket(json.loads((self.folder / "state.json").read_text()))

    def told(self) -> str:
        return (self.folder / "log.txt").read_text(errors="replace")[-4000:]

    def wait_for(self, happened: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not happened():
            assert self._process.poll() is None, self.told()
            assert time.monotonic() < end, self.told()
            time.sleep(0.02)

    def batches(self) -> int:
        return len(list(self.folder.glob("totals/*.json")))

    def executors(self) -> set[int]:
        """Processes of the workers, which learn."""
        found = set()
        for path in Path("/proc").glob("[0-9]*"):
            try:
                mine = os.getpgid(int(path.name)) == self._process.pid
                if mine and EXECUTOR in (path / "cmdline").read_bytes():
                    found.add(int(path.name))
            except (ProcessLookupError, FileNotFoundError, PermissionError):
                continue
        return found


def by_bucket(found: dict[str, Any]) -> dict[int, dict[str, Any]]:
    return {int(bucket): each for bucket, each in sorted(found.items())}


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], Run]]:
    """Starts a run over the rows in tmp_path; what is left of runs ends with the test."""
    runs: list[Run] = []

    def begin() -> Run:
        runs.append(Run(tmp_path))
        return runs[-1]

    yield begin
    for each in runs:
        each.kill()


@pytest.fixture
def expected(tmp_path: Path) -> dict[int, dict[str, Any]]:
    """The state of all buckets when fleets of one machine have learned the rows in tmp_path."""
    return learned(written(tmp_path))


def last_totals(folder: Path) -> dict[int, dict[str, Any]]:
    """The last totals that the query reported for each bucket."""
    found: dict[str, Any] = {}
    for number in range(FILES):
        found |= json.loads((folder / "totals" / f"{number}.json").read_text())
    return by_bucket(found)


def check(folder: Path, state: dict[int, Any], expected: dict[int, Any]) -> None:
    """Fleets, sequence numbers and counts, in the checkpoint and as reported."""
    assert state == expected
    told = last_totals(folder)
    assert list(told) == list(range(BUCKETS))
    for bucket, each in told.items():
        counts = ("rows", "mistakes", "repeated", "bad", "batches")
        assert all(each[name] == expected[bucket][name] for name in counts)


def test_every_bucket_is_the_fleet_of_one_machine(
    tmp_path: Path, expected: dict[int, Any], start: Callable[[], Run]
) -> None:
    """Row by row in order, without Spark, to the bit; and all rows are accounted for."""
    check(tmp_path, start().finish(), expected)
    counts = [sum(each[name] for each in expected.values()) for name in ("rows", "repeated", "bad")]
    assert all(counts)
    files = sorted((tmp_path / "rows").glob("*.parquet"))
    assert sum(counts) == sum(len(pandas.read_parquet(file)) for file in files)


def test_a_query_that_is_killed_goes_on_as_if_it_had_not_been(
    tmp_path: Path, expected: dict[int, Any], start: Callable[[], Run]
) -> None:
    run = start()
    run.wait_for(lambda: run.batches() >= 2)
    run.kill()
    assert run.batches() < FILES
    assert not (tmp_path / "state.json").exists()
    check(tmp_path, start().finish(), expected)


def test_a_worker_that_is_killed_loses_nothing(
    tmp_path: Path, expected: dict[int, Any], start: Callable[[], Run]
) -> None:
    run = start()
    run.wait_for(lambda: run.batches() >= 2 and len(run.executors()) == 2)
    before = run.executors()
    os.kill(min(before), signal.SIGKILL)
    assert run.batches() < FILES
    run.wait_for(lambda: len(run.executors() - before) == 1)  # another one has come
    check(tmp_path, run.finish(), expected)
