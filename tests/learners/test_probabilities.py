"""Probabilities: they follow their page, the predicted class is the likeliest, calibration."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.metrics import log_loss

from budgetron import river
from budgetron.catalogue import as_printed
from papers.calibration import SUMS, Calibration
from studies.calibration import (
    LEARNERS,
    expected_calibration_error,
    improvement,
    loss,
    make,
    walk,
)
from tests.support.cases import BY_NAME, CASES, Case, stream
from tests.support.native import learn_rows, native_of, predict_rows, state_of

NUMBERS = ("side_rows", "fresh", *SUMS, "slope", "offset")


def lines(model: Any) -> dict[str, np.ndarray]:
    """The state of the sides of the model's classes: below 0 and above 0, per class."""
    state = state_of(model)
    return {
        path.removeprefix("calibration/"): value
        for path, value in state.items()
        if path.startswith("calibration/")
    }


# ---- the fit -------------------------------------------------------------------------------------


def of_page(page: Calibration) -> np.ndarray:
    """The numbers of its sides, one row per side."""
    sides = page.sides
    return np.array([[s.rows, s.fresh, *s.sums.values(), s.slope, s.offset] for s in sides])


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
        kept = lines(model)
        ours = np.stack([kept[name] for name in NUMBERS], axis=1)
        np.testing.assert_allclose(ours, of_page(page), rtol=1e-9, atol=1e-9, err_msg=f"round {t}")
        assert kept["rows"] == t + 1
        ours = predict_rows(native, X[now], probabilities=True)[0]
        expected = page.probabilities(predict_rows(native, X[now])[0])
        np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-40, 1e-6, 1.0, 1e6, 1e40])
def test_the_fit_is_logistic_regression_whatever_the_scale(scale: float) -> None:
    """The page, which the core follows, agrees with a batch fit of a side with forgetting."""
    rng = np.random.default_rng(0)
    m = rng.normal(0.5, 1.0, size=9000)
    y = (rng.random(9000) < expit(np.where(m > 0, 2.0 * m - 0.5, 1.0 * m - 1.0))).astype(int)
    page = Calibration(1)
    for margin, code in zip(m, y, strict=True):
        page.learn(np.array([scale * margin]), code)
    for side, truth in ((1, (2.0, -0.5)), (0, (1.0, 1.0))):
        here = (m > 0) == side
        right, x = (y == side)[here], np.abs(m[here])
        assert page.classes[0][side].rows + page.classes[0][side].fresh == here.sum()
        ages = np.arange(len(x))[::-1]
        weights = np.exp(-ages / 1000.0)  # about what windows leave of some thousand rows

        def loss(v: Any, x: Any = x, right: Any = right, weights: Any = weights) -> float:
            z = v[0] * x + v[1]
            return float(np.sum(weights * (np.logaddexp(0, z) - right * z)))

        slope, offset = minimize(loss, [1.0, 0.0]).x
        fitted = page.classes[0][side]
        assert fitted.slope * scale == pytest.approx(slope, rel=0.04)
        assert fitted.offset == pytest.approx(offset, abs=0.05)
        assert fitted.slope * scale == pytest.approx(truth[0], abs=0.4)
        assert fitted.offset == pytest.approx(truth[1], abs=0.3)


def test_a_side_that_is_not_met_is_not_forgotten() -> None:
    rng = np.random.default_rng(0)
    page = Calibration(1)
    for _ in range(400):
        page.learn(rng.normal(size=1), int(rng.random() < 0.7))
    above = page.classes[0][1]
    page.learn(np.array([-1.0]), 0)
    while page.rows % 32:  # to a row at which lines are solved
        page.learn(np.array([-1.0]), 0)
    before = (above.slope, above.offset, dict(above.sums))
    for _ in range(4000):
        page.learn(np.array([-1.0]), 0)
    assert (above.slope, above.offset, dict(above.sums)) == before


