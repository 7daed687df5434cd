"""The defaults that all estimators share: rows in any units, in every interface."""

from __future__ import annotations

import pickle
from dataclasses import fields
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray
from sklearn.preprocessing import scale

import budgetron
from budgetron.catalogue import CATALOGUE, as_printed, paper_settings
from tests.support.cases import BY_NAME, same_state
from tests.support.native import state_of

LEARNERS = [(name, task) for name, entry in CATALOGUE.items() for task in entry.tasks]
each_learner = pytest.mark.parametrize(("name", "task"), LEARNERS)
UNITS = np.array([1e-1, 1e5, 3.0, 100.0, 1e4])
CENTRES = np.array([0.0, 0.0, 50.0, -1e3, 3e4])
SEEDS = 5
# Compared with rows standardised by hand, over five streams. Stoptron keeps the first 100 rows on
# which it errs: these depend on chance.
MOST, CHANCE = 1.02, {"stoptron": 1.08}


@lru_cache
def rows(task: str, seed: int, count: int = 2000) -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 5))
    signal = X[:, 0] * X[:, 1] + X[:, 2] / 2
    if task == "regression":
        return X, signal + 0.1 * rng.normal(size=count)
    return X, ((signal > 0) ^ (rng.random(count) < 0.05)).astype(int)


def error(name: str, task: str, X: Any, y: NDArray[Any], **params: Any) -> float:
    """The share of mistakes, or of the variance, after the first 500 rows."""
    f = budgetron.make(name, task, random_state=0, **params).prequential(X, y)[500:]
    if task == "regression":
        return float(np.mean((f - y[500:]) ** 2) / y.var())
    return float(np.mean((f >= 0) != y[500:]))


def sized(name: str, budget: Any) -> dict[str, Any]:
    """The budget, if the learner has one."""
    known = next(each.parameters for each in budgetron.algorithms() if each.name == name)
    return {key: budget for key in ("budget", "n_components") if key in known}


# ---- what they are -------------------------------------------------------------------------------


def test_every_estimator_has_them() -> None:
    classes = {CATALOGUE[name].estimator(task) for name, task in LEARNERS}
    for estimator in (*classes, budgetron.KernelClassifier):
        params = {field.name: field.default for field in fields(estimator)}
        regresses = estimator.__name__.endswith("Regressor")
        gamma = "race" if estimator.__name__.startswith("Budgetron") else "median"
        assert (params["gamma"], params["scale"], params["shuffle"]) == (gamma, "auto", True)
        assert params.get("target_scale") == ("auto" if regresses else None)
        printed = paper_settings("regression" if regresses else "classification")
        assert all(params[key] != value for key, value in printed.items())
        estimator(**printed)._validate_params()


def test_river_has_them() -> None:
    river = pytest.importorskip("budgetron.river")
    for name, task in LEARNERS:
        model = river.make(name, task=task)
        gamma = "race" if name == "budgetron" else "median"
        assert (model.gamma, model.scale) == (gamma, "auto")
        assert model.estimator.gamma == gamma


# ---- rows in any units ---------------------------------------------------------------------------


@each_learner
def test_raw_rows_are_no_worse_than_rows_standardised_by_hand(name: str, task: str) -> None:
    raw, by_hand = 0.0, 0.0
    for seed in range(SEEDS):
        X, y = rows(task, seed)
        raw += error(name, task, X * UNITS + CENTRES, y)
        by_hand += error(name, task, scale(X), y, scale=None)
    assert raw <= CHANCE.get(name, MOST) * by_hand
    assert raw < SEEDS * (1.0 if task == "regression" else 0.45)


@each_learner
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dense_and_sparse_rows_leave_the_same_decisions(name: str, task: str, dtype: type) -> None:
    """In examples, and in bytes where there is a budget."""
    X, y = rows(task, 0, 400)
    X = (X * UNITS + CENTRES * (np.arange(400) % 2)[:, None]).astype(dtype)
    X[::3, 2] = 0.0
    first = {} if task == "regression" else {"classes": [0, 1]}
    for budget in (30, "60KB"):
        dense, sparse = (
            budgetron.make(name, task, random_state=0, **sized(name, budget)) for _ in range(2)
        )
        found = dense.prequential(X, y, **first)
        assert np.isfinite(found).all()
        if budget != 30:  # sparse rows get room for other slots, so that fewer fit
            assert dense.memory_bytes_ <= 60_000 or not sized(name, budget)
            continue
        np.testing.assert_array_equal(
            found, sparse.prequential(scipy.sparse.csr_array(X), y, **first)
        )
        assert dense.gamma_ == sparse.gamma_


