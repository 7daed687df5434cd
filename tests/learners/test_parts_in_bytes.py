"""Budgetron with a budget in bytes: race, metric and straight part count, and stay below it."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import budgetron
from budgetron import BudgetronClassifier, BudgetronRegressor, river
from budgetron.cli import main
from budgetron.estimators._base.sizes import parse_bytes
from papers.budgetron.budgetron import DIAGONAL, FULL
from tests.learners.test_metric import one_of
from tests.learners.test_race import blobs, checkerboard, contenders, race_field
from tests.support.cases import same_state
from tests.support.native import learn_rows, native_of, state_of
from tests.support.tracing import find_field

CLASSES = [0, 1]


def held_at_each_row(model: Any, X: Any, y: Any, limit: str) -> list[int]:
    """The memory of the model after each row; never more than the limit."""
    model.partial_fit(X[:1], y[:1], classes=CLASSES)
    bytes_ = [model.memory_bytes_]
    for i in range(1, len(y)):
        learn_rows(native_of(model), X[i : i + 1], y[i : i + 1].astype(float))
        bytes_.append(model.memory_bytes_)
    assert max(bytes_) <= parse_bytes(limit)
    native_of(model).check_invariants()
    return bytes_


@pytest.mark.parametrize("limit", ["12kB", "40kB"])
def test_a_few_kilobytes_are_kept(limit: str) -> None:
    X, y = checkerboard(1200)
    model = BudgetronClassifier(budget=limit, scale=None, gamma=4.0)
    assert len(set(held_at_each_row(model, X, y, limit))) == 1  # nothing is taken or freed


@pytest.mark.parametrize(
    ("limit", "races"), [("40kB", False), ("64KB", False), ("256KB", True), ("1MB", True)]
)
@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_bytes_are_kept_while_widths_race(limit: str, races: bool, layout: str) -> None:
    X, y = checkerboard(2000)
    rows = scipy.sparse.csr_array(X) if layout == "csr" else X
    model = BudgetronClassifier(budget=limit)
    bytes_ = held_at_each_row(model, rows, y, limit)
    assert (race_field(model, "share") > 0) == races
    assert (race_field(model, "factor") > 1) == races
    # The rows of the warm-up are freed, contenders use part of that, and later memory only falls.
    begin = 1 + int(np.argmax(np.diff(bytes_) < 0))
    after = np.diff(bytes_[begin + 2 :])
    assert (after <= 0).all()
    assert (after < 0).any() == races


def test_the_race_is_worth_it_and_the_winner_has_the_whole_budget() -> None:
    X, y = checkerboard(5000)
    median, race = (
        BudgetronClassifier(budget="256KB", gamma=gamma).partial_fit(X, y, classes=CLASSES)
        for gamma in ("median", "race")
    )
    assert race.budget_ == median.budget_
    assert race.n_mistakes_ < 0.7 * median.n_mistakes_
    assert race_field(race, "share") * race.budget_ < 0.5 * race.budget_ < race.n_support_


def test_without_a_winner_it_is_the_model_without_a_race() -> None:
    X, y = blobs(3000)
    median, race = (
        BudgetronClassifier(budget="256KB", gamma=gamma) for gamma in ("median", "race")
    )
    f = [each.prequential(X, y, classes=CLASSES) for each in (median, race)]
    assert race_field(race, "share") > 0
    assert contenders(race) == []
    np.testing.assert_array_equal(f[0], f[1])
    assert race.memory_bytes_ <= median.memory_bytes_ + 1000


def test_regression_races_within_bytes() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(4000, 1))
    y = 1e4 + 100 * np.sin(30 * X[:, 0])
    model = BudgetronRegressor(budget="256KB")
    for i in range(0, 4000, 20):
        model.partial_fit(X[i : i + 20], y[i : i + 20])
        assert model.memory_bytes_ <= 256_000
    assert race_field(model, "factor") > 1


@pytest.mark.parametrize("rows", [100, 201, 350, 700, 1400])
def test_a_saved_race_goes_on_to_the_bit(rows: int, tmp_path: Path) -> None:
    X, y = checkerboard(2400)
    whole = BudgetronClassifier(budget="256KB").partial_fit(X, y, classes=CLASSES)
    first = BudgetronClassifier(budget="256KB").partial_fit(X[:rows], y[:rows], classes=CLASSES)
    budgetron.save(first, tmp_path / "model.btn")
    for again in (pickle.loads(pickle.dumps(first)), budgetron.load(tmp_path / "model.btn")):
        assert again.memory_bytes_ <= 256_000
        for i in range(rows, 2400, 7):
            again.partial_fit(X[i : i + 7], y[i : i + 7])
            assert again.memory_bytes_ <= 256_000
        same_state(whole, again)
    assert race_field(whole, "factor") > 1


def test_dense_and_sparse_race_alike() -> None:
    X, y = checkerboard(2000)
    X[X[:, 0] < 0.2, 0] = 0
    dense = BudgetronClassifier(budget="1MB").partial_fit(X, y, classes=CLASSES)
    sparse = BudgetronClassifier(budget="1MB")
    sparse.partial_fit(scipy.sparse.csr_array(X), y, classes=CLASSES)
    assert dense.budget_ == sparse.budget_
    np.testing.assert_array_equal(dense.decision_function(X), sparse.decision_function(X))


@pytest.mark.parametrize("limit", ["256KB", "1MB"])
def test_a_million_hashed_features(limit: str) -> None:
    rng = np.random.default_rng(0)
    words = rng.choice(2**20, size=400, replace=False)
    picks = rng.integers(0, 400, size=(700, 8))
    indices, ends = np.sort(words[picks], axis=1).ravel(), np.arange(0, 5601, 8)
    X = scipy.sparse.csr_array((np.ones(5600), indices, ends), shape=(700, 2**20))
    X.sum_duplicates()
    y = ((picks < 200).sum(axis=1) > 4).astype(int)
    model = BudgetronClassifier(budget=limit)
    held_at_each_row(model, X, y, limit)
    assert find_field(state_of(model), "form")[0] == DIAGONAL
    assert model.coef_.any()
    again = pickle.loads(pickle.dumps(model))
    assert again.memory_bytes_ <= parse_bytes(limit)
    for each in (model, again):
        each.partial_fit(X, y)
    same_state(model, again)


def test_a_growing_river_stream_turns_diagonal_within_bytes_and_without() -> None:
    rng = np.random.default_rng(0)
    counted = river.BudgetronClassifier(budget=30)
    within = river.BudgetronClassifier(budget="64KB", max_features=60, classes=CLASSES)
    forms = []
    for t in range(900):
        x = {f"f{rng.integers(0, 2 + t // 15)}": float(rng.normal()) for _ in range(3)}
        for model in (counted, within):
            model.learn_one(x, int(sum(x.values()) > 0))
        assert within._estimator.memory_bytes_ <= 64_000
        forms.append(int(find_field(state_of(counted._estimator), "form")[0]))
    assert forms[100] == FULL
    assert forms[-1] == DIAGONAL
    assert find_field(state_of(within._estimator), "form")[0] == DIAGONAL  # there is no room


@pytest.mark.parametrize("limit", ["40kB", "100KB"])
def test_a_model_with_a_metric_is_lowered_to_bytes(limit: str, tmp_path: Path) -> None:
    X, y = one_of(4, 3000)
    model = BudgetronClassifier().partial_fit(X, y, classes=CLASSES)
    relevance = model.feature_relevance_
    assert relevance[0] > 1
    model.lower_budget(limit)
    np.testing.assert_array_equal(model.feature_relevance_, relevance)
    assert race_field(model, "share") == 0
    budgetron.save(model, tmp_path / "model.btn")
    again = budgetron.load(tmp_path / "model.btn")
    for each in (model, again):
        for i in range(0, 3000, 50):
            each.partial_fit(X[i : i + 50], y[i : i + 50])
            assert each.memory_bytes_ <= parse_bytes(limit)
    same_state(model, again)


def test_a_model_that_races_is_lowered_to_bytes() -> None:
    X, y = checkerboard(2000)
    model = BudgetronClassifier().partial_fit(X[:400], y[:400], classes=CLASSES)
    assert contenders(model)
    model.lower_budget("64KB").partial_fit(X[400:], y[400:])
    assert contenders(model) == []
    assert model.memory_bytes_ <= 64_000


@pytest.mark.parametrize(("limit", "off"), [("64KB", "metric, race of widths"), ("1MB", "metric")])
def test_info_says_what_there_is_no_room_for(
    limit: str, off: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    X, y = checkerboard(400)
    model = BudgetronClassifier(budget=limit).partial_fit(X, y, classes=CLASSES)
    budgetron.save(model, tmp_path / "model.btn")
    with pytest.raises(SystemExit):
        main(["info", str(tmp_path / "model.btn")])
    told = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert f"no room for {off} in a budget in bytes" in told


def test_a_forged_share_is_refused() -> None:
    X, y = checkerboard(400)
    model = BudgetronClassifier(budget="1MB").partial_fit(X, y, classes=CLASSES)
    state = state_of(model)
    for share in (-1.0, 0.0, 2.0, np.nan):
        with pytest.raises(ValueError, match="race"):
            native_of(model).load({**state, "race/share": np.array([share])})


def test_bytes_too_few_for_the_first_rows_are_refused_with_advice() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = (X[:, 0] > 0).astype(int)
    model = BudgetronClassifier(budget=40).partial_fit(X[:199], y[:199], classes=[0, 1])
    before = model.decision_function(X)
    with pytest.raises(budgetron.BudgetronError, match="after row 200"):
        model.lower_budget("60KiB")
    np.testing.assert_array_equal(model.decision_function(X), before)
    model.partial_fit(X[199:], y[199:]).lower_budget("60KiB")
    assert model.memory_bytes_ <= 60 * 1024
