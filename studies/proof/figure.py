"""The proof in one figure: error against bytes, one panel per set, Budgetron in front."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from budgetron.lab.report.figures import draw_panels
from budgetron.lab.statistics import Line, summarise
from studies.build import OURS
from studies.proof import plan
from studies.proof.standing import Table

# The strongest others have colours; the rest are grey.
STRONG = (OURS, "bsgd-merge", "ahpatron", "projectron++", "fogd", "nogd", "bpas")


def draw(tables: Sequence[Table], path: Path) -> None:
    """Write PATH.png and PATH.svg."""
    panels: dict[str, list[Line]] = {}
    for table in tables:
        records = [each for each in table.records if each["budget"] in plan.BUDGETS]
        if table.compared and records:
            panels |= summarise(records)
    if panels:
        draw_panels(path, panels, STRONG, most=3.0)
