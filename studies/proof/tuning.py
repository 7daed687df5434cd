"""Parameters of the rivals: found once per set, at B = 100, on the first rows; and kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any

from budgetron import __version__
from budgetron.lab.compare.run import permuted
from budgetron.lab.compare.store import Record, Store
from budgetron.lab.tune import tune
from budgetron.lab.workers import Workers
from studies.proof import rivals
from studies.proof.sets import ProofSet

BUDGET = 100
ROWS = 10_000
# Grids above this many combinations, and learners without a budget, stop losers early.
ALL = 150


@dataclass(frozen=True)
class Search:
    """One learner on one set, and where the set's rows are saved."""

    proof_set: ProofSet
    learner: str
    folder: Path

    @property
    def grid(self) -> rivals.Grid:
        return rivals.grid(self.learner, self.proof_set.task, self.proof_set.length)

    @property
    def fixed(self) -> dict[str, Any]:
        mine = rivals.fixed(self.learner, self.proof_set.length, raw=self.proof_set.raw)
        return {**mine, **rivals.sized(self.learner, self.proof_set.task, BUDGET)}

    @property
    def key(self) -> str:
        rows = [repr(self.proof_set.rows), self.proof_set.most, ROWS]
        about = [__version__, rows, self.learner, self.grid, self.fixed]
        text = json.dumps(about, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:24]


def search(job: Search) -> Record:
    """In a worker: the best of the grid on the first rows of the first permutation."""
    X, y = _first(job.folder)
    task = job.proof_set.task
    bounded = rivals.size_of(job.learner, task) is not None
    combinations = prod(len(values) for values in job.grid.values())
    found = tune(
        (job.proof_set.name, X, y),
        job.learner,
        job.grid,
        params=job.fixed,
        task=task,
        keep_order=True,
        halving=not bounded or combinations > ALL,
        processes=1,
    )
    return {
        "key": job.key,
        "stream": job.proof_set.name,
        "learner": job.learner,
        "params": found.best.params,
        "error": found.best.error,
        "combinations": combinations,
        "checkpoints": [],
    }


@lru_cache(maxsize=1)
def _first(folder: Path) -> tuple[Any, Any]:
    X, y, _ = permuted(folder, 0)
    return X[:ROWS], y[:ROWS]


def settle(searches: Sequence[Search], store: Store, pool: Workers) -> list[str]:
    """Run the searches that the store does not have; what went wrong."""
    missing = [each for each in searches if each.key not in store.records]
    wrong = []
    for job, result in pool.unordered(search, missing):
        if isinstance(result, Exception):
            wrong.append(f"{job.learner} on {job.proof_set.name}: {result}")
        else:
            store.add(result)
            print(f"tuned {job.learner} on {job.proof_set.name}: {result['params']}", flush=True)
    return wrong
