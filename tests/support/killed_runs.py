"""Commands in this process, and in processes that are killed, for tests of checkpoints."""

from __future__ import annotations

import json
import multiprocessing
import random
import time
from pathlib import Path
from typing import Any

import pytest

from budgetron.catalogue import CATALOGUE
from budgetron.cli import main

# Differences that are allowed between two runs: time, and scratch memory, which is not saved.
DIFFERS = {"seconds", "rows_per_second", "resumed_from", "memory_bytes"}


def call(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    return int(end.value.code or 0)


def result_of(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    assert call(arguments) == 0
    return dict(json.loads(capsys.readouterr().out))


def started(target: Any, *args: Any) -> Any:
    """A real process, forked from one that has imported everything: many starts per second."""
    processes = multiprocessing.get_context("forkserver")
    homes = {f"budgetron.estimators.{entry.module}" for entry in CATALOGUE.values()}
    processes.set_forkserver_preload(
        [*sorted(homes), "budgetron.model_file", "budgetron.streams", "safetensors.numpy"]
    )
    process = processes.Process(target=target, args=args)
    process.start()
    return process


class Watch:
    """Counts how often the file has been replaced."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last = self._look()
        self.changes = 0

    def _look(self) -> tuple[int, int] | None:
        try:
            status = self._path.stat()
        except FileNotFoundError:
            return None
        return status.st_ino, status.st_mtime_ns

    def __call__(self) -> int:
        now = self._look()
        self.changes += now != self._last
        self._last = now
        return self.changes


def killed(arguments: list[str], kept: Path, times: int, seed: int = 0) -> int:
    """Start the command and kill it, so many times; returns how often it was in mid-work."""
    dice = random.Random(seed)
    in_the_middle = 0
    for _ in range(times):
        watch = Watch(kept)
        process = started(main, arguments)
        wanted = dice.randint(1, 3)
        give_up = time.monotonic() + 60
        while watch() < wanted and process.is_alive() and time.monotonic() < give_up:
            time.sleep(0.0005)
        time.sleep(dice.random() * 0.02)
        in_the_middle += process.is_alive() and kept.exists()
        process.kill()
        process.join()
    return in_the_middle


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two results are equal except for allowed differences."""
    pairs = ({k: v for k, v in each.items() if k not in DIFFERS} for each in (one, other))
    return next(pairs) == next(pairs)
