"""sample_weight and class_weight: what they multiply, how they count, their errors."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import budgetron
from budgetron.estimators._base.weights import ClassWeights
from tests.support.cases import (
    BY_NAME,
    CASES,
    KINDS,
    REGRESSION,
    REGRESSION_KINDS,
    Case,
    numeric_stream,
    same_state,
    stream,
)
from tests.support.native import state_of


def balanced(y: np.ndarray) -> np.ndarray:
    """n_t / (K_t n_{y,t}), written out."""
    return np.array(
        [t / (len(set(y[:t])) * np.sum(y[:t] == y[t - 1])) for t in range(1, len(y) + 1)]
    )


@pytest.mark.parametrize("case", CASES, ids=str)
def test_weights_of_one_are_no_weights(case: Case) -> None:
    X, y = stream(150)
    same_state(case.make().fit(X, y), case.make().fit(X, y, sample_weight=np.ones(len(y))))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_row_of_weight_zero_is_as_if_it_had_not_come(case: Case) -> None:
    X, y = stream(200)
    weights = np.random.default_rng(0).integers(3, size=len(y)).astype(float)
    come = weights > 0
    prepared = {"gamma": "median", "scale": "standard", "class_weight": "balanced"}
    all_rows = case.make(**prepared).fit(X, y, sample_weight=weights)
    those = case.make(**prepared).fit(X[come], y[come], sample_weight=weights[come])
    same_state(all_rows, those)
    assert all_rows.n_seen_ == come.sum() < len(y)


@pytest.mark.parametrize("case", REGRESSION, ids=str)
def test_regressors_take_weights(case: Case) -> None:
    X, y = numeric_stream(200)
    weights = np.random.default_rng(0).integers(3, size=len(y)).astype(float)
    weighted = case.make().fit(X, y, sample_weight=weights)
    come = weights > 0
    same_state(weighted, case.make().fit(X[come], y[come], sample_weight=weights[come]))
    assert not np.array_equal(weighted.predict(X), case.make().fit(X[come], y[come]).predict(X))


@pytest.mark.parametrize("name", ["perceptron", "ogd", "pa", "avp"])
def test_the_first_coef_is_the_weight_times_its_own(name: str) -> None:
    X, y = stream(1)
    plain = BY_NAME[name].make().partial_fit(X, y, classes=[0, 1])
    tripled = BY_NAME[name].make().partial_fit(X, y, classes=[0, 1], sample_weight=[3.0])
    np.testing.assert_allclose(3 * plain.dual_coef_, tripled.dual_coef_, rtol=1e-14)


@pytest.mark.parametrize("chunk", [1, 7, 300])
@pytest.mark.parametrize("classes", [2, 3])
def test_balanced_is_by_running_counts(classes: int, chunk: int) -> None:
    X, y = stream(300, classes=classes)
    y[np.random.default_rng(1).random(len(y)) < 0.6] = 0
    labels = np.array(["a", "b", "c"])[y]
    plain = BY_NAME["ogd"].make().partial_fit(X, labels, sample_weight=balanced(y))
    model = BY_NAME["ogd"].make(class_weight="balanced")
    for i in range(0, len(y), chunk):
        model.partial_fit(X[i : i + chunk], labels[i : i + chunk])
        model = pickle.loads(pickle.dumps(model))
    same_state(plain, model)
    assert balanced(y).max() > 2 > 0.7 > balanced(y).min()


@pytest.mark.parametrize("rule", ["balanced", {0: 2.0, 1: 0.5}])
def test_a_model_file_goes_on_counting(rule: Any, tmp_path: Path) -> None:
    X, y = stream(200)
    whole = BY_NAME["rbp"].make(class_weight=rule).partial_fit(X, y)
    half = BY_NAME["rbp"].make(class_weight=rule).partial_fit(X[:90], y[:90])
    budgetron.save(half, tmp_path / "half.btn")
    same_state(whole, budgetron.load(tmp_path / "half.btn").partial_fit(X[90:], y[90:]))


def test_balanced_in_fit_and_row_by_row() -> None:
    X, y = stream(200, classes=3)
    fitted = BY_NAME["rbp"].make(class_weight="balanced").fit(X, y)
    weighted = BY_NAME["rbp"].make().fit(X, y, sample_weight=balanced(y))
    same_state(fitted, weighted)
    by_row = BY_NAME["rbp"].make(class_weight="balanced")
    by_row.partial_fit(X[:1], y[:1], classes=[0, 1, 2])
    for t in range(1, len(y)):
        by_row.learn_one(X[t], y[t])
    same_state(fitted, by_row)


def test_weights_by_class_multiply_those_of_rows() -> None:
    X, y = stream(200)
    rows = np.random.default_rng(0).random(len(y)) + 0.5
    model = BY_NAME["ogd"].make(class_weight={1: 4.0}).fit(X, y, sample_weight=rows)
    same_state(model, BY_NAME["ogd"].make().fit(X, y, sample_weight=np.where(y == 1, 4, 1) * rows))


def test_a_rare_class_is_found_more_often() -> None:
    X, y = stream(3000, seed=5)
    rare = np.flatnonzero(y == 1)
    keep = np.concatenate([np.flatnonzero(y == 0), rare[: len(rare) // 12]])
    keep = np.random.default_rng(0).permutation(keep)
    X, y = X[keep], y[keep]
    found = {}
    for weight in (None, "balanced"):
        model = budgetron.make("ogd", step=0.1, gamma=0.5, class_weight=weight).fit(X, y)
        found[weight] = np.mean(model.predict(X[y == 1]) == 1)
    assert found["balanced"] > found[None] + 0.4


def after(weights: ClassWeights, label: Any) -> float:
    weight = weights.of_one(label)
    weights.count(label)
    return weight


def test_counts_are_vectorised_right() -> None:
    rng = np.random.default_rng(0)
    y = rng.choice(["x", "y", "z"], p=[0.9, 0.09, 0.01], size=500)
    counted = rng.random(500) < 0.7
    weights = ClassWeights("balanced")
    one = ClassWeights("balanced")
    start = weights.of_rows(y[:123])
    np.testing.assert_array_equal(weights.of_rows(y[:123]), start)  # asking counts nothing
    weights.count_rows(y[:123])
    together = np.concatenate([start, weights.of_rows(y[123:])])
    np.testing.assert_array_equal(together, [after(one, label) for label in y])
    np.testing.assert_allclose(together, balanced(y))
    some = ClassWeights("balanced").of_rows(y, counted)
    np.testing.assert_allclose(some[counted], balanced(y[counted]))
    assert not some[~counted].any()


@pytest.mark.parametrize("names", [[0, 1], None])
def test_weight_zero_row_by_row_with_classes_that_join(names: Any) -> None:
    X, y = stream(200)
    y[[0, 60]] = 9  # of a class that comes with weight at row 100 only
    weights = np.random.default_rng(0).integers(2, size=len(y)).astype(float)
    weights[[0, 60]] = 0.0
    y[100], weights[100] = 9, 1.0
    known = {"classes": [0, 1, 9]} if names else {}
    whole = BY_NAME["rbp"].make().partial_fit(X, y, sample_weight=weights, **known)
    loop = BY_NAME["rbp"].make()
    for t in range(len(y)):
        loop.partial_fit(X[t : t + 1], y[t : t + 1], sample_weight=weights[t : t + 1], **known)
    come = weights > 0
    without = BY_NAME["rbp"].make()
    without.partial_fit(X[come], y[come], sample_weight=weights[come], **known)
    same_state(whole, loop)
    same_state(whole, without)
    early = BY_NAME["rbp"].make().partial_fit(X[:90], y[:90], sample_weight=weights[:90], **known)
    assert early.classes_.tolist() == [0, 1] + ([9] if names else [])


def test_only_rows_of_weight_zero_teach_no_class() -> None:
    model = BY_NAME["rbp"].make().partial_fit([[1.0]], [3], sample_weight=[0.0])
    with pytest.raises(ValueError, match="no class is known yet"):
        model.predict([[1.0]])
    assert model.partial_fit([[1.0]], [3]).predict([[1.0]]).tolist() == [3]


def test_a_refused_row_is_not_counted() -> None:
    X, y = stream(50)
    model = BY_NAME["rbp"].make(class_weight="balanced").fit(X, y)
    before = dict(model._class_weights.counts)
    with pytest.raises(TypeError):
        model.learn_one(X[0].astype(np.float32), y[0])
    assert model._class_weights.counts == before


@pytest.mark.parametrize("case", KINDS + REGRESSION_KINDS, ids=str)
def test_huge_weights_leave_a_model_that_answers(case: Case) -> None:
    X, y = numeric_stream(120) if case.task == "regression" else stream(120)
    weights = np.where(np.arange(len(y)) % 3, 1.0, 1e100)
    model = case.make().fit(X, y, sample_weight=weights)
    assert np.isfinite(model.predict(X)).all()
    if case.task == "classification":
        assert np.isfinite(model.decision_function(X)).all()


def test_weights_whose_product_is_too_large_are_refused() -> None:
    X, y = stream(20)
    with pytest.raises(
        ValueError, match=r"sample weight 1e\+150 is not a number from 0 to 1e\+100"
    ):
        budgetron.make("rbp", class_weight={1: 1e60}).fit(X, y, sample_weight=np.full(20, 1e90))


@pytest.mark.parametrize(
    "weights", [[1.0], [-1.0] * 20, [np.nan] * 20, [[1.0, 1.0]] * 20, ["a"] * 20]
)
def test_bad_sample_weights_are_refused_and_nothing_is_learned(weights: Any) -> None:
    X, y = stream(20)
    model = BY_NAME["rbp"].make().partial_fit(X, y)
    before = state_of(model)
    with pytest.raises(ValueError, match=r"weight|convert"):
        model.partial_fit(X, y, sample_weight=weights)
    after = state_of(model)
    assert all(np.array_equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("even", "'class_weight' parameter"),
        ({0: -1.0}, r"class_weight\[0\]=-1.0 must be a number from 0 to"),
        ({2: 1.0}, r"class_weight names 2, which is not among the classes \[0, 1\]"),
    ],
)
def test_bad_class_weights(rule: Any, message: str) -> None:
    X, y = stream(20)
    with pytest.raises(ValueError, match=message):
        budgetron.make("rbp", class_weight=rule).fit(X, y)
