"""Runs: one learner, one setting, one seeded permutation each; many of them in parallel."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import budgetron
from budgetron.experiments import data
from budgetron.experiments.tables import Params, Row, Set, needs_p, value

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Outcome:
    """Mistakes in per cent, and examples stored at the end."""

    rate: float
    stored: int


@dataclass(frozen=True)
class Measured:
    """Ours, for one line of a table: the setting chosen from the grid, an outcome per seed."""

    chosen: Params
    outcomes: tuple[Outcome, ...]

    @property
    def mean(self) -> float:
        return statistics.fmean(outcome.rate for outcome in self.outcomes)

    @property
    def sd(self) -> float:
        rates = [outcome.rate for outcome in self.outcomes]
        return statistics.stdev(rates) if len(rates) > 1 else 0.0

    @property
    def stored(self) -> float:
        return statistics.fmean(outcome.stored for outcome in self.outcomes)


@dataclass(frozen=True)
class Job:
    """What a worker is told."""

    data_set: Set
    row: Row
    setting: Params
    seed: int
    folder: Path


def run(row: Row, setting: Params, X: Any, y: NDArray[Any], seed: int) -> Outcome:
    """Test, then train, on the rows in this order."""
    formulas = {**row.params, **setting}
    p = None
    if needs_p(formulas):
        perceptron = budgetron.make("perceptron", gamma=formulas["gamma"])
        perceptron.prequential(X, y)
        p = int(perceptron.n_support_)
    params = {name: value(formula, len(y), p) for name, formula in formulas.items()}
    model = budgetron.make(row.learner, random_state=seed, **params)
    model.prequential(X, y)
    return Outcome(100 * model.n_mistakes_ / model.n_seen_, int(model.n_support_))


def work(job: Job) -> Outcome:
    """One run, in a worker."""
    X, y = data.permuted(job.data_set, job.seed, job.folder)
    if len(y) != job.data_set.rows:
        raise ValueError(f"{job.data_set.name}: {len(y)} rows; the paper has {job.data_set.rows}")
    return run(job.row, job.setting, X, y, job.seed)


@contextmanager
def workers(processes: int | None = None) -> Iterator[Executor]:
    """Fresh processes, each with one thread of linear algebra."""
    for library in ("OPENBLAS", "OMP", "MKL"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    with ProcessPoolExecutor(processes or os.cpu_count(), get_context("spawn")) as pool:
        yield pool


def measure(
    data_set: Set,
    seeds: Sequence[int],
    folder: Path,
    pool: Executor,
    progress: Callable[[int, int], None],
) -> list[Measured]:
    """Every line of a set: the grids on the first seed, then the best setting on the others."""
    rows = data_set.published
    trials = [Job(data_set, row, s, seeds[0], folder) for row in rows for s in row.settings()]
    total = len(trials) + len(rows) * (len(seeds) - 1)
    tried = []
    for done, outcome in enumerate(pool.map(work, trials), start=1):
        tried.append(outcome)
        progress(done, total)
    best = []
    for row in rows:
        mine = [(job.setting, o) for job, o in zip(trials, tried, strict=True) if job.row is row]
        best.append(min(mine, key=lambda pair: pair[1].rate))
    rest = [
        Job(data_set, row, chosen, seed, folder)
        for seed in seeds[1:]
        for row, (chosen, _) in zip(rows, best, strict=True)
    ]
    outcomes = []
    for done, outcome in enumerate(pool.map(work, rest), start=len(trials) + 1):
        outcomes.append(outcome)
        progress(done, total)
    return [
        Measured(chosen, (first, *outcomes[i :: len(rows)]))
        for i, (chosen, first) in enumerate(best)
    ]
