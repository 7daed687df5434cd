"""A paper's table, read from its TOML file.

::

    title, citation, text           what is printed above the table
    [algorithms.NAME]               learner, params, grid: how the paper ran this algorithm
    [[sets]]                        name, files, features, rows, gamma, dtype; or flip, of a stream
    published = [{...}, ...]        a line of the table: algorithm, mean, sd, stored, and where
                                    needed budget, params, chosen
    [sets.reasons]                  algorithm = why ours differs there

A parameter's value is a number or a formula in T, the number of rows, or p, the number of
examples the Perceptron stores on the same stream: "T", "8/T^2", "100/sqrt(T)", "p/4"; "none" is
None, which TOML does not have.
"""

from __future__ import annotations

import itertools
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

Params = dict[str, Any]

_FORMULA = re.compile(r"(?P<top>[\d.e+-]+|T|p)(?:/(?P<bottom>sqrt\(T\)|T\^2|T|[\d.]+))?")


@dataclass(frozen=True)
class Row:
    """A line of the published table, and what to run for it.

    Attributes
    ----------
    algorithm : the paper's name
    learner : ours
    params : settings, possibly formulas
    grid : settings of which the best on the first permutation is taken
    chosen : what that was when the table was last run; the tests use it
    mean, sd : mistakes in per cent as published; None if only a figure shows them
    sd_ours : the paper gives no deviation; `sd` is ours over many streams
    stored : number of stored examples as published
    reason : why ours differs, where it does
    """

    algorithm: str
    learner: str
    params: Params
    grid: Params
    chosen: Params
    mean: float | None = None
    sd: float | None = None
    sd_ours: bool = False
    stored: float | None = None
    reason: str | None = None

    def settings(self) -> Iterator[Params]:
        """Every combination of the grid; one empty setting if there is none."""
        for values in itertools.product(*self.grid.values()):
            yield dict(zip(self.grid, values, strict=True))


@dataclass(frozen=True)
class Set:
    """A data set of a table, with the lines published for it.

    Attributes
    ----------
    name : as the paper has it
    rows : how many
    files : LIBSVM files, without ending, taken one after the other
    features : their width
    dtype : of the rows
    flip : no files, but two Gaussian clouds with this much label noise
    preparation : what was done to the rows
    not_run : why the set cannot be run at all
    """

    name: str
    rows: int
    files: tuple[str, ...] = ()
    features: int | None = None
    dtype: str = "float32"
    flip: float | None = None
    preparation: str = ""
    not_run: str | None = None
    published: tuple[Row, ...] = field(default=())


@dataclass(frozen=True)
class Table:
    """One paper's table."""

    name: str
    title: str
    citation: str
    text: str
    sets: tuple[Set, ...]


def names() -> list[str]:
    """The tables there are."""
    files = resources.files(__package__).iterdir()
    return sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml"))


def read(name: str) -> Table:
    """The table called `name`.

    Raises
    ------
    ValueError
        If there is none.
    """
    if name not in names():
        raise ValueError(f"no table is called {name!r}; there are {', '.join(names())}")
    text = resources.files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8")
    raw = tomllib.loads(text)
    sets = tuple(_set(entry, raw["algorithms"]) for entry in raw["sets"])
    return Table(name, raw["title"], raw["citation"], raw["text"].strip(), sets)


def value(formula: Any, T: int, p: int | None = None) -> Any:
    """The number a parameter's formula stands for; what is no formula stays.

    Examples
    --------
    >>> value("100/sqrt(T)", T=400), value("p/4", T=400, p=99), value("aggressive", T=400)
    (5.0, 24, 'aggressive')
    """
    if formula == "none":
        return None
    match = _FORMULA.fullmatch(formula) if isinstance(formula, str) else None
    if match is None:
        return formula
    top, bottom = match["top"], match["bottom"]
    if top == "p" and p is None:
        raise ValueError(f"{formula!r} needs the Perceptron's number of examples")
    divisor = {None: 1.0, "sqrt(T)": math.sqrt(T), "T^2": float(T) ** 2, "T": float(T)}
    below = divisor[bottom] if bottom in divisor else float(bottom)
    if top in ("T", "p"):
        return int((T if top == "T" else p or 0) / below)
    return float(top) / below


def needs_p(params: Mapping[str, Any]) -> bool:
    """Whether one of the formulas is in p."""
    return any(isinstance(v, str) and re.fullmatch(r"p(/[\d.]+)?", v) for v in params.values())


def _set(entry: dict[str, Any], algorithms: dict[str, Any]) -> Set:
    common = {"gamma": entry.pop("gamma")}
    reasons = entry.pop("reasons", {})
    lines = tuple(
        _row({"reason": reasons.get(line["algorithm"]), **line}, algorithms, common)
        for line in entry.pop("published", ())
    )
    return Set(**{**entry, "files": tuple(entry.get("files", ())), "published": lines})


def _row(line: dict[str, Any], algorithms: dict[str, Any], common: Params) -> Row:
    algorithm = algorithms[line["algorithm"]]
    params = {**common, **algorithm.get("params", {}), **line.pop("params", {})}
    if "budget" in line:
        params["budget"] = line.pop("budget")
    grid = {k: v for k, v in algorithm.get("grid", {}).items() if k not in params}
    chosen = line.pop("chosen", {})
    return Row(learner=algorithm["learner"], params=params, grid=grid, chosen=chosen, **line)
