"""A key's own model is the ordinary learner of its name on a few examples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import budgetron
from tests.support.keyed import keyed

# Kernel values are of differences in float32 here and of products there; Budgetron's covariance is
# float32 here.
TOLERANCE = {"forgetron": 1e-5, "rbp": 1e-5, "bogd": 1e-5, "budgetron": 2e-3}
# Parts that own models of a fleet do not have.
ORDINARY: dict[str, dict[str, Any]] = {
    "budgetron": {"replace": "never", "reflex": False, "straight": "diagonal", "relevance": False}
}


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("algorithm", TOLERANCE)
def test_one_key_is_the_ordinary_learner(algorithm: str, dtype: Any, classes: int) -> None:
    _, X, y = keyed(600, 1, classes=classes)
    X = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(dtype)
    rng = np.random.default_rng(1)
    y = np.where(rng.random(len(y)) < 0.2, rng.integers(0, classes, len(y)), y)  # always mistakes
    settings: dict[str, Any] = {"gamma": 0.3, "scale": None, "random_state": 0}
    fleet = budgetron.Fleet(
        algorithm, memory="2MB", classes=range(classes), shared=None, caution=1, **settings
    )
    model = budgetron.make(algorithm, budget=8, **settings, **ORDINARY.get(algorithm, {}))
    decisions = fleet.prequential(np.zeros(len(y), dtype=int), X, y)
    expected = model.prequential(X, y, classes=range(classes))
    assert np.abs(decisions - expected).max() <= TOLERANCE[algorithm] * np.abs(expected).max()
    assert fleet.n_mistakes_ == model.n_mistakes_
    assert fleet.info()["examples"] == model.n_support_ == 8
    fleet.check_invariants()


def test_keys_do_not_know_of_each_other() -> None:
    """With room for all, a key in a fleet of many equals the key alone, to the bit."""
    keys, X, y = keyed(1500, 12)
    settings: dict[str, Any] = {"gamma": 0.001, "scale": None, "shared": None}
    many = budgetron.Fleet("forgetron", memory="3MB", classes=[0, 1], **settings)
    decisions = many.prequential(keys, X, y)
    mine = keys == 3
    alone = budgetron.Fleet("forgetron", memory="3MB", classes=[0, 1], **settings)
    expected = alone.prequential(keys[mine], X[mine], y[mine])
    np.testing.assert_array_equal(decisions[mine], expected)


def test_weights_count_as_in_the_ordinary_learner() -> None:
    _, X, y = keyed(400, 1)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    weights = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 3.0], len(y))
    for algorithm in ("forgetron", "budgetron"):
        settings: dict[str, Any] = {"gamma": 0.3, "scale": None}
        fleet = budgetron.Fleet(
            algorithm, memory="2MB", classes=[0, 1], shared=None, caution=1, **settings
        )
        model = budgetron.make(algorithm, budget=8, **settings, **ORDINARY.get(algorithm, {}))
        decisions = fleet.prequential(["a"] * len(y), X, y, weights)
        expected = model.prequential(X, y, classes=[0, 1], sample_weight=weights)
        largest = np.abs(expected).max()
        assert np.abs(decisions - expected).max() <= TOLERANCE[algorithm] * largest
