"""Rare classes with weights; classes that come after others are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_classification
from sklearn.metrics import average_precision_score, recall_score

from budgetron import BudgetronClassifier


@pytest.mark.parametrize("flipped", [0.0, 0.01])
@pytest.mark.parametrize("way", ["split", "prequential"])
def test_balanced_keeps_the_order_and_finds_the_rare(way: str, flipped: float) -> None:
    """Means of five sets: one has 50 to 150 positive test rows, too few to be sure of 0.03."""
    precision: dict[str | None, list[float]] = {None: [], "balanced": []}
    recall: dict[str | None, list[float]] = {None: [], "balanced": []}
    for seed in range(5):
        X, y = make_classification(20_000, weights=[0.99], flip_y=flipped, random_state=seed)
        for weight in (None, "balanced"):
            model = BudgetronClassifier(budget=100, class_weight=weight)
            if way == "split":
                model.partial_fit(X[:15_000], y[:15_000])
                scores, truth = model.decision_function(X[15_000:]), y[15_000:]
            else:
                scores, truth = model.prequential(X, y, classes=[0, 1]), y
            precision[weight].append(average_precision_score(truth, scores))
            recall[weight].append(recall_score(truth, scores >= 0))
    assert np.mean(precision["balanced"]) >= np.mean(precision[None]) - 0.03
    # A third of the positives with flipped labels are drawn at random, and in test-then-train the
    # first come before any was learned: 0.695 are found there.
    assert np.mean(recall["balanced"]) >= (0.69 if flipped and way == "prequential" else 0.70)


@pytest.mark.parametrize("weight", [1.5, 7.0, 1e6])
def test_weights_above_1_that_are_all_equal_change_no_prediction(weight: float) -> None:
    X, y = load_digits(return_X_y=True)
    plain = BudgetronClassifier(budget=50, gamma=0.001, scale=None)
    weighed = BudgetronClassifier(budget=50, gamma=0.001, scale=None)
    one = plain.prequential(X, y, classes=range(10))
    weights = np.full(len(y), weight)
    other = weighed.prequential(X, y, sample_weight=weights, classes=range(10))
    np.testing.assert_allclose(other, weight * one, rtol=1e-6, atol=1e-9 * weight)


def test_a_row_of_almost_no_weight_changes_almost_nothing() -> None:
    """Like a row of weight 0, which changes nothing: weights below 1 are precisions."""
    X, y = make_classification(600, random_state=0)
    weights = np.where(np.arange(600) < 300, 1.0, 1e-9)
    model, plain = BudgetronClassifier(budget=30), BudgetronClassifier(budget=30)
    model.partial_fit(X, y, sample_weight=weights)
    plain.partial_fit(X[:300], y[:300])
    moved = np.abs(model.decision_function(X) - plain.decision_function(X))
    assert moved.max() < 1e-3


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_digits_that_come_late(seed: int, named: bool) -> None:
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(y))
    order = order[np.argsort(y[order] >= 5, kind="stable")]
    how: dict[str, Any] = {"classes": np.arange(10)} if named else {}
    model = BudgetronClassifier(budget=100)
    for start in range(0, len(order), 100):
        chunk = order[start : start + 100]
        model.partial_fit(X[chunk], y[chunk], **how)
    assert model.score(X, y) >= 0.85
    assert len(model.drift_log_) == 0


def test_a_drift_of_known_classes_is_still_seen() -> None:
    """A class joins late; much later the labels of the others are swapped."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 2))
    y = (X[:, 0] > 0).astype(int)
    t = np.arange(len(y))
    y[(t > 1500) & (X[:, 1] > 1)] = 2
    swapped = (t > 4000) & (y < 2)
    y[swapped] = 1 - y[swapped]
    log = BudgetronClassifier(budget=60).partial_fit(X, y).drift_log_
    assert not any((log > 1500) & (log <= 2000))
    assert any((log > 4000) & (log < 4300))
