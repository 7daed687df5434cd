"""The list of learners for the shared tests: every learner listed here gets all of them.

A case is a catalogue name with explicit parameters (small budgets, so that streams of a few hundred
rows fill them many times), its kernels, and the counters of its saved state that show that its
branches were really taken.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse

import budgetron
from budgetron.catalogue import CATALOGUE, as_printed, paper_settings
from budgetron.checks.rows import class_rows, number_rows
from tests.support.native import same_state as same_state
from tests.support.native import state_of

KERNELS: dict[str, dict[str, Any]] = {
    "rbf": {"kernel": "rbf", "gamma": 0.5},
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 1.0},
    "laplacian": {"kernel": "laplacian", "gamma": 0.5},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.3, "coef0": 0.1},
}
# Relative tolerance of a trace, by the dtype of the rows. In float32 the largest difference seen is
# 1.1e-4: coefs that a halving projects with a linear kernel (BSGD's projection has its own).
TOLERANCES = {"float64": 1e-9, "float32": 5e-4}
DEFINITE = ("rbf", "linear", "poly", "laplacian")
ISOTROPIC = ("rbf", "laplacian")


@dataclass(frozen=True)
class Case:
    """A learner and how to test it."""

    name: str
    params: dict[str, Any] = field(default_factory=dict)
    kernels: tuple[str, ...] = tuple(KERNELS)
    branches: tuple[str, ...] = ()  # state counters that must reach 2 in a trace
    label: str = ""  # distinguishes cases of one learner
    # Tolerance of coefs, with the reason.
    tolerances: dict[str, float] = field(default_factory=dict)
    # The hypothesis combines at most `budget` examples (false if it keeps others beside them).
    within_budget: bool = True
    spare: int = 0  # places of the budget that are free again after every round
    task: str = "classification"

    @property
    def budget(self) -> int | None:
        return self.params.get("budget")

    @property
    def full(self) -> int:
        """The most examples that are stored after a round."""
        assert self.budget is not None
        return self.budget - self.spare

    def make(self, kernel: str = "rbf", **more: Any) -> Any:
        """The learner with its paper's settings and `more`; equal arguments draw equal numbers."""
        given = {"random_state": 0, **KERNELS[kernel], **self.params, **more}
        if self.task == "regression":  # these cases may also change what the name fixes
            entry = CATALOGUE[self.name]
            return entry.estimator(self.task)(**paper_settings(self.task) | entry.fixed | given)
        return as_printed(self.name, **given)

    def __str__(self) -> str:
        return f"{self.name} {self.label}".strip()


def avm(label: str = "", *branches: str, **params: Any) -> Case:
    shared = {
        "regularization": 0.01,
        "delta": 1.5,
        "cover": "sphere",
        "beta": 0.0,
        "rho": 1.0,
        "budget": 30,
        "loss": "hinge",
        "tau": 0.5,
    }
    return Case("avm", shared | params, ISOTROPIC, ("stand_ins", *branches), label)


def belief(
    replace: str, kernels: tuple[str, ...], *branches: str, label: str = "", **params: Any
) -> Case:
    shared = {"budget": 10, "r": 0.3, "jitter": 0.05, "replace": replace}
    params = {**shared, "straight": "none", "floor": 0.0, "reflex": False, **params}
    return Case("budgetron", params, kernels, ("admissions", *branches), label)


HINGE = {"loss": "hinge", "tau": 0.5}
STEPS = {"step": 0.5, "regularization": 0.01}

