"""Intervals and sets have the requested coverage, also under drift, and equal their NumPy page."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import make_friedman1

import budgetron
from budgetron import BudgetronClassifier, BudgetronError, BudgetronRegressor
from budgetron.catalogue import CATALOGUE
from papers.intervals import Intervals, Sets
from tests.support.native import native_of, state_of

REGRESSORS = [name for name, entry in CATALOGUE.items() if "regression" in entry.tasks]
CLASSIFIERS = ["budgetron", "forgetron", "fogd", "avm"]


def heteroscedastic(rows: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(rows, 5))
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 5 * X[:, 2]
    return X, f + rng.normal(size=rows) * (0.2 + 3 * X[:, 3] ** 2)


def held(spans: Any, y: Any, burn: int = 200) -> tuple[Any, float, float]:
    """Whether each row was inside, the mean width, and that of the best constant interval."""
    lower, upper = spans[burn:].T
    y = y[burn:]
    middle = (lower + upper) / 2
    inside = (lower <= y) & (y <= upper)
    return inside, float((upper - lower).mean()), float(2 * np.quantile(abs(y - middle), 0.9))


def windows(inside: Any, rows: int = 2000) -> Any:
    whole = len(inside) // rows * rows
    return inside[:whole].reshape(-1, rows).mean(axis=1)


@pytest.mark.parametrize("name", REGRESSORS)
def test_every_regressor_covers(name: str) -> None:
    X, y = make_friedman1(2500, n_features=6, noise=1.0, random_state=0)
    model = budgetron.make(name, "regression")
    spans = model.prequential_interval(X, y, coverage=0.8)
    inside, _, _ = held(spans, y)
    assert abs(inside.mean() - 0.8) < 0.02
    later = model.predict_interval(X[:5], coverage=0.8)
    assert later.shape == (5, 2)
    assert (later[:, 0] < later[:, 1]).all()
    narrow, wide = (model.predict_interval(X[:5], coverage=p) for p in (0.5, 0.99))
    assert (narrow[:, 0] > later[:, 0]).all()
    assert (wide[:, 1] > later[:, 1]).all()
    assert np.allclose(later.mean(axis=1), model.predict(X[:5]))


def test_width_follows_the_noise() -> None:
    X, y = heteroscedastic(12000)
    inside, width, constant = held(BudgetronRegressor().prequential_interval(X, y), y)
    assert abs(inside.mean() - 0.9) < 0.01
    assert width < 0.87 * constant


def test_every_window_covers_under_drift() -> None:
    X, y = make_friedman1(24000, n_features=8, noise=1.0, random_state=1)
    y[8000:] *= 3.0
    X[16000:] = X[16000:, ::-1]
    spans = BudgetronRegressor().prequential_interval(X, y)
    inside, _, _ = held(spans, y)
    assert abs(windows(inside) - 0.9).max() < 0.03


@pytest.mark.long
@pytest.mark.parametrize("name", ["casp", "airlines-nyc2013"])
def test_real_sets(name: str, load_real: Any) -> None:
    X, y = load_real(name, "float64")
    if name == "casp":  # its rows have no order
        order = np.random.default_rng(0).permutation(len(y))
        X, y = X[order], y[order]
    inside, width, constant = held(BudgetronRegressor().prequential_interval(X, y), y)
    assert abs(inside.mean() - 0.9) < 0.01
    assert abs(windows(inside) - 0.9).max() < 0.03
    assert width < (0.95 if name == "airlines-nyc2013" else 1.01) * constant


def test_equals_its_page() -> None:
    X, y = make_friedman1(700, n_features=5, noise=1.0, random_state=2)
    model = budgetron.make("forgetron", "regression", budget=30)
    page = Intervals()
    model.partial_fit(X[:1], y[:1])
    page.count(0.0)
    for i in range(1, len(y)):
        lower, upper = model.predict_interval(X[i : i + 1], coverage=0.83)[0]
        prediction = float(model.predict(X[i : i + 1])[0])
        assert (upper - lower) / 2 == pytest.approx(page.half(0.83), rel=1e-9)
        page.count(abs(y[i] - prediction))
        model.partial_fit(X[i : i + 1], y[i : i + 1])


@pytest.mark.parametrize("classes", [2, 4])
def test_sets_equal_their_page(classes: int) -> None:
    X, numbers = make_friedman1(900, n_features=5, noise=1.0, random_state=3)
    y = np.digitize(numbers, np.quantile(numbers, np.arange(1, classes) / classes))
    model = BudgetronClassifier(budget=30, sets=True)
    model.partial_fit(X[:5], y[:5], classes=np.arange(classes))
    page = Sets()
    fresh = BudgetronClassifier(budget=30)
    decisions = fresh.prequential(X, y, classes=np.arange(classes))
    outputs = decisions if classes > 2 else np.column_stack([-decisions / 2, decisions / 2])
    for i in range(5):
        page.count(outputs[i], int(y[i]))
    for i in range(5, len(y)):
        sets = model.predict_set(X[i : i + 1], coverage=0.95)[0]
        assert (sets == page.members(outputs[i], 0.95)).all()
        page.count(outputs[i], int(y[i]))
        model.partial_fit(X[i : i + 1], y[i : i + 1])


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_sets_cover(name: str) -> None:
    X, numbers = make_friedman1(5000, n_features=5, noise=2.0, random_state=4)
    y = np.digitize(numbers, [10.0, 14.0, 18.0])
    model = budgetron.make(name, sets=True)
    spans = np.full(2 * len(y), np.nan)
    model._prequential_growing(X, y, growing=False, spans=(spans, 0.9))
    size, inside = spans.reshape(-1, 2)[500:].T
    assert 0.885 < inside.mean() < 0.93
    assert 1.0 < size.mean() < 4.0
    sets = model.predict_set(X[:50])
    predicted = np.searchsorted(model.classes_, model.predict(X[:50]))
    assert sets[np.arange(50), predicted].all()


def test_batch_loop_layout_and_resume_are_the_same() -> None:
    X, y = heteroscedastic(700)
    X[X < 0.15] = 0.0
    whole = BudgetronRegressor(budget=20)
    spans = whole.prequential_interval(X, y)
    loop, sparse = BudgetronRegressor(budget=20), BudgetronRegressor(budget=20)
    for i in range(len(y)):
        assert np.array_equal(
            loop.prequential_interval(X[i : i + 1], y[i : i + 1])[0], spans[i], equal_nan=True
        )
        if i == 350:
            loop = pickle.loads(pickle.dumps(loop))
    again = sparse.prequential_interval(scipy.sparse.csr_array(X), y)
    assert np.array_equal(again, spans, equal_nan=True)
    for other in (loop, sparse):
        states = state_of(whole), state_of(other)
        kept = [name for name in states[0] if name.startswith("intervals/") or other is loop]
        assert len(kept) > 5
        assert all(np.array_equal(states[0][name], states[1][name]) for name in kept)
        assert np.array_equal(other.predict_interval(X), whole.predict_interval(X))


def test_decisions_do_not_depend_on_it() -> None:
    X, y = heteroscedastic(600)
    with_, without = (BudgetronRegressor(intervals=on).prequential(X, y) for on in (True, False))
    assert np.array_equal(with_, without)
    labels = y > np.median(y)
    with_, without = (BudgetronClassifier(sets=on).prequential(X, labels) for on in (True, False))
    assert np.array_equal(with_, without)


def test_few_rows_and_odd_targets() -> None:
    model = BudgetronRegressor().partial_fit([[0.0], [1.0]], [0.0, 1.0])
    assert np.isinf(model.predict_interval([[0.5]])).all()
    flat = BudgetronRegressor().fit(np.arange(50.0)[:, None], np.full(50, 7.0))
    assert np.allclose(flat.predict_interval([[3.0]]), 7.0)
    for scale in (1e-9, 1e9):
        X, y = heteroscedastic(3000)
        spans = BudgetronRegressor().prequential_interval(X, 1e3 * scale + scale * y)
        inside, _, _ = held(spans, 1e3 * scale + scale * y)
        assert abs(inside.mean() - 0.9) < 0.02
    one = BudgetronClassifier(sets=True).partial_fit([[0.0]], ["a"])
    assert one.predict_set([[0.0]]).tolist() == [[True]]


def test_bytes_are_kept() -> None:
    X, y = heteroscedastic(1500)
    model = BudgetronRegressor(budget="40KB").partial_fit(X[:1], y[:1])
    taken = model.memory_bytes_
    assert model.partial_fit(X, y).memory_bytes_ <= max(taken, 40_000)
    assert model.lower_budget("30KB").memory_bytes_ <= 30_000
    assert np.isfinite(model.predict_interval(X[:3])).all()


def test_standard_deviation() -> None:
    X, y = make_friedman1(5000, n_features=5, noise=1.0, random_state=5)
    model = BudgetronRegressor().fit(X, y)
    prediction, deviation = model.predict(X[:100], return_std=True)
    assert np.array_equal(prediction, model.predict(X[:100]))
    assert 0.9 < deviation.mean() < 1.4
    assert model.predict(20 + X[:1], return_std=True)[1][0] > 1.5 * deviation.max()


def test_refusals() -> None:
    X, y = heteroscedastic(50)
    with pytest.raises(BudgetronError, match="intervals=True"):
        BudgetronRegressor(intervals=False).fit(X, y).predict_interval(X)
    with pytest.raises(BudgetronError, match="sets=True"):
        BudgetronClassifier().fit(X, y > 5).predict_set(X)
    model = BudgetronRegressor().fit(X, y)
    for coverage in (0.0, 1.0, -1, "90%", True, np.nan):
        with pytest.raises(BudgetronError, match="coverage="):
            model.predict_interval(X, coverage=coverage)


def test_river_faces() -> None:
    from budgetron import river

    X, y = heteroscedastic(400)
    model = river.BudgetronRegressor(budget=20)
    assert model.predict_interval_one({"a": 1.0}) == (-np.inf, np.inf)
    for x, target in zip(X, y, strict=True):
        model.learn_one(dict(enumerate(x)), target)
    lower, upper = model.predict_interval_one(dict(enumerate(X[0])), coverage=0.8)
    assert lower < model.predict_one(dict(enumerate(X[0]))) < upper
    import pandas as pd

    frame = model.predict_interval_many(pd.DataFrame(X[:3]), coverage=0.8)
    assert frame.loc[0].tolist() == [lower, upper]
    classes = river.BudgetronClassifier(budget=20, sets=True)
    assert classes.predict_set_one({"a": 1.0}) == []
    for x, target in zip(X, y, strict=True):
        classes.learn_one(dict(enumerate(x)), ["low", "high"][int(target > 5)])
    assert set(classes.predict_set_one(dict(enumerate(X[0])), 0.99)) <= {"low", "high"}


def test_an_interval_right_after_a_replacement_survives_saving() -> None:
    """Also if the last row has replaced an example."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3))
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=900)
    model = BudgetronRegressor(budget=20, replace="always", gamma=0.5, scale=None)
    model.partial_fit(X[:400], y[:400])
    replaced = 0
    for t in range(400, 900):
        before = set(native_of(model).ids().tolist())
        model.partial_fit(X[t : t + 1], y[t : t + 1])
        if set(native_of(model).ids().tolist()) != before:
            replaced += 1
            copy = pickle.loads(pickle.dumps(model))
            same = copy.predict_interval(X[:20])
            np.testing.assert_array_equal(model.predict_interval(X[:20]), same)
    assert replaced > 10
