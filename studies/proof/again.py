"""The proof run again with another Budgetron: docs/results/proof-again.md.

    python -m studies.proof --out FOLDER --recorded ...     (cells)
    python -m studies.proof.again FOLDER                     (the page)

Budgetron's cells are run again. Rivals keep the recorded parameters. At equal examples their
recorded cells are used if nothing that they depend on has changed: on sets that are already scaled,
so that no unit is found. If units are found, and at equal bytes, rivals are run again.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from budgetron._text import bytes_text
from budgetron.lab.report import render
from budgetron.lab.statistics import p_shown
from studies.build import OURS
from studies.proof import figure, plan, recorded
from studies.proof.running import Results
from studies.proof.sets import SETS, ProofSet
from studies.proof.standing import Table

PAGE = Path("docs/results/proof-again.md")
FIGURE = Path("docs/images/proof-again")
GOALS: dict[int | str, int] = {"100KB": 6, "400KB": 9}
RUN, RECORD = "run again", "on record"


@dataclass(frozen=True)
class Contest:
    """Budgetron and the best other learner at one budget of a set.

    Attributes
    ----------
    ours, error : as shown; mean
    before : Budgetron's recorded mean
    other, shown, its : the best of the others, its error as shown, its mean
    source : whether that was run again or is recorded
    rivals : how many were compared
    """

    proof_set: ProofSet
    budget: int | str
    n: int
    ours: str
    error: float
    bytes: float
    before: str
    other: str
    shown: str
    its: float
    p: float
    source: str
    rivals: int

    @property
    def first(self) -> bool:
        return self.error <= self.its


def contests(tables: Sequence[Table]) -> Iterator[Contest]:
    """The contests of all sets and budgets at which Budgetron has run."""
    for table in tables:
        if table.proof_set.only:
            continue
        on_record = recorded.cells(table.proof_set)
        for budget in plan.BUDGETS:
            ours = table.entries.get(budget, {}).get(OURS)
            if ours is None:
                continue
            before = on_record.get(OURS, {}).get(budget)
            rivals = [each for each in table.rivals(budget) if not math.isnan(each.apart)]
            common = (table.proof_set, budget, ours.n, ours.shown, ours.line.mean, ours.bytes)
            shown = "–" if before is None else before.shown
            kept = {
                name: cells[budget]
                for name, cells in on_record.items()
                if name != OURS and budget in cells
            }
            if isinstance(budget, int) and not table.proof_set.raw and kept:
                who = min(kept, key=lambda name: kept[name].mean)
                its = kept[who]
                yield Contest(*common, shown, who, its.shown, its.mean, math.nan, RECORD, len(kept))
            elif rivals:
                best = rivals[0]
                pair = ours.beside(best).line.mean
                its_mean = ours.line.mean + (best.beside(ours).line.mean - pair)
                yield Contest(
                    *common,
                    shown,
                    best.learner,
                    best.shown,
                    its_mean,
                    best.p,
                    RUN,
                    len(rivals),
                )


def _line(each: Contest) -> list[str]:
    ours = f"**{each.ours}**" if each.first else each.ours
    other = each.shown if each.first else f"**{each.shown}**"
    how = f"{each.source}, {each.rivals} rivals"
    return [
        each.proof_set.name,
        str(each.budget),
        ours,
        str(each.n),
        bytes_text(each.bytes),
        each.before,
        each.other,
        other,
        p_shown(each.p),
        how,
    ]


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    made = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(each) + " |" for each in made)


def totals(found: Sequence[Contest]) -> str:
    """By budget: the number of sets on which no other has less error, and the goals."""
    lines = []
    for budget in plan.BUDGETS:
        mine = [each for each in found if each.budget == budget]
        if not mine:
            continue
        first = sum(each.first for each in mine)
        goal = GOALS.get(budget)
        said = "–" if goal is None else f"{goal}: {'reached' if first >= goal else '**missed**'}"
        lost = ", ".join(
            f"{each.proof_set.name} ({each.other}, {each.error / each.its:.2f} times its error)"
            for each in mine
            if not each.first
        )
        lines.append([str(budget), f"{first} of {len(mine)} sets", said, lost or "–"])
    return _table(["budget", "budgetron has the least mean error on", "goal", "not on"], lines)


def headline(found: Sequence[Contest]) -> str:
    """The result in one sentence."""
    parts = []
    for budget in ("100KB", "400KB"):
        mine = [each for each in found if each.budget == budget]
        parts.append(f"{sum(each.first for each in mine)} of {len(mine)} sets at {budget}")
    same = [each for each in found if isinstance(each.budget, int)]
    firsts = sum(each.first for each in same)
    return (
        f"**With nothing given but the budget, Budgetron has a lower mean error than every tuned "
        f"rival on {parts[0]} and on {parts[1]} of memory, and in {firsts} of {len(same)} cells at "
        f"equal examples (50 to 400).**"
    )


def page(tables: Sequence[Table]) -> str:
    """The whole page."""
    found = list(contests(tables))
    head = ["set", "budget", "budgetron", "n", "bytes", "on record before", "best other"]
    cells = _table([*head, "its error", "p", "the others"], [_line(each) for each in found])
    texts = {"headline": headline(found), "totals": totals(found), "cells": cells}
    raw = [each.name for each in SETS if each.raw and not each.only]
    return render(
        "again.md", "studies.proof", **{name: Markup(each) for name, each in texts.items()}, raw=raw
    )


def main(folder: Path, to: Path = PAGE, image: Path = FIGURE) -> None:
    results = Results(folder)
    cells, refused = list(results.cells.values()), list(results.refused.values())
    tables = [Table(each, cells, refused) for each in SETS]
    to.write_text(page(tables), encoding="utf-8")
    figure.draw(tables, image)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
