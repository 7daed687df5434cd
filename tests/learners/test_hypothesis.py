"""Budgetron's f: a few lines of NumPy compute its answers from its public attributes."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray

import budgetron
from papers.kernels import make_kernel
from tests.support.cases import stream
from tests.support.native import native_of, state_of

Rows = NDArray[Any]
KERNELS = ("rbf", "laplacian", "poly", "linear")
WITHIN = {"float64": 1e-9, "float32": 1e-4}


def rebuilt(model: Any, X: Any) -> Rows:
    """The model's answers to rows without gaps, from its attributes alone."""
    rows, stored = (
        each.toarray() if scipy.sparse.issparse(each) else np.asarray(each, dtype=float)
        for each in (X, model.support_vectors_)
    )
    centre, size, root = model.center_, model.scale_, np.sqrt(model.feature_relevance_)
    Z = np.clip((rows - centre) / size, -model.clip_, model.clip_)
    S = (stored - centre) / size
    gamma = 1.0 if model.gamma_ is None else model.gamma_
    kernel = make_kernel(model.kernel, gamma, model.degree, model.coef0)
    k = kernel(Z * root, S * root)
    return np.asarray(Z @ model.coef_.T + model.intercept_ + k @ model.dual_coef_.T)


def answers(model: Any, X: Any) -> Rows:
    f = model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)
    return np.asarray(f[:, None] if f.ndim == 1 else f)


def makes_its_answers(model: Any, X: Any, dtype: str = "float64") -> None:
    f = answers(model, X)
    assert np.abs(f).max() > 0.1
    atol = WITHIN[dtype] * max(1.0, float(np.abs(f).max()))
    np.testing.assert_allclose(rebuilt(model, X), f, rtol=WITHIN[dtype], atol=atol)
    n, d = model.n_support_, model.n_features_in_
    assert model.support_vectors_.shape == (n, d)
    assert model.coef_.shape == (f.shape[1], d)
    assert model.dual_coef_.shape == (f.shape[1], n)
    assert model.center_.shape == model.scale_.shape == model.feature_relevance_.shape == (d,)


