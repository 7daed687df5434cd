"""When a model learns alone, and when its workers learn in parallel and are merged.

The model learns the first rows alone. Then it is the base of workers, which learn parts of the next
rows in parallel; every so many rows they are merged. A worker stores no examples, so the model
learns alone again

    while its units and gamma are not settled, and at least until row FIRST
    while learners race with it, after a drift, and while its reflex leads: the stream changes
    for a tenth of each merge's rows while its budget is not full

Only row numbers and the model decide who learns which rows. The caller decides whether workers are
threads, processes or machines.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from budgetron.merging import Delta, merge

FIRST = 7_000  # rows: by then the races of widths and of the first metrics are over
ALONE = 500  # rows after a drift, in which examples are replaced
MERGED, MERGED_EACH = 20_000, 200  # rows between two merges, at least; and per stored example


class Rounds:
    """Decides whose turn it is to learn.

    Parameters
    ----------
    model : learns alone, and takes over what workers have learned
    every : rows between two merges; None: 200 per example of the budget, at least 20,000

    Attributes
    ----------
    base : base of the workers; None: there are no workers, the model learns alone
    rows : rows that the workers have learned since the base
    merges : number of merges so far
    alone : rows that the model still has to learn alone since the last merge
    """

    def __init__(self, model: Any, every: int | None = None) -> None:
        self.model = model
        # A row costs O(B^2), a merge O(B^3).
        budget = getattr(model, "budget", 0)
        least = MERGED_EACH * budget if isinstance(budget, int) else 0
        self.every = every or max(MERGED, least)
        self.base: Any = None
        self.rows = 0
        self.merges = 0
        self.alone = 0

    @property
    def left(self) -> int:
        """Rows that workers learn until the next merge."""
        return self.every - self.rows

    def begin(self) -> Any:
        """Start workers: return their base."""
        self.base = self.model.base()
        return self.base

    def end(self, deltas: Iterable[Delta]) -> None:
        """Merge the deltas of the workers into the model; there are no workers afterwards."""
        drifts = len(getattr(self.model, "drift_log_", ()))
        self.model._become(merge(self.base, deltas))
        self.base, self.rows = None, 0
        self.merges += 1
        if len(getattr(self.model, "drift_log_", ())) > drifts:
            self.alone = ALONE
        elif self._has_room():
            self.alone = self.every // 10

    def drop(self) -> None:
        """Drop the workers and what they have learned."""
        self.base, self.rows = None, 0

    def rows_alone(self, rows: int) -> int:
        """How many of the next rows the model learns alone; the caller must let it learn them."""
        if self.alone:
            taken = min(self.alone, rows)
            self.alone -= taken
            return taken
        if not hasattr(self.model, "_engine") or self.model.n_seen_ < FIRST:
            seen = self.model.n_seen_ if hasattr(self.model, "_engine") else 0
            return min(rows, FIRST - seen)
        return min(rows, ALONE) if self._changes() else 0

    def _changes(self) -> bool:
        """Whether something that workers must share is not settled."""
        native = self.model._engine.native
        return not native.can_hold or native.unsettled

    def _has_room(self) -> bool:
        budget = getattr(self.model, "budget_", None)
        return isinstance(budget, int) and self.model.n_support_ < budget


def pieces(rows: int, count: int) -> list[slice]:
    """Split rows into so many consecutive parts whose sizes differ by at most one."""
    cuts = [at * rows // count for at in range(count + 1)]
    return [slice(*pair) for pair in itertools.pairwise(cuts)]


def name_of(worker: int) -> str:
    """The name of a worker in its delta."""
    return str(worker).zfill(4)
