"""Ranges of parameters are defined by their parts; estimators use these."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions

import budgetron
from budgetron.estimators._base.classifier import OnlineClassifier
from budgetron.estimators._base.parameters import of
from budgetron.parts import Halve, Nogd
from budgetron.parts.ranges import POSITIVE, OneOf, parameter

ESTIMATORS = [name for name in budgetron.__all__ if name.endswith(("Classifier", "Regressor"))]
ALONE = """
import sys, budgetron.parts
budgetron.parts.Round(budgetron.parts.Gaussian(), budgetron.parts.AlmaUpdate()).check_fits()
print("sklearn" in sys.modules, "numpy" in sys.modules)
"""


def words(estimator: Any, name: str) -> set[str]:
    """The texts that a parameter accepts."""
    options = [c for c in estimator._parameter_constraints[name] if isinstance(c, StrOptions)]
    return set().union(*(each.options for each in options))


def test_parts_need_neither_scikit_learn_nor_numpy() -> None:
    command = [sys.executable, "-c", ALONE]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_parameter_has_a_range_with_its_default_inside(name: str) -> None:
    estimator = getattr(budgetron, name)
    assert set(estimator._parameter_constraints) == set(estimator().get_params(deep=False))
    estimator()._validate_params()


def test_default_and_range_are_the_parts_unless_said_otherwise() -> None:
    model = budgetron.AhpatronClassifier()
    assert model.ridge == Halve.ridge
    [budget, text] = model._parameter_constraints["budget"]
    assert (budget.left, budget.right, text) == (2, 2**31 - 1, str)
    [rank, nothing] = budgetron.NOGDClassifier._parameter_constraints["rank"]
    assert isinstance(rank, Interval)
    assert nothing is None
    assert budgetron.NOGDClassifier().rank is None
    with pytest.raises(KeyError, match="rigde"):
        of(Halve, "rigde")
    assert not hasattr(Nogd, "rank")  # it has no default


def test_a_class_may_change_the_default_the_range_or_both() -> None:
    assert budgetron.AVMRegressor().regularization == 0.03  # the range is that of both
    for estimator in (budgetron.AVMClassifier, budgetron.AVMRegressor):
        [range_] = estimator._parameter_constraints["regularization"]
        assert 1e-9 in range_
        assert 0.0 not in range_
    assert words(budgetron.BudgetronClassifier, "gamma") == {"auto", "median", "race"}
    assert words(budgetron.ForgetronClassifier, "variant") == {"basic", "self-tuned", "greedy"}
    assert words(budgetron.ForgetronRegressor, "variant") == {"self-tuned", "greedy"}


def test_the_nearer_parent_has_the_say() -> None:
    @dataclass(eq=False, repr=False, kw_only=True)
    class Narrow(OnlineClassifier):
        kernel: str = parameter("rbf", OneOf("rbf"))

    @dataclass(eq=False, repr=False, kw_only=True)
    class Beside(OnlineClassifier):
        step: float = parameter(1.0, POSITIVE)

    class Both(Beside, Narrow):  # Beside inherits the wide range, and does not state it
        _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"step": [StrOptions({"auto"})]}

    assert words(Both, "kernel") == {"rbf"}
    assert words(Both, "step") == {"auto"}
    assert words(Beside, "kernel") > {"rbf", "sigmoid"}
    assert 1.0 in Beside._parameter_constraints["step"][0]


@pytest.mark.parametrize(
    ("model", "least"),
    [
        (budgetron.make("rbp"), 1),
        (budgetron.make("ahpatron"), 2),
        (budgetron.make("pomdr"), 2),
        (budgetron.make("projectron"), 1),
        (budgetron.make("fogd"), 1),
        (budgetron.make("nogd", rank=4), 4),
        (budgetron.KernelClassifier(budget="halve"), 2),
        (budgetron.KernelClassifier(budget="project"), 1),
        (budgetron.KernelClassifier(budget=Halve(8)), 2),
        (budgetron.KernelClassifier(budget="unlimited"), 1),
    ],
    ids=str,
)
def test_the_least_budget_is_that_of_its_range(model: Any, least: int) -> None:
    assert model._least_budget == least
    if model._budget_in(model.get_params(deep=False)) is not None:
        X = [[float(i), float(i % 3)] for i in range(20)]
        model = clone(model).fit(X, [0, 1] * 10)
        with pytest.raises(ValueError, match=f"must be at least {least}"):
            model.lower_budget(least - 1)
        assert model.lower_budget(least).budget_ == least


def test_an_unlimited_budget_has_no_size_to_lower() -> None:
    model = budgetron.KernelClassifier(budget="unlimited").fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="budget 'unlimited' has no size to set"):
        model.lower_budget(3)
