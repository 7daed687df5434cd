"""Grids: what the papers searched, and every combination of one."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import Any

from budgetron.errors import BudgetronError
from budgetron.lab.reproduce.formulas import value


def paper_grid(algorithm: str, parameters: Sequence[str] | None) -> dict[str, list[Any]]:
    """The grid of an algorithm: its own parameters, and the kernel width if it has one.

    Raises
    ------
    BudgetronError
        If there is nothing to search.
    """
    text = resources.files(__package__).joinpath("grids.toml").read_text(encoding="utf-8")
    grids = tomllib.loads(text)
    listed = grids["common"] | grids.get(algorithm, {})
    found = {name: list(values) for name, values in listed.items() if name in (parameters or ())}
    if not found:
        raise BudgetronError(
            f"the papers have no grid for {algorithm}: name one, as in --grid C=1,10"
        )
    return found


def combinations(grid: Mapping[str, Sequence[Any]], rows: int) -> Iterator[dict[str, Any]]:
    """Every combination of values, formulas worked out for so many rows.

    Examples
    --------
    >>> list(combinations({"gamma": [1.0], "step": ["1/sqrt(T)", 2.0]}, rows=400))
    [{'gamma': 1.0, 'step': 0.05}, {'gamma': 1.0, 'step': 2.0}]
    """
    columns = [[value(each, rows) for each in values] for values in grid.values()]
    for chosen in itertools.product(*columns):
        yield dict(zip(grid, chosen, strict=True))
