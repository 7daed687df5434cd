"""An experiment of a paper, a table or a figure, read from its TOML file.

::

    paper, title, citation, text    whose it is, and what is printed above it
    tables = ["3"]                  numbers of the tables it holds
    protocol                        how a line is run and what its value is, see `protocols`
    validation, prefix              what is chosen from a grid is the best on the first permutation:
                                    on a held-out fifth of its first `validation` rows, or in a
                                    run over its first `prefix` rows, or over all of them.
                                    2500 is a number of rows; 0.01, with a point, is a part of the
                                    rows to learn, and 1.0 all of them. A set may have its own
                                    `validation`, which counts before the table's; an algorithm or
                                    a line too, which counts before the set's
    [algorithms.NAME]               learner, params, grid: how the paper ran this algorithm; table
                                    if the file holds several; sweep, a line for each value;
                                    permutations and runs, see `Row`; limit, seconds after which it
                                    is stopped; validation
    [[sets]]                        see `Set`, and gamma, of all its lines
    published = [{...}, ...]        a line of the table: algorithm, mean, sd, stored, seconds,
                                    test_seconds, and where needed budget, params, chosen,
                                    validation
    [sets.reasons]                  algorithm = why ours differs there
    [[figures]]                     number, title, x, y: see `Figure`
"""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from budgetron._papers import papers
from budgetron.errors import BudgetronError

Params = dict[str, Any]

# Number of seeded row orders, or streams, if a table does not say.
PERMUTATIONS = 10

# Limits of a quick table: rows per set, and seconds of a machine with a limit.
QUICK_ROWS = 70_000
QUICK_SECONDS = 60.0


@dataclass(frozen=True)
class Row:
    """A line of the published table, and what to run for it.

    Attributes
    ----------
    algorithm : the paper's name
    learner : ours, or one of `baselines`
    params : settings, possibly formulas
    grid : settings to choose from
    chosen : the choice when the table was last tuned; used unless tuning is asked for
    validation : rows for the choice, if not those of the set or the table
    table : number of its table
    mean, sd : as published; None if only a figure shows them
    sd_ours : the paper gives no deviation; `sd` is ours over many streams
    stored : number of stored examples as published
    seconds, test_seconds : as published, for learning and for predicting the test rows
    permutations : number of permutations, if not that of the set
    runs : runs per permutation, each with its own seed of the learner; their mean counts
    limit : seconds after which a run is stopped
    not_run : why only this line is not run
    reason : why ours differs, if it does
    reference : not a line of the paper: a baseline that uses no feature
    """

    algorithm: str
    learner: str
    params: Params
    grid: Params
    chosen: Params
    validation: float | None = None
    table: str = ""
    mean: float | None = None
    sd: float | None = None
    sd_ours: bool = False
    stored: float | None = None
    seconds: float | None = None
    test_seconds: float | None = None
    permutations: int | None = None
    runs: int = 1
    limit: float | None = None
    not_run: str | None = None
    reason: str | None = None
    reference: bool = False

    def settings(self) -> Iterator[Params]:
        """Every combination of the grid; one empty setting if there is none."""
        for values in itertools.product(*self.grid.values()):
            yield dict(zip(self.grid, values, strict=True))


@dataclass(frozen=True)
class Set:
    """A data set of a table, with the lines published for it.

    Attributes
    ----------
    name : name in the paper
    rows : number of rows
    files : data sets of `budgetron.datasets`, "covtype", or parts of them, "a9a/train"; taken one
        after the other
    test : those to predict after learning `files`
    first : use at most so many rows of each, the first ones
    nonzero : rows whose features are all 0 are left out
    holdout : share of the rows, the last of each permutation, to predict instead
    dtype : type of the rows
    scale : "unit", features in [0, 1]; "both", in [-1, 1]; "standard", mean 0 and deviation 1;
        "whole", in [0, 1] by the least and the largest of all features
    factor : the scaled features are multiplied by this
    target : "unit", targets in [0, 1]
    above : the label is whether the target is above this
    against : the label is whether the class is this one
    balanced : each seed draws as many rows of the larger class as the smaller one has
    halves : the classes are split into two equal halves, another split for each seed
    flip : no files, but two Gaussian clouds with this much label noise
    fixed : the permutation is always the first; seeds only change the learner
    permutations : number of permutations, if not `PERMUTATIONS`
    validation : rows on which settings are chosen, if not those of the table
    preparation : what was done to the rows
    not_run : why the set cannot be run at all
    """

    name: str
    rows: int
    files: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    first: int | None = None
    nonzero: bool = False
    holdout: float = 0.0
    dtype: str = "float32"
    scale: str | None = None
    factor: float = 1.0
    target: str | None = None
    above: float | None = None
    against: int | None = None
    balanced: bool = False
    halves: bool = False
    flip: float | None = None
    fixed: bool = False
    permutations: int | None = None
    validation: float | None = None
    preparation: str = ""
    not_run: str | None = None
    published: tuple[Row, ...] = field(default=())


