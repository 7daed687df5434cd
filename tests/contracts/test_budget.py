"""The budget's contract: never more than was said, and exact while there is room."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import BUDGETED, CASES, Case, attempts, stream
from tests.support.native import native_of


@pytest.mark.parametrize("case", BUDGETED, ids=str)
@given(budget=st.integers(2, 20), seed=st.integers(0, 1000))
def test_never_more_than_the_budget(case: Case, budget: int, seed: int) -> None:
    X, y = stream(150, seed=seed)
    model = case.make(budget=budget)
    for start in range(0, 150, 10):
        model.partial_fit(X[start : start + 10], y[start : start + 10], classes=[0, 1])
        assert model.n_support_ <= budget
        assert np.isfinite(model.decision_function(X)).all()
    native_of(model).check_invariants()


@pytest.mark.parametrize("case", BUDGETED, ids=str)
def test_fills_its_budget_and_then_keeps_its_bytes(case: Case) -> None:
    X, y = stream(600)
    model = case.make().partial_fit(X[:1], y[:1], classes=[0, 1])
    sizes, bytes_when_full = [], set()
    filled = False
    for row in range(1, len(y)):
        model.partial_fit(X[row : row + 1], y[row : row + 1])
        sizes.append(model.n_support_)
        if filled and row >= 300:  # scratch has been used once by then
            bytes_when_full.add(model.memory_bytes_)
        filled = filled or model.n_support_ == case.full
    assert max(sizes) == case.full
    assert attempts(model) > 4 * case.budget
    assert len(bytes_when_full) == 1


@pytest.mark.parametrize("case", CASES, ids=str)
def test_bytes_hold_at_least_what_is_stored(case: Case) -> None:
    X, y = stream(400, width=30)
    model = case.make().partial_fit(X, y)
    assert model.memory_bytes_ >= model.support_vectors_.nbytes + model.dual_coef_.nbytes
