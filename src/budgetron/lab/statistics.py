"""From records to table lines: means, deviations, paired tests, ranks, and a conclusion."""

from __future__ import annotations

import math
import statistics
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from budgetron.lab.store import Record

# Below this p two learners differ significantly.
SIGNIFICANT = 0.05

# The main metric of a task: name, title, factor and format of a shown value.
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
    task : "classification" or "regression"
    errors : per repeat, as shown (mistakes in per cent, or RMSE)
    means : every other metric after the last row, its mean over the repeats
    best : whether it has the least mean error of those with the same budget, and that is finite
    p : of the paired t-test against that one; nan for itself, with one repeat, or if it diverged
    records : the cells, by repeat
    reference : it uses no feature: the majority class, the mean, the last label. It is never the
        best, and its p is nan
    partial : some of its cells failed: it has fewer repeats than others of its stream
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
    partial: bool = False

    @property
    def mean(self) -> float:
        """Infinite if an error is not finite: the line ranks last."""
        return mean_error(self.errors)

    @property
    def diverged(self) -> bool:
        return math.isinf(self.mean)

    @property
    def deviation(self) -> float:
        return math.nan if self.diverged else deviation(self.errors)

    @property
    def even(self) -> bool:
        """Not the best, but not significantly worse either."""
        return self.p >= SIGNIFICANT

    @property
    def shown(self) -> str:
        """`16.41 ± 0.12`; for one permutation `16.41`; `diverged` if an error is not finite.

        If cells failed, also how many did not: `16.41 ± 0.12, n = 3`.
        """
        count = f", n = {len(self.errors)}" if self.partial else ""
        if self.diverged:
            return f"diverged{count}"
        style = ERRORS[self.task][3]
        return f"{with_spread(self.errors, style)}{count}"

    @property
    def budget_shown(self) -> str:
        return "no budget" if self.budget is None else str(self.budget)

    @property
    def title(self) -> str:
        """`rbp (budget 20)`, `perceptron (no budget)`."""
        size = "no budget" if self.budget is None else f"budget {self.budget}"
        return f"{self.algorithm} ({size})"

    @property
    def p_shown(self) -> str:
        return "best" if self.best else p_shown(self.p)

    @property
    def microseconds(self) -> float:
        """Processor time per row, in microseconds."""
        return 1e6 * self.means["seconds"] / self.means["rows"]


def p_shown(p: float) -> str:
    """`0.012`, `< 0.001`, or a dash if there is no test."""
    return "–" if math.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


def summarise(records: Sequence[Record]) -> dict[str, list[Line]]:
    """Stream -> lines, grouped by budget, in the order in which they were requested."""
    grouped: dict[str, dict[tuple[str, str], list[Record]]] = {}
    for record in records:
        place = (str(record["budget"]), record["algorithm"])
        grouped.setdefault(record["stream"], {}).setdefault(place, []).append(record)
    return {stream: _lines(list(groups.values())) for stream, groups in grouped.items()}


def columns(lines: Sequence[Line]) -> list[str]:
    """The budgets, small ones first, no budget last; those of references do not count."""
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
    """All lines of a table, the least mean error over its budgets first, references last."""
    own: dict[tuple[bool, str], list[float]] = {}
    for line in lines:
        own.setdefault((line.reference, line.algorithm), []).append(line.mean)
    return [name for _, name in sorted(own, key=lambda key: (key[0], statistics.fmean(own[key])))]


