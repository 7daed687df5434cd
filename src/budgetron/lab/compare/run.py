"""Running a comparison: what is missing, on all cores; what is finished is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from budgetron.errors import BudgetronError
from budgetron.evaluate import prequential
from budgetron.lab.compare.data import Rows, saved
from budgetron.lab.compare.plan import Cell
from budgetron.lab.compare.scratch import scratch
from budgetron.lab.compare.store import Record, Store
from budgetron.lab.workers import Workers

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TRIAL_ROWS = 30


@dataclass(frozen=True)
class Job:
    """What a worker is told: the cell, and where its rows are."""

    cell: Cell
    folder: Path


@dataclass(frozen=True)
class Failure:
    """A cell that raised."""

    cell: Cell
    what: str

    def __str__(self) -> str:
        return f"{self.cell.setup.label} on {self.cell.stream}: {self.what}"


def try_out(rows: Rows, cell: Cell) -> str:
    """Learn a few rows, so that a wrong value is found before anything is run.

    Returns what the learner said, empty if nothing is wrong. A bug of ours is raised.
    """
    trial = replace(cell, settings=replace(cell.settings, checkpoints=1))
    try:
        _evaluate(trial, rows.X[:_TRIAL_ROWS], rows.y[:_TRIAL_ROWS], np.unique(rows.y))
    except Exception as error:
        raise_bug(cell, error)
        return said(error)
    return ""


def raise_bug(cell: Cell, error: Exception) -> None:
    """Raise what is neither a user's mistake nor of their own learner, which may raise anything."""
    if not cell.setup.own and not isinstance(error, (BudgetronError, OSError, MemoryError)):
        raise error


def run(
    streams: Sequence[Rows],
    cells: Sequence[Cell],
    store: Store,
    pool: Workers,
    report: Callable[[int, str], None],
) -> list[Failure]:
    """Run the cells that the store does not have; those that failed."""
    missing = [cell for cell in cells if cell.key not in store.records]
    kept = len(cells) - len(missing)
    failures: list[Failure] = []
    with scratch() as folder:
        folders = {rows.name: folder / str(i) for i, rows in enumerate(streams)}
        for rows in streams:
            if any(cell.stream == rows.name for cell in missing):
                rows.save(folders[rows.name])
        jobs = [Job(cell, folders[cell.stream]) for cell in missing]
        before = f", {kept:,} kept from before" if kept else ""
        report(0, f"{len(missing):,} cells to do{before}")
        try:
            for done, (job, result) in enumerate(pool.unordered(work, jobs), start=1):
                if isinstance(result, Exception):
                    raise_bug(job.cell, result)
                    failures.append(Failure(job.cell, said(result)))
                else:
                    store.add(result)
                report(done, f"{done:,} of {len(missing):,} cells{before}")
        finally:
            permuted.cache_clear()
    return failures


def work(job: Job) -> Record:
    """One cell: its record."""
    cell = job.cell
    order = None if cell.settings.keep_order else cell.seed
    X, y, labels = permuted(job.folder, order)
    checkpoints = _evaluate(cell, X, y, labels)
    return {
        "key": cell.key,
        "stream": cell.stream,
        "task": cell.task,
        "algorithm": cell.setup.label,
        "learner": cell.setup.learner,
        "budget": cell.setup.budget,
        "params": cell.setup.params,
        "repeat": cell.repeat,
        "seed": cell.seed,
        "checkpoints": checkpoints,
    }


def _evaluate(cell: Cell, X: Any, y: NDArray[Any], labels: NDArray[Any]) -> list[dict[str, float]]:
    settings = cell.settings
    model = cell.make()
    ends = np.unique(np.linspace(0, len(y), settings.checkpoints + 1).round().astype(int))[1:]
    # Ours let classes join, as `budgetron run` does; others may have to be told all of them, and a
    # budget in bytes has to be.
    told = not hasattr(model, "prequential") or getattr(model, "in_bytes", False)
    closed = cell.task == "classification" and told
    found = prequential(
        model,
        X,
        y,
        task=cell.task,
        every=ends.tolist(),
        delay=settings.delay,
        window=settings.window,
        fading=settings.fading,
        classes=labels if closed else None,
    )
    return found.checkpoints


@lru_cache(maxsize=1)
def permuted(folder: Path, seed: int | None) -> tuple[Any, NDArray[Any], NDArray[Any]]:
    """Rows in the order of the seed, and all labels."""
    X, y = saved(folder)
    order: Any = slice(None) if seed is None else np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order], np.unique(y)


def said(error: Exception) -> str:
    """What a learner said, on one line."""
    text = " ".join(str(error).split())
    return text if isinstance(error, ValueError) and text else f"{type(error).__name__}: {text}"