def test_slopes_stay_positive() -> None:
    """A learner that is always wrong: each label is the opposite of its prediction."""
    X, y = stream(200)
    model = BY_NAME["rbp"].make(random_state=0).partial_fit(X[:1], y[:1], classes=[0, 1])
    for x in X[1:]:
        model.learn_one(x, int(model.decision_one(x) < 0))
    assert model.n_mistakes_ >= 199
    assert (lines(model)["slope"] > 0).all()
    assert (lines(model)["slope"] < 0.1).all()
    f = model.decision_function(X)
    P = model.predict_proba(X)[:, 1]
    order = np.argsort(f)
    assert (np.diff(P[order]) >= 0).all()
    assert (np.diff(P[order])[np.diff(f[order]) > 1e-6] > 0).all()
    assert 0 < np.ptp(P) < 0.1


# ---- what counts ---------------------------------------------------------------------------------


@pytest.mark.parametrize("shuffle", [False, True])
def test_only_the_first_epoch_counts(shuffle: bool) -> None:
    X, y = stream(200, classes=3)
    once, thrice = (
        BY_NAME["rbp"].make(n_epochs=n, shuffle=shuffle, random_state=0).fit(X, y) for n in (1, 3)
    )
    assert thrice.n_seen_ == 3 * once.n_seen_
    for name, values in lines(once).items():
        np.testing.assert_array_equal(values, lines(thrice)[name])


def test_replays_of_the_warm_up_do_not_count_and_decisions_stand() -> None:
    X, y = stream(260)
    model = as_printed("rbp", budget=20, gamma="median", scale="auto", random_state=0)
    decisions = model.prequential(X, y, classes=[0, 1])
    page = Calibration(1)
    for f, code in zip(decisions, y, strict=True):
        page.learn(np.array([f]), int(code))
    assert lines(model)["rows"] == 260
    np.testing.assert_allclose(lines(model)["slope"], of_page(page)[:, -2], rtol=1e-9)


def test_rows_of_weight_0_do_not_count() -> None:
    X, y = stream(120)
    weights = np.ones(120)
    weights[::3] = 0.0
    all_rows, some = (BY_NAME["rbp"].make(random_state=0) for _ in range(2))
    all_rows.partial_fit(X, y, classes=[0, 1], sample_weight=weights)
    some.partial_fit(X[weights > 0], y[weights > 0], classes=[0, 1])
    for name, values in lines(all_rows).items():
        np.testing.assert_array_equal(values, lines(some)[name])


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("average", ["last", "mean"])
def test_probabilities_are_the_same_whether_two_classes_are_named_or_come(
    first: int, average: str
) -> None:
    """Also if many rows come before the second class, which may sort before or after."""
    X, y = stream(300)
    order = np.argsort(y[:80] != first, kind="stable")  # a third of them is one class alone
    X[:80], y[:80] = X[:80][order], y[:80][order]
    assert (y[:25] == first).all()
    named, come, one_by_one = (
        BY_NAME["forgetron"].make(random_state=0, average=average) for _ in range(3)
    )
    named.partial_fit(X, y, classes=[0, 1])
    come.partial_fit(X, y)
    for i in range(len(y)):
        one_by_one.partial_fit(X[i : i + 1], y[i : i + 1])
    for model in (come, one_by_one):
        for name, values in lines(named).items():
            np.testing.assert_array_equal(values, lines(model)[name], err_msg=name)
        np.testing.assert_array_equal(named.predict_proba(X), model.predict_proba(X))


def test_a_class_that_joins_starts_with_nothing_and_the_others_keep_theirs() -> None:
    X, y = stream(300, classes=3)
    names = np.array(["b", "c", "a"])[y]
    two = names != "a"
    model = BY_NAME["rbp"].make(random_state=0).partial_fit(X[two], names[two])
    before = lines(model)
    model._join("a")
    after = lines(model)
    assert model.classes_.tolist() == ["a", "b", "c"]
    for name in NUMBERS:
        below, above = before[name]  # of the second class; those of the first are the other way
        new = 1.0 if name == "slope" else 0.0
        assert after[name].tolist() == [new, new, above, below, below, above]
    model.partial_fit(X, names)
    P = model.predict_proba(X)
    assert P.shape == (300, 3)
    assert log_loss(names, P) < 0.95 * np.log(3)