CASES = [
    Case("perceptron"),
    Case("remove-oldest", {"budget": 12}, branches=("removals",)),
    Case("rbp", {"budget": 12}, branches=("removals",)),
    Case("cks", {"budget": 12}, branches=("removals", "refusals")),
    Case("stoptron", {"budget": 12}, branches=("refusals",)),
    Case("shrinking-perceptron", {"shrink": 0.95}),
    Case("pa", {"C": 0.8, "variant": "I"}),
    Case("bpas", {"budget": 12, "C": 0.8}, kernels=DEFINITE, branches=("absorptions",)),
    Case("alma", {"alpha": 0.8, "C": 1.2, "margin": 3.0}, kernels=DEFINITE),
    Case("ogd", {**STEPS, **HINGE}),
    Case("bogd", {"budget": 12, "max_coef": 1.5, **STEPS, **HINGE}, branches=("draws",)),
    Case(
        "bogd++",
        {"budget": 12, "max_coef": 1.5, **STEPS, **HINGE},
        kernels=DEFINITE,
        branches=("draws",),
    ),
    Case("pegasos", {"regularization": 0.05, **HINGE}),
    Case(
        "bsgd-remove",
        {"budget": 12, "regularization": 0.05, **HINGE},
        kernels=DEFINITE,
        branches=("removals",),
    ),
    # The Gram matrix of a linear or polynomial kernel is singular without the jitter: f is exact,
    # but its coefs are known only to 2e-6 (copies of one example share theirs anyway), in float32
    # to 5e-4.
    Case(
        "bsgd-project",
        {"budget": 10, "regularization": 0.01, **HINGE},
        kernels=DEFINITE,
        branches=("projections",),
        tolerances={"float64": 1e-5, "float32": 2e-3},
    ),
    Case(
        "bsgd-merge",
        {"budget": 10, "regularization": 0.01, **HINGE},
        kernels=("rbf",),
        branches=("merges",),
    ),
    Case(
        "bsgd-merge",
        {"budget": 2, "regularization": 0.01, **HINGE},
        kernels=("rbf",),
        branches=("merges",),
        label="of two",
    ),
    Case("avp", {"step": 0.8, "epsilon": 0.6, "radius": 3.0}, kernels=DEFINITE),
    Case(
        "fogd",
        {"n_components": 21, "step": 0.4, "loss": "hinge", "tau": 0.5},
        kernels=ISOTROPIC,
    ),
    Case(
        "fogd",
        {"n_components": 16, "step": 0.7, "loss": "logistic", "tau": 0.5},
        kernels=ISOTROPIC,
        label="logistic",
    ),
    Case(
        "nogd",
        {"budget": 12, "rank": 2, "step": 0.4, "loss": "hinge", "tau": 0.5},
        kernels=DEFINITE,
        branches=("rank",),
    ),
    Case(
        "nogd",
        {"budget": 14, "rank": None, "step": 0.4, "loss": "smooth-hinge", "tau": 0.5},
        kernels=DEFINITE,
        branches=("rank",),
        label="smooth-hinge",
    ),
    Case(
        "forgetron-basic",
        {"budget": 10},
        kernels=DEFINITE,
        branches=("shrinks", "removals"),
    ),
    Case(
        "forgetron",
        {"budget": 10},
        kernels=DEFINITE,
        branches=("shrinks", "removals"),
    ),
    Case(
        "forgetron-greedy",
        {"budget": 10},
        kernels=DEFINITE,
        branches=("removals", "bargains"),
    ),
    Case(
        "projectron",
        {"threshold": 0.6, "budget": 10},
        kernels=DEFINITE,
        branches=("projections", "additions"),
    ),
    Case(
        "projectron++",
        {"threshold": None, "budget": 10, "rule": "bounded"},
        kernels=DEFINITE,
        branches=("projections", "additions", "margin_steps"),
        label="without a threshold",
    ),
    Case(
        "projectron++",
        {"threshold": 0.3, "budget": 10, "rule": "aggressive"},
        kernels=DEFINITE,
        branches=("projections", "additions"),
        label="aggressive",
    ),
    Case(
        "projectron++",
        {"threshold": 0.7, "budget": 10, "rule": "bounded"},
        kernels=DEFINITE,
        branches=("projections", "additions", "margin_steps"),
    ),
    Case(
        "pomdr",
        {"budget": 12, "radius": 5.0, "window": 6, "horizon": 2},
        kernels=("linear",),  # four features: the first phase continues to project
        branches=("projections", "additions"),
        label="with a horizon",
        within_budget=False,
        spare=1,
    ),
    Case(
        "pomdr",
        {"budget": 12, "radius": 5.0, "window": 6, "horizon": None},
        kernels=DEFINITE,
        branches=("additions", "halvings"),
        within_budget=False,
        spare=1,
    ),
    Case(
        "ahpatron",
        {"budget": 12, "epsilon": 0.5, "radius": 3.0, "step": 0.4, "ridge": 5e-4, "norm": "keep"},
        kernels=DEFINITE,
        branches=("halvings",),
    ),
    avm("", "capped"),
    avm("rectangle", "capped", cover="rectangle", average="mean"),
    avm("suffix", "capped", average="suffix", loss="smooth-hinge"),
    avm("bernoulli", "entered", beta=2.0, rho=0.5, budget=None, loss="logistic"),
    belief("auto", DEFINITE),
    belief("never", ("rbf",), label="never"),
    belief("always", ("rbf", "poly"), "replacements", label="always"),
    belief("recent", ("rbf",), "replacements", label="recent"),
    belief("recent", ("rbf",), "replacements", label="reflex recent", straight="full", reflex=True),
    # "auto", which is one of these, has its own tests (test_straight.py): it depends on bytes.
    belief("auto", DEFINITE, label="straight", straight="full", floor=0.003),
    belief("always", ("rbf",), "replacements", label="straight always", straight="full", floor=0.2),
    belief("auto", ("rbf", "laplacian"), label="diagonal", straight="diagonal", floor=0.05),
    belief("auto", DEFINITE, label="reflex", straight="full", floor=0.003, reflex=True),
    belief("never", ("rbf",), label="reflex never", reflex=True),
    belief(
        "always",
        ("rbf",),
        "replacements",
        label="reflex always",
        straight="diagonal",
        reflex=True,
    ),
]
# More settings of the same learners, traced too.
SMOOTH = {"loss": "smooth-hinge", "tau": 0.7}
LOGISTIC = {"loss": "logistic", "tau": 0.5}
VARIANTS = [
    Case("pa", {"C": 0.8, "variant": "II"}),
    Case("avp", {"step": 1.0, "epsilon": 0.75, "radius": float("inf")}),
    Case("avp", {"step": "adaptive", "epsilon": 0.6, "radius": 3.0}, kernels=DEFINITE),
    *[
        Case(name, {**setting, **loss}, kernels=("rbf", "linear"))
        for name, setting in {
            "ogd": STEPS,
            "bogd": {"budget": 12, "max_coef": 0.7, **STEPS},
            "bogd++": {"budget": 12, "max_coef": float("inf"), **STEPS},
            "pegasos": {"regularization": 0.05},
            "bsgd-remove": {"budget": 12, "regularization": 0.05},
        }.items()
        for loss in (SMOOTH, LOGISTIC)
    ],
]


