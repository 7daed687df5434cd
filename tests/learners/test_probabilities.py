"""Probabilities: the online sigmoid follows its page, is what it says, and is calibrated."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.metrics import log_loss

import budgetron
from papers.calibration import SUMS, Calibration
from studies.calibration import LEARNERS, expected_calibration_error, improvement, make, walk
from tests.support.cases import BY_NAME, CASES, Case, stream
from tests.support.native import learn_rows, native_of, predict_rows, state_of


def sigmoids(model: Any) -> dict[str, np.ndarray]:
    """What the model keeps of its sigmoids."""
    state = state_of(model)
    return {
        path.removeprefix("calibration/"): value
        for path, value in state.items()
        if path.startswith("calibration/")
    }


# ---- the fit -------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", ["rbp", "pegasos", "fogd"])
def test_follows_its_page(name: str, classes: int) -> None:
    X, y = stream(340, classes=classes)
    weights = np.random.default_rng(0).choice([0.25, 1.0, 3.0], size=len(y))
    model = BY_NAME[name].make()
    model._ready(X, y, None, classes=range(classes), anew=True)
    native = native_of(model)
    page = Calibration(1 if classes == 2 else classes)
    for t in range(len(y)):
        now = slice(t, t + 1)
        f = learn_rows(native, X[now], y[now].astype(float), weights[now], record=True)
        page.learn(f[0], int(y[t]), weights[t])
        kept = sigmoids(model)
        ours = np.concatenate([kept[name] for name in (*SUMS, "slope", "offset")])
        theirs = np.concatenate([*page.sums.values(), page.slope, page.offset])
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9, err_msg=f"round {t}")
        assert kept["rows"] == t + 1
        ours = predict_rows(native, X[now], probabilities=True)[0]
        expected = page.probabilities(predict_rows(native, X[now])[0])
        np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-40, 1e-6, 1.0, 1e6, 1e40])
def test_the_fit_is_logistic_regression_whatever_the_scale(scale: float) -> None:
    """The page's, which the core follows: to a batch fit of the same rows, forgotten alike."""
    rng = np.random.default_rng(0)
    m = rng.normal(0.5, 1.0, size=6000)
    y = (rng.random(6000) < expit(2.0 * m - 1.0)).astype(int)
    page = Calibration(1)
    for margin, code in zip(m, y, strict=True):
        page.learn(np.array([scale * margin]), code)
    ages = np.arange(6000)[::-1]
    weights = np.exp(-ages / 1500)  # about what 6,000 rows have: windows of 1,501 rows

    def loss(v: Any) -> float:
        z = v[0] * m + v[1]
        return float(np.sum(weights * (np.logaddexp(0, z) - y * z)))

    slope, offset = minimize(loss, [1.0, 0.0]).x
    assert page.slope[0] * scale == pytest.approx(slope, rel=0.03)
    assert page.offset[0] == pytest.approx(offset, rel=0.06)
    assert page.slope[0] * scale == pytest.approx(2.0, rel=0.15)


def test_the_slope_stays_positive() -> None:
    """A learner that is always wrong: each label is the other one than it said."""
    X, y = stream(200)
    model = BY_NAME["rbp"].make(random_state=0).partial_fit(X[:1], y[:1], classes=[0, 1])
    for x in X[1:]:
        model.learn_one(x, int(model.decision_one(x) < 0))
    assert model.n_mistakes_ >= 199
    assert 0 < sigmoids(model)["slope"][0] < 0.1
    P = model.predict_proba(X)[:, 1]
    assert (np.diff(P[np.argsort(model.decision_function(X))]) >= 0).all()
    assert 0 < np.ptp(P) < 0.1


# ---- what counts ---------------------------------------------------------------------------------


@pytest.mark.parametrize("shuffle", [False, True])
def test_only_the_first_epoch_counts(shuffle: bool) -> None:
    X, y = stream(200, classes=3)
    once, thrice = (
        BY_NAME["rbp"].make(n_epochs=n, shuffle=shuffle, random_state=0).fit(X, y) for n in (1, 3)
    )
    assert thrice.n_seen_ == 3 * once.n_seen_
    for name, values in sigmoids(once).items():
        np.testing.assert_array_equal(values, sigmoids(thrice)[name])


def test_replays_of_the_warm_up_do_not_count_and_decisions_stand() -> None:
    X, y = stream(260)
    model = budgetron.make("rbp", budget=20, gamma="median", scale="auto", random_state=0)
    decisions = model.prequential(X, y, classes=[0, 1])
    page = Calibration(1)
    for f, code in zip(decisions, y, strict=True):
        page.learn(np.array([f]), int(code))
    assert sigmoids(model)["rows"] == 260
    np.testing.assert_allclose(sigmoids(model)["slope"], page.slope, rtol=1e-9)


def test_rows_of_weight_0_do_not_count() -> None:
    X, y = stream(120)
    weights = np.ones(120)
    weights[::3] = 0.0
    all_rows, some = (BY_NAME["rbp"].make(random_state=0) for _ in range(2))
    all_rows.partial_fit(X, y, classes=[0, 1], sample_weight=weights)
    some.partial_fit(X[weights > 0], y[weights > 0], classes=[0, 1])
    for name, values in sigmoids(all_rows).items():
        np.testing.assert_array_equal(values, sigmoids(some)[name])


