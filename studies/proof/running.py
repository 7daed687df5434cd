"""Running the proof: rows read once, every finished cell kept.

Three tables of the folder's store hold what is finished: `tuned`, the parameters of the rivals;
`cells`, the runs; `refused`, cells that failed and why. Where that is bytes too few for one example
the cell is never run again; any other failure is tried again by the next command.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from budgetron.lab.cells import Cell, finish
from budgetron.lab.rows import Rows
from budgetron.lab.store import Store
from budgetron.lab.workers import Workers
from studies.proof import plan
from studies.proof.sets import ProofSet

# Learners without a budget wait for so many permutations of the others: they take long to tune.
UNBOUNDED = 2


class Results:
    """What is finished in a folder."""

    def __init__(self, folder: Path) -> None:
        self.tuned = Store(folder, "tuned")
        self.cells = Store(folder, "cells")
        self.refused = Store(folder, "refused")

    def has(self, cell: Cell) -> bool:
        refused = self.refused.get(cell.key)
        return cell.key in self.cells or (refused is not None and too_small(refused["why"]))


def too_small(why: str) -> bool:
    """Whether a cell failed because its bytes have no room for one example."""
    return "bytes are too few for" in why


def run(
    sets: Sequence[ProofSet], results: Results, *, permutations: int, processes: int | None
) -> None:
    """Everything that is missing, one permutation of all sets after the other.

    Learners without a budget are run on the first permutation only.
    """
    loaded = [(each, each.load()) for each in sets]
    with Workers(processes) as pool:
        for wave in range(permutations + max(each.late for each in sets)):
            for each, rows in loaded:
                repeat = wave - each.late
                if 0 <= repeat < permutations:
                    _stage(each, rows, repeat, results, pool, bounded=True)
            for each, rows in loaded if wave == min(UNBOUNDED, permutations - 1) else ():
                _stage(each, rows, 0, results, pool, bounded=False)


def _stage(
    proof_set: ProofSet, rows: Rows, repeat: int, results: Results, pool: Workers, *, bounded: bool
) -> None:
    """One permutation of one set, its rivals tuned before."""
    begun = time.monotonic()
    searches = plan.searches(proof_set, rows, bounded=bounded)
    for wrong in finish(searches, results.tuned, pool):
        print(f"not tuned: {wrong}", flush=True)
    cells = plan.cells(proof_set, rows, results.tuned, repeat, bounded=bounded)
    missing = [cell for cell in cells if not results.has(cell)]
    for failure in finish(missing, results.cells, pool):
        stream, algorithm, budget = failure.cell.line
        why = {"stream": stream, "algorithm": algorithm, "budget": budget, "why": failure.what}
        results.refused.add(failure.cell.key, why)
        if not too_small(failure.what):
            print(f"failed: {failure}", flush=True)
    if missing:
        took = time.monotonic() - begun
        print(f"{proof_set.name}, {repeat}: {len(missing)} cells, {took:.0f} s", flush=True)