def raw(rows: int, classes: int = 2, seed: int = 0) -> tuple[Rows, Rows]:
    """Features in different units: one is a time, one a flag and one constant."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 6))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    y = y + (X[:, 1] > 1) if classes == 3 else y
    X = X * [1.0, 1000.0, 0.01, 5.0, 1.0, 1.0] + [0.0, 500.0, 0.0, 1e4, 0.0, 0.0]
    X[:, 4], X[:, 5] = X[:, 4] > 0, 7.0
    return X, y


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("classes", [0, 2, 3])
@pytest.mark.parametrize("scale", ["auto", "standard", None])
def test_attributes_make_answers(kernel: str, classes: int, scale: str | None, dtype: str) -> None:
    X, y = raw(700, classes)
    task = "classification" if classes else "regression"
    # Without centres, a feature far from 0 relative to its deviation leaves no digits of f.
    X = X[:, {"auto": [0, 1, 2, 3, 4, 5], "standard": [0, 1, 2, 4, 5], None: [0, 4]}[scale]]
    target = y if classes else 1e3 * np.sin(X[:, 0]) + 1e5
    made: dict[str, Any] = {"kernel": kernel, "degree": 2, "coef0": 1.0, "scale": scale}
    model = budgetron.make("budgetron", task=task, budget=25, **made)
    model.partial_fit(X.astype(dtype), target)
    assert model.n_support_ > 1
    makes_its_answers(model, X.astype(dtype), dtype)


@pytest.mark.parametrize("straight", ["full", "diagonal", "none"])
@pytest.mark.parametrize("rows", [1, 2, 60, 250])
def test_they_do_in_the_warm_up_and_with_every_straight_part(rows: int, straight: str) -> None:
    X, y = raw(400)
    made = {"budget": 25, "straight": straight}
    model = budgetron.make("budgetron", **made).partial_fit(X[:rows], y[:rows], classes=[0, 1])
    np.testing.assert_allclose(rebuilt(model, X), answers(model, X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_they_do_after_changes_of_units(kernel: str, dtype: str) -> None:
    X, y = raw(1600)
    X[700:, 0] *= 1000
    X[1100:, 3] *= 20
    model = budgetron.make("budgetron", budget=25, kernel=kernel)
    model.partial_fit(X.astype(dtype), y)
    assert model.unit_changes_ > 0
    makes_its_answers(model, X.astype(dtype), dtype)
    assert (np.abs((X - model.center_) / model.scale_) > model.clip_).any()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kernel", KERNELS)
def test_they_do_after_a_drift_with_the_reflex(kernel: str, classes: int) -> None:
    X, y = raw(1800, classes)
    turns = np.maximum(0, np.arange(1800) - 500) // 200
    y = (y + turns) % classes
    model = budgetron.make("budgetron", budget=25, kernel=kernel, gamma="median")
    for begin in range(0, 1800, 50):  # for any shares of belief and reflex
        model.partial_fit(X[begin : begin + 50], y[begin : begin + 50], classes=range(classes))
        makes_its_answers(model, X[:200])
    assert model.drift_log_.size > 0
    state = state_of(model)
    assert state["learner/reflex_mistakes"][0] + 4 < state["learner/belief_mistakes"][0]
    assert not np.allclose(native_of(model).coefs(own=True).T, model.dual_coef_)


def test_they_do_after_a_win_of_a_width() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(4000, 2))
    y = (np.floor(4 * X).sum(axis=1) % 2).astype(int)
    model = budgetron.make("budgetron").partial_fit(X, y)
    assert state_of(model)["race/factor"][0] > 1
    makes_its_answers(model, X[:500])


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("uneven", [False, True])
def test_they_do_with_a_metric(task: str, uneven: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    wave = np.sin(3 * X[:, 0])
    X = X * [1e3, 1.0, 0.01, 5.0] + [0.0, 0.0, 1.0, 7.0] if uneven else X
    y = (wave > 0).astype(int) if task == "classification" else 1e4 + 50 * wave
    model = budgetron.make("budgetron", task=task, gamma="median").partial_fit(X, y)
    assert model.feature_relevance_[0] > 1
    makes_its_answers(model, X[:500])


@pytest.mark.parametrize("kernel", KERNELS)
def test_they_do_for_sparse_rows_and_are_those_of_dense_ones(kernel: str) -> None:
    X, y = raw(900)
    X[:, 0] *= np.random.default_rng(1).random(900) < 0.3
    dense = budgetron.make("budgetron", budget=25, kernel=kernel).partial_fit(X, y)
    sparse = budgetron.make("budgetron", budget=25, kernel=kernel)
    sparse.partial_fit(scipy.sparse.csr_array(X), y)
    makes_its_answers(sparse, scipy.sparse.csr_array(X))
    assert scipy.sparse.issparse(sparse.support_vectors_)
    for name in ("center_", "scale_", "coef_", "dual_coef_", "intercept_", "feature_relevance_"):
        np.testing.assert_array_equal(getattr(dense, name), getattr(sparse, name))
    np.testing.assert_array_equal(dense.support_vectors_, sparse.support_vectors_.toarray())


def test_they_do_for_a_million_hashed_features() -> None:
    rng = np.random.default_rng(0)
    words = rng.choice(2**20, size=300, replace=False)
    picks = rng.integers(0, 300, size=(900, 8))
    indices, ends = np.sort(words[picks], axis=1).ravel(), np.arange(0, 7201, 8)
    X = scipy.sparse.csr_array((np.ones(7200), indices, ends), shape=(900, 2**20))
    X.sum_duplicates()
    model = budgetron.make("budgetron", budget=30)
    model.partial_fit(X, (picks < 150).sum(axis=1) > 4)
    seen = np.unique(indices)
    Z = X[:, seen].toarray() / model.scale_[seen]
    assert not model.center_.any()
    S = model.support_vectors_[:, seen].toarray() / model.scale_[seen]
    k = make_kernel("rbf", model.gamma_)(Z, S)
    f = Z @ model.coef_[0, seen] + model.intercept_ + k @ model.dual_coef_[0]
    np.testing.assert_allclose(f, model.decision_function(X), rtol=1e-9, atol=1e-9)
    assert model.coef_[0, seen].any()


def test_stored_examples_are_rows_of_the_stream() -> None:
    X, y = raw(600)
    model = budgetron.make("budgetron", budget=25, jitter=0.001).partial_fit(X, y)
    within = np.abs((X - model.center_) / model.scale_) <= 4
    rows = {round(i): X[i] for i in native_of(model).ids()}
    for id_, stored in zip(native_of(model).ids(), model.support_vectors_, strict=True):
        at = within[id_]
        np.testing.assert_allclose(stored[at], rows[id_][at], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("even", [False, True])
def test_flags_are_0_or_1(even: bool) -> None:
    X, y = raw(900)
    X = X[:, [0, 4]] if even else X
    gaps = np.random.default_rng(2).random(X.shape) < 0.1
    model = budgetron.make("budgetron", budget=25, missing="flag")
    model.partial_fit(np.where(gaps, np.nan, X), y)
    d = X.shape[1]
    assert model.support_vectors_.shape[1] == 2 * d
    np.testing.assert_allclose(np.unique(model.support_vectors_[:, d:]), [0, 1], rtol=1e-12)
    whole = np.hstack([X, np.zeros_like(X)])
    np.testing.assert_allclose(rebuilt(model, whole), answers(model, X), rtol=1e-9, atol=1e-9)


def test_they_are_those_of_a_saved_model(tmp_path: Any) -> None:
    X, y = raw(900)
    model = budgetron.make("budgetron", budget=25).partial_fit(X, y)
    budgetron.save(model, tmp_path / "model.btn")
    for again in (budgetron.load(tmp_path / "model.btn"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(rebuilt(again, X), rebuilt(model, X))


def test_other_learners_have_the_same_attributes_as_before() -> None:
    X, y = raw(600)
    model = budgetron.make("bpas", budget=25, scale="auto").partial_fit(X, y)
    assert (model.scale_, model.scaling_) == ("standard", "standard")
    assert np.abs(model.support_vectors_).max() <= 4
    own = budgetron.make("budgetron", budget=25).partial_fit(*stream(300))
    assert own.scaling_ is None
    np.testing.assert_array_equal(own.scale_, np.ones(own.n_features_in_))
