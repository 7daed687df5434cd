"""Models without a common base: `budgetron.merge_models` and `budgetron merge`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import budgetron
from budgetron import BudgetronClassifier, BudgetronError, BudgetronRegressor
from tests.support.native import native_of, same_state


def rows(count: int = 2400) -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    X = random.normal(size=(count, 5)) * [1, 20, 1, 1, 0.1] + [0, 50, 0, 0, 0]
    return X, (X[:, 0] * (X[:, 1] - 50) / 20 + X[:, 2] > 0).astype(int)


@pytest.mark.parametrize("straight", ["full", "diagonal", "none"])
def test_the_budget_is_kept_and_the_order_does_not_matter(straight: str) -> None:
    X, y = rows()
    halves = [slice(0, 1000), slice(1000, 1900)]  # each finds units and gamma of its own
    models = [
        BudgetronClassifier(budget=30, straight=straight).partial_fit(X[part], y[part])
        for part in halves
    ]
    merged = budgetron.merge_models(models, budget=25)
    native_of(merged).check_invariants()
    assert (merged.n_seen_, merged.budget, merged.budget_) == (1900, 25, 25)
    assert merged.n_support_ <= 25
    assert (
        merged.score(X[1900:], y[1900:]) > min(m.score(X[1900:], y[1900:]) for m in models) - 0.03
    )
    same_state(merged, budgetron.merge_models(models[::-1], budget=25))
    merged.partial_fit(X, y)
    native_of(merged).check_invariants()


def test_one_model_alone_is_itself() -> None:
    X, y = rows(1000)
    for model in (BudgetronClassifier(budget=30), BudgetronRegressor(budget=30)):
        model.partial_fit(X, y)
        alone = budgetron.merge_models([model])
        one, two = (
            each.predict(X) if isinstance(each, BudgetronRegressor) else each.decision_function(X)
            for each in (alone, model)
        )
        np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-7)


def test_two_halves_of_the_classes_know_all_of_them() -> None:
    random = np.random.default_rng(1)
    centres = random.normal(size=(4, 3)) * 5
    y = random.integers(0, 4, 1200)
    X = centres[y] + random.normal(size=(1200, 3))
    low = BudgetronClassifier(budget=30).partial_fit(X[y < 2], y[y < 2])
    high = BudgetronClassifier(budget=30).partial_fit(X[y >= 2], y[y >= 2])
    merged = budgetron.merge_models([low, high], budget=40)
    assert merged.classes_.tolist() == [0, 1, 2, 3]
    assert merged.score(X, y) > 0.6


@pytest.mark.parametrize("name", ["rbp", "projectron", "ahpatron", "ogd"])
def test_other_learners_are_united_and_projected(name: str) -> None:
    X, y = rows(1200)
    budget = {} if name == "ogd" else {"budget": 20}
    sparse = scipy.sparse.csr_array(X)
    models = [
        budgetron.make(name, **budget).partial_fit(sparse[part], y[part])
        for part in (slice(0, 600), slice(600, 1200))
    ]
    merged = budgetron.merge_models(models)
    native_of(merged).check_invariants()
    assert merged.n_support_ <= (20 if budget else sum(each.n_support_ for each in models))
    merged.partial_fit(sparse, y)
    native_of(merged).check_invariants()


def test_what_cannot_be_united_says_so() -> None:
    X, y = rows(600)
    one = BudgetronClassifier(budget=20).partial_fit(X, y)
    fogd = budgetron.make("fogd").partial_fit(X, y)
    base = one.base()
    for models, budget, what in (
        ([], None, "no models"),
        ([one, BudgetronClassifier()], None, "without any rows"),
        ([one, BudgetronRegressor().partial_fit(X, y)], None, "cannot be merged"),
        ([fogd, fogd], None, "start both from one"),
        ([one, base], None, "merge a worker with its base"),
        ([one, one], 0, "budget=0 must be"),
        ([one, BudgetronClassifier(kernel="linear").partial_fit(X, y)], None, "kernels 'rbf' and"),
        ([one, BudgetronClassifier().partial_fit(X[:, :4], y)], None, "of 5 and 4 features"),
        ([one, BudgetronClassifier().partial_fit(X.astype("f"), y)], None, "of float32 and"),
    ):
        with pytest.raises(BudgetronError, match=what):
            budgetron.merge_models(models, budget)
