"""Parameter search: a grid on the first rows of a stream; bad candidates stop early.

Successive halving: every candidate of the grid sees a few rows, the best third sees three times as
many, and so on until the last few see all. The grids that the papers searched are data, `grid.toml`
of each paper. For a learner of the catalogue the search covers the papers' values of its own
parameters, with and without scaling (with missing values only scale="auto", which takes them), and
multiples of the gamma of the median rule: the papers' numbers for gamma are for features in their
original units.
"""

from __future__ import annotations

import itertools
import math
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from budgetron._papers import papers
from budgetron.catalogue import CATALOGUE
from budgetron.errors import BudgetronError
from budgetron.evaluate import held_out
from budgetron.lab.cells import Cell, Settings, Setup, finish, references
from budgetron.lab.formulas import value
from budgetron.lab.learners_by_name import named
from budgetron.lab.rows import load
from budgetron.lab.statistics import ERRORS
from budgetron.lab.store import Record, Store
from budgetron.lab.workers import Workers, check_backend

if TYPE_CHECKING:
    from budgetron.streams import SourceOptions

__all__ = ["Candidate", "Tuning", "combinations", "default_grid", "paper_grid", "tune"]

KEEP = 3  # one of so many continues
FEWEST_ROWS = 250  # of the first rung: with fewer rows the candidates do not differ clearly
WIDTHS = ["0.25*median", "0.5*median", "median", "2*median", "4*median", "16*median"]
SCALES = ["auto", "standard", None]
TRAIN = 0.8  # share of the rows to learn for the held-out error, as in Le et al. 2017


@dataclass(frozen=True)
class Candidate:
    """A combination of the grid.

    Attributes
    ----------
    params : its values of the grid's parameters
    rows : number of rows it has seen
    error : on these; mistakes as a share of rows, or RMSE; inf if it failed
    what : why it failed
    """

    params: dict[str, Any]
    rows: int = 0
    error: float = math.inf
    what: str = ""


@dataclass(frozen=True)
class Tuning:
    """The result of a search.

    Attributes
    ----------
    task, rows : what was tuned on
    candidates : the best first
    skipped : message about malformed rows that were skipped
    references : baseline that uses no feature -> its error on all rows: the majority class or the
        mean, and the last label
    warnings : warning of a learner -> how often

    Examples
    --------
    >>> from budgetron.streams import two_gaussians
    >>> from budgetron.tune import tune
    >>> found = tune(("noisy", *two_gaussians(200)), "rbp")  # doctest: +SKIP
    >>> found.candidates[0].params  # doctest: +SKIP
    """

    task: str
    rows: int
    candidates: list[Candidate]
    skipped: str = ""
    references: dict[str, float] = field(default_factory=dict)
    warnings: dict[str, int] = field(default_factory=dict)

    @property
    def best(self) -> Candidate:
        return self.candidates[0]

    def shown(self, error: float) -> str:
        """An error as people read it."""
        return f"{error:.2%}" if self.task == "classification" else f"{error:.4f}"

    def conclusion(self, algorithm: str) -> str:
        """The result in one sentence."""
        error = self.shown(self.best.error)
        what = f"makes {error} mistakes" if self.task == "classification" else f"has RMSE {error}"
        bar, least = min(self.references.items(), key=lambda each: each[1])
        word = "better" if self.best.error < least else "no better"
        return (
            f"The best of {len(self.candidates)} settings of {algorithm} {what}, {word} than the "
            f"{bar} ({self.shown(least)})."
        )


