"""Learners side by side: budgets, streams and permutations, in parallel, resumable.

`compare` plans cells, runs those that its folder lacks, summarises them, and writes tables,
records, figures and a page (`report`). Two baselines that use no feature are included: the majority
class (or the mean), and the last label.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from budgetron import catalogue
from budgetron.errors import BudgetronError
from budgetron.lab.cells import (
    Cell,
    Failure,
    Settings,
    finish,
    labelled,
    planned,
    references,
    setups,
)
from budgetron.lab.learners_by_name import named
from budgetron.lab.rows import Rows, load
from budgetron.lab.statistics import Line, conclusion, summarise
from budgetron.lab.store import Record, Store, check_folder
from budgetron.lab.workers import Workers, check_backend

if TYPE_CHECKING:
    from budgetron.streams import SourceOptions

__all__ = ["Comparison", "Failure", "Line", "Rows", "Settings", "compare", "load"]


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison.

    Attributes
    ----------
    summary : stream -> lines of its table
    records : finished cells
    failures : cells that raised
    skipped : messages about malformed rows that were skipped, one text per stream
    warnings : warning of a learner -> in how many cells
    positive : stream -> the class for precision, recall and F1, if there is one

    Examples
    --------
    >>> import tempfile
    >>> from budgetron.compare import Settings, compare
    >>> from budgetron.streams import two_gaussians
    >>> found = compare(
    ...     [("noisy", *two_gaussians(100))], ["rbp"], tempfile.mkdtemp(), budgets=[10],
    ...     settings=Settings(repeats=2), processes=1,
    ... )  # doctest: +SKIP
    >>> len(found.records), len(found.failures)  # doctest: +SKIP
    (2, 0)
    """

    summary: dict[str, list[Line]]
    records: list[Record]
    failures: list[Failure[Cell]]
    skipped: list[str] = field(default_factory=list)
    warnings: dict[str, int] = field(default_factory=dict)
    positive: dict[str, str | None] = field(default_factory=dict)

    @property
    def conclusion(self) -> str:
        """The result in one sentence."""
        return conclusion(self.summary)

    def failed(self, stream: str) -> list[tuple[str, int | str | None]]:
        """Learner and budget of the setups whose cells all failed."""
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
    backend: str | None = None,
    address: str | None = None,
    command: str | None = None,
    report: Callable[[int, str], None] = lambda done, text: None,
    begin: Callable[[int], None] = lambda cells: None,
    say: Callable[[str], None] = lambda text: None,
) -> Comparison:
    """Compare learners and write the results into the folder `out`.

    Parameters
    ----------
    streams : names for `budgetron.streams.open_stream`, or (name, X, y)
    algorithms : names of the catalogue, or module:attribute; label=name to use one twice;
        ["all"]: all of the catalogue that do the task
    out : folder; cells that were finished there before are not run again
    budgets : budgets of the learners that have one
    settings : repeats, seed and others
    common, own : parameters for all that have them; for one label
    task : "classification" or "regression"; None: from the labels of each stream
    rows : number of rows to use of each stream
    options : how to read named streams: label, columns, dtype and others
    processes : number of processes; None: from `joblib.parallel_config`, else one per core
    backend : "loky", "dask" or "ray", where cells run; None: from `joblib.parallel_config`
    address : address of the Dask or Ray cluster; None: processes of this machine
    command : the command line, for the report
    report, begin : called with the number of cells done and a text; with the number of all
    say : called with messages about the streams

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
    check_backend(backend, address)
    folder = Path(out)
    check_folder(folder)
    for text in algorithms if list(algorithms) != ["all"] else ():
        named(labelled(text)[1])
    loaded = load(streams, rows, options, task, say)
    with Workers(processes, backend, address) as pool:
        pool.start()
        cells, failures = _plan(loaded, algorithms, budgets, common or {}, own or {}, settings)
        store = Store(folder)
        try:
            begin(sum(cell.key not in store for cell in cells))

            def tell(done: int, total: int) -> None:
                kept = len(cells) - total
                before = f", {kept:,} kept from before" if kept else ""
                report(done, f"{done:,} of {total:,} cells{before}")

            failures += finish(cells, store, pool, tell)
            records = [_relabelled(store[cell.key], cell) for cell in cells if cell.key in store]
        finally:
            store.close()
        skipped = [each.skipped for each in loaded if each.skipped]
        warned = dict(pool.warnings)
        positive = {each.name: each.positive(settings.positive) for each in loaded}
        found = Comparison(summarise(records), records, failures, skipped, warned, positive)
        if records:
            from budgetron.lab.report import write

            write(folder, found, loaded, settings, command, pool)
    return found


def _plan(
    loaded: Sequence[Rows],
    algorithms: Sequence[str],
    budgets: Sequence[int | str],
    common: Mapping[str, Any],
    own: Mapping[str, Mapping[str, Any]],
    settings: Settings,
) -> tuple[list[Cell], list[Failure[Cell]]]:
    """All cells, after every setup has learned a few rows, and failures of those that could not.

    An error of a learner of the catalogue is about a parameter that the user gave, and ends the
    comparison before anything is run; a user's own learner may fail in any way, and the others go
    on.
    """
    chosen = {
        task: [*setups(_names(algorithms, task), budgets, task, common, own), *references(task)]
        for task in dict.fromkeys(each.task for each in loaded)
    }
    for each in loaded:
        each.label_called(settings.positive)
        if settings.delay >= len(each.y):
            late = f"a delay of {settings.delay:,} rows is too long"
            raise BudgetronError(f"{late}: {each.name} has {len(each.y):,} rows, so no label comes")
    cells = planned([(each, chosen[each.task]) for each in loaded], settings)
    broken: dict[tuple[str, str, Any], str] = {}
    for cell in cells:
        what = cell.try_out() if cell.repeat == 0 else ""
        if what and not cell.own:
            raise BudgetronError(f"{cell.setup.label}: {what}")
        if what:
            broken[cell.line] = what
    failures = [Failure(cell, broken[cell.line]) for cell in cells if cell.line in broken]
    if not any(cell.line not in broken and not cell.setup.reference for cell in cells):
        raise BudgetronError(f"{failures[0].cell.setup.label}: {failures[0].what}")
    return [cell for cell in cells if cell.line not in broken], failures


def _names(algorithms: Sequence[str], task: str) -> Sequence[str]:
    """As given; for "all" those of the catalogue that do the task."""
    if list(algorithms) != ["all"]:
        return algorithms
    return [each.name for each in catalogue.algorithms(task)]


def _relabelled(record: Record, cell: Cell) -> Record:
    """The record with today's names: an equal cell may have been run with others."""
    return {
        **record,
        "stream": cell.rows.name,
        "algorithm": cell.setup.label,
        "reference": cell.setup.reference,
        "repeat": cell.repeat,
    }