def conclusion(summary: Mapping[str, Sequence[Line]]) -> str:
    """One sentence: who has the least error, significantly less than whom, who learned nothing.

    The best of a stream is the line with the least mean error, whatever its budget; the others are
    tested against it as in the tables. A line that diverged is never the best.
    """
    learners = [line for lines in summary.values() for line in lines if not line.reference]
    if not learners:
        return "All cells failed, so there is nothing to conclude."
    best: dict[str, Line] = {}
    for stream, lines in summary.items():
        finite = [line for line in lines if not line.reference and not line.diverged]
        if finite:
            best[stream] = min(finite, key=lambda line: line.mean)
    if not best:
        return "Every learner diverged, so there is nothing to conclude."
    who, mine = _winners(best, alone=len({line.algorithm for line in learners}) == 1)
    less = "fewer" if {line.task for line in mine.values()} == {"classification"} else "less"
    rest = _significantly(summary, mine, less) + _diverged(learners) + _learned_nothing(summary)
    return f"{who}{rest}."


def _winners(best: Mapping[str, Line], *, alone: bool) -> tuple[str, dict[str, Line]]:
    """Who is the best on the most streams, and where; `alone`: there is only one learner."""
    wins = Counter(line.algorithm for line in best.values())
    won = max(wins.values())
    names = [name for name, count in wins.items() if count == won]
    mine = {stream: line for stream, line in best.items() if line.algorithm in names}
    tasks = {line.task for line in mine.values()}
    did = {"classification": "made the fewest mistakes", "regression": "has the least RMSE"}.get(
        tasks.pop() if len(tasks) == 1 else "", "has the least error"
    )
    total = len(best)
    if total == 1:
        ((stream, line),) = best.items()
        per_cent = " %" if line.task == "classification" else ""
        budget = "without a budget" if line.budget is None else f"budget {line.budget}"
        if not alone:
            return f"On {stream} {names[0]} {did} ({line.shown}{per_cent}, {budget})", mine
        found = f"made {line.shown} % mistakes" if per_cent else f"has an RMSE of {line.shown}"
        return f"On {stream} {names[0]} {found} ({budget})", mine
    every = "both" if total == 2 else f"all {total}"
    if alone:
        return f"On {every} sets {names[0]} is the only learner", mine
    others = ", ".join(name for name in wins if name not in names)
    left = total - won * len(names)
    also = f" (on the other{'s' if left > 1 else ''} {others})" if others else ""
    if len(names) > 1:
        joined = f"{', '.join(names[:-1])} and {names[-1]}"
        return f"{joined} each {did} on {won} of {total} sets{also}", mine
    where = every if won == total else f"{won} of {total}"
    return f"On {where} sets {names[0]} {did}{also}", mine


def _significantly(
    summary: Mapping[str, Sequence[Line]], best: Mapping[str, Line], less: str
) -> str:
    rivals = [
        (paired_p(line.records, first.records), _apart(line.records, first.records), line)
        for stream, first in best.items()
        for line in summary[stream]
        if line.algorithm != first.algorithm and not line.reference and not line.diverged
    ]
    tested = [rival for rival in rivals if not math.isnan(rival[0])]
    if not rivals:
        return ""
    if not tested:
        return "; with one permutation there is no test"
    even = dict.fromkeys(
        line.title for p, apart, line in tested if not (p < SIGNIFICANT and sum(apart) > 0)
    )
    worse = sum(p < SIGNIFICANT and sum(apart) > 0 for p, apart, _ in tested)
    if not even:
        which = f"the {len(tested)} other lines" if len(tested) > 1 else "the other line"
        return f", significantly {less} than {which}"
    if not worse:
        return f", but not significantly {less} than {_listed(list(even))}"
    than = f"{worse} of {len(tested)} other lines, but not than {_listed(list(even))}"
    return f", significantly {less} than {than}"


