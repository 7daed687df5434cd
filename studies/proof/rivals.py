"""The rivals of Budgetron: every other learner of the catalogue, and its grid.

The grids are those of the papers (`budgetron.tune`), extended if they put a learner at a
disadvantage: the median rule's gamma beside the fixed ones, AVM's deltas, a Projectron that only
projects when it is full, and for regression a narrower dead zone. T in formulas is the number of
rows of the whole stream, in tuning and in running.
"""

from __future__ import annotations

from typing import Any

from budgetron.catalogue import algorithms
from budgetron.lab.formulas import value
from budgetron.lab.tune import paper_grid
from studies.build import OURS

Grid = dict[str, list[Any]]

# As in the papers, where our default differs.
_FIXED: dict[str, dict[str, Any]] = {
    "projectron++": {"rule": "aggressive"},
    "bogd++": {"regularization": "8/T^2", "max_coef": 1.0},
    "pomdr": {"horizon": "T"},
}

_MORE: dict[str, Grid] = {
    "projectron": {"threshold": [None]},
    "projectron++": {"threshold": [None]},
    "avm": {"delta": [1.0, 3.0, 4.0, 7.0, 13.0]},
}

# Le et al., Approximation Vector Machines (JMLR 2017): the steps of gradient descent.
_STEPS = [0.002, 0.02, 0.2, 2.0, 4.0, 8.0, 16.0]
_DEAD_ZONES = [0.1, 0.01]


def rivals(task: str, *, bounded: bool) -> list[str]:
    """The learners of the catalogue with a budget, FOGD among them, or those without."""
    return [
        each.name
        for each in algorithms(task)
        if each.name != OURS and bounded == (size_of(each.name, task) is not None)
    ]


def size_of(learner: str, task: str) -> str | None:
    """The parameter that bounds its size."""
    known = _parameters(learner, task)
    return next((name for name in ("budget", "n_components") if name in known), None)


def sized(learner: str, task: str, budget: int | str | None) -> dict[str, Any]:
    """A budget in examples or bytes; FOGD gets four frequencies per example, as in its paper."""
    size = size_of(learner, task)
    if size is None or budget is None:
        return {}
    return {size: 4 * budget if size == "n_components" and isinstance(budget, int) else budget}


def fixed(learner: str, task: str, rows: int, *, raw: bool) -> dict[str, Any]:
    """The parameters that are not tuned."""
    found = {name: value(formula, rows) for name, formula in _FIXED.get(learner, {}).items()}
    return {**found, "scale": "auto" if raw else None, **targets(task)}


def targets(task: str) -> dict[str, Any]:
    """For all learners: targets are learned as they come, as in the papers."""
    return {"target_scale": None} if task == "regression" else {}


def grid(learner: str, task: str, rows: int) -> Grid:
    """The parameters that are tuned: name -> values."""
    known = _parameters(learner, task)
    found = paper_grid(learner, known)
    if task == "regression":
        if "step" in known:
            found = {"gamma": found["gamma"], "step": _STEPS}
        found["epsilon"] = _DEAD_ZONES
    found["gamma"] = ["median", *found["gamma"]]
    for name, values in _MORE.get(learner, {}).items():
        found[name] = [*found.get(name, []), *values]
    for name in _FIXED.get(learner, {}):
        found.pop(name, None)
    return {name: [value(each, rows) for each in values] for name, values in found.items()}


def _parameters(learner: str, task: str) -> list[str]:
    return next(list(each.parameters) for each in algorithms(task) if each.name == learner)
