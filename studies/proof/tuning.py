"""Parameters of the rivals: found once per set, at B = 100, on the first rows, and stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

from budgetron import __version__
from budgetron.lab.cells import Work
from budgetron.lab.rows import Rows
from budgetron.lab.store import Record, key_of
from budgetron.lab.tune import tune
from studies.proof import rivals
from studies.proof.sets import ProofSet

BUDGET = 100
ROWS = 10_000
# Grids with more combinations, and learners without a budget, drop losers early.
ALL = 150


@dataclass(frozen=True)
class Search(Work):
    """A cell: the best of a grid for one learner, on the first rows of a set's permutation."""

    proof_set: ProofSet
    learner: str
    rows: Rows = field(repr=False)

    @property
    def title(self) -> str:
        return f"{self.learner} on {self.proof_set.name}"

    @property
    def grid(self) -> rivals.Grid:
        return rivals.grid(self.learner, self.proof_set.task, self.proof_set.length)

    @property
    def fixed(self) -> dict[str, Any]:
        rows, task = self.proof_set, self.proof_set.task
        mine = rivals.fixed(self.learner, task, rows.length, raw=rows.raw)
        return {**mine, **rivals.sized(self.learner, task, BUDGET)}

    @property
    def key(self) -> str:
        rows = [repr(self.proof_set.rows), self.proof_set.most, ROWS]
        return key_of([__version__, rows, self.learner, self.grid, self.fixed])

    def run(self) -> Record:
        X, y = self.rows.permuted(0)
        task, grid = self.proof_set.task, self.grid
        bounded = rivals.size_of(self.learner, task) is not None
        combinations = prod(len(values) for values in grid.values())
        found = tune(
            (self.proof_set.name, X[:ROWS], y[:ROWS]),
            self.learner,
            grid,
            params=self.fixed,
            task=task,
            keep_order=True,
            halving=not bounded or combinations > ALL,
            processes=1,
        )
        return {
            "stream": self.proof_set.name,
            "learner": self.learner,
            "params": found.best.params,
            "error": found.best.error,
            "combinations": combinations,
        }