def test_a_class_that_joins_starts_with_nothing_and_the_others_keep_theirs() -> None:
    X, y = stream(300, classes=3)
    names = np.array(["b", "c", "a"])[y]
    two = names != "a"
    model = BY_NAME["rbp"].make(random_state=0).partial_fit(X[two], names[two])
    before = sigmoids(model)
    model._join("a")
    after = sigmoids(model)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert all(after[sum_][0] == 0 for sum_ in SUMS)
    assert after["slope"].tolist() == [1.0, *before["slope"], *before["slope"]]
    assert after["offset"].tolist() == [0.0, *-before["offset"], *before["offset"]]
    assert after["positives"].tolist() == [0.0, *before["negatives"], *before["positives"]]
    assert after["positive_m"].tolist() == [0.0, *-before["negative_m"], *before["positive_m"]]
    model.partial_fit(X, names)
    P = model.predict_proba(X)
    assert P.shape == (300, 3)
    assert log_loss(names, P) < 0.95 * np.log(3)


# ---- the face ------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_classifier_has_probabilities(case: Case) -> None:
    for classes in (2, 3):
        X, y = stream(150, classes=classes)
        labels = np.array(["x", "y", "z"])[y]
        model = case.make(random_state=0).fit(X, labels)
        P = model.predict_proba(X)
        assert P.shape == (150, classes)
        np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-14)
        assert (P >= 0).all()
        np.testing.assert_array_equal(np.log(P), model.predict_log_proba(X))
        np.testing.assert_array_equal(P[3], model.probabilities_one(X[3]))
        if classes == 2:
            order = np.argsort(model.decision_function(X))
            assert (np.diff(P[order, 1]) >= 0).all()
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict_proba(X), P)


def test_averages_have_sigmoids_of_their_own() -> None:
    X, y = stream(200, classes=3)
    model = BY_NAME["pa"].make(average="suffix").partial_fit(X[:1], y[:1], classes=[0, 1, 2])
    page = Calibration(3)
    page.learn(np.zeros(3), int(y[0]))
    for t in range(1, len(y)):
        page.learn(model.decision_function(X[t : t + 1])[0], int(y[t]))
        model.learn_one(X[t], int(y[t]))
    np.testing.assert_allclose(sigmoids(model)["slope"], page.slope, rtol=1e-9)
    np.testing.assert_allclose(sigmoids(model)["offset"], page.offset, rtol=1e-9)


def test_one_class_alone_is_certain_and_two_start_with_a_plain_logistic() -> None:
    X, y = stream(50)
    alone = BY_NAME["rbp"].make().partial_fit(X[:5], np.zeros(5, int))
    np.testing.assert_array_equal(alone.predict_proba(X), np.ones((50, 1)))
    assert sigmoids(alone)["rows"] == 0
    model = BY_NAME["rbp"].make()
    model._ready(X, y, None, classes=[0, 1], anew=True)
    np.testing.assert_array_equal(model.predict_proba(X), np.full((50, 2), 0.5))
    learn_rows(native_of(model), X, y.astype(float), calibrate=False)
    np.testing.assert_allclose(
        model.predict_proba(X)[:, 1], expit(model.decision_function(X)), rtol=1e-14
    )


def test_probabilities_are_finite_where_decisions_are_far_out() -> None:
    X = np.random.default_rng(0).normal(size=(400, 2))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    for power in (1e30, 1e-30):
        model = budgetron.make("pa", kernel="linear", C=1e300).fit(X * power, y)
        for rows in (X * power, X * power * 1e6):
            P = model.predict_proba(rows)
            assert np.isfinite(P).all()
            np.testing.assert_allclose(P.sum(axis=1), 1.0)


def test_regressors_have_none() -> None:
    assert not hasattr(budgetron.make("pa", task="regression"), "predict_proba")
    X, y = stream(20)
    model = budgetron.make("pa", task="regression").fit(X, y)
    with pytest.raises(ValueError, match="no probabilities"):
        predict_rows(native_of(model), X, probabilities=True)


# ---- on real data --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def a9a(load_real: Callable[..., Any]) -> tuple[Any, np.ndarray]:
    X, y = load_real("a9a/train")
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], (y[order] > 0).astype(int)


@pytest.mark.xdist_group("probabilities-a9a")
@pytest.mark.parametrize("name", LEARNERS)
def test_calibrated_on_a9a(a9a: Any, name: str) -> None:
    """Each probability was given before its row was learned."""
    X, codes = a9a
    P = walk(make(name), X, codes)
    assert expected_calibration_error(P, codes) < 0.03
    assert improvement(P, codes) > 0.15


@pytest.mark.xdist_group("probabilities-a9a")
@pytest.mark.parametrize(
    ("name", "average"), [("budgetron", "last"), ("projectron", "mean"), ("fogd", "mean")]
)
def test_calibrated_on_the_test_file(
    load_real: Callable[..., Any], a9a: Any, name: str, average: str
) -> None:
    """One model answers all: one that does not move from row to row."""
    X, y = load_real("a9a/test")
    P = make(name, average).fit(*a9a).predict_proba(X)[:, 1]
    codes = (y > 0).astype(int)
    assert expected_calibration_error(P, codes) < 0.03
    assert improvement(P, codes) > 0.15
