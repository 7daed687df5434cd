"""Runs of a paper's table: one learner, one setting, one seeded permutation each.

`measure` chooses from the grids of a set's lines, then runs every line on its permutations. A run
is a cell of the laboratory (`lab.cells`): what the store already has is not run again.
"""

from __future__ import annotations

import math
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from itertools import product
from multiprocessing import (
    current_process,
    get_all_start_methods,
    get_context,
    get_start_method,
    set_start_method,
)
from multiprocessing.connection import Connection
from traceback import format_exception
from typing import Any

import budgetron
from budgetron.errors import BudgetronError
from budgetron.lab.cells import Work, finish
from budgetron.lab.reproduce import data, protocols
from budgetron.lab.reproduce.protocols import PROTOCOLS, Outcome
from budgetron.lab.reproduce.tables import PERMUTATIONS, Params, Row, Set, Table
from budgetron.lab.statistics import deviation, mean
from budgetron.lab.store import Record, Store, key_of
from budgetron.lab.workers import Workers

# Fields of a set that do not change its rows.
_NO_PART_OF_THE_ROWS = (
    "published",
    "name",
    "permutations",
    "validation",
    "preparation",
    "not_run",
)


# The prefix of the reason if a run failed.
FAILED = "failed: "


@dataclass(frozen=True)
class Measured:
    """Ours, for one line of a table: the setting chosen from the grid, one outcome per seed."""

    chosen: Params
    outcomes: tuple[Outcome, ...]

    @property
    def values(self) -> list[float]:
        """The outcomes of runs that ended within their limit."""
        return [outcome.value for outcome in self.outcomes if outcome.value is not None]

    @property
    def ended(self) -> bool:
        """Whether every run did."""
        return len(self.values) == len(self.outcomes)

    @property
    def mean(self) -> float:
        return mean(self.values) if self.ended else math.nan

    @property
    def sd(self) -> float:
        return deviation(self.values)

    def of(self, name: str) -> float:
        """The mean of another field of outcomes: stored, seconds, test_seconds."""
        return mean([getattr(outcome, name) for outcome in self.outcomes])


# A set of a table with its measurements, or with the reason why there are none.
Result = tuple[Set, list[Measured | str] | str]


@dataclass(frozen=True)
class Run(Work):
    """A cell: one line on one permutation.

    Attributes
    ----------
    number : number of the run on the same rows; each has its own seed of the learner
    validation : try the setting only on this many rows, or this share of them, of which a fifth is
        held out
    prefix : try it only on this many rows, by the table's own protocol
    """

    data_set: Set
    row: Row
    setting: Params
    seed: int
    protocol: str = "online"
    validation: float | None = None
    prefix: int | None = None
    number: int = 0

    @property
    def learner_seed(self) -> int:
        """Seed of the learner; in the first run the seed of the rows."""
        return self.seed + 1_000_000 * self.number

    @property
    def title(self) -> str:
        return f"{self.data_set.name}, {self.row.algorithm}"

    @property
    def key(self) -> str:
        return key_of(self.about)

    @property
    def about(self) -> dict[str, Any]:
        """All that the outcome depends on."""
        rows = {
            f.name: getattr(self.data_set, f.name)
            for f in fields(Set)
            if f.name not in _NO_PART_OF_THE_ROWS and getattr(self.data_set, f.name) != f.default
        }
        repeated = {"run": self.number} if self.number else {}
        return {
            "version": budgetron.__version__,
            "rows": {key: list(v) if isinstance(v, tuple) else v for key, v in rows.items()},
            "learner": self.row.learner,
            "params": {**self.row.params, **self.setting},
            "limit": self.row.limit,
            "seed": self.seed,
            "protocol": self.protocol,
            "validation": self.validation,
            "prefix": self.prefix,
            **repeated,
        }

    def run(self) -> Record:
        return asdict(self.outcome())

    def outcome(self) -> Outcome:
        """With a limit, in its own process, which can be stopped."""
        if self.row.limit is None or self.validation is not None:
            return _run(self, _rows(self))
        # A loky worker passes loky's start method to its children, which know only Python's own.
        if get_start_method(allow_none=True) not in (None, *get_all_start_methods()):
            set_start_method("spawn", force=True)
        context = get_context("spawn")
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_send, args=(theirs, self), daemon=True)
        with _no_daemon():
            process.start()
        theirs.close()
        try:
            found = ours.recv()
            if found is None:  # the clock starts
                found = ours.recv() if ours.poll(self.row.limit) else Outcome(None)
        except EOFError:
            found = BudgetronError("the process died")
        finally:
            process.kill()
            process.join()
        if isinstance(found, Outcome):
            return found
        raise found


@contextmanager
def _no_daemon() -> Iterator[None]:
    """Dask workers are daemons, which may not start processes; ours ends with its run."""
    settings = current_process()._config  # type: ignore[attr-defined]
    before = settings.get("daemon")
    settings["daemon"] = False
    try:
        yield
    finally:
        settings["daemon"] = before


