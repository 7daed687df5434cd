"""Learners that keep one set of examples for long do not fill it with copies of one row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import budgetron
from budgetron.catalogue import as_printed
from tests.support.cases import BY_NAME, stream
from tests.support.native import native_of, state_of
from tests.support.tracing import find_field, run_trace

LEARNERS = ["nogd", "ahpatron"]


def with_copies(rows: int, classes: int, share: float, seed: int = 0) -> tuple[Any, Any]:
    """Rows of which many are equal, with any label."""
    X, y = stream(rows, classes=classes)
    rng = np.random.default_rng(seed)
    X[rng.random(rows) < share] = X[0]
    return X, y


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize(("classes", "layout"), [(2, "dense"), (3, "csr")])
@pytest.mark.parametrize("name", LEARNERS)
def test_copies_follow_the_page(
    name: str, classes: int, layout: str, kernel: str, dtype: str
) -> None:
    X, y = with_copies(200, classes, 0.8)
    model = run_trace(BY_NAME[name], kernel, X, y, classes, layout, dtype=dtype)
    stored = model.support_vectors_
    stored = stored.toarray() if layout == "csr" else stored
    if name == "nogd":
        assert find_field(state_of(model), "rank")[0] > 1
        assert 2 * len(np.unique(stored, axis=0)) >= len(stored)


@pytest.mark.parametrize("average", ["last", "mean"])
def test_nogd_leaves_f_and_its_mean_as_they_are(average: str) -> None:
    """Until the landmarks are complete it is OGD without decay, whatever is united."""
    X, y = with_copies(60, 2, 0.9, seed=3)
    how: dict[str, Any] = {"step": 0.3, "gamma": 0.5, "average": average}
    ours = as_printed("nogd", budget=12, **how)
    theirs = as_printed("nogd", budget=1000, **how)
    united = 0
    for t in range(len(y)):
        size = getattr(ours, "n_support_", 0) if t else 0
        for model in (ours, theirs):
            model.partial_fit(X[t : t + 1], y[t : t + 1], classes=[0, 1])
        if t and find_field(state_of(ours), "rank")[0] > 0:
            break
        united += ours.n_support_ < size
        np.testing.assert_allclose(
            ours.decision_function(X), theirs.decision_function(X), rtol=1e-9, atol=1e-9
        )
    assert united > 1
    native_of(ours).check_invariants()


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("copies", [50, 100, 120, 150, 190, 250])
def test_a_learner_lives_through_equal_rows(name: str, copies: int) -> None:
    """As if it had started after them; without this rule nogd errs on every second row."""
    lived, began = 0.0, 0.0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((copies + 3000, 5))
        y = (X[:, 0] * X[:, 1] + X[:, 2] / 2 > 0) ^ (rng.random(len(X)) < 0.05)
        X[:copies] = 1.5
        for start in (0, copies):
            model = budgetron.make(name, budget=100, random_state=0)
            decisions = model.prequential(X[start:], y[start:].astype(int), classes=[0, 1])
            wrong = ((decisions >= 0) != y[start:])[copies - start :][1000:].mean()
            lived, began = (lived + wrong, began) if start == 0 else (lived, began + wrong)
            assert np.abs(model.dual_coef_).max() < 100
    assert lived <= 1.2 * began, f"{lived / 6:.1%} for {began / 6:.1%}"


@pytest.mark.parametrize("name", LEARNERS)
def test_rows_that_are_all_equal(name: str) -> None:
    X, y = np.full((2000, 3), 2.5), np.arange(2000) % 2
    for how in ({}, {"scale": None, "gamma": 0.5}):
        model = budgetron.make(name, budget=20, random_state=0, **how)
        decisions = model.prequential(X, y, classes=[0, 1])
        assert np.isfinite(decisions).all()
        assert model.n_support_ <= 20
        native_of(model).check_invariants()


def test_few_copies_change_nothing_of_the_paper() -> None:
    """Nothing changes if half of the landmarks differ, or half of the kept half."""
    X, y = with_copies(300, 2, 0.2)
    model = as_printed("nogd", budget=20, gamma=0.5).partial_fit(X, y, classes=[0, 1])
    assert len(np.unique(model.support_vectors_, axis=0)) < model.n_support_ == 20