@dataclass(frozen=True)
class Figure:
    """A figure drawn from the runs of a table: one panel per set, one curve per algorithm.

    Attributes
    ----------
    number : as in the paper
    x, y : "rows", "value", "seconds" or "stored", during a run or at its end; or a parameter that
        the lines of the file sweep. A line without a budget is placed at what it stored
    colour : what the colour of a map over x and y shows; without it there are curves
    spread : "range" fills between the least and the largest of the permutations
    sets, algorithms : the panels and the curves, all of the file if empty
    log : axes that are logarithmic, of "x" and "y"
    """

    number: str
    title: str
    x: str
    y: str
    colour: str | None = None
    spread: str | None = None
    sets: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = ()
    log: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """One file: a paper's table, the runs behind its figures, or both."""

    name: str
    paper: str
    title: str
    citation: str
    text: str
    sets: tuple[Set, ...]
    protocol: str = "online"
    tables: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    validation: float | None = None
    prefix: int | None = None

    def drawn(self, number: str) -> tuple[Figure, ...]:
        """The figures of this number: "2" are 2a and 2b."""
        return tuple(
            f for f in self.figures if number in (f.number, *re.findall(r"^\d+", f.number))
        )

    def behind(self, figures: Sequence[Figure]) -> Table:
        """With the sets and lines these figures are drawn from."""
        shown = {name for f in figures for name in f.sets or [s.name for s in self.sets]}
        sets = []
        for data_set in self.sets:
            if data_set.name in shown:
                mine = [f for f in figures if not f.sets or data_set.name in f.sets]
                kept = (
                    row
                    for row in data_set.published
                    if any(not f.algorithms or row.algorithm in f.algorithms for f in mine)
                )
                sets.append(replace(data_set, published=tuple(kept)))
        return replace(self, sets=tuple(sets))

    def only(self, number: str) -> Table:
        """Without the lines of its other tables."""
        sets = tuple(
            replace(s, published=tuple(r for r in s.published if r.table in ("", number)))
            for s in self.sets
        )
        return replace(self, sets=sets, tables=(number,))

    def quick(self) -> Table:
        """Reduced so that one permutation takes minutes; a set that is left out says why."""
        return replace(self, sets=tuple(map(_quick, self.sets)))


def _quick(data_set: Set) -> Set:
    why = data_set.not_run
    if data_set.rows > QUICK_ROWS and why is None:
        why = f"{data_set.rows:,} rows, left out by --quick"
    hurried = tuple(
        replace(row, limit=min(row.limit, QUICK_SECONDS)) if row.limit else row
        for row in data_set.published
    )
    return replace(data_set, published=hurried, not_run=why)


def files() -> dict[str, Path]:
    """Name -> file of every table: papers/avm/table3.toml is avm_table3."""
    return {
        f"{paper}_{path.stem}": path
        for paper, folder in papers().items()
        for path in sorted(folder.glob("*.toml"))
        if path.name != "grid.toml"
    }


def names() -> list[str]:
    """The tables there are."""
    return sorted(files())


def read(name: str) -> Table:
    """The table called `name`.

    Raises
    ------
    BudgetronError
        If there is none.
    """
    if name not in files():
        raise BudgetronError(f"no table is called {name!r}; there are {', '.join(names())}")
    text = files()[name].read_text(encoding="utf-8")
    raw = tomllib.loads(text)
    algorithms = raw.pop("algorithms")
    sets = tuple(_set(entry, algorithms) for entry in raw.pop("sets"))
    figures = tuple(Figure(**_tuples(entry)) for entry in raw.pop("figures", ()))
    fields = {**_tuples(raw), "text": raw["text"].strip()}
    return Table(name=name, sets=sets, figures=figures, **fields)


def _tuples(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(v) if isinstance(v, list) else v for key, v in entry.items()}


def _set(entry: dict[str, Any], algorithms: dict[str, Any]) -> Set:
    common = {"gamma": entry.pop("gamma")} if "gamma" in entry else {}
    reasons = entry.pop("reasons", {})
    lines = tuple(
        row
        for line in entry.pop("published", ())
        for row in _rows({"reason": reasons.get(line["algorithm"]), **line}, algorithms, common)
    )
    return Set(**_tuples(entry), published=lines)


def _rows(line: dict[str, Any], algorithms: dict[str, Any], common: Params) -> Iterator[Row]:
    """The line; if its algorithm sweeps over parameters, one line per combination of them."""
    algorithm = dict(algorithms[line["algorithm"]])
    fixed, own = algorithm.pop("params", {}), line.pop("params", {})
    params = {**common, **fixed, **own}
    if "budget" in line:
        params["budget"] = line.pop("budget")
    sweep = {**algorithm.pop("sweep", {}), **line.pop("sweep", {})}
    grid = {k: v for k, v in algorithm.pop("grid", {}).items() if k not in params}
    chosen = line.pop("chosen", {})
    for values in itertools.product(*sweep.values()):
        swept = dict(zip(sweep, values, strict=True))
        yield Row(params={**params, **swept}, grid=grid, chosen=chosen, **{**algorithm, **line})
