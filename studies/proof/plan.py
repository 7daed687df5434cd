"""The cells of the proof, in the order in which they are run.

They run permutation by permutation, so that after an interruption all have about as many.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from budgetron.lab.cells import Cell, Settings, Setup, references
from budgetron.lab.rows import Rows
from budgetron.lab.store import Store
from studies import build
from studies.build import OURS
from studies.proof import rivals
from studies.proof.sets import ProofSet
from studies.proof.tuning import Search

BUDGETS: tuple[int | str, ...] = (50, 100, 200, 400, "100KB", "400KB")
SETTINGS = Settings(checkpoints=1)


def searches(proof_set: ProofSet, rows: Rows, *, bounded: bool) -> list[Search]:
    """The searches for a set."""
    if proof_set.only or not (bounded or proof_set.unbounded):
        return []
    names = rivals.rivals(proof_set.task, bounded=bounded)
    return [Search(proof_set, name, rows) for name in names]


def setups(proof_set: ProofSet, tuned: Store, rows: Rows, *, bounded: bool) -> Iterator[Setup]:
    """Every learner at every budget, or those without one; leaves out rivals not tuned."""
    task = proof_set.task
    if bounded:
        wanted = () if proof_set.only else BUDGETS
        aimed = [budget for budget, _ in proof_set.targets if budget not in wanted]
        for budget in (*wanted, *aimed):
            yield _setup(OURS, budget, {"budget": budget, **rivals.targets(task)})
        yield from () if proof_set.only else references(task)
    for found in searches(proof_set, rows, bounded=bounded):
        record = tuned.get(found.key)
        if record is None:
            continue
        fixed = rivals.fixed(found.learner, task, proof_set.length, raw=proof_set.raw)
        sizes: tuple[int | str | None, ...] = BUDGETS if bounded else (None,)
        for size in sizes:
            own = rivals.sized(found.learner, task, size)
            yield _setup(found.learner, size, {**fixed, **record["params"], **own})


def _setup(learner: str, budget: int | str | None, params: dict[str, Any]) -> Setup:
    return Setup(learner, learner, budget, params, build.version_of(learner))


def cells(
    proof_set: ProofSet, rows: Rows, tuned: Store, repeat: int, *, bounded: bool
) -> list[Cell]:
    """The cells of one permutation of a set."""
    return [
        Cell(rows, setup, repeat, SETTINGS)
        for setup in setups(proof_set, tuned, rows, bounded=bounded)
    ]
