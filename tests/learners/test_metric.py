"""The metric that Budgetron learns: what it finds, when it changes, and what does not change."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray

import budgetron
from budgetron import BudgetronClassifier, BudgetronRegressor
from papers import metric
from tests.support.cases import same_state
from tests.support.native import native_of, state_of
from tests.support.tracing import find_field

Rows = NDArray[Any]


def one_of(width: int, rows: int, seed: int = 0) -> tuple[Rows, Rows]:
    """Only feature 0 matters, in waves."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, width))
    return X, (np.sin(3 * X[:, 0]) > 0).astype(int)


def test_a_feature_that_decides_alone_is_found() -> None:
    X, y = one_of(5, 4000)
    plain = BudgetronClassifier(relevance=False).partial_fit(X, y)
    model = BudgetronClassifier().partial_fit(X, y)
    relevance = model.feature_relevance_
    assert relevance.shape == (5,)
    assert relevance.argmax() == 0
    assert relevance[0] > 4 * relevance[1:].max()
    assert model.n_mistakes_ < 0.8 * plain.n_mistakes_
    np.testing.assert_array_equal(plain.feature_relevance_, np.ones(5))


def test_it_does_not_depend_on_units() -> None:
    X, y = one_of(4, 3000)
    other = X * np.array([1e3, 1e-2, 1.0, 50.0]) + np.array([7.0, 0.0, -1e3, 2.0])
    found = [BudgetronClassifier().partial_fit(each, y).feature_relevance_ for each in (X, other)]
    assert found[0].argmax() == found[1].argmax() == 0
    assert found[1][0] > 2 * found[1][1:].max()


