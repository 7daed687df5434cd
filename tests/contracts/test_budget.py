"""The budget's contract: never more than the budget, and exact while there is room."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budgetron.checks import contracts
from tests.support.cases import BUDGETED, CASES, Case, attempts, stream


@pytest.mark.parametrize("case", BUDGETED, ids=str)
@given(budget=st.integers(2, 20), seed=st.integers(0, 1000))
def test_never_more_than_the_budget(case: Case, budget: int, seed: int) -> None:
    contracts.check_budget_is_kept(case.make(budget=budget), seed=seed)


@pytest.mark.parametrize("case", BUDGETED, ids=str)
def test_fills_its_budget_and_then_keeps_its_bytes(case: Case) -> None:
    contracts.check_memory_is_constant_once_full(case.make(), full=case.full)
    X, y = stream(600)
    assert attempts(case.make().partial_fit(X, y)) > 4 * case.budget


@pytest.mark.parametrize("case", CASES, ids=str)
def test_bytes_hold_at_least_what_is_stored(case: Case) -> None:
    X, y = stream(400, width=30)
    model = case.make().partial_fit(X, y)
    assert model.memory_bytes_ >= model.support_vectors_.nbytes + model.dual_coef_.nbytes
