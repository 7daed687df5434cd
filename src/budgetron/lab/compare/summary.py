"""From records to lines of a table: mean, deviation, and the paired t-test against the best."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from budgetron.lab.compare.store import Record

# Two learners are told apart from here on.
SIGNIFICANT = 0.05

# The metric a task is judged by: name, what to call it, factor and format of a shown value.
ERRORS = {
    "classification": ("mistake_rate", "mistakes, %", 100.0, ".2f"),
    "regression": ("rmse", "RMSE", 1.0, ".4f"),
}


@dataclass(frozen=True)
class Line:
    """A setup on a stream, over its repeats.

    Attributes
    ----------
    algorithm, budget : of the setup; budget None: no budget
    errors : per repeat, as shown (mistakes in per cent, or RMSE)
    means : every other metric after the last row, its mean over the repeats
    best : whether it has the least mean error of those with the same budget
    p : of the paired t-test against that one; nan for itself, or with one repeat
    records : the cells, by repeat
    """

    algorithm: str
    budget: int | str | None
    task: str
    errors: tuple[float, ...]
    means: dict[str, float]
    best: bool
    p: float
    records: tuple[Record, ...]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.errors)

    @property
    def deviation(self) -> float:
        return statistics.stdev(self.errors) if len(self.errors) > 1 else 0.0

    @property
    def even(self) -> bool:
        """Not the best, but not told apart from it."""
        return not self.best and not self.p < SIGNIFICANT

    @property
    def shown(self) -> str:
        """`16.41 ± 0.12`."""
        style = ERRORS[self.task][3]
        return f"{self.mean:{style}} ± {self.deviation:{style}}"

    @property
    def budget_shown(self) -> str:
        return "no budget" if self.budget is None else str(self.budget)

    @property
    def p_shown(self) -> str:
        if self.best:
            return "best"
        if math.isnan(self.p):
            return "–"
        return "< 0.001" if self.p < 0.001 else f"{self.p:.3f}"

    @property
    def microseconds(self) -> float:
        """Of a row."""
        return 1e6 * self.means["seconds"] / self.means["rows"]


def summarise(records: Sequence[Record]) -> dict[str, list[Line]]:
    """Stream -> lines, those of a budget together, in the order in which they were asked for."""
    grouped: dict[str, dict[tuple[str, str], list[Record]]] = {}
    for record in records:
        place = (str(record["budget"]), record["algorithm"])
        grouped.setdefault(record["stream"], {}).setdefault(place, []).append(record)
    return {stream: _lines(list(groups.values())) for stream, groups in grouped.items()}


def columns(lines: Sequence[Line]) -> list[str]:
    """The budgets there are, small ones first, no budget last."""
    budgets = {line.budget_shown: line.budget for line in lines}

    def size(name: str) -> tuple[int, float, str]:
        budget = budgets[name]
        if budget is None:
            return 2, 0.0, name
        return (0, budget, name) if isinstance(budget, int) else (1, 0.0, name)

    return sorted(budgets, key=size)


def _lines(groups: list[list[Record]]) -> list[Line]:
    rows = [sorted(group, key=lambda record: record["repeat"]) for group in groups]
    made = []
    for group in rows:
        rivals = [other for other in rows if other[0]["budget"] == group[0]["budget"]]
        best = min(rivals, key=lambda other: statistics.fmean(errors(other)))
        made.append(
            Line(
                group[0]["algorithm"],
                group[0]["budget"],
                group[0]["task"],
                tuple(errors(group)),
                _means(group),
                group is best,
                math.nan if group is best else paired_p(group, best),
                tuple(group),
            )
        )
    return made


def errors(group: Sequence[Record]) -> list[float]:
    name, _, factor, _ = ERRORS[group[0]["task"]]
    return [factor * record["checkpoints"][-1][name] for record in group]


def _means(group: Sequence[Record]) -> dict[str, float]:
    last = [record["checkpoints"][-1] for record in group]
    return {name: statistics.fmean(each[name] for each in last) for name in last[0]}


def paired_p(group: Sequence[Record], best: Sequence[Record]) -> float:
    """Two-sided p of a paired t-test over the permutations both have."""
    from scipy.stats import ttest_rel

    mine = dict(zip((r["repeat"] for r in group), errors(group), strict=True))
    theirs = dict(zip((r["repeat"] for r in best), errors(best), strict=True))
    both = sorted(mine.keys() & theirs.keys())
    if len(both) < 2:
        return math.nan
    left, right = [mine[r] for r in both], [theirs[r] for r in both]
    apart = [a - b for a, b in zip(left, right, strict=True)]
    if max(apart) == min(apart):  # no deviation: the same everywhere, or worse by the same amount
        return 1.0 if apart[0] == 0 else 0.0
    return float(ttest_rel(left, right).pvalue)
