"""Finding parameters: a grid, tried on the beginning of a stream, losers stopped early.

Successive halving: every candidate of the grid sees a few rows, the best third sees three times as
many, and so on until the last few see all. Which grid the papers searched is data (`grids.toml`).
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from budgetron.errors import BudgetronError
from budgetron.evaluate import held_out, prequential
from budgetron.lab.compare.data import Rows, load
from budgetron.lab.compare.plan import Cell, Settings, Setup
from budgetron.lab.compare.run import permuted, raise_bug
from budgetron.lab.compare.summary import ERRORS
from budgetron.lab.learners_by_name import named
from budgetron.lab.tune.grids import combinations, paper_grid
from budgetron.lab.workers import expect, workers

if TYPE_CHECKING:
    from budgetron.streams import SourceOptions

__all__ = ["Candidate", "Tuning", "combinations", "paper_grid", "tune"]

KEEP = 3  # one of so many goes on
FEWEST_ROWS = 250  # of the first rung: on fewer nothing can be told apart
TRAIN = 0.8  # of the rows, for the held-out error, as Le et al. 2017 have it


@dataclass(frozen=True)
class Candidate:
    """A combination of the grid.

    Attributes
    ----------
    params : its values of the grid's parameters
    rows : how many it has seen
    error : on these; mistakes as a share of rows, or RMSE; inf if it failed
    what : why it failed
    """

    params: dict[str, Any]
    rows: int = 0
    error: float = math.inf
    what: str = ""


@dataclass(frozen=True)
class Tuning:
    """What came out: candidates, the best first, and on what; what to tell of bad rows."""

    task: str
    rows: int
    candidates: list[Candidate]
    skipped: str = ""

    @property
    def best(self) -> Candidate:
        return self.candidates[0]


@dataclass(frozen=True)
class _Trial:
    number: int
    cell: Cell
    rows: int
    by: str
    folder: Path


def tune(
    stream: Any,
    algorithm: str,
    grid: Mapping[str, Sequence[Any]] | None = None,
    *,
    params: Mapping[str, Any] | None = None,
    rows: int = 10_000,
    by: str = "prequential",
    task: str | None = None,
    seed: int = 0,
    keep_order: bool = False,
    halving: bool = True,
    options: SourceOptions | None = None,
    processes: int | None = None,
    report: Callable[[int, str], None] = lambda done, text: None,
    begin: Callable[[int], None] = lambda trials: None,
) -> Tuning:
    """Search a grid on the beginning of a stream.

    Parameters
    ----------
    stream : what `budgetron.streams.open_stream` opens by name, or (name, X, y)
    algorithm : name in the catalogue, or module:attribute
    grid : parameter -> values, numbers or formulas in T; None: what the papers searched
    params : parameters that stay as they are; they leave the grid
    rows : of the stream's beginning
    by : "prequential", each row predicted before it is learned; or "held-out", the last fifth
        predicted after the others are learned
    task : as for `budgetron.lab.compare.compare`
    seed : of the order and of the learner
    keep_order : do not permute the rows
    halving : stop losers early; False: every candidate sees all rows
    options, processes, report, begin : as for `budgetron.lab.compare.compare`

    Raises
    ------
    BudgetronError
        If a name is wrong, or every candidate failed.

    Examples
    --------
    >>> from budgetron.streams import two_gaussians
    >>> found = tune(("noisy", *two_gaussians(500)), "ahpatron", {"epsilon": [0.5, 0.9]},
    ...              params={"gamma": 0.5, "budget": 20}, processes=1)
    >>> sorted(found.best.params), found.best.rows
    (['epsilon'], 1000)
    """
    if by not in ("prequential", "held-out"):
        raise BudgetronError(f"by={by!r} is not one of 'prequential', 'held-out'")
    processes = processes or os.cpu_count() or 1
    expect(processes)
    (data,) = load([stream], rows, options)
    chosen = task or data.task
    fixed = dict(params or {})
    learner = named(algorithm)
    wanted = paper_grid(algorithm, learner.parameters(chosen)) if grid is None else dict(grid)
    wanted = {name: values for name, values in wanted.items() if name not in fixed}
    candidates = [Candidate(each) for each in combinations(wanted, len(data.y))]
    for candidate in candidates:
        learner.make(chosen, **{**fixed, **candidate.params})
    settings = Settings(repeats=1, seed=seed, keep_order=keep_order)

    def cell(candidate: Candidate) -> Cell:
        setup = Setup(algorithm, algorithm, None, {**fixed, **candidate.params}, learner.version)
        return Cell(data.name, chosen, setup, 0, settings)

    rungs = _rungs(len(candidates), len(data.y)) if halving else [len(data.y)]
    begin(sum(_going_on(len(candidates), rung) for rung in range(len(rungs))))
    found = _climb(data, candidates, rungs, cell, by, processes, report)
    ranked = sorted(found, key=lambda candidate: (-candidate.rows, candidate.error))
    if math.isinf(ranked[0].error):
        raise BudgetronError(f"{algorithm}: {ranked[0].what or 'every error is infinite'}")
    return Tuning(chosen, len(data.y), ranked, data.skipped)


def _rungs(candidates: int, rows: int) -> list[int]:
    """How many rows the candidates see before each selection, the last time all."""
    levels = 0
    while KEEP ** (levels + 1) <= candidates and rows // KEEP ** (levels + 1) >= FEWEST_ROWS:
        levels += 1
    return [rows // KEEP**level for level in range(levels, -1, -1)]


def _going_on(candidates: int, rung: int) -> int:
    return -(-candidates // int(KEEP**rung))


def _climb(
    data: Rows,
    candidates: list[Candidate],
    rungs: list[int],
    cell: Callable[[Candidate], Cell],
    by: str,
    processes: int,
    report: Callable[[int, str], None],
) -> list[Candidate]:
    """Every candidate after the last rung it reached."""
    total = len(candidates)
    done = 0
    active = list(range(total))
    found = list(candidates)
    with tempfile.TemporaryDirectory(prefix="budgetron-") as name, workers(processes) as pool:
        folder = Path(name) / "rows"
        data.save(folder)
        for rung, rows in enumerate(rungs):
            active = active[: _going_on(total, rung)]
            trials = [_Trial(i, cell(found[i]), rows, by, folder) for i in active]
            try:
                for trial, error in pool.unordered(_try, trials):
                    done += 1
                    if isinstance(error, Exception):
                        raise_bug(trial.cell, error)
                    found[trial.number] = _outcome(found[trial.number], rows, error)
                    report(done, f"{len(active):,} of {total:,} candidates on {rows:,} rows")
            except BrokenProcessPool as error:
                raise BudgetronError("a worker process died, perhaps for lack of memory") from error
            # Stable, and back in the grid's order first: of the tied the first goes on.
            active = sorted(sorted(active), key=lambda i: found[i].error)
    permuted.cache_clear()
    return found


def _outcome(candidate: Candidate, rows: int, result: float | Exception) -> Candidate:
    if isinstance(result, Exception):
        return Candidate(candidate.params, rows, what=" ".join(str(result).split()))
    return Candidate(candidate.params, rows, result if math.isfinite(result) else math.inf)


def _try(trial: _Trial) -> float:
    """The error of one candidate on its rows."""
    cell = trial.cell
    X, y, labels = permuted(trial.folder, None if cell.settings.keep_order else cell.seed)
    X, y = X[: trial.rows], y[: trial.rows]
    model = cell.make()
    name = ERRORS[cell.task][0]
    if trial.by == "held-out":
        cut = max(1, round(TRAIN * len(y)))
        return held_out(model, (X[:cut], y[:cut]), (X[cut:], y[cut:]), task=cell.task)[name]
    classes = None if hasattr(model, "prequential") or cell.task == "regression" else labels
    found = prequential(model, X, y, task=cell.task, every=len(y), classes=classes)
    return found.last[name]
