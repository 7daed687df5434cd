"""Finished cells as numbers: errors, errors relative to Budgetron's, ranks and means.

Learners are compared after equal numbers of rows. A learner that ran out of time is compared with
Budgetron after the rows that it reached: at its last checkpoint that the others have too.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from budgetron.lab.baselines import REFERENCES
from budgetron.lab.statistics import ERRORS
from budgetron.lab.store import Record, Store
from studies.build import OURS
from studies.real_streams.others import RIVER, VW
from studies.real_streams.plan import DELAYS
from studies.real_streams.sources import SOURCES

PLAIN = tuple({name for task in REFERENCES.values() for name in task})
KINDS = ("budgetron", "ours", "River", "Vowpal Wabbit", "no feature")


def kind_of(learner: str) -> str:
    """Whose learner it is."""
    if learner in RIVER:
        return "River"
    if learner in VW:
        return "Vowpal Wabbit"
    return "no feature" if learner in PLAIN else "budgetron" if learner == OURS else "ours"


@dataclass(frozen=True)
class Run:
    """A finished cell."""

    record: Record

    @property
    def stream(self) -> str:
        return str(self.record["stream"])

    @property
    def learner(self) -> str:
        return str(self.record["algorithm"])

    @property
    def task(self) -> str:
        return str(self.record["task"])

    @property
    def errors(self) -> dict[int, float]:
        """Rows -> mistakes in per cent, or RMSE, over the rows so far."""
        name, _, factor, _ = ERRORS[self.task]
        return {int(at["rows"]): factor * at[name] for at in self.record["checkpoints"]}

    @property
    def rows(self) -> int:
        return max(self.errors)

    @property
    def microseconds(self) -> float:
        last = self.record["checkpoints"][-1]
        return float(1e6 * last["seconds"] / last["rows"])

    @property
    def bytes(self) -> float:
        return float(self.record["checkpoints"][-1]["bytes"])

    def beside(self, other: Run) -> tuple[int, float, float]:
        """The rows that both reached, and the error of each there; none below one mistake."""
        mine, its = self.errors, other.errors
        rows = max(mine.keys() & its.keys(), default=0)
        if not rows:
            return 0, math.nan, math.nan
        least = 100.0 / rows if self.task == "classification" else 0.0
        return rows, max(mine[rows], least), max(its[rows], least)


class Table:
    """Runs by stream and learner; if one learner ran twice on a stream the later run counts."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.runs: dict[str, dict[str, Run]] = {}
        for record in records:
            self.runs.setdefault(record["stream"], {})[record["algorithm"]] = Run(record)

    def streams(self, task: str | None = None, *, real: bool | None = None) -> list[str]:
        """The streams on which Budgetron has run, in the order of the sources."""
        found = [each for each in SOURCES if OURS in self.runs.get(each.name, {})]
        if real is not None:
            found = [each for each in found if each.real == real]
        if task is None:
            return [each.name for each in found]
        return [each.name for each in found if self.runs[each.name][OURS].task == task]

    @property
    def learners(self) -> list[str]:
        """Budgetron first, others by their mean over the classification streams, then names."""
        names = dict.fromkeys(name for runs in self.runs.values() for name in runs)
        means = {name: self.mean(name, self.streams("classification"))[0] for name in names}
        order = sorted(names, key=lambda n: (math.isnan(means[n]), means[n]))
        return sorted(order, key=lambda name: name != OURS)

    def relative(self, learner: str, stream: str) -> float:
        """The error relative to Budgetron's after equal rows; nan if one is missing."""
        runs = self.runs.get(stream, {})
        if learner not in runs or OURS not in runs:
            return math.nan
        _, mine, its = runs[learner].beside(runs[OURS])
        ratio = mine / its
        return ratio if math.isfinite(ratio) else math.inf

    def mean(self, learner: str, streams: Sequence[str]) -> tuple[float, int]:
        """The geometric mean of the relative errors, and over how many streams."""
        found = [each for s in streams if not math.isnan(each := self.relative(learner, s))]
        if not found or math.inf in found:
            return (math.inf if found else math.nan), len(found)
        return statistics.geometric_mean(found), len(found)

    def microseconds(self, learner: str, streams: Sequence[str]) -> float:
        """The geometric mean of the microseconds."""
        found = [runs[learner].microseconds for s in streams if learner in (runs := self.runs[s])]
        found = [each for each in found if each > 0]
        return statistics.geometric_mean(found) if found else math.nan

    def bytes(self, learner: str, streams: Sequence[str]) -> float:
        """The median of the bytes."""
        found = [runs[learner].bytes for s in streams if learner in (runs := self.runs[s])]
        return statistics.median(found) if found else math.nan

    def best(self, stream: str) -> tuple[str, float]:
        """The learner with the least error relative to Budgetron's there, and that error."""
        names = [name for name in self.runs[stream] if not math.isnan(self.relative(name, stream))]
        least = min(names, key=lambda name: (self.relative(name, stream), name != OURS))
        return least, self.relative(least, stream)


@dataclass(frozen=True)
class Results:
    """All tables of a folder."""

    first: Table
    whole: Table
    delayed: Mapping[int, Table]
    harmed: Table

    @classmethod
    def of(cls, folder: Path) -> Results:
        def table(name: str) -> Table:
            store = Store(folder, name)
            try:
                return Table(list(store.values()))
            finally:
                store.close()

        late = {delay: table(f"delayed-{delay}") for delay in DELAYS}
        return cls(table("cells"), table("whole"), late, table("harmed"))