# ---- the interface -------------------------------------------------------------------------------


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


def test_averages_have_lines_of_their_own() -> None:
    X, y = stream(200, classes=3)
    model = BY_NAME["pa"].make(average="suffix").partial_fit(X[:1], y[:1], classes=[0, 1, 2])
    page = Calibration(3)
    page.learn(np.zeros(3), int(y[0]))
    for t in range(1, len(y)):
        page.learn(model.decision_function(X[t : t + 1])[0], int(y[t]))
        model.learn_one(X[t], int(y[t]))
    np.testing.assert_allclose(lines(model)["slope"], of_page(page)[:, -2], rtol=1e-9)
    np.testing.assert_allclose(lines(model)["offset"], of_page(page)[:, -1], rtol=1e-9)


def test_one_class_alone_is_certain_and_two_start_with_a_plain_logistic() -> None:
    X, y = stream(50)
    alone = BY_NAME["rbp"].make().partial_fit(X[:5], np.zeros(5, int))
    np.testing.assert_array_equal(alone.predict_proba(X), np.ones((50, 1)))
    assert lines(alone)["rows"] == 5  # for the day on which a second one comes
    model = BY_NAME["rbp"].make()
    model._ready(X, y, None, classes=[0, 1], anew=True)
    np.testing.assert_array_equal(model.predict_proba(X), [[0.5, np.nextafter(0.5, 1)]] * 50)
    learn_rows(native_of(model), X, y.astype(float), calibrate=False)
    np.testing.assert_allclose(
        model.predict_proba(X)[:, 1], expit(model.decision_function(X)), rtol=1e-14
    )


def test_probabilities_are_finite_where_decisions_are_far_out() -> None:
    X = np.random.default_rng(0).normal(size=(400, 2))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    for power in (1e30, 1e-30):
        model = as_printed("pa", kernel="linear", C=1e300).fit(X * power, y)
        for rows in (X * power, X * power * 1e6):
            P = model.predict_proba(rows)
            assert np.isfinite(P).all()
            np.testing.assert_allclose(P.sum(axis=1), 1.0)


# ---- the likeliest class -------------------------------------------------------------------------


def strictly_likeliest(P: np.ndarray, codes: np.ndarray) -> bool:
    """Whether every row has one largest probability, and it is that of its code."""
    own = P[np.arange(len(P)), codes]
    others = P.copy()
    others[np.arange(len(P)), codes] = -1.0
    return bool((own > others.max(axis=1)).all())


