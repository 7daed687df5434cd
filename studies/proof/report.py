"""The tables of the proof in Markdown, from finished cells: every cell, the lost ones too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from budgetron._text import bytes_text
from budgetron.lab.report import render
from budgetron.lab.statistics import ERRORS, p_shown
from budgetron.lab.store import Record
from studies.build import OURS
from studies.proof import plan
from studies.proof.running import too_small
from studies.proof.standing import Budget, Entry, Table

PAGES = ("summary", "totals", "targets", "unbounded", "parameters", "cells")

_SHORT = {"regularization": "λ", "gamma": "γ", "threshold": "η", "epsilon": "ε", "delta": "δ"}


def pages(tables: Sequence[Table], tuned: Sequence[Record] = ()) -> dict[str, str]:
    """Every page by name; `tuned` is the choice from the grids."""
    given = {
        "tables": tables,
        "duels": [duel for table in tables for duel in table.duels],
        "budgets": plan.BUDGETS,
        "ours": OURS,
        "errors": ERRORS,
        "bytes": bytes_text,
        "p": p_shown,
        "free": _free,
        "cell": _cell,
        "most": _most,
        "params": shown_parameters,
        "chosen": {(each["learner"], each["stream"]): each["params"] for each in tuned},
        "learners": list(dict.fromkeys(record["learner"] for record in tuned)),
    }
    return {name: render(f"{name}.md", "studies.proof", **given) for name in PAGES}


def _free(table: Table) -> list[tuple[str, Entry]]:
    """Learners without a budget, and Budgetron with 400 examples on their one permutation."""
    found = [(entry.learner, entry) for entry in table.rivals(None)]
    ours = table.entries.get(400, {}).get(OURS)
    if found and ours is not None:
        found.append((f"**{OURS}, B = 400**", ours.of(ours.line.records[:1])))
    return sorted(found, key=lambda each: each[1].line.mean)


def _most(table: Table) -> int:
    """The number of permutations of a cell, unless it says otherwise."""
    return max((e.n for cells in table.entries.values() for e in cells.values()), default=0)


def _cell(table: Table, budget: Budget, learner: str) -> str:
    entry = table.entries.get(budget, {}).get(learner)
    if entry is None:
        why = table.refused.get((learner, budget))
        return "not run" if why is None else "too small" if too_small(why) else "failed"
    parts = [entry.shown, bytes_text(entry.bytes)]
    parts += [f"p {p_shown(entry.p)}"] if learner != OURS else []
    parts += [f"n = {entry.n}"] if entry.n != _most(table) else []
    text = ", ".join(parts)
    return {"better": f"**{text}**", "even": f"≈ {text}"}.get(entry.verdict, text)


def shown_parameters(params: dict[str, Any] | None) -> str:
    """A combination of a grid, with three digits."""
    pairs = [
        f"{_SHORT.get(name, name)} {f'{value:.3g}' if isinstance(value, float) else value}"
        for name, value in (params or {}).items()
    ]
    return "–" if params is None else ", ".join(pairs)
