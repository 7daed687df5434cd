"""Long runs: always finite, always within budget. BUDGETRON_SOAK_ROUNDS sets how long."""

from __future__ import annotations

import os

import numpy as np
import pytest
from cases import BUDGETED, Case, attempts

from budgetron import make

ROUNDS = int(os.environ.get("BUDGETRON_SOAK_ROUNDS", "300000"))


@pytest.mark.filterwarnings("ignore::budgetron.PrecisionWarning")
@pytest.mark.parametrize("case", BUDGETED, ids=str)
def test_long_run(case: Case) -> None:
    """float32, duplicated points, a constant feature, labels mostly noise."""
    rng = np.random.default_rng(0)
    model = case.make(budget=16, gamma=2.0, random_state=0)
    block = min(ROUNDS, 50_000)
    pool = rng.normal(size=(5000, 3)).astype(np.float32)
    pool[:, 2] = 1.0
    for _ in range(ROUNDS // block):
        X = pool[rng.integers(len(pool), size=block)]
        y = np.where(rng.random(block) < 0.3, rng.integers(2, size=block), X[:, 0] * X[:, 1] > 0)
        decisions = model.prequential(X, y.astype(int), classes=[0, 1])
        assert np.isfinite(decisions).all()
        assert model.n_support_ <= 16
        model._engine.native.check_invariants()
    assert attempts(model) >= 0.2 * model.n_seen_, "too few updates to mean anything"


@pytest.mark.filterwarnings("ignore::budgetron.PrecisionWarning")
def test_long_regression() -> None:
    """Every round updates: Budgetron's covariance stays positive definite."""
    rng = np.random.default_rng(0)
    model = make("budgetron", task="regression", budget=16, gamma=2.0, random_state=0)
    block = min(ROUNDS, 50_000)
    for _ in range(ROUNDS // block):
        X = rng.normal(size=(block, 2)).astype(np.float32).round(1)
        decisions = model.prequential(X, np.sin(3 * X[:, 0]) + 0.3 * rng.normal(size=block))
        assert np.isfinite(decisions).all()
        assert model.n_support_ == 16
        model._engine.native.check_invariants()
    assert model.n_updates_ == model.n_seen_
