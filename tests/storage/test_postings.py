"""Features that few sparse examples have: postings instead of slots, with the same bits."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from budgetron.catalogue import as_printed
from tests.support.cases import same_state
from tests.support.native import native_of


def text(rows: int, width: int, each: int, seed: int = 0) -> tuple[Any, np.ndarray]:
    """Rows like word counts: a few features in most rows, most features in a few rows."""
    generator = np.random.default_rng(seed)
    words = np.minimum(generator.zipf(1.3, size=(rows, each)) - 1, width - 1)
    ends = np.arange(0, rows * each + 1, each)
    counts = generator.random(rows * each) + 0.5
    X = scipy.sparse.csr_array((counts, words.ravel(), ends), shape=(rows, width))
    X.sum_duplicates()
    return X, (X[:, [0]].toarray()[:, 0] + generator.normal(size=rows) > 0.8 * each / 4).astype(int)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear", "laplacian"])
@pytest.mark.parametrize("name", ["rbp", "bpas", "bsgd-merge", "ahpatron", "avm"])
def test_sparse_text_equals_dense_rows(name: str, kernel: str, dtype: type) -> None:
    if (name == "bsgd-merge" and kernel != "rbf") or (
        name == "avm" and kernel in ("poly", "linear")
    ):
        pytest.skip("not with this kernel")
    X, y = text(700, 500, 12)
    X = X.astype(dtype)
    made = [
        as_printed(name, budget=130, kernel=kernel, gamma=0.05, random_state=0) for _ in range(2)
    ]
    sparse, dense = made
    for start in range(0, 700, 175):
        end = start + 175
        np.testing.assert_array_equal(
            sparse.prequential(X[start:end], y[start:end], classes=[0, 1]),
            dense.prequential(X[start:end].toarray(), y[start:end], classes=[0, 1]),
        )
        again = pickle.loads(pickle.dumps(sparse))  # stored again: lists and slots may swap
        np.testing.assert_array_equal(
            again.decision_function(X), sparse.decision_function(X.toarray())
        )
        native_of(sparse).check_invariants()
        sparse = again
    assert sparse.n_support_ > 60
    if kernel != "laplacian":  # which needs one slot per feature
        assert sparse.memory_bytes_ < dense.memory_bytes_


def test_examples_of_both_kinds_share_features() -> None:
    X, y = text(600, 200, 8, seed=1)
    mixed, dense = (as_printed("rbp", budget=100, gamma=0.1, random_state=0) for _ in range(2))
    for start in range(0, 600, 20):
        rows, labels = X[start : start + 20], y[start : start + 20]
        whole = start % 60 == 0
        mixed.partial_fit(rows.toarray() if whole else rows, labels, classes=[0, 1])
        dense.partial_fit(rows.toarray(), labels, classes=[0, 1])
        native_of(mixed).check_invariants()
    np.testing.assert_array_equal(mixed.decision_function(X), dense.decision_function(X))
    assert mixed.n_support_ == 100


def test_memory_follows_the_values() -> None:
    generator = np.random.default_rng(0)
    words = np.sort(generator.choice(2**20, size=(400, 50)), axis=1)
    ends = np.arange(0, 400 * 50 + 1, 50)
    X = scipy.sparse.csr_array(
        (np.full(400 * 50, 0.1, np.float32), words.ravel(), ends), shape=(400, 2**20)
    )
    X.sum_duplicates()
    y = generator.integers(2, size=400)
    model = as_printed("rbp", budget=150, gamma=1.0, random_state=0)
    model.partial_fit(X, y, classes=[0, 1])
    assert model.n_support_ == 150
    assert model.memory_bytes_ < 100 * 150 * 50  # a slot of 150 columns a feature takes 600
    same_state(model, pickle.loads(pickle.dumps(model)))


def fashions(rows: int, seed: int = 0) -> tuple[Any, np.ndarray]:
    """Hashed rows of a few frequent words, new ones every 300 rows, and many rare ones."""
    generator = np.random.default_rng(seed)
    fashion = 20 * (np.arange(rows) // 300)[:, None] + generator.integers(20, size=(rows, 10))
    words = np.hstack([fashion, 1000 + generator.integers(3000, size=(rows, 15))])
    features = (words.astype(np.uint64) * np.uint64(11400714819323198485)) >> np.uint64(44)
    ends = np.arange(0, rows * 25 + 1, 25)
    values = generator.random(rows * 25) + 0.5
    X = scipy.sparse.csr_array((values, features.astype(np.int32).ravel(), ends), (rows, 2**20))
    X.sum_duplicates()
    return X, generator.integers(2, size=rows)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["rbp", "bogd", "bpas", "remove-oldest", "bsgd-merge"])
def test_large_feature_numbers_change_no_bit(name: str, dtype: type) -> None:
    X, y = fashions(1200)
    X = X.astype(dtype)
    known, places = np.unique(X.indices, return_inverse=True)
    small = scipy.sparse.csr_array((X.data, places, X.indptr), (1200, len(known)))
    hashed, direct, dense = (
        as_printed(name, budget=150, gamma=0.05, random_state=0) for _ in range(3)
    )
    for start in range(0, 1200, 240):
        rows = slice(start, start + 240)
        answers = [
            model.prequential(data, y[rows], classes=[0, 1])
            for model, data in (
                (hashed, X[rows]),
                (direct, small[rows]),
                (dense, small[rows].toarray()),
            )
        ]
        np.testing.assert_array_equal(answers[0], answers[1])
        np.testing.assert_array_equal(answers[0], answers[2])
        for model in (hashed, direct):
            native_of(model).check_invariants()
    assert hashed.n_support_ == 150
