"""Reads a recorded page of the proof: parameters of the rivals, and their cells.

Tuning all rivals takes a day. The chosen parameters are on docs/results/proof-tables.md, and so is
every cell; `parameters` reads the former for further runs, `cells` the latter for comparison. The
page shows three digits: they mean the value of the grid with the same text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from budgetron.estimators._base.sizes import parse_bytes
from studies.proof import report, rivals
from studies.proof.sets import SETS, ProofSet

PAGE = Path("docs/results/proof-tables.md")
_CELL = re.compile(r"(?P<mean>[\d.]+)(?: ± (?P<spread>[\d.]+))?, (?P<bytes>[\d.]+ [kM]?B)")


@dataclass(frozen=True)
class Recorded:
    """A cell of the page."""

    mean: float
    shown: str
    bytes: int


def parameters(proof_set: ProofSet, page: Path = PAGE) -> dict[str, dict[str, Any]]:
    """Learner -> the parameters chosen for it on this set."""
    lines = _lines(page, "What was chosen from the grids")
    head = next(lines)
    if proof_set.name not in head:
        return {}
    place = head.index(proof_set.name)
    found = {}
    for each in lines:
        if each[place] != "–":
            found[each[0]] = _meant(each[0], proof_set, each[place])
    return found


def _meant(learner: str, proof_set: ProofSet, text: str) -> dict[str, Any]:
    """The combination of the grid that is shown like this."""
    grid = rivals.grid(learner, proof_set.task, proof_set.length)
    for values in product(*grid.values()):
        chosen = dict(zip(grid, values, strict=True))
        if report.shown_parameters(chosen) == text:
            return chosen
    raise ValueError(f"{learner} on {proof_set.name}: no combination of its grid is {text!r}")


def cells(proof_set: ProofSet, page: Path = PAGE) -> dict[str, dict[int | str, Recorded]]:
    """Learner -> budget -> cell."""
    lines = _lines(page, f"{proof_set.name}:")
    budgets = [_budget(each) for each in next(lines)[1:]]
    found: dict[str, dict[int | str, Recorded]] = {}
    for name, *texts in lines:
        for budget, text in zip(budgets, texts, strict=True):
            match = _CELL.search(text)
            if match:
                mean, spread = match["mean"], match["spread"]
                shown = mean if spread is None else f"{mean} ± {spread}"
                size = parse_bytes(match["bytes"].replace(" ", ""), "bytes")
                found.setdefault(name, {})[budget] = Recorded(float(mean), shown, size)
    return found


def _budget(text: str) -> int | str:
    return int(text.removeprefix("B = ")) if text.startswith("B = ") else text


def _lines(page: Path, title: str) -> Iterator[list[str]]:
    """The cells of each line of the first table below a heading that begins like this."""
    after = page.read_text(encoding="utf-8").split(f"\n## {title}", 1)
    for line in after[1].splitlines()[1:] if len(after) == 2 else ():
        if line.startswith("## "):
            return
        if line.startswith("| "):
            yield [each.strip() for each in line.strip("|\n ").split(" | ")]


def of_all(page: Path = PAGE) -> dict[str, dict[str, dict[int | str, Recorded]]]:
    """Set -> learner -> budget -> cell."""
    return {each.name: cells(each, page) for each in SETS if not each.only}
