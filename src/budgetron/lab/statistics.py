"""From records to lines of a table: means, deviations, paired tests, ranks, and a conclusion."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from budgetron.lab.store import Record

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
    reference : it looks at no feature: the majority class, the mean, what was so last time. It is
        never the best, and its p is nan
    """

    algorithm: str
    budget: int | str | None
    task: str
    errors: tuple[float, ...]
    means: dict[str, float]
    best: bool
    p: float
    records: tuple[Record, ...]
    reference: bool = False

    @property
    def mean(self) -> float:
        return statistics.fmean(self.errors)

    @property
    def deviation(self) -> float:
        return statistics.stdev(self.errors) if len(self.errors) > 1 else 0.0

    @property
    def even(self) -> bool:
        """Not the best, but the test does not tell it apart from the best."""
        return self.p >= SIGNIFICANT

    @property
    def shown(self) -> str:
        """`16.41 ± 0.12`; of one permutation `16.41`."""
        style = ERRORS[self.task][3]
        spread = f" ± {self.deviation:{style}}" if len(self.errors) > 1 else ""
        return f"{self.mean:{style}}{spread}"

    @property
    def budget_shown(self) -> str:
        return "no budget" if self.budget is None else str(self.budget)

    @property
    def p_shown(self) -> str:
        return "best" if self.best else p_shown(self.p)

    @property
    def microseconds(self) -> float:
        """Of a row."""
        return 1e6 * self.means["seconds"] / self.means["rows"]


def p_shown(p: float) -> str:
    """`0.012`, `< 0.001`, or a dash where there is no test."""
    return "–" if math.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


def summarise(records: Sequence[Record]) -> dict[str, list[Line]]:
    """Stream -> lines, those of a budget together, in the order in which they were asked for."""
    grouped: dict[str, dict[tuple[str, str], list[Record]]] = {}
    for record in records:
        place = (str(record["budget"]), record["algorithm"])
        grouped.setdefault(record["stream"], {}).setdefault(place, []).append(record)
    return {stream: _lines(list(groups.values())) for stream, groups in grouped.items()}


def columns(lines: Sequence[Line]) -> list[str]:
    """The budgets there are, small ones first, no budget last; those of references do not count."""
    budgets = {line.budget_shown: line.budget for line in lines if not line.reference}

    def size(name: str) -> tuple[int, float, str]:
        budget = budgets[name]
        if budget is None:
            return 2, 0.0, name
        return (0, budget, name) if isinstance(budget, int) else (1, 0.0, name)

    return sorted(budgets, key=size)


def ranked(lines: Sequence[Line]) -> list[tuple[str, list[Line]]]:
    """Every budget with its lines, the least mean error first; the references come last."""
    groups = [
        (budget, [line for line in lines if line.budget_shown == budget and not line.reference])
        for budget in columns(lines)
    ]
    groups.append(("", [line for line in lines if line.reference]))
    return [(budget, sorted(each, key=lambda line: line.mean)) for budget, each in groups if each]


def algorithms(lines: Sequence[Line]) -> list[str]:
    """All of a table, the least mean error over its budgets first, references last."""
    own: dict[tuple[bool, str], list[float]] = {}
    for line in lines:
        own.setdefault((line.reference, line.algorithm), []).append(line.mean)
    return [name for _, name in sorted(own, key=lambda key: (key[0], statistics.fmean(own[key])))]


def conclusion(summary: Mapping[str, Sequence[Line]]) -> str:
    """One sentence: who has the least error where, told apart from whom, and who learned nothing.

    The best of a stream is the line with the least mean error, whatever its budget; the others are
    tested against it as in the tables.
    """
    best: dict[str, Line] = {}
    for stream, lines in summary.items():
        learners = [line for line in lines if not line.reference]
        if learners:
            best[stream] = min(learners, key=lambda line: line.mean)
    if not best:
        return "No cell came through, so there is nothing to conclude."
    name, won = Counter(line.algorithm for line in best.values()).most_common(1)[0]
    mine = {stream: line for stream, line in best.items() if line.algorithm == name}
    tasks = {line.task for line in mine.values()}
    only = tasks.pop() if len(tasks) == 1 else ""
    did = {"classification": "made the fewest mistakes", "regression": "has the least RMSE"}.get(
        only, "has the least error"
    )
    if len(best) == 1:
        where, (line,) = f"On {next(iter(mine))}", mine.values()
        per_cent = " %" if line.task == "classification" else ""
        budget = "without a budget" if line.budget is None else f"budget {line.budget}"
        did += f" ({line.shown}{per_cent}, {budget})"
    else:
        where = f"On {'all' if won == len(best) else f'{won} of'} {len(best)} sets"
        others = dict.fromkeys(line.algorithm for line in best.values() if line.algorithm != name)
        did += f" (on the others {', '.join(others)})" if others else ""
    less = "fewer" if only == "classification" else "less"
    return f"{where} {name} {did}{_told_apart(summary, mine, less)}{_learned_nothing(summary)}."


def _told_apart(summary: Mapping[str, Sequence[Line]], best: Mapping[str, Line], less: str) -> str:
    rivals = [
        (paired_p(line.records, first.records), line)
        for stream, first in best.items()
        for line in summary[stream]
        if line.algorithm != first.algorithm and not line.reference
    ]
    tested = [(p, line) for p, line in rivals if not math.isnan(p)]
    if not rivals:
        return ", alone in this comparison"
    if not tested:
        return "; with one permutation there is no test"
    worse = sum(p < SIGNIFICANT for p, _ in tested)
    even = list(dict.fromkeys(line.algorithm for p, line in tested if not p < SIGNIFICANT))
    if not even:
        which = f"the {len(tested)} other lines" if len(tested) > 1 else "the other line"
        return f", significantly {less} than {which}"
    names = ", ".join(even[:3]) + (f" and {len(even) - 3} more" if len(even) > 3 else "")
    if not worse:
        return f", but no test tells it apart from {names}"
    return f", significantly {less} than {worse} of {len(tested)} other lines, but not than {names}"


def _learned_nothing(summary: Mapping[str, Sequence[Line]]) -> str:
    """How many lines are not better than a reference, by the means if there is no test."""
    counts: Counter[str] = Counter()
    total = 0
    for lines in summary.values():
        references = [line for line in lines if line.reference]
        for line in lines:
            if line.reference or not references:
                continue
            total += 1
            bar = min(references, key=lambda reference: reference.mean)
            p = paired_p(line.records, bar.records)
            if line.mean >= bar.mean or p >= SIGNIFICANT:
                counts[bar.algorithm] += 1
    if not total:
        return ""
    if not counts:
        return "; every line is better than the baselines"
    said = [
        f"{n} {'is' if n == 1 else 'are'} no better than the {name}" for name, n in counts.items()
    ]
    return f"; of all {total} lines {' and '.join(said)}"


def _lines(groups: list[list[Record]]) -> list[Line]:
    rows = [sorted(group, key=lambda record: record["repeat"]) for group in groups]
    made = []
    for group in rows:
        first = group[0]
        reference = bool(first.get("reference"))
        rivals = [
            other
            for other in rows
            if other[0]["budget"] == first["budget"] and not other[0].get("reference")
        ]
        best = min(rivals, key=lambda other: statistics.fmean(errors(other)), default=group)
        made.append(
            Line(
                first["algorithm"],
                first["budget"],
                first["task"],
                tuple(errors(group)),
                _means(group),
                group is best and not reference,
                math.nan if group is best or reference else paired_p(group, best),
                tuple(group),
                reference,
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