def test_no_change_where_features_matter_alike() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 4))
    y = (X.sum(axis=1) > 0).astype(int)
    plain, model = (
        BudgetronClassifier(relevance=relevance).partial_fit(X, y) for relevance in (False, True)
    )
    np.testing.assert_array_equal(plain.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(model.feature_relevance_, np.ones(4))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("classes", [2, 3])
def test_gradients_are_those_of_the_page(dtype: str, classes: int) -> None:
    X, y = one_of(3, 400)  # even: rows are shown as they come
    y = y + (X[:, 1] > 1) if classes == 3 else y
    X = X.astype(dtype)
    known = np.arange(classes)
    model = BudgetronClassifier(gamma="median", budget=40)
    model.partial_fit(X[:200], y[:200], classes=known)
    squares = find_field(state_of(model), "relevance/gradient_squares").copy()
    rows = int(find_field(state_of(model), "relevance/gradient_rows")[0])
    for t in range(200, 399):
        if metric.counts(t):
            coef, w = model.dual_coef_, model.coef_
            if classes == 2:
                a, weights = coef[0], w[0]
            else:
                f = model.decision_function(X[t : t + 1])[0]
                rival = max((k for k in known if k != y[t]), key=lambda k: f[k])
                a, weights = (coef[y[t]] - coef[rival]) / 2, (w[y[t]] - w[rival]) / 2
            x = X[t].astype(float)
            gamma = float(native_of(model).gamma)
            found = metric.gradient(x, np.asarray(model.support_vectors_), a, weights, gamma)
            squares = squares + found**2
            rows += 1
        model.partial_fit(X[t : t + 1], y[t : t + 1])
    np.testing.assert_allclose(
        find_field(state_of(model), "relevance/gradient_squares"),
        squares,
        rtol={"float64": 1e-9, "float32": 1e-3}[dtype],
    )
    assert find_field(state_of(model), "relevance/gradient_rows")[0] == rows > 60


def test_the_proposal_is_that_of_the_page() -> None:
    X, y = one_of(3, 401)
    model = BudgetronClassifier(gamma="median", budget=40).partial_fit(X[:399], y[:399])
    state = state_of(model)
    rows, squares, sums, moments = (
        find_field(state, f"relevance/{name}")
        for name in ("gradient_rows", "gradient_squares", "value_sums", "value_squares")
    )
    assert not metric.counts(399)
    variance = moments / rows - (sums / rows) ** 2
    share = squares * variance
    expected = np.maximum(np.sqrt(share / share.mean()), metric.LEAST)
    model.partial_fit(X[399:400], y[399:400])
    found = state_of(model)["race/metric0/relevance"]
    np.testing.assert_allclose(found, expected)
    assert find_field(state_of(model), "relevance/gradient_rows").tolist() != rows.tolist()


@pytest.mark.parametrize("rows", [390, 400, 410, 900])
def test_batch_loop_resumed_and_sparse_are_equal(rows: int, tmp_path: Any) -> None:
    X, y = one_of(3, rows + 1600)
    X[np.abs(X) < 0.2] = 0
    classes = [0, 1]
    whole = BudgetronClassifier(budget=30).partial_fit(X, y, classes=classes)
    assert whole.feature_relevance_[0] != 1
    loop = BudgetronClassifier(budget=30).partial_fit(X[:1], y[:1], classes=classes)
    for i in range(1, rows + 1600, 7):
        loop.partial_fit(X[i : i + 7], y[i : i + 7])
    same_state(whole, loop)
    first = BudgetronClassifier(budget=30).partial_fit(X[:rows], y[:rows], classes=classes)
    budgetron.save(first, tmp_path / "model.bgt")
    for again in (pickle.loads(pickle.dumps(first)), budgetron.load(tmp_path / "model.bgt")):
        same_state(whole, again.partial_fit(X[rows:], y[rows:]))
    sparse = BudgetronClassifier(budget=30)
    sparse.partial_fit(scipy.sparse.csr_array(X), y, classes=classes)
    np.testing.assert_array_equal(whole.decision_function(X), sparse.decision_function(X))


@pytest.mark.parametrize("rows", [300, 410, 900])
@pytest.mark.parametrize("gamma", ["4*median", "0.3*median"])
def test_a_multiple_of_the_median_is_kept_by_a_saved_model(gamma: str, rows: int) -> None:
    X, y = one_of(3, 2500)
    X[1500:, 1] *= 1000
    whole = BudgetronClassifier(budget=30, gamma=gamma).partial_fit(X, y)
    assert whole.unit_changes_ > 0
    first = BudgetronClassifier(budget=30, gamma=gamma).partial_fit(X[:rows], y[:rows])
    same_state(whole, pickle.loads(pickle.dumps(first)).partial_fit(X[rows:], y[rows:]))


def test_units_change_under_a_metric() -> None:
    X, y = one_of(3, 4000)
    X[2000:] *= [1.0, 1000.0, 1.0]
    model = BudgetronClassifier().partial_fit(X[:2000], y[:2000])
    assert model.feature_relevance_[0] > 1
    before = model.n_mistakes_
    model.partial_fit(X[2000:], y[2000:])
    assert model.unit_changes_ > 0
    assert model.n_mistakes_ - before < before
    native_of(model).check_invariants()


def test_regression_has_it() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5))
    y = 1e4 + 50 * np.sin(3 * X[:, 0])
    score = {
        relevance: BudgetronRegressor(relevance=relevance, gamma="median")
        .partial_fit(X[:2500], y[:2500])
        .score(X[2500:], y[2500:])
        for relevance in (False, True)
    }
    assert score[True] > score[False] + 0.1


def test_none_where_it_cannot_be() -> None:
    X, y = one_of(3, 1000)
    for words in (
        {"scale": None},
        {"gamma": 0.5},
        {"kernel": "laplacian"},
        {"straight": "none"},
        {"average": "mean"},
    ):
        model = BudgetronClassifier(**words).partial_fit(X, y)
        np.testing.assert_array_equal(model.feature_relevance_, np.ones(3))


def test_flags_of_missing_values_and_constants() -> None:
    X, y = one_of(4, 1000)
    X[:, 3] = 5.0
    X[np.random.default_rng(1).uniform(size=X.shape) < 0.1] = np.nan
    model = BudgetronClassifier(missing="flag").partial_fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert model.feature_relevance_.size == 8
    assert np.isfinite(model.feature_relevance_).all()


def test_a_forged_metric_is_refused() -> None:
    X, y = one_of(3, 3000)
    model = BudgetronClassifier().partial_fit(X, y)
    for value in (0.0, -1.0, np.nan, np.inf):
        state = state_of(model)
        forged = state["preparation/metric/relevance"].copy()
        forged[0] = value
        with pytest.raises(ValueError, match="metric"):
            native_of(model).load({**state, "preparation/metric/relevance": forged})
