"""Targets in units that follow the stream: the page, what a change keeps, allowed targets."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import make_friedman1

import budgetron
from budgetron import datasets
from budgetron.catalogue import CATALOGUE
from papers.target_units import TargetUnits
from tests.support.cases import numeric_stream, readable, same_state
from tests.support.native import state_of

NAMES = sorted(name for name, entry in CATALOGUE.items() if "regression" in entry.tasks)
SETTINGS: dict[str, dict[str, Any]] = {"avm": {"delta": 0.5}}  # for rows within [-1, 1]

each_name = pytest.mark.parametrize("name", NAMES)


def make(name: str, **params: Any) -> Any:
    found = {"gamma": "median", "scale": "auto", "random_state": 0, **SETTINGS.get(name, {})}
    return budgetron.make(name, task="regression", **{**found, **params})


def restless(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Targets with outliers, a jump, another scale, a run of equal ones, and no change."""
    X, y = numeric_stream(rows)
    t = np.arange(rows)
    y = 3.0 * y + 100.0
    y[(t == 6) | (t == rows // 7)] = -1e7
    y[t > rows // 5] += 1e5
    y[t > 2 * rows // 5] *= 40.0
    y[(t > 3 * rows // 5) & (t < 3 * rows // 5 + 90)] = 5.0
    return X, y


# ---- the page ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["ogd", "rbp", "fogd", "nogd", "budgetron", "avm"])
def test_follows_its_page(name: str, dtype: type) -> None:
    """The units after each row; the answer before it, in the units at that time."""
    X, y = restless(2500)
    X = X.astype(dtype)
    model, page = make(name, gamma=0.5, scale=None), TargetUnits()
    changes = 0
    for x, target in zip(X, y, strict=True):
        answer = model.prequential(x[None, :], [target])[0]
        f = (answer - page.centre) / page.scale
        page.count(target, f)
        units = model.target_units_
        assert units[:2] == pytest.approx((page.centre, page.scale), rel=1e-12)
        assert units.changes == page.changes
        changes = max(changes, page.changes)
    assert 6 < changes < 40


@each_name
def test_a_change_leaves_the_answers(name: str) -> None:
    """If the scale grows, f has other values and is the same function. Budgetron has a constant."""
    X, y = numeric_stream(1600)
    y += 50.0
    room: dict[str, Any] = {"budget": 2000} if name in ("rbp", "forgetron", "bogd") else {}
    if name == "budgetron":
        room = {"replace": "never"}  # nobody leaves
    model = make(name, gamma=0.5, scale=None, **room).partial_fit(X[:600], y[:600])
    y[600:] += 8.0 * (y[600:] - 50.0)
    changed = 0
    for x, target in zip(X[600:], y[600:], strict=True):
        before, old = model.predict(X[::16]), model.target_units_
        model.partial_fit(x[None, :], [target], sample_weight=[1e-12])  # counted, hardly learned
        new = model.target_units_
        changed += new.changes > old.changes
        answers = model.predict(X[::16]) - new.centre
        moved = new.centre - old.centre if name == "budgetron" else 0.0
        np.testing.assert_allclose(answers, before - old.centre - moved, rtol=5e-3, atol=1e-6)
    assert changed >= 1
    assert model.target_units_.scale > 4.0 * make(name).fit(X[:600], y[:600]).target_units_.scale


# ---- the units of y do not matter ----------------------------------------------------------------


@each_name
@pytest.mark.parametrize(("a", "b"), [(1e4, 1e6), (1e-4, -3.0), (-1.0, 0.0)])
def test_units_of_the_targets_do_not_matter(name: str, a: float, b: float) -> None:
    X, y = make_friedman1(1500, noise=1.0, random_state=0)
    plain = make(name).fit(X[:1000], y[:1000]).score(X[1000:], y[1000:])
    other = make(name).fit(X[:1000], a * y[:1000] + b).score(X[1000:], a * y[1000:] + b)
    assert abs(plain - other) <= 0.02


def test_a_power_of_two_changes_no_bit() -> None:
    X, y = numeric_stream(700)
    for name in NAMES:
        one, other = make(name).prequential(X, y), make(name).prequential(X, 1024.0 * y)
        np.testing.assert_array_equal(1024.0 * one, other, err_msg=name)


@each_name
def test_units_of_the_targets_do_not_matter_on_casp(name: str) -> None:
    if not datasets.here("casp"):
        pytest.skip("real data not here: budgetron data get casp")
    X, y = datasets.load("casp", dtype="float64")
    X, y = X[:6000].toarray() if scipy.sparse.issparse(X) else X[:6000], y[:6000].astype(float)
    found = []
    for a, b in ((1.0, 0.0), (1e4, 1e6), (1e-4, -3.0)):
        model = make(name, delta=4.0) if name == "avm" else make(name)
        found.append(model.fit(X[:4000], a * y[:4000] + b).score(X[4000:], a * y[4000:] + b))
    assert np.ptp(found) <= 0.02


def test_trump_approval() -> None:
    river = pytest.importorskip("river")
    from river import datasets as river_datasets
    from river import evaluate, metrics, preprocessing

    from budgetron.river import make as make_river

    assert river
    learner = make_river("budgetron", task="regression", budget=50, seed=0)
    model = preprocessing.StandardScaler() | learner
    stream = river_datasets.TrumpApproval()
    assert evaluate.progressive_val_score(stream, model, metrics.MAE()).get() <= 0.7


# ---- how rows come -------------------------------------------------------------------------------


@each_name
@pytest.mark.parametrize("warm", [False, True])
def test_results_do_not_depend_on_how_rows_come(name: str, warm: bool) -> None:
    """Batch = loop, dense = CSR, and a model that was saved goes on to the bit."""
    X, y = restless(900)
    how: dict[str, Any] = {} if warm else {"gamma": 0.5, "scale": None}
    whole, loop, sparse = (make(name, **how) for _ in range(3))
    predictions = whole.prequential(X, y)
    np.testing.assert_array_equal(
        predictions, [loop.learn_one(x, t) for x, t in zip(X, y, strict=True)]
    )
    np.testing.assert_array_equal(predictions, sparse.prequential(scipy.sparse.csr_array(X), y))
    same_state(whole, loop)
    half = make(name, **how).partial_fit(X[:137], y[:137])
    for resumed in (copy.deepcopy(half), pickle.loads(pickle.dumps(half)), half):
        resumed.partial_fit(X[137:], y[137:])
        same_state(whole, resumed)
    readable(whole)


@each_name
def test_a_row_of_weight_0_is_not_counted(name: str) -> None:
    X, y = numeric_stream(400)
    without = make(name, gamma=0.5, scale=None).partial_fit(X, y)
    rows, targets = np.repeat(X, 2, axis=0), np.repeat(y, 2)
    targets[1::2] = 1e9
    weights = np.tile([1.0, 0.0], len(y))
    model = make(name, gamma=0.5, scale=None).partial_fit(rows, targets, sample_weight=weights)
    assert model.target_units_ == without.target_units_
    np.testing.assert_array_equal(model.predict(X), without.predict(X))


@each_name
def test_threads_explanations_and_coefs_speak_of_the_same_answers(name: str) -> None:
    X, y = numeric_stream(2000)
    y = 1e3 * y + 1e5
    for average in ("last", "mean", "suffix"):
        model = make(name, average=average).partial_fit(X, y)
        answers = model.predict(X)
        np.testing.assert_array_equal(answers, model.set_params(n_jobs=2).predict(X))
        assert answers[0] == model.prediction_one(X[0])
        assert np.abs(answers - y).mean() < np.abs(y - np.median(y)).mean()
        if name == "fogd":
            continue
        explained = model.explain(X[0])
        assert explained.decision[0] == pytest.approx(answers[0], rel=1e-9)
        assert f"constant {explained.constant:+.4g}" in " ".join(repr(explained).split())
        if average == "last":
            assert explained.constant == model.target_units_.centre
            total = model.dual_coef_[0].sum()
            assert total == pytest.approx((explained.shares[:, 0] / explained.kernels).sum())


@pytest.mark.parametrize("name", ["ogd", "pa", "fogd"])
def test_the_mean_is_the_mean_of_the_answers(name: str) -> None:
    """If nothing leaves: the mean of each hypothesis's answers, in the units of its round."""
    X, y = numeric_stream(260)
    y = y * (1.0 + np.arange(260) / 20) + 100.0
    how: dict[str, Any] = {"gamma": 0.5, "scale": None}
    model, last = make(name, average="mean", **how), make(name, **how)
    answers = []
    for x, target in zip(X, y, strict=True):
        f, before = 0.0, None
        if answers:
            before = last.target_units_
            f = last.predict(X[:5]) - before.centre
        last.partial_fit(x[None, :], [target])
        model.partial_fit(x[None, :], [target])
        after = last.target_units_
        answers.append((after.changes > 0, after.centre + f))
    expected = np.mean([answer + np.zeros(5) for known, answer in answers if known], axis=0)
    np.testing.assert_allclose(model.predict(X[:5]), expected, rtol=1e-9)


def test_target_scale_none_learns_targets_as_they_come() -> None:
    X, y = numeric_stream(300)
    for name in NAMES:
        model = make(name, target_scale=None).partial_fit(X, y)
        assert model.target_units_ is None
        assert "target_units/centre" not in state_of(model)
    with pytest.raises(ValueError, match="'target_scale' parameter"):
        make("ogd", target_scale="standard").fit(X, y)


def test_changes_are_events() -> None:
    X, y = restless(2500)
    told: list[Any] = []
    model = make("ogd", gamma=0.5, scale=None).fit(X[:1], y[:1])
    model.watch(told.append).partial_fit(X[1:], y[1:])
    events = [event for event in told if event.kind == "rescale"]
    assert 6 < len(events) <= model.target_units_.changes
    assert "another unit" in str(events[0])


# ---- what y may be -------------------------------------------------------------------------------

ROWS = 6000
START = 3000  # where the attack begins


def attacks() -> dict[str, tuple[np.ndarray, int]]:
    """Targets, and the row at which a new learner starts."""
    rng = np.random.default_rng(3)
    t = np.arange(ROWS)
    g = smooth()
    y = g + 0.1 * rng.normal(size=ROWS)

    def but(rows: Any, value: Any) -> np.ndarray:
        return np.where(rows, value, y)

    jumped = y + 1e6 * ((t >= START) & (t < START + 1000))
    return {
        "1e9 in row 1": (but(t == 1, 1e9), 1),
        "1e9 in row 9": (but(t == 9, 1e9), 9),
        "two of the first six": (but((t == 3) | (t == 5), -1e9), 5),
        "1e9 later": (but(t == START, 1e9), START),
        "jump by 1e6": (y + 1e6 * (t >= START), START),
        "and back": (jumped, START + 1000),
        "equal before": (but(t < START, 7.0), START),
        "Cauchy noise": (g + 0.1 * rng.standard_cauchy(size=ROWS), START),
        "1e300 now and then": (but(t % 500 == 7, 1e300), START),
        "trend": (g + 0.01 * t, START),
        "row number": (t.astype(float), START),
    }


def rows() -> np.ndarray:
    return np.random.default_rng(4).uniform(-1, 1, size=(ROWS, 4))


def smooth() -> np.ndarray:
    X = rows()
    return np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2]


@each_name
@pytest.mark.parametrize("attack", attacks())
def test_attacks(name: str, attack: str) -> None:
    """A thousand rows later the error is at most 1.2 times that of a learner that starts there."""
    X, (y, start) = rows(), attacks()[attack]
    model = make(name)
    answers, fresh = model.prequential(X, y), make(name).prequential(X[start:], y[start:])
    assert np.isfinite(answers).all()
    later = slice(start + 1000, start + 2000)
    usual = np.abs(y[later]) < 1e8  # errors of outliers are their own size
    errors, others = (
        np.abs(given - y[later])[usual].mean() for given in (answers[later], fresh[1000:2000])
    )
    assert errors <= 1.2 * others
    assert model.target_units_.changes <= 20


@each_name
def test_targets_times_1000_and_back(name: str) -> None:
    """Budgetron's examples come from the wrong units, and it is a little slower after these."""
    X, t = rows(), np.arange(ROWS)
    y = smooth() + 0.1 * np.random.default_rng(3).normal(size=ROWS)
    begin, end = 2000, 3500
    y[(t >= begin) & (t < end)] *= 1000.0
    answers = make(name).prequential(X, y)
    for start, most in ((begin, 1.2), (end, 1.5)):
        later = slice(start + 1000, min(start + 2000, end if start == begin else ROWS))
        fresh = make(name).prequential(X[start : later.stop], y[start : later.stop])
        errors = np.abs(answers[later] - y[later]).mean()
        assert (
            errors
            <= (most if name == "budgetron" else 1.2) * np.abs(fresh[1000:] - y[later]).mean()
        )


@each_name
@pytest.mark.parametrize("value", [0.0, 3.3, -1e12])
def test_equal_targets_are_answered_exactly(name: str, value: float) -> None:
    X, _ = numeric_stream(300)
    model = make(name)
    answers = model.prequential(X, np.full(300, value))
    assert (answers[1:] == value).all()
    assert (model.predict(X) == value).all()


@each_name
def test_huge_targets_stay_finite(name: str) -> None:
    X, y = numeric_stream(600)
    for size in (1e140, 1e200, 1e307, 1e-200, 1e-310):
        model = make(name, gamma=0.5, scale=None)
        assert np.isfinite(model.prequential(X, size * y)).all()
        assert np.isfinite(model.predict(X)).all()


def test_the_number_of_changes_is_bounded() -> None:
    """If the scale changes every hundred rows, by up to a factor of a million."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 2))
    y = rng.normal(size=20_000) * np.repeat(10.0 ** rng.uniform(-3, 3, size=200), 100)
    model = make("rbp")
    assert np.isfinite(model.prequential(X, y)).all()
    assert model.target_units_.changes <= 2 * 200


def test_answers_stay_when_the_centre_follows_a_jump() -> None:
    """The learner follows a jump of the targets in few rows, their median 500 rows later."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    y = X[:, 0] + 0.1 * rng.normal(size=4000) + np.where(np.arange(4000) < 2000, 0.0, 8.0)
    answers = budgetron.BudgetronRegressor(budget=50).prequential(X, y)
    errors = np.abs(answers - y)[2300:]
    assert errors.max() < 3


def test_targets_far_away_are_reached_although_they_were_not_learned() -> None:
    """Beyond 20 units nothing is learned, so answers must move with the centre."""
    rng = np.random.default_rng(1)
    t = np.arange(6000)
    X = rng.normal(size=(6000, 3))
    far = np.array([1, 1, 1, 0])[t % 4] * (t >= 1500)  # never eight in a row
    y = np.sin(X[:, 0]) + 1e6 * far
    answers = budgetron.BudgetronRegressor(budget=24).prequential(X, y)
    assert np.median(np.abs(answers - y)[5800:]) < 100

    base = budgetron.BudgetronRegressor(budget=24).partial_fit(X[:1500], y[:1500]).base()
    worker = base.snapshot().partial_fit(X[1500:], np.sin(X[1500:, 0]) + 1000)
    merged = budgetron.merge(base, [worker.delta(base, "one")])
    assert np.abs(merged.predict(X) - np.sin(X[:, 0]) - 1000).mean() < 10
