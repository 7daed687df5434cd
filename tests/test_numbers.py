"""The papers' numbers on real data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import budgetron


@pytest.mark.parametrize("seed", [0, 1])
def test_ahpatron_on_a9a(load_real: Callable[..., Any], seed: int) -> None:
    """ahpatron.txt table 2: 16.42 +- 0.06 % with B = 150, sigma = 2."""
    X, y = load_real("a9a", "a9a.t", n_features=123)
    order = np.random.default_rng(seed).permutation(len(y))
    model = budgetron.make("ahpatron", budget=150, gamma=0.125, epsilon=0.5)
    model.prequential(X[order], y[order])
    assert model.n_seen_ == 48_842
    assert model.n_support_ <= 150
    assert 100 * model.n_mistakes_ / model.n_seen_ == pytest.approx(16.4, abs=0.3)
