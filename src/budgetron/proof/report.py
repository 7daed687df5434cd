"""The tables of the proof, from what is finished: every cell, the lost ones too.

Of each cell: mean and deviation of the error over the permutations done, bytes at the end, and the
p of a paired t-test against Budgetron with the same budget, over the permutations both have.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from budgetron.cli.console import bytes_text
from budgetron.compare.store import Record
from budgetron.compare.summary import ERRORS, SIGNIFICANT, errors, paired_p
from budgetron.proof.plan import BUDGETS
from budgetron.proof.rivals import OURS
from budgetron.proof.sets import ProofSet

Budget = int | str | None


@dataclass(frozen=True)
class Entry:
    """A learner at a budget on a set: its runs, and how it stands against Budgetron.

    `verdict` is "worse", "better" (than Budgetron), "even" where the test does not tell them apart,
    and empty for Budgetron itself or where it cannot be said.
    """

    learner: str
    task: str
    errors: tuple[float, ...]
    bytes: float
    p: float = math.nan
    verdict: str = ""

    @property
    def mean(self) -> float:
        return statistics.fmean(self.errors)

    @property
    def shown(self) -> str:
        """`6.59 ± 0.08`."""
        style = _style(self.task, self.mean)
        spread = f" ± {statistics.stdev(self.errors):{style}}" if len(self.errors) > 1 else ""
        return f"{self.mean:{style}}{spread}"


def _style(task: str, mean: float) -> str:
    """Two digits for per cent and minutes, four for targets in [0, 1]."""
    return ".2f" if mean >= 2 else ERRORS[task][3]


class Table:
    """All finished cells of a set by budget and learner.

    Parameters
    ----------
    proof_set : whose
    records : finished cells, of any sets; of two for the same run the later counts
    refused : cells that could not be run
    """

    def __init__(
        self, proof_set: ProofSet, records: Iterable[Record], refused: Iterable[Record] = ()
    ) -> None:
        self.proof_set = proof_set
        self.refused = {
            (each["algorithm"], each["budget"])
            for each in refused
            if each["stream"] == proof_set.name
        }
        groups: dict[Budget, dict[str, dict[int, Record]]] = {}
        for record in records:
            if record["stream"] == proof_set.name:
                line = groups.setdefault(record["budget"], {})
                line.setdefault(record["algorithm"], {})[record["repeat"]] = record
        self.entries = {
            budget: {name: _entry(name, runs, lines.get(OURS)) for name, runs in lines.items()}
            for budget, lines in groups.items()
        }

    def rivals(self, budget: Budget) -> list[Entry]:
        """All but Budgetron, the best first."""
        found = [e for e in self.entries.get(budget, {}).values() if e.learner != OURS]
        return sorted(found, key=lambda entry: entry.mean)

    @property
    def compared(self) -> bool:
        """Whether there are others with a budget."""
        return any(self.rivals(budget) for budget in BUDGETS)

    @property
    def learners(self) -> list[str]:
        """Those with a budget: Budgetron, then the others, the best at B = 100 first."""
        names = {e.learner for b in BUDGETS for e in self.rivals(b)}
        names |= {learner for learner, _ in self.refused}
        at = {e.learner: e.mean for e in self.rivals(100)}
        return [OURS, *sorted(names - {OURS}, key=lambda name: (at.get(name, math.inf), name))]


def _entry(name: str, runs: dict[int, Record], ours: dict[int, Record] | None) -> Entry:
    mine = [runs[repeat] for repeat in sorted(runs)]
    task = mine[0]["task"]
    held = statistics.fmean(run["checkpoints"][-1]["bytes"] for run in mine)
    both = sorted(runs.keys() & (ours or {}).keys())
    if name == OURS or ours is None or len(both) < 2:
        return Entry(name, task, tuple(errors(mine)), held)
    left, right = [runs[repeat] for repeat in both], [ours[repeat] for repeat in both]
    p = paired_p(left, right)
    worse = statistics.fmean(errors(left)) > statistics.fmean(errors(right))
    verdict = "even" if not p < SIGNIFICANT else "worse" if worse else "better"
    return Entry(name, task, tuple(errors(mine)), held, p, verdict)


def p_shown(p: float) -> str:
    if math.isnan(p):
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def summary(tables: Sequence[Table]) -> str:
    """A line a set and budget: Budgetron, the best of the others, how many it wins against."""
    lines = [
        "| set | budget | budgetron | bytes | best other | error | bytes | p | n | ahead of "
        "| won, even, lost |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for table in tables:
        for budget in BUDGETS:
            rivals = table.rivals(budget)
            ours = table.entries.get(budget, {}).get(OURS)
            if ours is None or not rivals:
                continue
            best = rivals[0]
            mine, other = (
                (f"**{ours.shown}**", best.shown)
                if ours.mean <= best.mean
                else (ours.shown, f"**{best.shown}**")
            )
            counts = ", ".join(str(n) for n in tally(rivals))
            lines.append(
                f"| {table.proof_set.name} | {budget} | {mine} | {bytes_text(ours.bytes)} "
                f"| {best.learner} | {other} | {bytes_text(best.bytes)} | {p_shown(best.p)} "
                f"| {len(ours.errors)} | {ahead(ours, rivals)} of {len(rivals)} | {counts} |"
            )
    return "\n".join(lines) + "\n"


def tally(rivals: Sequence[Entry]) -> tuple[int, int, int]:
    """Of how many Budgetron is better, not told apart, worse."""
    words = [entry.verdict for entry in rivals]
    return words.count("worse"), words.count("even"), words.count("better")


def ahead(ours: Entry, rivals: Sequence[Entry]) -> int:
    """How many have a larger mean error."""
    return sum(entry.mean > ours.mean for entry in rivals)


def totals(tables: Sequence[Table]) -> str:
    """By budget, over all sets: cells won, even, lost, and sets on which no rival is better."""
    lines = [
        "| budget | bytes of budgetron | least mean error on | ahead of | won | even | lost |",
        "|---|---|---|---|---|---|---|",
    ]
    for budget in BUDGETS:
        held, counts, first, sets, before, others = [], [0, 0, 0], 0, 0, 0, 0
        for table in tables:
            rivals, ours = table.rivals(budget), table.entries.get(budget, {}).get(OURS)
            if ours is None or not rivals:
                continue
            sets += 1
            held.append(ours.bytes)
            first += ours.mean <= rivals[0].mean
            before += ahead(ours, rivals)
            others += len(rivals)
            counts = [a + b for a, b in zip(counts, tally(rivals), strict=True)]
        if sets:
            span = f"{bytes_text(min(held))} to {bytes_text(max(held))}"
            shown = " | ".join(map(str, counts))
            lines.append(
                f"| {budget} | {span} | {first} of {sets} sets | {before} of {others} | {shown} |"
            )
    return "\n".join(lines) + "\n"


def targets(tables: Sequence[Table]) -> str:
    """What Budgetron was to reach with nothing given but the budget."""
    lines = [
        "| set | budget | target | reached | n | bytes | |",
        "|---|---|---|---|---|---|---|",
    ]
    for table in tables:
        for budget, most in table.proof_set.targets:
            found = table.entries.get(budget, {}).get(OURS)
            if found is None:
                lines.append(f"| {table.proof_set.name} | {budget} | {most:g} | – | 0 | – | open |")
                continue
            word = "reached" if found.mean <= most else "missed"
            lines.append(
                f"| {table.proof_set.name} | {budget} | {most:g} | {found.shown} "
                f"| {len(found.errors)} | {bytes_text(found.bytes)} | {word} |"
            )
    return "\n".join(lines) + "\n"


def unbounded(tables: Sequence[Table]) -> str:
    """Learners without a budget, one permutation, beside Budgetron with 400 examples on it."""
    lines = ["| set | learner | error | bytes |", "|---|---|---|---|"]
    for table in tables:
        found = table.rivals(None)
        if not found:
            continue
        ours = table.entries[400][OURS]
        style = _style(ours.task, ours.errors[0])
        same = Entry(f"{OURS}, B = 400", ours.task, ours.errors[:1], ours.bytes)
        for entry in sorted([*found, same], key=lambda entry: entry.mean):
            name = f"**{entry.learner}**" if entry is same else entry.learner
            error = f"{entry.mean:{style}}"
            lines.append(
                f"| {table.proof_set.name} | {name} | {error} | {bytes_text(entry.bytes)} |"
            )
    return "\n".join(lines) + "\n"


def every_cell(table: Table) -> str:
    """One set: a row a learner, a column a budget."""
    heads = [f"B = {b}" if isinstance(b, int) else b for b in BUDGETS]
    label = ERRORS[table.proof_set.task][1]
    lines = [f"## {table.proof_set.name}: {label}", ""]
    lines += [f"| learner | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    most = max((len(e.errors) for c in table.entries.values() for e in c.values()), default=0)
    for learner in table.learners:
        cells = [_cell(table, budget, learner, most) for budget in BUDGETS]
        lines.append(f"| {learner} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", f"n = {most} where a cell does not say otherwise.", ""])


def _cell(table: Table, budget: Budget, learner: str, most: int) -> str:
    entry = table.entries.get(budget, {}).get(learner)
    if entry is None:
        return "too small" if (learner, budget) in table.refused else "not run"
    parts = [entry.shown, bytes_text(entry.bytes)]
    if entry.learner != OURS:
        parts.append(f"p {p_shown(entry.p)}")
    if len(entry.errors) != most:
        parts.append(f"n = {len(entry.errors)}")
    text = ", ".join(parts)
    return {"better": f"**{text}**", "even": f"≈ {text}"}.get(entry.verdict, text)


def parameters(tables: Sequence[Table], tuned: Sequence[Record]) -> str:
    """What was chosen from the grids: a row a learner, a column a set."""
    names = [table.proof_set.name for table in tables if not table.proof_set.only]
    chosen = {(record["learner"], record["stream"]): record["params"] for record in tuned}
    lines = [f"| learner | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for learner in dict.fromkeys(record["learner"] for record in tuned):
        cells = [_params(chosen.get((learner, name))) for name in names]
        lines.append(f"| {learner} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


_SHORT = {"regularization": "λ", "gamma": "γ", "threshold": "η", "epsilon": "ε", "delta": "δ"}


def _params(params: dict[str, Any] | None) -> str:
    def pairs() -> Iterator[str]:
        for name, value in (params or {}).items():
            shown = f"{value:.3g}" if isinstance(value, float) else str(value)
            yield f"{_SHORT.get(name, name)} {shown}"

    return "–" if params is None else ", ".join(pairs())