def _send(connection: Connection, job: Run) -> None:
    """Send two messages: the rows are ready, or why not; and the result of the run."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # only the parent handles Ctrl-C
    try:
        rows = _rows(job)
        connection.send(None)
        found: Outcome | Exception = _run(job, rows)
    except Exception as error:
        if not isinstance(error, BudgetronError):  # a bug: its traceback stays in this process
            error.add_note("".join(format_exception(error)))
        found = error
    connection.send(found)


def _rows(job: Run) -> data.Split:
    rows = data.permuted(job.data_set, job.seed)
    count = len(rows.y) + len(rows.test_y)
    if count != job.data_set.rows:
        raise BudgetronError(
            f"{job.data_set.name}: {count} rows; the table has {job.data_set.rows}"
        )
    return rows


def _run(job: Run, rows: data.Split) -> Outcome:
    protocol = PROTOCOLS[job.protocol]
    if job.validation is None:
        if job.prefix is not None:
            X, y = rows.X[: job.prefix], rows.y[: job.prefix]
            rows = rows._replace(X=X, y=y, total=len(rows.y))
        return protocol.run(job.row, job.setting, rows, job.learner_seed)
    part = job.validation
    count = round(part * len(rows.y)) if isinstance(part, float) else part
    return protocols.validation(
        job.row, job.setting, rows, job.seed, count=count, task=protocol.task
    )


@dataclass(frozen=True)
class Lab:
    """Where runs happen: processes, the store, and callbacks."""

    pool: Workers
    store: Store
    progress: Callable[[int, int], None] = lambda done, total: None

    def outcomes(self, runs: Sequence[Run]) -> list[Outcome | str]:
        """The outcome of every run, from the store or by running it now; or why it failed."""
        failures = finish(runs, self.store, self.pool, self.progress)
        failed = {failure.cell.key: failure.what for failure in failures}
        return [
            failed[run.key] if run.key in failed else Outcome.of(self.store[run.key])
            for run in runs
        ]


def measure_table(
    table: Table,
    permutations: int | None,
    lab: Lab,
    *,
    tune: bool = False,
    begin: Callable[[str], None] = lambda title: None,
) -> list[Result]:
    """Every set of a table, with the lines of the baselines below its own.

    `begin` is called with the title of each set before it is run; the rest is as for `measure`.
    """
    names = PROTOCOLS[table.protocol].references
    below = tuple(Row(name, name, {}, {}, {}, reference=True) for name in names)
    results: list[Result] = []
    for data_set in table.sets:
        reason = data.missing(data_set) or (None if data_set.published else "no line to run")
        if reason is not None:
            results.append((data_set, reason))
            continue
        begin(f"{table.name}: {data_set.name}")
        whole = replace(data_set, published=(*data_set.published, *below))
        results.append((whole, measure(table, whole, permutations, lab, tune=tune)))
    return results


def measure(
    table: Table, data_set: Set, permutations: int | None, lab: Lab, *, tune: bool = False
) -> list[Measured | str]:
    """Every line of a set, or why it was not run, or failed.

    Parameters
    ----------
    permutations : seeds 0, 1, ..., and runs per seed. If the set or the line gives a number, this
        is the maximum; None: as the table says, else `PERMUTATIONS`
    tune : choose from the grids again, instead of using the table's choice
    """
    rows = [row for row in data_set.published if row.not_run is None]
    chosen = _choose(table, data_set, rows, lab, tune=tune)
    jobs = []
    most = sys.maxsize if permutations is None else permutations
    for row, setting in zip(rows, chosen, strict=True):
        named = row.permutations or data_set.permutations
        seeds = min(named, most) if named else PERMUTATIONS if permutations is None else most
        for seed, run in product(range(seeds), range(min(row.runs, most))):
            jobs.append(Run(data_set, row, setting, seed, table.protocol, number=run))
    jobs.sort(key=lambda job: job.seed)  # a worker keeps the rows of one seed
    pairs = list(zip(jobs, lab.outcomes(jobs), strict=True))

    def ours(row: Row, setting: Params) -> Measured | str:
        mine = [(job.seed, outcome) for job, outcome in pairs if job.row is row]
        of_seed: dict[int, list[Outcome]] = {}
        for seed, outcome in mine:
            if isinstance(outcome, str):
                return f"{FAILED}{outcome}"
            of_seed.setdefault(seed, []).append(outcome)
        return Measured(setting, tuple(map(_mean, of_seed.values())))

    lines = iter([ours(row, setting) for row, setting in zip(rows, chosen, strict=True)])
    return [next(lines) if row.not_run is None else row.not_run for row in data_set.published]


def _mean(runs: Sequence[Outcome]) -> Outcome:
    """The outcome of a seed's run, or the means of several, without a curve."""
    if len(runs) == 1:
        return runs[0]
    all_of = Measured({}, tuple(runs))
    value = all_of.mean if all_of.ended else None
    stored, seconds, test_seconds = map(all_of.of, ("stored", "seconds", "test_seconds"))
    return Outcome(value, round(stored), seconds, test_seconds)


def _choose(
    table: Table, data_set: Set, rows: Sequence[Row], lab: Lab, *, tune: bool
) -> list[Params]:
    """A setting of its grid for each line: the table's, or the best of those tried."""
    settled = [row.chosen if set(row.chosen) == set(row.grid) else None for row in rows]
    open_rows = [row for row, known in zip(rows, settled, strict=True) if tune or known is None]
    trials = [
        Run(data_set, row, setting, 0, table.protocol, held, None if held else table.prefix)
        for row in open_rows
        for held in [row.validation or data_set.validation or table.validation]
        if row.grid
        for setting in row.settings()
    ]
    tried = list(zip(trials, lab.outcomes(trials), strict=True)) if trials else []

    def loss(job: Run, outcome: Outcome | str) -> float:
        if isinstance(outcome, str) or outcome.value is None or not math.isfinite(outcome.value):
            return math.inf
        error = job.validation is not None
        return outcome.value if error else PROTOCOLS[table.protocol].loss(outcome.value)

    best = []
    for row, known in zip(rows, settled, strict=True):
        mine = [pair for pair in tried if pair[0].row is row]
        best.append(min(mine, key=lambda pair: loss(*pair))[0].setting if mine else known or {})
    return best
