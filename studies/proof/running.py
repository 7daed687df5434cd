"""Running the proof: rows read once, every finished cell kept.

Three tables of the folder's store hold finished work: `tuned`, the parameters of the rivals;
`cells`, the runs; `refused`, cells that failed and why. If the reason is too few bytes for one
example, the cell is never run again; after any other failure the next command tries again.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from budgetron.lab.cells import Cell, finish
from budgetron.lab.rows import Rows
from budgetron.lab.store import Store
from budgetron.lab.workers import Workers
from studies.proof import plan, recorded
from studies.proof.sets import ProofSet
from studies.proof.tuning import Search

# Learners without a budget wait for so many permutations of the others: they take long to tune.
UNBOUNDED = 2


@dataclass(frozen=True)
class Wanted:
    """What to run.

    Attributes
    ----------
    learners, budgets : which; empty: all
    recorded : rivals use the parameters on the page of the proof and are not tuned
    """

    learners: tuple[str, ...] = ()
    budgets: tuple[int | str, ...] = ()
    recorded: bool = False

    def has(self, learner: str) -> bool:
        return not self.learners or learner in self.learners


ALL = Wanted()


class Results:
    """The finished cells in a folder."""

    def __init__(self, folder: Path) -> None:
        self.tuned = Store(folder, "tuned")
        self.cells = Store(folder, "cells")
        self.refused = Store(folder, "refused")

    def has(self, cell: Cell) -> bool:
        refused = self.refused.get(cell.key)
        return cell.key in self.cells or (refused is not None and too_small(refused["why"]))


def too_small(why: str) -> bool:
    """Whether a cell failed because its bytes are too few for one example."""
    return "bytes are too few for" in why


def run(
    sets: Sequence[ProofSet],
    results: Results,
    *,
    permutations: int,
    processes: int | None,
    wanted: Wanted = ALL,
) -> None:
    """Run everything that is missing, one permutation of all sets after the other.

    Learners without a budget are run on the first permutation only.
    """
    loaded = [(each, each.load()) for each in sets]
    with Workers(processes) as pool:
        for wave in range(permutations + max(each.late for each in sets)):
            for each, rows in loaded:
                repeat = wave - each.late
                if 0 <= repeat < permutations:
                    _stage(each, rows, repeat, results, pool, wanted, bounded=True)
            for each, rows in loaded if wave == min(UNBOUNDED, permutations - 1) else ():
                _stage(each, rows, 0, results, pool, wanted, bounded=False)


def _stage(
    proof_set: ProofSet,
    rows: Rows,
    repeat: int,
    results: Results,
    pool: Workers,
    wanted: Wanted,
    *,
    bounded: bool,
) -> None:
    """Run one permutation of one set, after tuning its rivals."""
    begun = time.monotonic()
    searches = plan.searches(proof_set, rows, bounded=bounded)
    searches = [each for each in searches if wanted.has(each.learner)]
    if wanted.recorded:
        _take_recorded(searches, proof_set, results)
    for wrong in finish(searches, results.tuned, pool):
        print(f"not tuned: {wrong}", flush=True)
    cells = plan.cells(proof_set, rows, results.tuned, repeat, bounded=bounded)
    cells = [each for each in cells if wanted.has(each.setup.label)]
    if wanted.budgets:
        cells = [each for each in cells if each.setup.budget in wanted.budgets]
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


def _take_recorded(searches: Sequence[Search], proof_set: ProofSet, results: Results) -> None:
    """Use the parameters on the page, instead of a search."""
    chosen = recorded.parameters(proof_set)
    for each in searches:
        if each.learner in chosen:
            found = {"stream": proof_set.name, "learner": each.learner}
            results.tuned.add(each.key, {**found, "params": chosen[each.learner]})
