"""Cases in which two learners must be equal: spare room, a linear kernel, two classes as K."""

from __future__ import annotations

import numpy as np
import pytest

import budgetron
from tests.support.cases import CASES, Case, attempts, stream
from tests.support.native import engine_of, learn_rows


@pytest.mark.parametrize("case", CASES, ids=str)
def test_two_classes_through_the_k_class_path_equal_the_binary_learner(case: Case) -> None:
    X, y = stream(300)
    binary = case.make(random_state=2)
    decisions = binary.prequential(X, y, classes=[0, 1])
    engine = engine_of(binary)
    wide = type(engine.native)(engine.spec, "classification", 2, engine.seed, wide=True)
    assert wide.outputs == 2
    pairs = learn_rows(wide, X, y.astype(float), record=True)
    np.testing.assert_array_equal(pairs[:, 1] - pairs[:, 0], decisions)
    assert wide.updates == binary.n_updates_
    assert attempts(binary) > 30


def test_linear_perceptron_is_a_weight_vector() -> None:
    X, y = stream(400, width=6)
    signs = 2.0 * y - 1.0
    model = budgetron.make("perceptron", kernel="linear")
    decisions = model.prequential(X, y, classes=[0, 1])
    w = np.zeros(6)
    for x, sign, decision in zip(X, signs, decisions, strict=True):
        assert decision == pytest.approx(w @ x, rel=1e-9, abs=1e-9)
        if sign * decision <= 0 and x.any():
            w += sign * x
    assert model.n_updates_ > 50


def test_ahpatron_with_room_is_an_aggressive_perceptron() -> None:
    X, y = stream(300)
    small = budgetron.make("ahpatron", gamma=0.5, budget=1000, radius=1e6, step=1.0, epsilon=0.75)
    decisions = small.prequential(X, y, classes=[0, 1])
    assert small.n_support_ == small.n_updates_ > 100
    stored: list[int] = []
    K = np.exp(-0.5 * ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2))
    signs = 2.0 * y - 1.0
    for t in range(300):
        f = sum(signs[i] * K[i, t] for i in stored)
        assert decisions[t] == pytest.approx(f, abs=1e-9)
        if signs[t] * f < 0.25:
            stored.append(t)