def _listed(names: Sequence[str]) -> str:
    """At most three names, and how many more."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _diverged(learners: Sequence[Line]) -> str:
    names = list(dict.fromkeys(line.title for line in learners if line.diverged))
    return f"; {_listed(names)} diverged" if names else ""


def _learned_nothing(summary: Mapping[str, Sequence[Line]]) -> str:
    """How many lines are not better than a reference, or not significantly so."""
    counts: Counter[str] = Counter()
    total = 0
    for lines in summary.values():
        references = [line for line in lines if line.reference]
        for line in lines:
            if line.reference or not references:
                continue
            total += 1
            bar = min(references, key=lambda reference: reference.mean)
            if line.mean >= bar.mean:
                counts[f"no better than the {bar.algorithm}"] += 1
            elif paired_p(line.records, bar.records) >= SIGNIFICANT:
                counts[f"not significantly better than the {bar.algorithm}"] += 1
    if not total:
        return ""
    if total == 1:
        return f"; it is {next(iter(counts), 'better than the baselines')}"
    if not counts:
        return "; every line is better than the baselines"
    said = [f"{n} {'is' if n == 1 else 'are'} {what}" for what, n in counts.items()]
    return f"; of all {total} lines {' and '.join(said)}"


def _lines(groups: list[list[Record]]) -> list[Line]:
    rows = [sorted(group, key=lambda record: record["repeat"]) for group in groups]
    most = max(map(len, rows))
    made = []
    for group in rows:
        first = group[0]
        reference = bool(first.get("reference"))
        rivals = [
            other
            for other in rows
            if other[0]["budget"] == first["budget"] and not other[0].get("reference")
        ]
        best = min(rivals, key=lambda other: mean_error(errors(other)), default=group)
        is_best = group is best and not reference and math.isfinite(mean_error(errors(group)))
        made.append(
            Line(
                first["algorithm"],
                first["budget"],
                first["task"],
                tuple(errors(group)),
                _means(group),
                is_best,
                math.nan if group is best or reference else paired_p(group, best),
                tuple(group),
                reference,
                len(group) < most,
            )
        )
    return made


def errors(group: Sequence[Record]) -> list[float]:
    name, _, factor, _ = ERRORS[group[0]["task"]]
    return [factor * record["checkpoints"][-1][name] for record in group]


def mean_error(values: Sequence[float]) -> float:
    """Infinite if a value, or the sum, is not finite."""
    found = mean(values)
    return found if math.isfinite(found) else math.inf


def mean(values: Sequence[float]) -> float:
    """The mean; nan if the sum overflows or infinities cancel."""
    try:
        return statistics.fmean(values)
    except (OverflowError, ValueError):
        return math.nan


def deviation(values: Sequence[float]) -> float:
    """The standard deviation; 0 for one value."""
    return statistics.stdev(values) if len(values) > 1 else 0.0


def with_spread(values: Sequence[float], style: str) -> str:
    """Mean and deviation, `16.41 ± 0.12`; for one value `16.41`."""
    spread = f" ± {deviation(values):{style}}" if len(values) > 1 else ""
    return f"{mean(values):{style}}{spread}"


def _means(group: Sequence[Record]) -> dict[str, float]:
    last = [record["checkpoints"][-1] for record in group]
    return {name: mean([each[name] for each in last]) for name in last[0]}


def paired_p(group: Sequence[Record], best: Sequence[Record]) -> float:
    """Two-sided p of a paired t-test over the permutations that both have.

    nan if there are fewer than two, or if an error is not finite.
    """
    from scipy.stats import ttest_1samp

    apart = _apart(group, best)
    if len(apart) < 2 or not all(map(math.isfinite, apart)):
        return math.nan
    rounding = 1e-12 * max(map(abs, errors(group) + errors(best)))
    if max(apart) - min(apart) <= rounding:  # the same everywhere, or worse by the same amount
        return 1.0 if max(map(abs, apart)) <= rounding else 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # "Precision loss": nearly equal
        return float(ttest_1samp(apart, 0.0).pvalue)


def _apart(group: Sequence[Record], best: Sequence[Record]) -> list[float]:
    """How much larger the errors are than the best's, over the permutations that both have."""
    mine = dict(zip((r["repeat"] for r in group), errors(group), strict=True))
    theirs = dict(zip((r["repeat"] for r in best), errors(best), strict=True))
    return [mine[r] - theirs[r] for r in sorted(mine.keys() & theirs.keys())]
