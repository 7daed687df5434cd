"""BudgetronAnomaly: its page, its interfaces, its threshold, its memory, its file."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from budgetron import BudgetronAnomaly, BudgetronError, _core, model_file
from papers.novelty import Novelty
from papers.random import Random
from tests.support.expected_failures import hold
from tests.support.native import same_state, state_of

PLAIN: dict[str, Any] = {"scale": None, "gamma": 0.5, "shuffle": False}


def blobs(rows: int, width: int = 3, seed: int = 0) -> Any:
    centres = np.random.default_rng(0).normal(size=(4, width)) * 2
    rng = np.random.default_rng(seed + 1)
    return centres[rng.integers(4, size=rows)] + rng.normal(size=(rows, width)) / 3


@pytest.mark.parametrize(("near", "budget"), [(0.99, 20), (0.6, 4)])
def test_it_follows_its_page(near: float, budget: int) -> None:
    """Every score before its row is learned, and the stored examples at the end."""
    X = blobs(800)
    X[300] = 40.0  # so far that every kernel value is 0
    model = BudgetronAnomaly(budget=budget, memory=150.0, near=near, **PLAIN)
    scores = model.prequential(X)
    page = Novelty(0.5, budget, 150.0, near, Random.seeded(model._seed))
    for x, score in zip(X, scores, strict=True):
        np.testing.assert_allclose(-score, page.score(x), rtol=1e-9, atol=1e-12)
        page.learn(x)
    np.testing.assert_array_equal(model.support_vectors_, np.array(page.examples))
    np.testing.assert_allclose(model.masses_, page.masses, rtol=1e-10)
    state = state_of(model)
    assert state["learner/replacements"][0] > 1
    assert state["learner/admissions"][0] > budget


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("params", [{}, PLAIN], ids=["units", "plain"])
def test_batch_is_loop_and_dense_is_sparse(dtype: str, params: dict[str, Any]) -> None:
    X = blobs(700).astype(dtype)
    X[np.random.default_rng(1).random(X.shape) < 0.3] = 0
    whole = BudgetronAnomaly(budget=20, **params)
    scores = whole.prequential(X)
    loop = BudgetronAnomaly(budget=20, **params)
    one_by_one = [loop.learn_one(x) for x in X]
    np.testing.assert_array_equal(scores, one_by_one)
    same_state(whole, loop)
    sparse = BudgetronAnomaly(budget=20, **params)
    np.testing.assert_array_equal(scores, sparse.prequential(scipy.sparse.csr_array(X)))
    grid = blobs(50, seed=3).astype(dtype)
    answers = whole.score_samples(grid)
    np.testing.assert_array_equal(answers, sparse.score_samples(scipy.sparse.csr_array(grid)))
    np.testing.assert_array_equal(answers, [whole.score_one(x) for x in grid])
    np.testing.assert_array_equal(answers, whole.set_params(n_jobs=2).score_samples(grid))


@pytest.mark.parametrize("rows", [50, 700])
def test_a_file_goes_on_where_it_was(rows: int, tmp_path: Path) -> None:
    X = blobs(1400)
    model = BudgetronAnomaly(budget=30, alarm_rate=0.05).partial_fit(X[:rows])
    model_file.save(model, tmp_path / "model")
    loaded = model_file.load(tmp_path / "model")
    pickled = pickle.loads(pickle.dumps(model))
    assert isinstance(loaded, BudgetronAnomaly)
    assert loaded.get_params() == model.get_params()
    goes_on = model.prequential_decisions(X[rows:])
    np.testing.assert_array_equal(goes_on, loaded.prequential_decisions(X[rows:]))
    np.testing.assert_array_equal(goes_on, pickled.prequential_decisions(X[rows:]))


@pytest.mark.parametrize("rate", [0.01, 0.03, 0.1])
@pytest.mark.parametrize("drift", [0.0, 5.0])
def test_false_alarms_are_as_often_as_asked_for(rate: float, drift: float) -> None:
    rows = 40_000
    X = blobs(rows) + drift * np.linspace(0, 1, rows)[:, None]
    alarms = BudgetronAnomaly(alarm_rate=rate).prequential_decisions(X) < 0
    assert abs(alarms[200:].mean() - rate) <= 0.2 * rate


def test_the_rate_can_change_at_any_time() -> None:
    model = BudgetronAnomaly(alarm_rate=0.01).partial_fit(blobs(4000))
    X = blobs(4000, seed=9)
    strict = (model.predict(X) == -1).mean()
    model.set_params(alarm_rate=0.3).partial_fit(X[:10])
    assert strict < (model.predict(X) == -1).mean() < 0.9
    np.testing.assert_array_equal(model.predict(X) == -1, model.decision_function(X) < 0)
    np.testing.assert_allclose(
        model.decision_function(X), model.score_samples(X) - model.offset_, atol=1e-9
    )


def test_nothing_is_strange_before_there_are_rows_enough() -> None:
    model = BudgetronAnomaly(alarm_rate=0.01).partial_fit(blobs(20))
    assert (model.predict([[100.0, 100.0, 100.0]]) == 1).all()
    assert model.offset_ == -np.inf


@pytest.mark.parametrize("kind", ["far", "hole", "cluster"])
def test_strange_rows_score_high(kind: str) -> None:
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, size=8000)
    X = np.c_[np.cos(angle), np.sin(angle)] + rng.normal(size=(8000, 2)) / 20
    strange = rng.random(8000) < 0.02
    strange[:500] = False
    where = {"far": (4.0, 4.0), "hole": (0.0, 0.0), "cluster": (0.6, 1.4)}[kind]
    X[strange] = np.array(where) + rng.normal(size=(strange.sum(), 2)) / 20
    scores = BudgetronAnomaly().prequential(X)
    assert roc_auc_score(strange[500:], -scores[500:]) > 0.98


def test_it_follows_a_drift() -> None:
    """A strange row is no longer strange after it has come often enough."""
    model = BudgetronAnomaly(memory=1000.0).partial_fit(blobs(3000))
    moved = blobs(6000) + 20.0
    assert (model.predict(moved[:100]) == -1).all()
    model.partial_fit(moved)
    assert (model.predict(moved[:1000]) == -1).mean() < 0.05
    assert (model.predict(blobs(100)) == -1).mean() > 0.9


def test_missing_values_and_weights() -> None:
    X = blobs(2000)
    gaps = X.copy()
    gaps[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    model = BudgetronAnomaly().partial_fit(gaps)
    assert model.n_missing_ == np.isnan(gaps).sum()
    assert np.isfinite(model.score_samples(gaps)).all()
    heavy = BudgetronAnomaly(**PLAIN).partial_fit(X, sample_weight=np.full(len(X), 2.0))
    light = BudgetronAnomaly(**PLAIN).partial_fit(X)
    np.testing.assert_allclose(heavy.masses_, 2.0 * light.masses_, rtol=1e-12)
    nothing = BudgetronAnomaly(**PLAIN).partial_fit(X)
    nothing.partial_fit(X, sample_weight=np.zeros(len(X)))
    same_state(nothing, light)


def test_a_budget_in_examples_and_in_bytes_is_kept() -> None:
    X = blobs(3000, width=20)
    model = BudgetronAnomaly(budget=40).partial_fit(X)
    assert model.n_support_ == 40
    assert model.lower_budget(10).n_support_ == 10
    assert np.isfinite(model.score_samples(X)).all()
    small = BudgetronAnomaly(budget="64KB").partial_fit(X[:1000])
    taken = small.memory_bytes_
    assert taken <= 64_000
    assert small.partial_fit(X[1000:]).memory_bytes_ == taken
    assert small.n_support_ > 40


def test_evictions_are_events() -> None:
    told: list[Any] = []
    model = BudgetronAnomaly(budget=10, **PLAIN).partial_fit(blobs(50))
    model.watch(told.append).partial_fit(blobs(1000, seed=1))
    assert {each.kind for each in told} == {"evict"}


@pytest.mark.parametrize(
    ("params", "what"),
    [
        ({"kernel": "laplacian"}, "not Gaussian"),
        ({"alarm_rate": 0.001}, "alarm_rate"),
        ({"average": "mean"}, "average"),
        ({"near": 1.5}, "near"),
        ({"memory": 0.5}, "memory"),
    ],
)
def test_what_it_refuses(params: dict[str, Any], what: str) -> None:
    with pytest.raises((BudgetronError, ValueError), match=what):
        BudgetronAnomaly(**params).fit(blobs(10))


def test_a_score_has_no_shares() -> None:
    with pytest.raises(BudgetronError, match="not a sum"):
        BudgetronAnomaly().fit(blobs(50)).explain(blobs(1)[0])


def test_learners_of_the_core_refuse_other_kernels() -> None:
    spec = {
        "kind": "novelty",
        "kernel": {"kind": "linear"},
        "budget": 5,
        "memory": 10.0,
        "near": 0.9,
    }
    with pytest.raises(ValueError, match="Gaussian"):
        _core.Model64(spec, "novelty", 1, 0)


# These rows are too few for a threshold that one row in a hundred exceeds.
@parametrize_with_checks([BudgetronAnomaly(alarm_rate=0.1)])
def test_scikit_learn_finds_nothing_wrong(estimator: Any, check: Any) -> None:
    hold(clone(estimator), check)


# ---- River ---------------------------------------------------------------------------------------


def test_the_river_model_has_the_same_bits() -> None:
    import pandas as pd

    from budgetron import river

    X = blobs(600)
    names = ["a", "b", "c"]
    model = river.BudgetronAnomaly(budget=20, alarm_rate=0.05)
    twin = BudgetronAnomaly(budget=20, alarm_rate=0.05)
    scores, alarms = [], []
    for x in X:
        row = dict(zip(names, x, strict=True))
        scores.append(model.score_one(row))
        alarms.append(model.classify(row))
        model.learn_one(row)
    assert scores[0] == 0.0
    decisions = twin.prequential_decisions(scipy.sparse.csr_array(X))
    np.testing.assert_array_equal(alarms, decisions < 0)
    frame = pd.DataFrame(X, columns=names)
    np.testing.assert_array_equal(model.score_many(frame), -twin.score_samples(X))
    many = river.BudgetronAnomaly(budget=20, alarm_rate=0.05)
    many.learn_many(frame)
    assert many.score_one(row) == model.score_one(row)


def test_a_river_model_is_saved(tmp_path: Path) -> None:
    from budgetron import river

    model = river.BudgetronAnomaly(budget=10)
    for x in blobs(300):
        model.learn_one(dict(enumerate(x.tolist())))
    model_file.save(model, tmp_path / "model")
    loaded = model_file.load(tmp_path / "model")
    row = {0: 1.0, 1: 2.0, 2: 3.0}
    assert loaded.score_one(row) == model.score_one(row) > 0.0


def test_river_finds_nothing_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """With data sets included in River, because those of its checks must be downloaded."""
    import river.checks
    from river import datasets

    from budgetron.river import BudgetronAnomaly as Model

    def rows(model: Any, scale: int = 1) -> Any:
        yield list(datasets.Shuttle().take(300 * scale))

    monkeypatch.setattr(river.checks, "_yield_datasets", rows)
    river.checks.check_estimator(Model())
    assert Model()._unit_test_skips() == set()


@pytest.mark.parametrize("layout", ["dense", "csr", "frame with gaps"])
@pytest.mark.parametrize("even", [True, False])
@pytest.mark.parametrize("width", [2, 30])
def test_a_constant_that_moves_is_an_alarm(layout: str, even: bool, width: int) -> None:
    """However little it moves, up or down, also to 0; without a move there are no more alarms."""
    random = np.random.default_rng(7)
    X = random.normal(size=(3000, width + 1)) * (
        1.0 if even else np.geomspace(0.01, 100, width + 1)
    )
    X[:, width] = 7.0
    if layout == "frame with gaps":
        X[random.random(X.shape) < 0.02] = np.nan

    def decided(rows: Any) -> Any:
        rows = scipy.sparse.csr_array(rows) if layout == "csr" else rows
        return BudgetronAnomaly(alarm_rate=0.02).prequential_decisions(rows)

    quiet = decided(X)
    assert 0.005 < (quiet[1000:] < 0).mean() < 0.035
    for value in (7.001, 6.999, 0.0, -1e6):
        moved = X.copy()
        moved[2000, width] = value
        found = decided(moved)
        np.testing.assert_array_equal(found[:2000], quiet[:2000])
        assert found[2000] < 0 <= quiet[2000] or found[2000] < quiet[2000] < 0
        assert (found[2001:] < 0).mean() < 0.035


def test_a_constant_that_moves_is_learned_and_kept(tmp_path: Path) -> None:
    """It is strange until enough rows had the new value, to the bit after a file in between."""
    random = np.random.default_rng(7)
    X = np.c_[random.normal(size=(2600, 3)) * [1.0, 50.0, 0.1], np.full(2600, 5.0)]
    X[1500:, 3] = 5.5
    whole = BudgetronAnomaly(alarm_rate=0.02)
    decisions = whole.prequential_decisions(X)
    assert (decisions[1500:1503] < 0).all()
    assert (decisions[1700:] < 0).mean() < 0.04
    half = BudgetronAnomaly(alarm_rate=0.02)
    half.partial_fit(X[:1550])
    model_file.save(half, tmp_path / "half.btn")
    again: Any = model_file.load(tmp_path / "half.btn")
    np.testing.assert_array_equal(again.prequential_decisions(X[1550:]), decisions[1550:])
