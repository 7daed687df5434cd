"""The tables of the proof in Markdown, from what is finished: every cell, the lost ones too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from budgetron._text import bytes_text
from budgetron.lab.statistics import ERRORS, p_shown
from budgetron.lab.store import Record
from studies.proof.plan import BUDGETS
from studies.proof.rivals import OURS
from studies.proof.standing import Budget, Entry, Table, ahead, style_of, tally


def summary(tables: Sequence[Table]) -> str:
    """A line a set and budget: Budgetron, the best of the others, how many it wins against."""
    lines = [
        "| set | budget | budgetron | bytes | best other | error | bytes | p | n | ahead of "
        "| won, even, lost |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for table in tables:
        for budget in BUDGETS:
            rivals = table.paired(budget)
            ours = table.entries.get(budget, {}).get(OURS)
            if ours is None or not rivals:
                continue
            best = rivals[0].beside(ours)
            ours = ours.beside(best)
            mine, other = (
                (f"**{ours.shown}**", best.shown)
                if ours.mean <= best.mean
                else (ours.shown, f"**{best.shown}**")
            )
            counts = ", ".join(str(n) for n in tally(rivals))
            lines.append(
                f"| {table.proof_set.name} | {budget} | {mine} | {bytes_text(ours.bytes)} "
                f"| {best.learner} | {other} | {bytes_text(best.bytes)} | {p_shown(best.p)} "
                f"| {len(ours.runs)} | {ahead(rivals)} of {len(rivals)} | {counts} |"
            )
    return "\n".join(lines) + "\n"


def totals(tables: Sequence[Table]) -> str:
    """By budget, over all sets: cells won, even, lost, and sets on which no rival is better."""
    lines = [
        "| budget | bytes of budgetron | least mean error on | ahead of | won | even | lost |",
        "|---|---|---|---|---|---|---|",
    ]
    for budget in BUDGETS:
        held, counts, first, sets, before, others = [], [0, 0, 0], 0, 0, 0, 0
        for table in tables:
            rivals, ours = table.paired(budget), table.entries.get(budget, {}).get(OURS)
            if ours is None or not rivals:
                continue
            sets += 1
            held.append(ours.bytes)
            first += rivals[0].apart >= 0
            before += ahead(rivals)
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
                f"| {len(found.runs)} | {bytes_text(found.bytes)} | {word} |"
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
        style = style_of(ours.task, ours.errors[0])
        same = Entry(f"{OURS}, B = 400", ours.task, dict(list(ours.runs.items())[:1]), ours.bytes)
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
    most = max((len(e.runs) for c in table.entries.values() for e in c.values()), default=0)
    for learner in table.learners:
        cells = [_cell(table, budget, learner, most) for budget in BUDGETS]
        lines.append(f"| {learner} | {' | '.join(cells)} |")
    for entry in table.references:
        lines.append(f"| {entry.learner} | {' | '.join([entry.shown] * len(heads))} |")
    return "\n".join([*lines, "", f"n = {most} where a cell does not say otherwise.", ""])


def _cell(table: Table, budget: Budget, learner: str, most: int) -> str:
    entry = table.entries.get(budget, {}).get(learner)
    if entry is None:
        return "too small" if (learner, budget) in table.refused else "not run"
    parts = [entry.shown, bytes_text(entry.bytes)]
    if entry.learner != OURS:
        parts.append(f"p {p_shown(entry.p)}")
    if len(entry.runs) != most:
        parts.append(f"n = {len(entry.runs)}")
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