class _HeldOut(Cell):
    """A cell whose error is that on the last rows, after learning the others."""

    def run(self) -> Record:
        X, y = self.rows.X, self.rows.y
        cut = max(1, round(TRAIN * len(y)))
        parts = (X[:cut], y[:cut]), (X[cut:], y[cut:])
        return {"checkpoints": [held_out(self.make(), *parts, task=self.rows.task)]}


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
    backend: str | None = None,
    address: str | None = None,
    report: Callable[[int, str], None] = lambda done, text: None,
    begin: Callable[[int], None] = lambda trials: None,
    say: Callable[[str], None] = lambda text: None,
) -> Tuning:
    """Search a grid on the first rows of a stream.

    Parameters
    ----------
    stream : a name for `budgetron.streams.open_stream`, or (name, X, y)
    algorithm : name in the catalogue, or module:attribute
    grid : parameter -> values, numbers or formulas in T; None: see `default_grid`
    params : fixed parameters; they are not searched
    rows : number of first rows to use
    by : "prequential", each row predicted before it is learned; or "held-out", the last fifth
        predicted after the others are learned
    task : as for `budgetron.lab.compare.compare`
    seed : seed of the order and of the learner
    keep_order : do not permute the rows
    halving : stop bad candidates early; False: every candidate sees all rows
    options, processes, backend, address, report, begin, say : as for
        `budgetron.lab.compare.compare`

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
    check_backend(backend, address)
    learner = named(algorithm)
    (data,) = load([stream], rows, options, task, say)
    fixed = dict(params or {})
    wanted = grid if grid is not None else default_grid(algorithm, learner.parameters(data.task))
    if grid is None and "scale" in wanted and "scale" not in fixed and data.has_gaps:
        wanted = {**wanted, "scale": ["auto"]}
        say(f"{data.name}: has missing values, which need scale=auto: no other scale is tried")
    wanted = {name: values for name, values in wanted.items() if name not in fixed}
    candidates = [Candidate(each) for each in combinations(wanted, len(data.y))]
    for candidate in candidates:
        learner.make(data.task, **{**fixed, **candidate.params})
    X, y = data.permuted(None if keep_order else seed)
    settings = Settings(repeats=1, seed=seed, keep_order=True, checkpoints=1)
    kind = _HeldOut if by == "held-out" else Cell

    def cells(setups: Sequence[Setup], rows: int) -> list[Cell]:
        part = replace(data, X=X[:rows], y=y[:rows], given_task=data.task)
        return [kind(part, setup, 0, settings) for setup in setups]

    def of_candidates(some: Sequence[Candidate], rows: int) -> list[Cell]:
        chosen = [{**fixed, **each.params} for each in some]
        version = learner.version
        return cells([Setup(algorithm, algorithm, None, each, version) for each in chosen], rows)

    with Workers(processes, backend, address) as pool:
        pool.start()
        rungs = _rungs(len(candidates), len(data.y)) if halving else [len(data.y)]
        begin(sum(_going_on(len(candidates), rung) for rung in range(len(rungs))))
        found = _climb(candidates, rungs, of_candidates, pool, report)
        bars = references(data.task)
        errors = _errors(cells(bars, len(data.y)), pool)
    ranked = sorted(found, key=lambda candidate: (-candidate.rows, candidate.error))
    if math.isinf(ranked[0].error):
        raise BudgetronError(f"{algorithm}: {ranked[0].what or 'every error is infinite'}")
    beside = {bar.label: error for bar, (error, _) in zip(bars, errors, strict=True)}
    return Tuning(data.task, len(data.y), ranked, data.skipped, beside, dict(pool.warnings))


def _rungs(candidates: int, rows: int) -> list[int]:
    """How many rows the candidates see before each selection; the last time all."""
    levels = 0
    while KEEP ** (levels + 1) <= candidates and rows // KEEP ** (levels + 1) >= FEWEST_ROWS:
        levels += 1
    return [rows // KEEP**level for level in range(levels, -1, -1)]


def _going_on(candidates: int, rung: int) -> int:
    return -(-candidates // int(KEEP**rung))


def _climb(
    candidates: list[Candidate],
    rungs: list[int],
    cells: Callable[[Sequence[Candidate], int], list[Cell]],
    pool: Workers,
    report: Callable[[int, str], None],
) -> list[Candidate]:
    """Every candidate after the last rung it reached."""
    total = len(candidates)
    before = 0
    active = list(range(total))
    found = list(candidates)
    for rung, rows in enumerate(rungs):
        active = active[: _going_on(total, rung)]
        text = f"{len(active):,} of {total:,} candidates on {rows:,} rows"

        def tell(done: int, _: int, before: int = before, text: str = text) -> None:
            report(before + done, text)

        errors = _errors(cells([found[i] for i in active], rows), pool, tell)
        for i, (error, what) in zip(active, errors, strict=True):
            found[i] = Candidate(found[i].params, rows, error, what)
        before += len(active)
        # Stable, and back in the grid's order first: of tied candidates the first continues.
        active = sorted(sorted(active), key=lambda i: found[i].error)
    return found


def _errors(
    cells: Sequence[Cell],
    pool: Workers,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> list[tuple[float, str]]:
    """The error of every cell, inf if it has none or failed, and why it failed."""
    store = Store()
    failed = {each.cell.key: each.what for each in finish(cells, store, pool, report)}

    def error(cell: Cell) -> float:
        value = store[cell.key]["checkpoints"][-1][ERRORS[cell.rows.task][0]]
        return float(value) if math.isfinite(value) else math.inf

    keys = [cell.key for cell in cells]
    return [
        (math.inf, failed[key]) if key in failed else (error(cell), "")
        for key, cell in zip(keys, cells, strict=True)
    ]


def default_grid(algorithm: str, parameters: Sequence[str] | None) -> dict[str, list[Any]]:
    """The grid to search if none is given.

    For a learner of the catalogue, the papers' grid of its own parameters, scaling, and multiples
    of the median rule's gamma; for a user's own learner the papers' grid, as far as it has these.

    Examples
    --------
    >>> default_grid("avp", ["gamma", "scale", "epsilon"])["gamma"]
    ['0.25*median', '0.5*median', 'median', '2*median', '4*median', '16*median']
    """
    found = paper_grid(algorithm, parameters)
    return found | {"gamma": [*WIDTHS], "scale": [*SCALES]} if algorithm in CATALOGUE else found


def paper_grid(algorithm: str, parameters: Sequence[str] | None) -> dict[str, list[Any]]:
    """The grid that papers print: its own parameters, and the kernel width if it has one.

    Parameters
    ----------
    algorithm : its name in the catalogue
    parameters : parameters to search; None: all for which papers print a grid

    Raises
    ------
    BudgetronError
        If there is nothing to search.

    Examples
    --------
    >>> from budgetron.tune import paper_grid
    >>> paper_grid("ahpatron", ["epsilon"])
    {'epsilon': [0.5, 0.6, 0.7, 0.8, 0.9]}
    """
    known: dict[str, dict[str, list[Any]]] = {}
    for folder in papers().values():
        path = folder / "grid.toml"
        known |= tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    listed = known["common"] | known.get(algorithm, {})
    found = {name: list(values) for name, values in listed.items() if name in (parameters or ())}
    if not found:
        raise BudgetronError(
            f"the papers have no grid for {algorithm}: pass one, as in --grid C=1,10"
        )
    return found


def combinations(grid: Mapping[str, Sequence[Any]], rows: int) -> Iterator[dict[str, Any]]:
    """Every combination of values, with formulas computed for so many rows.

    Parameters
    ----------
    grid : the values of each parameter; a text is a formula of T, as "1/sqrt(T)"
    rows : T, the number of rows

    Examples
    --------
    >>> list(combinations({"gamma": [1.0], "step": ["1/sqrt(T)", 2.0]}, rows=400))
    [{'gamma': 1.0, 'step': 0.05}, {'gamma': 1.0, 'step': 2.0}]
    """
    columns = [[value(each, rows) for each in values] for values in grid.values()]
    for chosen in itertools.product(*columns):
        yield dict(zip(grid, chosen, strict=True))
