"""Which parts go together.

An update sees numbers only, so every update goes with every budget and loss. What a part may not go
with is a kernel: norms, solves and projections need one that is positive definite. One table says
so, for the recipes and for parts combined by hand alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import NoReturn

from budgetron.parts import GradientUpdate, Part, Round, Sample

ALL = ("rbf", "laplacian", "poly", "linear", "sigmoid")
DEFINITE = ("rbf", "laplacian", "poly", "linear")
ISOTROPIC = ("rbf", "laplacian")
NOT_ISOTROPIC = "not a function of x - z alone"


@dataclass(frozen=True)
class Rule:
    """Where it applies only these kernels will do: the others are `lacking`."""

    what: str
    applies: Callable[[Round], bool]
    why: str
    kernels: tuple[str, ...] = DEFINITE
    lacking: str = "not positive definite"


def _always(machine: Round) -> bool:
    return True


def _update(kind: str) -> Callable[[Round], bool]:
    return lambda machine: machine.update.kind == kind


def _budget(kind: str) -> Callable[[Round], bool]:
    return lambda machine: machine.budget.kind == kind


def _samples_by_size(machine: Round) -> bool:
    return isinstance(machine.budget, Sample) and machine.budget.sampling == "nonuniform"


COMPATIBILITY: tuple[Rule, ...] = (
    Rule("a finite radius", lambda m: isfinite(m.radius), "it needs the norm of f"),
    Rule("update 'alma'", _update("alma"), "it divides by the length sqrt(k(x, x))"),
    Rule("budget 'halve'", _budget("halve"), "it solves for a projection"),
    Rule("budget 'absorb'", _budget("absorb"), "it projects one example onto another"),
    Rule("budget 'remove-smallest'", _budget("remove-smallest"), "it needs sqrt(k_ii)"),
    Rule("budget 'project'", _budget("project"), "it solves for a projection"),
    Rule("budget 'project-smallest'", _budget("project-smallest"), "it solves for a projection"),
    Rule(
        "budget 'merge'",
        _budget("merge"),
        "two examples merge into one only there",
        ("rbf",),
        "not Gaussian",
    ),
    Rule("sampling 'nonuniform'", _samples_by_size, "it needs sqrt(k_ii)"),
)


# Learners that are pages, by kind.
PAGES: dict[str, Rule] = {
    rule.what: rule
    for rule in (
        Rule("forgetron", _always, "it needs norms"),
        Rule("projectron-plus", _always, "it solves for projections"),
        Rule("pomdr", _always, "it solves for projections"),
        Rule("budgetron", _always, "its covariance starts as the inverse kernel matrix"),
        Rule("nogd", _always, "it takes square roots of eigenvalues"),
        Rule("fogd", _always, "it draws from a spectral density", ISOTROPIC, NOT_ISOTROPIC),
        Rule("avm", _always, "its cells are balls and boxes", ISOTROPIC, NOT_ISOTROPIC),
    )
}


def kernels_for(machine: Round) -> tuple[str, ...]:
    """The kernels that go with the other parts of a machine."""
    return tuple(
        kernel
        for kernel in ALL
        if all(kernel in rule.kernels for rule in COMPATIBILITY if rule.applies(machine))
    )


def _refuse(kernel: str, rule: Rule, allowed: tuple[str, ...]) -> NoReturn:
    raise ValueError(
        f"kernel={kernel!r} is {rule.lacking}, which {rule.what} needs: {rule.why}; "
        f"use {', '.join(map(repr, allowed))}"
    )


def check_fits(machine: Part) -> None:
    """Raise ValueError where parts do not go together."""
    kernel = machine.get_params(deep=False)["kernel"].kind
    if not isinstance(machine, Round):
        rule = PAGES[machine.kind]
        if kernel not in rule.kernels:
            _refuse(kernel, rule, rule.kernels)
        return
    for rule in COMPATIBILITY:
        if rule.applies(machine) and kernel not in rule.kernels:
            _refuse(kernel, rule, kernels_for(machine))
    update = machine.update
    if isinstance(update, GradientUpdate) and update.step * update.regularization >= 1:
        raise ValueError(
            f"step={update.step} and regularization={update.regularization} would wipe out f in "
            "every round: step * regularization must be below 1"
        )
