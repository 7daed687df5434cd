"""Batch mode: epochs and shuffling in fit, threads in predict."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import budgetron
from budgetron.estimators._base import estimator as base
from tests.support.cases import (
    BY_NAME,
    KINDS,
    REGRESSION,
    Case,
    as_format,
    numeric_stream,
    same_state,
    stream,
)
from tests.support.native import StandIn, engine_of, native_of


def orders(model: Any, rows: int) -> np.ndarray:
    """The rows that `fit` learned, in its order."""
    if not model.shuffle:
        return np.tile(np.arange(rows), model.n_epochs)
    generator = np.random.default_rng(model._seed)
    return np.concatenate([generator.permutation(rows) for _ in range(model.n_epochs)])


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("case", KINDS, ids=str)
def test_fit_is_partial_fit_over_the_same_order(
    case: Case, shuffle: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "PIECE", 37)
    X, y = stream(100, classes=3)
    weights = np.random.default_rng(0).random(len(y)) + 0.5
    more = {"n_epochs": 3, "shuffle": shuffle, "class_weight": "balanced"}
    fitted = case.make(**more).fit(X, y, sample_weight=weights)
    order = orders(fitted, len(y))
    assert len(order) == 300 == fitted.n_seen_
    assert not shuffle or not np.array_equal(order[:100], order[100:200])
    one = case.make(**more)
    one.partial_fit(X[order], y[order], classes=[0, 1, 2], sample_weight=weights[order])
    same_state(fitted, one, but="calibration")  # of the first epoch only, see test_probabilities


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_shuffling_is_seeded_and_regressors_do_it_too(layout: str) -> None:
    X, y = numeric_stream(200)
    rows = as_format(X, layout)
    case = REGRESSION[0]
    first, second = (
        case.make(n_epochs=2, shuffle=True, random_state=4).fit(rows, y) for _ in range(2)
    )
    same_state(first, second)
    order = orders(first, len(y))
    plain = case.make(random_state=4).partial_fit(as_format(X[order], layout), y[order])
    same_state(first, plain)
    other = case.make(n_epochs=2, shuffle=True, random_state=5).fit(rows, y)
    assert not np.array_equal(first.predict(rows), other.predict(rows))


def test_more_epochs_fit_better() -> None:
    X, y = stream(600)
    scores = [
        budgetron.make("pegasos", gamma=0.5, n_epochs=n, shuffle=True, random_state=0)
        .fit(X, y)
        .score(X, y)
        for n in (1, 8)
    ]
    assert scores[1] > scores[0]


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("name", ["rbp", "avm", "fogd", "nogd", "pomdr"])
def test_threads_do_not_change_predictions(
    name: str, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "LEAST_ROWS_A_THREAD", 50)
    X, y = stream(1000, classes=3)
    rows = as_format(X, layout)
    model = BY_NAME[name].make(scale="standard", average="mean").fit(rows[:300], y[:300])
    alone = model.decision_function(rows)
    for jobs in (2, 3, -1):
        model.set_params(n_jobs=jobs)
        np.testing.assert_array_equal(model.decision_function(rows), alone)


def test_threads_are_really_used(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = stream(2000)
    model = BY_NAME["rbp"].make(n_jobs=2).fit(X, y)
    real, asked = native_of(model), []

    def spy(rows: Any, threads: int, probabilities: bool) -> Any:
        asked.append(threads)
        return real.predict(rows, threads, probabilities)

    monkeypatch.setattr(engine_of(model), "native", StandIn(real, predict=spy))
    for rows in (2000, 512, 511, 1):
        model.predict(X[:rows])
    assert asked == [2, 2, 1, 1]


def test_predicting_while_classes_join_speaks_of_one_set_of_classes() -> None:
    X, _ = stream(4000)
    model = budgetron.make("rbp", gamma=0.5, n_jobs=2).partial_fit(X[:2], ["a", "b"])
    shapes = []
    stop = threading.Event()

    def predict() -> None:
        while not stop.is_set():
            decisions, _ = native_of(model).predict(X, threads=2)
            shapes.append(decisions.shape[1])

    thread = threading.Thread(target=predict)
    thread.start()
    for k in range(40):
        model.partial_fit(X[k : k + 1], [f"class {k}"])
    stop.set()
    thread.join()
    assert set(shapes) <= {1, *range(3, 43)}
    assert len(shapes) >= 1