@pytest.mark.parametrize("average", ["last", "mean"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_likeliest_class_is_the_predicted_one(case: Case, average: str) -> None:
    if average != "last" and "average" in case.params:
        pytest.skip("has its own average")
    far = np.vstack([np.zeros((1, 4)), np.full((1, 4), 1e3), np.full((1, 4), 7.0)])
    for classes in (2, 3, 5):
        X, y = stream(240, classes=min(classes, 3))
        y = y + 3 * (X[:, 1] > 0.5) if classes == 5 else y  # labels lean: some classes are rare
        model = case.make(random_state=0, average=average)
        known = range(6 if classes == 5 else classes)
        rows = np.vstack([X, far])
        for now in (slice(1), slice(1, 3), slice(3, 40), slice(40, 240)):  # few rows: many ties
            model.partial_fit(X[now], y[now], classes=known)
            P = model.predict_proba(rows)
            assert strictly_likeliest(P, model.predict(rows))
            np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", ["Perceptron", "Budgetron"])
@pytest.mark.parametrize("classes", [None, [0, 1], [0, 1, 2]])
def test_the_likeliest_class_is_the_predicted_one_in_river(name: str, classes: Any) -> None:
    X, y = stream(120, classes=3 if classes is None else len(classes))
    model = getattr(river, f"{name}Classifier")(classes=classes)
    for x, code in zip(X, y, strict=True):
        row = dict(enumerate(x))
        shares = model.predict_proba_one(row)
        said = model.predict_one(row)
        assert all(share < shares[said] for label, share in shares.items() if label != said)
        model.learn_one(row, int(code))


# Outputs that are hard to tell apart, tiny, huge, or nothing.
HARD = st.sampled_from([0.0, 5e-324, 1e-310, 1e-17, 1.0, 1 + 2**-52, 1 - 2**-53, 3.0, 1e8, 1e300])
SIGN = st.sampled_from([-1.0, 1.0])
OUTPUT = st.builds(float.__mul__, SIGN, HARD | st.floats(0, 1e3))
OFFSET = st.floats(-50, 50) | st.sampled_from([0.0, 1e-17, -1e-17])
SLOPE = st.floats(1e-12, 1e6)
WEIGHT = st.floats(1e-6, 1e6)


@given(st.data(), st.integers(2, 6))
def test_the_likeliest_class_is_the_predicted_one_whatever_was_fitted(data: Any, K: int) -> None:
    """Lines of any slopes and offsets, outputs of any size: f(x) = x, by a linear kernel."""
    outputs = 1 if K == 2 else K
    model = as_printed("perceptron", kernel="linear")
    model.partial_fit(np.eye(outputs), range(outputs), classes=range(K))
    state = state_of(model)
    coefs = state["learner/expansion/coefs"].reshape(outputs, -1)
    coefs[:, :outputs] = np.eye(outputs)

    def numbers(strategy: Any, count: int) -> np.ndarray:
        return np.array(data.draw(st.lists(strategy, min_size=count, max_size=count)))

    for name, values in (("slope", SLOPE), ("offset", OFFSET), ("weight", WEIGHT)):
        state[f"calibration/{name}"] = numbers(values, 2 * outputs)
    state["calibration/squares"] = numbers(WEIGHT, 2 * outputs)
    native_of(model).load(state)
    x = numbers(OUTPUT, outputs)[None]
    np.testing.assert_array_equal(model.decision_function(x).ravel(), x[0])
    P = model.predict_proba(x)
    assert strictly_likeliest(P, model.predict(x))
    assert abs(P.sum() - 1) < 1e-14
    np.testing.assert_array_equal(model.probabilities_one(x[0]), P[0])


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("classes", [2, 3])
def test_rows_so_far_out_that_f_overflows_are_anybodys(classes: int) -> None:
    X, y = stream(100, classes=classes)
    model = as_printed("pa", kernel="linear").fit(X, y)
    rows = np.array([[1e308] * 4, [-1e308] * 4, [1e308, -1e308, 1e300, 0.0]])
    assert np.isnan(model.decision_function(rows)).any()
    P = model.predict_proba(rows)
    assert strictly_likeliest(P, model.predict(rows))
    np.testing.assert_allclose(P.sum(axis=1), 1.0)


def test_regressors_have_none() -> None:
    assert not hasattr(as_printed("pa", task="regression"), "predict_proba")
    X, y = stream(20)
    model = as_printed("pa", task="regression").fit(X, y)
    with pytest.raises(ValueError, match="no probabilities"):
        predict_rows(native_of(model), X, probabilities=True)


# ---- on real data --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def a9a(load_real: Callable[..., Any]) -> tuple[Any, np.ndarray]:
    X, y = load_real("a9a/train")
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], (y[order] > 0).astype(int)


# The log loss with one sigmoid of f, whose likeliest class need not be the predicted one.
ONE_SIGMOID = {
    "budgetron": 0.3436,
    "ahpatron": 0.3566,
    "bsgd-merge": 0.3765,
    "bogd": 0.4125,
    "projectron": 0.4334,
    "fogd": 0.3661,
    "nogd": 0.3563,
}


@pytest.mark.xdist_group("probabilities-a9a")
@pytest.mark.parametrize("name", LEARNERS)
def test_calibrated_on_a9a(a9a: Any, name: str) -> None:
    """Each probability was given before its row was learned."""
    X, codes = a9a
    P = walk(make(name), X, codes)
    assert expected_calibration_error(P, codes) < 0.03
    assert improvement(P, codes) > 0.15
    assert loss(P, codes) < 1.005 * ONE_SIGMOID[name]


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
