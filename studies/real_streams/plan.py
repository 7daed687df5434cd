"""The cells of the study, in the order in which they are run.

Groups, on the first 20,000 rows of each stream: `quick` (reference learners that use no feature,
and other learners that take little time), `ours` (every learner of the catalogue), one group per
slow other learner; `delayed-100` and the like (labels so many rows later); `whole` (ours with a
budget, on all rows); `harmed` (damaged rows, see `harm`).

A cell is kept under the version of its learner: that of River, Vowpal Wabbit or budgetron; for
Budgetron itself, the compiled module, which changes most often.
"""

from __future__ import annotations

from collections.abc import Iterator

from budgetron import catalogue
from budgetron.lab.cells import Cell, Settings, Setup, references
from budgetron.lab.rows import Rows
from studies import build
from studies.build import OURS
from studies.real_streams.harm import HARMED, harmed
from studies.real_streams.others import RIVER, VW, version_of
from studies.real_streams.sources import FIRST, SHUFFLED, SOURCES, Source

BUDGET = 100
POINTS = 50  # points of the curve of error over time
# Limit of processor time for one cell: a slower one ends there, with the rows it has reached.
SECONDS = {"HoeffdingAdaptiveTree": 60.0, "ARF(10)": 80.0, "SRP(10)": 60.0, "KNN": 60.0}
SECONDS["VW ksvm"] = 30.0
MOST_SECONDS = 60.0
QUICK: tuple[str, ...] = ("LogisticRegression", "HoeffdingAdaptiveTree", "VW linear")
DELAYS = (100, 1000)
# With delayed labels: Budgetron and the best of ours, by the table with immediate labels.
LATE = (OURS, "ahpatron", "bpas", "bsgd-merge", "forgetron", "fogd", "nogd")
HARMED_OTHERS = ("LogisticRegression", "ARF(10)")
# The groups with one learner each.
SLOW = {"forest": "ARF(10)", "knn": "KNN", "srp": "SRP(10)", "ksvm": "VW ksvm"}
# Group -> delay of labels in rows, and which other learners.
DELAYED = {f"delayed-{delay}": (delay, QUICK) for delay in DELAYS}
DELAYED |= {f"forest-{delay}": (delay, ("ARF(10)",)) for delay in DELAYS}
GROUPS = ("quick", "ours", *SLOW, "whole", "harmed", *DELAYED)


def table(group: str) -> str:
    """The table of the store that holds the records of a group."""
    if group in DELAYED:
        return f"delayed-{DELAYED[group][0]}"
    return group if group in ("whole", "harmed") else "cells"


def ours(name: str, task: str) -> Setup:
    """A learner of ours with its defaults; a budget of 100 if it has one."""
    known = next(each for each in catalogue.algorithms(task) if each.name == name)
    budget = BUDGET if "budget" in known.parameters else None
    params = {} if budget is None else {"budget": budget}
    return Setup(name, name, budget, params, build.version_of(name))


def other(label: str, rows: Rows) -> Setup:
    """A learner of River or Vowpal Wabbit."""
    labels = rows.labels.tolist() if rows.task == "classification" else None
    maker = {**RIVER, **VW}[label].__name__
    learner = f"studies.real_streams.others:{maker}"
    return Setup(label, learner, None, {"labels": labels}, version_of(label))


def runs(label: str, rows: Rows) -> bool:
    """Whether this other learner can do the task: ksvm is for two classes."""
    return label != "VW ksvm" or (rows.task == "classification" and len(rows.labels) == 2)


def _cell(rows: Rows, setup: Setup, delay: int = 0) -> Cell:
    timed = setup.label in RIVER or setup.label in VW
    seconds = SECONDS.get(setup.label, MOST_SECONDS) if timed else None
    settings = Settings(
        repeats=1, keep_order=True, delay=delay, checkpoints=POINTS, seconds=seconds
    )
    return Cell(rows, setup, 0, settings)


def _plain(task: str) -> list[Setup]:
    """A reference learner that uses no feature; its code does not change."""
    return [
        Setup(each.label, each.learner, None, {}, "1", reference=True) for each in references(task)
    ]


def cells(group: str, source: Source) -> Iterator[Cell]:
    """The cells of one group on one stream."""
    if (source.name not in HARMED) if group == "harmed" else not source.ordered:
        return
    if group == "whole":
        rows = source.rows()
        if len(rows.y) <= FIRST:
            return
        yield from (_cell(rows, setup) for setup in _plain(rows.task))
        for known in catalogue.algorithms(rows.task):
            if "budget" in known.parameters or "n_components" in known.parameters:
                yield _cell(rows, ours(known.name, rows.task))
        return
    rows = source.rows(FIRST)
    if group == "quick":
        yield from (_cell(rows, setup) for setup in _plain(rows.task))
        yield from (_cell(rows, other(label, rows)) for label in QUICK)
    elif group in SLOW:
        if runs(SLOW[group], rows):
            yield _cell(rows, other(SLOW[group], rows))
    elif group == "ours":
        for known in catalogue.algorithms(rows.task):
            yield _cell(rows, ours(known.name, rows.task))
    elif group in DELAYED:
        delay, others = DELAYED[group]
        mine = _plain(rows.task) if others is QUICK else []
        for known in catalogue.algorithms(rows.task):
            if others is QUICK and known.name in LATE:
                mine.append(ours(known.name, rows.task))
        mine += [other(label, rows) for label in others]
        yield from (_cell(rows, setup, delay) for setup in mine)
    elif group == "harmed":
        for each in harmed(source):
            yield _cell(each, ours(OURS, each.task))
            for label in HARMED_OTHERS:
                yield _cell(each, other(label, each))


def sources(only: str = "") -> list[Source]:
    """All sources, or those whose name contains the word."""
    return [each for each in (*SOURCES, *SHUFFLED) if only in each.name]
