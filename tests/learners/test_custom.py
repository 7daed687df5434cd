"""Parts combined by hand: all valid combinations keep every contract, the others say why not."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from itertools import product
from math import inf
from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from budgetron import KernelClassifier, parts
from budgetron.checks import combination_checks
from budgetron.parts import (
    BUDGETS,
    KERNELS,
    LOSSES,
    REGRESSION_LOSSES,
    UPDATES,
    AlmaUpdate,
    Budget,
    Fogd,
    Forgetron,
    Gaussian,
    GradientUpdate,
    Halve,
    Linear,
    Part,
    PegasosUpdate,
    Project,
    RemoveOldest,
    Round,
    Sample,
    Sigmoid,
    SmoothHinge,
)
from budgetron.parts.kernels import LACKING
from budgetron.parts.learners import Learner
from budgetron.parts.part import PartOf
from budgetron.parts.ranges import ranges_of
from budgetron.parts.updates import REGRESSION_UPDATES
from tests.support.cases import KERNELS as SETTINGS
from tests.support.cases import same_state, stream
from tests.support.expected_failures import hold

BUDGET = 5


def variants(part: type[Part]) -> list[Part]:
    """The part with its defaults (small, if it has a size), and with each of its other options."""
    small = part().set_params(size=BUDGET) if hasattr(part, "size") else part()
    if "loss" in small.get_params(deep=False):
        return [small.set_params(loss=loss()) for loss in LOSSES]
    if isinstance(small, Sample):
        return [small, small.set_params(sampling="nonuniform", clip=0.7)]
    return [small]


def make(kernel: str, update: Part, budget: Part, radius: float | None) -> KernelClassifier:
    return KernelClassifier(
        **SETTINGS[kernel], update=update, budget=budget, radius=radius, random_state=5
    )


@pytest.mark.parametrize(
    "kernel",
    [
        pytest.param(part.kind, marks=[] if part is Gaussian else pytest.mark.long)
        for part in KERNELS
    ],
)
@pytest.mark.parametrize("budget", BUDGETS, ids=lambda part: part.kind)
def test_every_combination_keeps_every_promise(budget: type[Part], kernel: str) -> None:
    X, y = stream(20, classes=3)
    tried = 0
    # The Gaussian kernel is combined with all; the others with every third, over all updates and
    # losses.
    every = 1 if kernel == "rbf" else 3
    updates = [u for part in UPDATES for u in variants(part)]
    for small, update, radius in [*product(variants(budget), updates, (None, 1.5))][::every]:
        model = make(kernel, update, small, radius)
        machine = Round(Gaussian(), update, small, inf if radius is None else radius)
        if kernel not in machine.kernels():
            with pytest.raises(ValueError, match=f"kernel='{kernel}' is not"):
                model.fit(X, y)
            continue
        tried += 1
        for _, check in combination_checks(model):
            check()
    assert tried > 0 or kernel not in Round(Gaussian(), UPDATES[0](), budget()).kernels()


@parametrize_with_checks([KernelClassifier()])
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    hold(estimator, check)


# ---- parts as parameters -------------------------------------------------------------------------


def test_every_part_has_a_family() -> None:
    families = (*KERNELS, *LOSSES, *UPDATES, *BUDGETS)
    assert len({part.kind for part in families}) == len(set(families)) == len(families)
    for part in families:
        part().check()  # defaults are within their ranges


LEARNERS = Learner.__subclasses__()
ALL_PARTS = [
    *(*KERNELS, *LOSSES, *REGRESSION_LOSSES, *UPDATES, *REGRESSION_UPDATES, *BUDGETS, *LEARNERS)
]


@pytest.mark.parametrize("part", ALL_PARTS, ids=lambda part: part.__name__)
def test_every_parameter_has_a_range_with_its_default_inside(part: type[Part]) -> None:
    for field in fields(part):
        assert ranges_of(field), f"{part.__name__}.{field.name} has no range"
    needed = {"kernel": Gaussian(), "update": UPDATES[0](), "rank": 1, "width": 1}
    part(**{f.name: needed[f.name] for f in fields(part) if f.default is MISSING}).check()


@pytest.mark.parametrize("part", ALL_PARTS, ids=lambda part: part.__name__)
def test_what_a_part_needs_some_kernels_have_and_others_not(part: type[Part]) -> None:
    if part.need is not None:
        assert {getattr(kernel, part.need.quality) for kernel in KERNELS} == {True, False}
        assert part.need.quality in LACKING


def test_a_parameter_that_is_a_part_is_of_its_family() -> None:
    update = GradientUpdate(loss=parts.Squared())
    with pytest.raises(ValueError, match=r"loss=Squared\(.*\) of GradientUpdate must be one of Hi"):
        update.check()
    with pytest.raises(ValueError, match="'size' parameter of RemoveOldest must be an int"):
        RemoveOldest(size=Gaussian()).check()
    with pytest.raises(ValueError, match="must be one of Gaussian"):
        Round(Linear(), update).set_params(kernel=3).check()
    [losses] = ranges_of({field.name: field for field in fields(GradientUpdate)}["loss"])
    assert losses == PartOf(LOSSES)


def test_a_part_of_ones_own_joins_no_list_of_the_library() -> None:
    @dataclass(frozen=True)
    class Mine(Budget):
        kind: ClassVar[str] = "mine"

    assert Mine not in BUDGETS
    assert RemoveOldest in BUDGETS


def test_parts_are_values() -> None:
    before = GradientUpdate()
    after = before.set_params(step=0.1, loss=SmoothHinge()).set_params(loss__tau=0.2)
    assert after == GradientUpdate(0.1, 0.0, SmoothHinge(0.2))
    assert before == GradientUpdate()
    together = before.set_params(loss__tau=0.2, loss=SmoothHinge())  # tau of the new loss
    assert together == GradientUpdate(loss=SmoothHinge(0.2))
    assert after.get_params() == {
        "step": 0.1,
        "regularization": 0.0,
        "loss": SmoothHinge(0.2),
        "loss__tau": 0.2,
    }
    assert clone(after) == after
    with pytest.raises(ValueError, match="RemoveOldest has no parameter 'sise'; it has size"):
        RemoveOldest().set_params(sise=3)
    with pytest.raises(ValueError, match=r"step=0.5 of .* is not a part"):
        before.set_params(step__size=3)


def test_numpy_numbers_are_numbers() -> None:
    spec = Sample(size=np.int64(4), clip=np.float32(0.5)).spec()
    assert spec == {"kind": "sample", "size": 4, "sampling": "uniform", "clip": 0.5}
    assert type(spec["size"]) is int
    assert type(spec["clip"]) is float


def test_parameters_of_parts_are_the_estimators() -> None:
    shared = RemoveOldest(size=7)
    model = KernelClassifier(update="gradient", loss="smooth-hinge", budget=shared)
    params = model.get_params()
    assert params["budget__size"] == 7
    assert params["kernel__gamma"] == params["gamma"] == "median"
    assert params["loss__tau"] == 0.5
    assert params["update__step"] == 0.5
    other = clone(model).set_params(budget__size=3, kernel__gamma=0.2, loss__tau=0.1)
    assert other.budget == RemoveOldest(size=3)
    assert (other.kernel, other.gamma) == ("rbf", 0.2)
    assert other.loss == SmoothHinge(tau=0.1)
    assert shared == RemoveOldest(size=7)
    assert model.get_params() == params
    model.set_params(kernel=Gaussian(), kernel__gamma=3.0, budget="halve", budget__ridge=1e-3)
    assert model.kernel == Gaussian(3.0)
    assert model.budget == Halve(ridge=1e-3)
    assert KernelClassifier().get_params()["budget__size"] == 100, "a default was changed"
    with pytest.raises(ValueError, match="there is no parameter budget__sise; there is budget__s"):
        model.set_params(budget__sise=3)
    with pytest.raises(ValueError, match="there is no parameter radius__size"):
        model.set_params(radius__size=3)


def test_grid_search_reaches_into_parts() -> None:
    X, y = stream(120)
    grid = {"budget__size": np.array([4, 9]), "kernel__gamma": [0.1, 1.0], "update__C": [0.5]}
    for kernel in ("rbf", Gaussian(0.3)):
        model = KernelClassifier(kernel=kernel)
        search = GridSearchCV(model, grid, cv=2).fit(X, y)
        best = search.best_estimator_
        assert best.n_support_ == best.budget.size == search.best_params_["budget__size"]
        assert model.budget == "absorb"


def test_strings_and_parts_are_the_same() -> None:
    X, y = stream(100)
    named = KernelClassifier(
        gamma=0.5, update="pegasos", loss="logistic", budget="remove-smallest", random_state=1
    )
    built = KernelClassifier(
        kernel=Gaussian(0.5),
        update=PegasosUpdate(loss=parts.Logistic()),
        budget=parts.RemoveSmallest(),
        random_state=1,
    )
    same_state(named.fit(X, y), built.fit(X, y))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"budget": "remove_oldest"},
            "^budget='remove_oldest' is not one of 'unlimited', 'remove-oldest', .*, 'halve', "
            r"nor a part of budgetron\.parts\.BUDGETS$",
        ),
        ({"budget": Gaussian()}, r"budget=Gaussian\(.*\) is not one of 'unlimited'"),
        ({"budget": RemoveOldest}, r"RemoveOldest'> is not one of 'unlimited'"),
        ({"update": "hinge"}, r"update='hinge' is not one of .* budgetron\.parts\.UPDATES$"),
        ({"update": None}, "update=None is not one of 'perceptron'"),
        ({"loss": 3}, r"loss=3 is not one of 'hinge', .* budgetron\.parts\.LOSSES$"),
        ({"kernel": "gauss"}, r"kernel='gauss' is not one of .* budgetron\.parts\.KERNELS$"),
        ({"budget": Project(size=2**31)}, r"'size' parameter of Project .*\[0, 2147483647\]"),
        (
            {"budget": Sample(sampling="even")},
            "must be a str among {'uniform', 'nonuniform'}",
        ),
        ({"budget": RemoveOldest(size=0)}, "'size' parameter of RemoveOldest"),
        ({"budget": Halve(size=1)}, "'size' parameter of Halve"),
        ({"kernel": Gaussian(gamma=-1.0)}, "'gamma' parameter of Gaussian"),
        ({"update": GradientUpdate(loss=SmoothHinge(0.0))}, "'tau' parameter of SmoothHinge"),
        ({"update": PegasosUpdate(regularization=0.0)}, "'regularization' parameter of Pegasos"),
        ({"update": GradientUpdate(2.0, 0.5)}, r"step=2.0 and regularization=0.5 .* below 1"),
        ({"radius": -1.0}, "'radius' parameter of KernelClassifier"),
        ({"loss": "hinge"}, "loss='hinge' does not go with update 'passive-aggressive'"),
        ({"kernel": "sigmoid"}, "not positive definite, which budget 'absorb' needs"),
        (
            {"kernel": Sigmoid(), "update": AlmaUpdate(), "budget": "refuse"},
            "not positive definite, which update 'alma' needs",
        ),
        (
            {"kernel": "sigmoid", "budget": "refuse", "radius": 1.0},
            "not positive definite, which a finite radius needs",
        ),
        (
            {"kernel": "sigmoid", "budget": Sample(sampling="nonuniform")},
            "not positive definite, which sampling 'nonuniform' needs",
        ),
    ],
)
def test_what_does_not_fit_says_so(params: dict[str, Any], message: str) -> None:
    X, y = stream(20)
    model = KernelClassifier(**params)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


def test_pages_say_what_they_need_of_a_kernel_too() -> None:
    Fogd(Gaussian()).check_fits()
    with pytest.raises(ValueError, match=r"kernel='linear' is not a function of x - z alone"):
        Fogd(Linear()).check_fits()
    with pytest.raises(ValueError, match=r"kernel='sigmoid' is not positive definite"):
        Forgetron(Sigmoid()).check_fits()
