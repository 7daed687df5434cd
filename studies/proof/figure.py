"""The proof in one figure: error against bytes, a panel a set, Budgetron before all others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from budgetron.lab.compare.summary import ERRORS
from studies.proof.plan import BUDGETS
from studies.proof.rivals import OURS
from studies.proof.standing import Entry, Table

COLUMNS = 5
# The strongest others keep a colour (Okabe and Ito's); the rest are grey.
COLOURS = {
    OURS: "#0072B2",
    "bsgd-merge": "#D55E00",
    "ahpatron": "#009E73",
    "projectron++": "#CC79A7",
    "fogd": "#E69F00",
    "nogd": "#56B4E9",
    "bpas": "#000000",
}


def draw(tables: Sequence[Table], path: Path) -> None:
    """Write the figure; panels show up to twice the least error."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt
    from matplotlib.lines import Line2D

    shown = [table for table in tables if table.compared]
    if not shown:
        return
    rows = -(-len(shown) // COLUMNS)
    with plt.rc_context({"font.size": 8, "axes.spines.top": False, "axes.spines.right": False}):
        figure, axes = plt.subplots(
            rows, COLUMNS, figsize=(13, 2.9 * rows), layout="constrained", squeeze=False
        )
        for axis in axes.flat[len(shown) :]:
            axis.set_visible(False)
        for axis, table in zip(axes.flat, shown, strict=False):
            _panel(axis, table)
        handles = [Line2D([], [], color=c, lw=3 if n == OURS else 1.5) for n, c in COLOURS.items()]
        figure.legend(
            [*handles, Line2D([], [], color="0.8")],
            [*COLOURS, "all others"],
            loc="outside lower center",
            ncols=8,
            frameon=False,
        )
        figure.savefig(path, dpi=90)
        plt.close(figure)


def _panel(axis: Any, table: Table) -> None:
    means = [entry.mean for b in BUDGETS for entry in table.entries.get(b, {}).values()]
    for learner in reversed(table.learners):
        points = sorted((e.bytes / 1000, e.mean) for e in _of(table, learner))
        if points:
            ours = learner == OURS
            axis.plot(
                *zip(*points, strict=True),
                color=COLOURS.get(learner, "0.8"),
                lw=2.5 if ours else 1.2 if learner in COLOURS else 0.7,
                marker="o" if learner in COLOURS else None,
                ms=4 if ours else 2.5,
                zorder=3 if ours else 2 if learner in COLOURS else 1,
            )
    axis.set_xscale("log")
    axis.set_ylim(0.93 * min(means), min(2.0 * min(means), 1.05 * max(means)))
    axis.set_title(table.proof_set.name)
    axis.set_xlabel("kB")
    axis.set_ylabel(ERRORS[table.proof_set.task][1])
    axis.grid(alpha=0.3)


def _of(table: Table, learner: str) -> list[Entry]:
    found = [table.entries.get(budget, {}).get(learner) for budget in BUDGETS]
    return [entry for entry in found if entry is not None]
