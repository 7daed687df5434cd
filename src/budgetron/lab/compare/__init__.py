"""Learners side by side: budgets, streams and permutations, in parallel, resumable.

`compare` runs the cells a folder does not have yet (`plan`, `run`, `store`), sums them up
(`summary`), and writes table, records, figures and a report (`tables`, `figures`, `report`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from budgetron.errors import BudgetronError
from budgetron.lab.compare.about import about
from budgetron.lab.compare.data import Rows, load
from budgetron.lab.compare.plan import Cell, Settings, Setup, cells, setups
from budgetron.lab.compare.run import Failure, run, try_out
from budgetron.lab.compare.store import Record, Store
from budgetron.lab.compare.summary import Line, summarise
from budgetron.lab.workers import Workers, expect, workers

if TYPE_CHECKING:
    from budgetron.streams import SourceOptions

__all__ = ["Comparison", "Failure", "Line", "Rows", "Settings", "compare", "load"]


@dataclass(frozen=True)
class Comparison:
    """What came out.

    Attributes
    ----------
    summary : stream -> lines of its table
    records : finished cells
    failures : cells that raised
    skipped : what to tell of malformed rows passed over, a text a stream
    """

    summary: dict[str, list[Line]]
    records: list[Record]
    failures: list[Failure]
    skipped: list[str]

    def failed(self, stream: str) -> list[tuple[str, int | str | None]]:
        """Learner and budget of the setups none of whose cells came through."""
        lines = {(line.algorithm, line.budget) for line in self.summary.get(stream, [])}
        raised = [failure.cell.line for failure in self.failures]
        found = dict.fromkeys((name, budget) for where, name, budget in raised if where == stream)
        return [each for each in found if each not in lines]


def compare(
    streams: Sequence[Any],
    algorithms: Sequence[str],
    out: str | os.PathLike[str],
    *,
    budgets: Sequence[int | str] = (),
    settings: Settings | None = None,
    common: Mapping[str, Any] | None = None,
    own: Mapping[str, Mapping[str, Any]] | None = None,
    task: str | None = None,
    rows: int | None = None,
    options: SourceOptions | None = None,
    processes: int | None = None,
    command: str | None = None,
    report: Callable[[int, str], None] = lambda done, text: None,
    begin: Callable[[int], None] = lambda cells: None,
) -> Comparison:
    """Compare learners and write what was found into the folder `out`.

    Parameters
    ----------
    streams : what `budgetron.streams.open_stream` opens by name, or (name, X, y)
    algorithms : names of the catalogue, or module:attribute; label=name to have one twice
    out : folder; cells finished there before are not run again
    budgets : of the learners that have one
    settings : repeats, seed and the like
    common, own : parameters for all that have them; for one label
    task : "classification" or "regression"; None: by the labels of each stream
    rows : only so many of each stream
    options : how to read streams that are named: label, columns, dtype and the like
    processes : at once; None: one per core
    command : what to say it was run by
    report, begin : called with the number of cells done and a text; with the number to do

    Examples
    --------
    >>> from budgetron.lab.compare import Settings, compare
    >>> from budgetron.streams import two_gaussians
    >>> found = compare(
    ...     [("noisy", *two_gaussians(200))], ["forgetron", "stoptron"], "out",
    ...     budgets=[10], common={"gamma": 0.5}, settings=Settings(repeats=3), processes=1,
    ... )  # doctest: +SKIP
    >>> [line.algorithm for line in found.summary["noisy"]]  # doctest: +SKIP
    ['forgetron', 'stoptron']
    """
    settings = settings or Settings()
    processes = processes or os.cpu_count() or 1
    expect(processes)
    folder = Path(out)
    loaded = load(streams, rows, options)
    if task is not None:
        loaded = [replace(each, told=task) for each in loaded]
    planned, failures = _planned(loaded, algorithms, budgets, common or {}, own or {}, settings)
    folder.mkdir(parents=True, exist_ok=True)
    store = Store(folder / "cells.jsonl")
    missing = sum(cell.key not in store.records for cell in planned)
    begin(missing)
    try:
        with workers(min(processes, max(missing, 1))) as pool:
            failures += run(loaded, planned, store, pool, report)
            records = [_relabelled(store, cell) for cell in planned if cell.key in store.records]
            summary = summarise(records)
            if records:
                _write(folder, about(loaded, settings, command, processes), summary, records, pool)
    except BrokenProcessPool as error:
        raise BudgetronError(
            "a worker process died, perhaps for lack of memory; finished cells are kept: "
            "try again with fewer --processes"
        ) from error
    skipped = [each.skipped for each in loaded if each.skipped]
    return Comparison(summary, records, failures, skipped)


def _planned(
    loaded: Sequence[Rows],
    algorithms: Sequence[str],
    budgets: Sequence[int | str],
    common: Mapping[str, Any],
    own: Mapping[str, Mapping[str, Any]],
    settings: Settings,
) -> tuple[list[Cell], list[Failure]]:
    """All cells, after every setup has learned a few rows, and those of learners that could not.

    What a learner of the catalogue says is about a parameter the user gave, and ends it all before
    anything is run; a learner of one's own may be wrong in any way, and the others go on.
    """
    chosen: dict[str, list[Setup]] = {}
    for each in loaded:
        if each.task not in chosen:
            chosen[each.task] = setups(algorithms, budgets, each.task, common, own)
    planned = cells([(each, chosen[each.task]) for each in loaded], settings)
    streams = {each.name: each for each in loaded}
    broken: dict[tuple[str, str, Any], str] = {}
    for cell in planned:
        if cell.repeat == 0:
            what = try_out(streams[cell.stream], cell)
            if what and not cell.setup.own:
                raise BudgetronError(f"{cell.setup.label}: {what}")
            if what:
                broken[cell.line] = what
    failures = [Failure(cell, broken[cell.line]) for cell in planned if cell.line in broken]
    if planned and len(failures) == len(planned):
        raise BudgetronError(f"{failures[0].cell.setup.label}: {failures[0].what}")
    return [cell for cell in planned if cell.line not in broken], failures


def _relabelled(store: Store, cell: Cell) -> Record:
    """The record under today's names: an equal cell may have been run under others."""
    record = store.records[cell.key]
    return {
        **record,
        "stream": cell.stream,
        "algorithm": cell.setup.label,
        "repeat": cell.repeat,
    }


def _write(
    folder: Path,
    facts: dict[str, Any],
    summary: dict[str, list[Line]],
    records: list[Record],
    pool: Workers,
) -> None:
    from budgetron.lab.compare.figures import draw
    from budgetron.lab.compare.report import write_report
    from budgetron.lab.compare.tables import markdown, write_records

    drawing = draw(folder / "figures", summary, pool)  # while the rest is written
    (folder / "about.json").write_text(
        json.dumps(facts, indent=1, default=str) + "\n", encoding="utf-8"
    )
    (folder / "table.md").write_text(markdown(summary), encoding="utf-8")
    write_records(folder, records)
    write_report(folder / "report.html", facts, summary, dict(drawing))
