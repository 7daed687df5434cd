"""Inputs that once broke a model: offsets, copies, NaN, weights, huge kernels, budgets, forks."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import budgetron
from budgetron import model_file
from tests.support.cases import (
    BUDGETED,
    BY_NAME,
    CASES,
    KINDS,
    REGRESSION,
    REGRESSION_KINDS,
    Case,
    numeric_stream,
    readable,
    same_state,
    stream,
)
from tests.support.native import native_of

EVERY = [*CASES, *REGRESSION]


# ---- offsets -------------------------------------------------------------------------------------

OFFSETS = {"kelvin": (293.0, 0.5), "hectopascal": (1013.0, 1.0), "unix seconds": (1.7e9, 500.0)}


def with_offset(rows: int, offset: str) -> tuple[np.ndarray, np.ndarray]:
    """Labels that depend on two features, beside one feature far from 0."""
    X = np.random.default_rng(0).normal(size=(rows, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    middle, width = OFFSETS[offset]
    X[:, 3] = middle + width * X[:, 3]
    return X, y


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize(
    "name", ["budgetron", "bsgd-project", "rbp", "projectron++", "avm", "nogd"]
)
def test_an_offset_does_no_harm(name: str, kernel: str, offset: str, dtype: str) -> None:
    X, y = with_offset(600, offset)
    X = X.astype(dtype)
    params = {"kernel": kernel, "gamma": 0.3, "scale": None, "random_state": 0}
    model = budgetron.make(name, **params)
    decisions = model.prequential(X, y, classes=[0, 1])
    assert np.isfinite(decisions).all()
    readable(model)
    sparse, pieces = (budgetron.make(name, **params) for _ in range(2))
    np.testing.assert_array_equal(
        sparse.prequential(scipy.sparse.csr_array(X), y, classes=[0, 1]), decisions
    )
    for i in range(0, len(y), 7):
        pieces.prequential(X[i : i + 7], y[i : i + 7], classes=[0, 1])
    same_state(pieces, model)
    hashed = scipy.sparse.csr_array(X)
    hashed.resize((len(y), 2**20))
    hashed.indices = np.array([5, 70_000, 70_001, 900_000], dtype=np.int32)[hashed.indices]
    far = budgetron.make(name, **params)
    np.testing.assert_array_equal(far.prequential(hashed, y, classes=[0, 1]), decisions)
    readable(far)


@pytest.mark.parametrize("name", ["budgetron", "rbp", "avm"])
def test_distances_with_an_offset_are_those_without(name: str) -> None:
    """Adding an integer to values that float32 holds exactly does not change distances."""
    X, y = stream(400)
    X = (np.round(X * 8) / 8).astype(np.float32)
    by_distance = {"straight": "none"} if name == "budgetron" else {}  # without w.x
    plain, moved = (
        budgetron.make(name, gamma=0.3, scale=None, random_state=0, **by_distance) for _ in range(2)
    )
    expected = plain.prequential(X, y)
    X[:, 2] += 2.0**18
    np.testing.assert_allclose(moved.prequential(X, y), expected, rtol=1e-4, atol=1e-5)


def test_one_column_in_kelvin_costs_nothing() -> None:
    X, y = with_offset(6000, "kelvin")
    mistakes = []
    for dtype in ("float32", "float64"):
        model = budgetron.make("budgetron", random_state=0).partial_fit(X.astype(dtype), y)
        assert np.isfinite(model.decision_function(X[:9].astype(dtype))).all()
        readable(model)
        mistakes.append(model.n_mistakes_)
    assert abs(mistakes[0] - mistakes[1]) < 0.01 * len(y)


# ---- copies --------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [0.0, 1e-7])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear", "poly"])
@pytest.mark.parametrize("replace", ["auto", "never", "always"])
def test_a_stuck_sensor_takes_one_place(replace: str, kernel: str, noise: float) -> None:
    rng = np.random.default_rng(0)
    stuck = 1.0 + noise * rng.normal(size=(500, 3))
    model = budgetron.make(
        "budgetron", budget=20, kernel=kernel, gamma=0.3, scale=None, replace=replace
    )
    model.partial_fit(stuck, np.arange(500) % 2, classes=[0, 1])
    assert model.n_support_ == 1
    readable(model)


def test_budgetron_learns_again_after_a_stuck_sensor() -> None:
    X = np.random.default_rng(3).normal(size=(9000, 6))
    y = (X[:, 0] * X[:, 1] + 0.5 * X[:, 2] > 0).astype(int)
    fresh, stuck = (
        budgetron.make("budgetron", gamma=0.1, scale=None, random_state=0) for _ in range(2)
    )
    stuck.partial_fit(np.full((1000, 6), 7.0), np.arange(1000) % 2, classes=[0, 1])
    errors = [
        ((model.prequential(X, y, classes=[0, 1])[-3000:] >= 0) != y[-3000:]).mean()
        for model in (fresh, stuck)
    ]
    assert errors[1] < 1.2 * errors[0] + 0.002


# ---- rows that are not finite --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "rows", "bad"),
    [(case, 300, np.nan) for case in EVERY]
    + [(case, 3, bad) for case in KINDS + REGRESSION_KINDS for bad in (np.nan, np.inf, -np.inf)],
    ids=str,
)
def test_learn_one_does_not_learn_what_is_not_finite(case: Case, rows: int, bad: float) -> None:
    X, y = stream(rows) if case.task == "classification" else numeric_stream(rows)
    balanced = {"class_weight": "balanced"} if case.task == "classification" else {}
    for more in ({}, {"scale": "standard"}, {"gamma": "median"}, balanced):
        model = case.make(**more).partial_fit(X, y)
        before = model_file.to_bytes(model)
        row = X[0].copy()
        row[1] = bad
        model.learn_one(row, y[0])
        assert model_file.to_bytes(model) == before


# ---- weights -------------------------------------------------------------------------------------


@given(seed=st.integers(0, 10_000), power=st.integers(0, 100), classes=st.sampled_from([2, 3]))
def test_weights_of_any_size_leave_a_file_that_can_be_read(
    seed: int, power: int, classes: int
) -> None:
    X, y = stream(60, classes=classes, seed=seed)
    rng = np.random.default_rng(seed)
    weights = np.where(rng.random(60) < 0.1, 10.0**power, 1.0)
    model = BY_NAME["rbp"].make().partial_fit(X, y, sample_weight=weights)
    readable(model)
    shares = model.predict_proba(X)
    assert np.isfinite(shares).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


# ---- kernels without a bound ---------------------------------------------------------------------


@given(
    name=st.sampled_from(["forgetron", "forgetron-greedy", "forgetron-basic", "budgetron"]),
    kernel=st.sampled_from(["poly", "linear"]),
    budget=st.integers(1, 6),
    size=st.sampled_from([1.0, 1e3, 1e5]),
    seed=st.integers(0, 10_000),
    heavy=st.sampled_from(["uniform", "lognormal", "cauchy"]),
)
def test_huge_kernel_values_leave_the_model_finite(
    name: str, kernel: str, budget: int, size: float, seed: int, heavy: str
) -> None:
    rng = np.random.default_rng(seed)
    draw = {"uniform": rng.random, "lognormal": rng.lognormal, "cauchy": rng.standard_cauchy}
    X = size * draw[heavy](size=(120, 3))
    y = rng.integers(2, size=120)
    model = budgetron.make(
        name, budget=max(budget, 2), kernel=kernel, gamma=1.0, degree=3, random_state=0
    )
    model.partial_fit(X, y, classes=[0, 1])
    readable(model)


# ---- no class ------------------------------------------------------------------------------------


def test_probabilities_where_no_class_is_known() -> None:
    model = budgetron.make("rbp", budget=5)
    model.partial_fit(np.eye(3), [0, 1, 0], sample_weight=np.zeros(3))
    native = native_of(model)
    assert native.predict(np.eye(3), 1, True)[0].shape == (3, 0)
    assert native.probabilities_one(np.ones(3)).shape == (0,)


# ---- memory --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted({case.name for case in BUDGETED}))
def test_memory_follows_what_is_stored(name: str) -> None:
    X, y = stream(200)
    params = {"budget": 10**9, "gamma": 0.5, "scale": None, "random_state": 0}
    model = budgetron.make(name, **params).partial_fit(X, y)
    assert model.memory_bytes_ < 20e6
    readable(model)


# ---- forks and signals ---------------------------------------------------------------------------


def _use(model: Any, method: str, arguments: Any, answers: Any) -> None:
    try:
        getattr(model, method)(*arguments)
        answers.put("answered")
    except RuntimeError as error:
        answers.put(str(error))


@pytest.mark.thread_unsafe(reason="forks")
def test_a_fork_in_the_middle_of_learning_does_not_hang() -> None:
    X, y = stream(60_000)
    model = budgetron.make("budgetron", budget=300, gamma=0.5, scale=None, random_state=0)
    model.partial_fit(X[:500], y[:500])
    idle = budgetron.make("rbp", gamma=0.5).partial_fit(X[:500], y[:500])
    fork = multiprocessing.get_context("fork")
    answers: Any = fork.Queue()
    thread = threading.Thread(target=lambda: model.partial_fit(X, y))
    thread.start()
    time.sleep(0.05)
    calls = {"decision_function": (X[:1],), "partial_fit": (X[:1], y[:1]), "snapshot": ()}
    children = [
        fork.Process(target=_use, args=(used, *call, answers))
        for used in (model, idle)
        for call in calls.items()
    ]
    for child in children:
        child.start()
    said = [answers.get(timeout=60) for _ in children]
    for child in children:
        child.join(timeout=60)
        assert child.exitcode == 0
    learning = thread.is_alive()
    thread.join()
    assert learning, "the thread had ended before the fork"
    assert said.count("answered") >= 3  # of the idle one
    assert any(word != "answered" for word in said), "no child met a model in use"
    assert all(word == "answered" or "when the process forked" in word for word in said)


@pytest.mark.thread_unsafe(reason="signals")
def test_ctrl_c_ends_a_batch_between_rows() -> None:
    X, y = stream(300_000)
    model = budgetron.make("budgetron", budget=300, gamma=0.5, scale=None, random_state=0)
    model.partial_fit(X[:500], y[:500])
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, y)
    assert 500 < model.n_seen_ < 300_500
    other = budgetron.make("budgetron", budget=300, gamma=0.5, scale=None, random_state=0)
    other.partial_fit(X[:500], y[:500]).partial_fit(
        X[: model.n_seen_ - 500], y[: model.n_seen_ - 500]
    )
    same_state(model, other)


def test_far_features_of_a_large_row_cost_nothing() -> None:
    """Differences are computed over stored and given features, not over all feature numbers."""
    X, y = stream(200, sparse=True)
    train = scipy.sparse.csr_array(X.astype(np.float32))
    train.resize((200, 2**31 - 1))
    model = budgetron.make("rbp", budget=50, gamma=1.0, random_state=0).partial_fit(train, y)
    near, far = (
        scipy.sparse.csr_array(
            (np.full(2, 1e4, dtype=np.float32), [[0, 0], [1, column]]), shape=(1, 2**31 - 1)
        )
        for column in (3, 2**31 - 2)
    )
    seconds = []
    for row in (near, far):
        before = time.process_time()
        assert np.isfinite(model.decision_function(row)).all()
        seconds.append(time.process_time() - before)
    # A loop over 2^31 numbers took 50,000 times as long: seconds.
    assert seconds[1] < 100 * seconds[0] + 0.5
