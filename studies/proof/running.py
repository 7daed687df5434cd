"""Running the proof: rows saved once, one pool of workers, every finished cell kept.

Three files of the folder hold what is finished, in lines of JSON: `tuned.jsonl`, the parameters of
the rivals; `cells.jsonl`, the runs; `refused.jsonl`, cells that cannot be run, as bytes too few for
one example.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from budgetron.lab.compare.data import Rows
from budgetron.lab.compare.plan import Cell
from budgetron.lab.compare.run import Job, work
from budgetron.lab.compare.store import Record, Store
from budgetron.lab.workers import Workers, workers
from studies.proof import plan, tuning
from studies.proof.sets import ProofSet

# Learners without a budget wait for so many permutations of the others: they take long to tune.
UNBOUNDED = 2


@dataclass(frozen=True)
class Saved:
    """A set whose rows are where workers find them."""

    proof_set: ProofSet
    digest: str
    folder: Path


class Results:
    """What is finished in a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.tuned = Store(folder / "tuned.jsonl")
        self.cells = Store(folder / "cells.jsonl")
        self.refused = Store(folder / "refused.jsonl")

    def has(self, cell: Cell) -> bool:
        return cell.key in self.cells.records or cell.key in self.refused.records


def run(sets: Sequence[ProofSet], results: Results, *, permutations: int, processes: int) -> None:
    """Everything that is missing, one permutation of all sets after the other.

    Learners without a budget are run on the first permutation only.
    """
    with tempfile.TemporaryDirectory(prefix="budgetron-") as name, workers(processes) as pool:
        saved = [_save(each, Path(name) / str(i)) for i, each in enumerate(sets)]
        for wave in range(permutations + max(each.late for each in sets)):
            for each in saved:
                repeat = wave - each.proof_set.late
                if 0 <= repeat < permutations:
                    _stage(each, repeat, results, pool, bounded=True)
            for each in saved if wave == min(UNBOUNDED, permutations - 1) else ():
                _stage(each, 0, results, pool, bounded=False)


def _save(proof_set: ProofSet, place: Path) -> Saved:
    rows: Rows = proof_set.load()
    rows.save(place)
    return Saved(proof_set, rows.digest(), place)


def _stage(saved: Saved, repeat: int, results: Results, pool: Workers, *, bounded: bool) -> None:
    """One permutation of one set, its rivals tuned before."""
    begun = time.monotonic()
    searches = plan.searches(saved.proof_set, saved.folder, bounded=bounded)
    for text in tuning.settle(searches, results.tuned, pool):
        print(f"not tuned: {text}", flush=True)
    cells = plan.cells(
        saved.proof_set, saved.digest, results.tuned, saved.folder, repeat, bounded=bounded
    )
    missing = [cell for cell in cells if not results.has(cell)]
    _run(missing, saved.folder, results, pool)
    if missing:
        took = time.monotonic() - begun
        print(f"{saved.proof_set.name}, {repeat}: {len(missing)} cells, {took:.0f} s", flush=True)


def _run(cells: Iterable[Cell], folder: Path, results: Results, pool: Workers) -> None:
    for job, result in pool.unordered(work, [Job(cell, folder) for cell in cells]):
        if isinstance(result, Exception):
            results.refused.add(_refusal(job.cell, result))
        else:
            results.cells.add(result)


def _refusal(cell: Cell, error: Exception) -> Record:
    return {
        "key": cell.key,
        "stream": cell.stream,
        "algorithm": cell.setup.label,
        "budget": cell.setup.budget,
        "why": " ".join(str(error).split()),
        "checkpoints": [],
    }