@pytest.mark.parametrize(
    ("name", "kernel"), [(name, kernel) for name in CATALOGUE for kernel in BY_NAME[name].kernels]
)
def test_every_kernel_that_a_learner_takes_runs_with_them(name: str, kernel: str) -> None:
    X, y = rows("classification", 0, 300)
    model = budgetron.make(name, kernel=kernel, random_state=0, **sized(name, 30))
    model.fit(X * UNITS + CENTRES, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert (model.gamma_ is None) == (kernel == "linear")
    if kernel in ("poly", "sigmoid"):
        assert model.gamma_ == 1 / 5


@each_learner
def test_river_learns_what_arrays_learn(name: str, task: str) -> None:
    """From dicts; FOGD draws the frequencies of a feature by its name, and is close."""
    river = pytest.importorskip("budgetron.river")
    X, y = rows(task, 1, 300)
    X = X * UNITS + CENTRES
    model = river.make(name, task=task, seed=0)
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        model.learn_one(dict(zip("abcde", x, strict=True)), label)
    arrays = budgetron.make(name, task, random_state=0)
    arrays.partial_fit(scipy.sparse.csr_array(X), y)
    assert model.estimator.gamma_ == pytest.approx(arrays.gamma_, rel=1e-12)
    if name == "fogd":
        return
    ours, theirs = state_of(model.estimator), state_of(arrays)
    differing = {key for key in ours if not np.array_equal(ours[key], theirs[key])}
    assert differing <= {"preparation/width"}  # 0 is one that grows


# ---- multiples of the median ---------------------------------------------------------------------


def changing() -> tuple[NDArray[Any], NDArray[Any]]:
    X, y = rows("classification", 2)
    X = X * UNITS
    X[1000:, 3] *= 1000.0
    return X, y


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_multiple_of_the_median_is_one_at_all_times(dtype: type) -> None:
    """In the warm-up and after units have changed; C is so small that every row is stored."""
    X, y = changing()
    X = X.astype(dtype)
    one, four = (budgetron.make("pa", C=1e-9, gamma=gamma) for gamma in ("median", "4*median"))
    seen: list[float] = []
    for end in (1, 2, 3, 100, 200, 900, 2000):
        start = one.n_seen_ if end > 1 else 0
        for model in (one, four):
            model.partial_fit(X[start:end], y[start:end], classes=[0, 1])
        assert four.gamma_ == 4 * one.gamma_
        seen.append(one.gamma_)
    assert seen[-1] != seen[-2], "not found anew"
    assert one.unit_changes_ == four.unit_changes_ > 0


def test_a_multiple_is_saved_copied_and_lowered(tmp_path: Any) -> None:
    X, y = changing()
    how = {"budget": 20, "gamma": "0.25 * median", "random_state": 0}
    whole = budgetron.make("forgetron", **how).partial_fit(X, y)
    for cut in (50, 300, 1100):
        half = budgetron.make("forgetron", **how).partial_fit(X[:cut], y[:cut])
        budgetron.save(half, tmp_path / "model.btn")
        for twin in (budgetron.load(tmp_path / "model.btn"), pickle.loads(pickle.dumps(half))):
            same_state(twin.partial_fit(X[cut:], y[cut:]), whole)
    before = whole.gamma_
    assert whole.lower_budget(10).gamma_ == before


def test_a_multiple_without_distances_is_one_over_d_so_many_times() -> None:
    X, y = rows("classification", 0, 50)
    for kernel in ("poly", "sigmoid"):
        assert as_printed("ogd", kernel=kernel, gamma="4*median").fit(X, y).gamma_ == 4 / 5
        model = as_printed("ogd", kernel=kernel, gamma="4*median")
        model._prequential_growing(X, y)
        assert model.gamma_ == 4 / 5
    same = np.ones((10, 5))
    assert budgetron.make("ogd", gamma="4*median").fit(same, y[:10]).gamma_ == 4 / 5


def test_multiples_in_river() -> None:
    river = pytest.importorskip("budgetron.river")
    models = [river.make("rbp", gamma=gamma, seed=0) for gamma in ("median", "16*median")]
    for i in range(60):
        for model in models:
            model.learn_one({"a": float(i % 7), "b": 100.0 * (i % 5)}, i % 2)
    assert models[1].estimator.gamma_ == 16 * models[0].estimator.gamma_


@pytest.mark.parametrize(
    "text", ["-1*median", "0*median", "inf*median", "nan*median", "*median", "median*4", "4 median"]
)
def test_what_is_no_multiple_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"'gamma' parameter .* or a multiple as '4\*median'"):
        budgetron.make("rbp", gamma=text).fit([[0.0], [1.0]], [0, 1])