def regress(name: str, label: str = "", **settings: Any) -> Case:
    """A case of regression; names of Case's fields set those, other names are parameters."""
    own = {"kernels", "branches"} & settings.keys()
    fields = {word: settings.pop(word) for word in own}
    return Case(name, settings, label=label, task="regression", **fields)


TUBE = {"step": 0.3, "epsilon": 0.1}
DESCENT = {"step": 0.3, "epsilon": 0.15}
CELLS = {
    "regularization": 0.01,
    "delta": 1.5,
    "cover": "sphere",
    "beta": 0.0,
    "rho": 1.0,
    "average": "last",
    "budget": 30,
    "epsilon": 0.1,
    "kernels": ISOTROPIC,
}
REGRESSION = [
    regress("rbp", budget=12, branches=("removals",), **TUBE),
    regress("rbp", "oldest", removal="oldest", budget=12, branches=("removals",), **TUBE),
    regress("rbp", "refuse", removal="refuse", budget=12, branches=("refusals",), **TUBE),
    # Steps so large that dropping an example does damage, otherwise nothing would ever shrink; with
    # the polynomial kernel |f'(x_r)| is so large that nothing shrinks.
    regress(
        "forgetron", budget=10, step=1.0, epsilon=0.1, kernels=DEFINITE, branches=("removals",)
    ),
    regress(
        "forgetron",
        "shrinking",
        budget=10,
        step=1.5,
        epsilon=0.1,
        kernels=ISOTROPIC,
        branches=("shrinks", "removals"),
    ),
    regress(
        "forgetron",
        "greedy",
        variant="greedy",
        budget=10,
        step=1.0,
        epsilon=0.1,
        kernels=DEFINITE,
        branches=("removals", "bargains"),
    ),
    regress(
        "projectron",
        threshold=0.6,
        budget=10,
        kernels=DEFINITE,
        branches=("projections", "additions"),
        **TUBE,
    ),
    regress("pa", C=0.8, variant="I", epsilon=0.1),
    regress("pa", "II", C=0.8, variant="II", epsilon=0.2),
    *[
        case
        for loss in ("squared", "absolute", "epsilon-insensitive")
        for case in (
            regress("ogd", loss, loss=loss, regularization=0.01, kernels=("rbf",), **DESCENT),
            regress(
                "bogd",
                loss,
                loss=loss,
                budget=12,
                max_coef=1.5,
                regularization=0.01,
                kernels=("rbf", "linear"),
                branches=("draws",),
                **DESCENT,
            ),
            regress("fogd", loss, loss=loss, n_components=21, kernels=ISOTROPIC, **DESCENT),
            regress(
                "nogd",
                loss,
                loss=loss,
                budget=12,
                rank=3,
                kernels=("rbf", "laplacian"),
                branches=("rank",),
                **DESCENT,
            ),
            regress("avm", loss, loss=loss, **CELLS, branches=("stand_ins", "capped")),
        )
    ],
    # Steps small enough for kernels whose k(x, x) is not 1.
    regress("ogd", loss="squared", regularization=0.01, step=0.02, epsilon=0.1),
    regress(
        "bogd",
        loss="squared",
        budget=12,
        regularization=0.01,
        max_coef=2.0,
        step=0.02,
        epsilon=0.1,
        branches=("draws",),
    ),
    regress(
        "bogd",
        "nonuniform",
        sampling="nonuniform",
        loss="squared",
        budget=12,
        regularization=0.01,
        max_coef=2.0,
        step=0.02,
        epsilon=0.1,
        kernels=DEFINITE,
        branches=("draws",),
    ),
    regress("fogd", loss="squared", n_components=16, step=0.4, epsilon=0.0, kernels=ISOTROPIC),
    regress(
        "nogd",
        loss="squared",
        budget=14,
        rank=None,
        step=0.02,
        epsilon=0.05,
        kernels=DEFINITE,
        branches=("rank",),
    ),
    regress(
        "avm", **{**CELLS, "loss": "squared", "average": "suffix", "branches": ("projections",)}
    ),
    regress("avm", "no ball", **{**CELLS, "loss": "squared", "regularization": 1.5}),
    regress(
        "avm",
        "rectangle",
        **{
            **CELLS,
            "loss": "squared",
            "cover": "rectangle",
            "average": "mean",
            "beta": 2.0,
            "rho": 0.5,
            "budget": None,
            "branches": ("stand_ins", "entered", "projections"),
        },
    ),
    regress(
        "budgetron",
        budget=12,
        r=0.3,
        jitter=0.05,
        straight="none",
        floor=0.0,
        reflex=False,
        kernels=DEFINITE,
        branches=("admissions",),
    ),
    *[
        regress(
            "budgetron",
            straight,
            budget=12,
            r=0.3,
            jitter=0.05,
            scale=None,
            straight=straight,
            floor=0.003,
            reflex=False,
            kernels=("rbf", "poly"),
            branches=("admissions",),
        )
        for straight in ("full", "diagonal")
    ],
    *[
        regress(
            "budgetron",
            f"{straight} always",
            budget=12,
            r=0.3,
            jitter=0.05,
            scale=None,
            replace="always",
            straight=straight,
            floor=0.003,
            reflex=False,
            kernels=("rbf",),
            branches=("admissions", "replacements"),
        )
        for straight in ("full", "none")
    ],
    *[
        regress(
            "budgetron",
            f"{straight} reflex",
            budget=12,
            r=0.3,
            jitter=0.05,
            scale=None,
            straight=straight,
            floor=0.003,
            reflex=True,
            kernels=("rbf", "poly"),
            branches=("admissions",),
        )
        for straight in ("full", "diagonal", "none")
    ],
    regress(
        "budgetron",
        "reflex always",
        budget=12,
        r=0.3,
        jitter=0.05,
        scale=None,
        replace="always",
        straight="full",
        floor=0.003,
        reflex=True,
        kernels=("rbf",),
        branches=("admissions", "replacements"),
    ),
]
BY_NAME = {case.name: case for case in CASES if not case.label}
BUDGETED = [case for case in CASES if case.budget is not None]
# One case per compiled learner, for code that is written once and shared by all of them (labels,
# checks of rows, files, names). Tests of what a learner computes use every case.
KINDS = [
    BY_NAME[name]
    for name in (
        "rbp",
        "ahpatron",
        "fogd",
        "nogd",
        "avm",
        "forgetron",
        "projectron++",
        "pomdr",
        "budgetron",
    )
]
REGRESSION_KINDS = [case for case in REGRESSION if not case.label]

# The rows of all tests are those of the contracts' checks.
stream, numeric_stream = class_rows, number_rows


def as_format(X: np.ndarray, layout: str) -> Any:
    return X if layout == "dense" else scipy.sparse.csr_array(X)


def attempts(model: Any) -> int:
    """Rounds that changed the model, or in which its budget refused the new example."""
    refused = state_of(model).get("learner/budget/refusals", [0])
    return int(model.n_updates_ + refused[0])


def readable(model: Any) -> None:
    """A saved model can be loaded, and is the same."""
    with tempfile.TemporaryDirectory() as folder:
        budgetron.save(model, f"{folder}/model.btn")
        same_state(model, budgetron.load(f"{folder}/model.btn"))
