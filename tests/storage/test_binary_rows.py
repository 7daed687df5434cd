"""Sparse rows of ones: stored as bytes, with the same bits, until another value comes."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from budgetron.catalogue import as_printed
from tests.support.native import native_of

BUDGET = 100


def categories(rows: int, columns: int, each: int, seed: int = 0) -> tuple[Any, np.ndarray]:
    """Rows of one-hot encoded categories, `each` values per column, a few of them rare."""
    generator = np.random.default_rng(seed)
    chosen = (each * generator.random((rows, columns)) ** 3).astype(int)
    features = chosen + each * np.arange(columns)
    ends = np.arange(0, rows * columns + 1, columns)
    X = scipy.sparse.csr_array(
        (np.ones(rows * columns), features.ravel(), ends), shape=(rows, columns * each)
    )
    return X, (chosen[:, 0] + chosen[:, 1] + generator.integers(0, 4, rows) > each // 2).astype(int)


def made(name: str, **parameters: Any) -> tuple[Any, Any]:
    return tuple(
        as_printed(name, **{"budget": BUDGET, "random_state": 0, **parameters}) for _ in range(2)
    )  # type: ignore[return-value]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("rbp", "rbf"),
        ("bogd", "rbf"),
        ("bpas", "poly"),
        ("ahpatron", "linear"),
        ("bsgd-merge", "rbf"),
        ("avm", "rbf"),
        ("budgetron", "rbf"),
        ("projectron", "laplacian"),
    ],
)
@pytest.mark.parametrize("columns", [9, 40])  # distances that are looked up, and too far ones
def test_sparse_ones_equal_dense_rows(name: str, kernel: str, dtype: type, columns: int) -> None:
    X, y = categories(500, columns, 12)
    X = X.astype(dtype)
    sparse, dense = made(name, kernel=kernel, gamma=0.05)
    for start in range(0, 500, 125):
        rows, labels = X[start : start + 125], y[start : start + 125]
        np.testing.assert_array_equal(
            sparse.prequential(rows, labels, classes=[0, 1]),
            dense.prequential(rows.toarray(), labels, classes=[0, 1]),
        )
        native_of(sparse).check_invariants()
        sparse = pickle.loads(pickle.dumps(sparse))
        np.testing.assert_array_equal(sparse.decision_function(X), dense.decision_function(X))
        # Rows of other numbers, and dense ones, against a support of ones.
        for other in (0.5 * X, X.toarray()):
            np.testing.assert_array_equal(
                sparse.decision_function(other), dense.decision_function(other)
            )
    assert sparse.n_support_ > BUDGET // 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bytes_take_less_memory_until_another_value_comes(dtype: type) -> None:
    X, y = categories(600, 14, 9)
    X = X.astype(dtype)
    other = X.copy()
    other.data *= 2
    ones, twos = made("remove-oldest", gamma=0.05, budget=150)
    ones.partial_fit(X, y, classes=[0, 1])
    twos.partial_fit(other, y, classes=[0, 1])
    assert ones.n_support_ == 150
    saved = 120 * 150 * (np.dtype(dtype).itemsize - 1)  # of about as many features
    assert ones.memory_bytes_ < twos.memory_bytes_ - 0.6 * saved

    before = ones.memory_bytes_
    changed, dense = X.copy(), made("remove-oldest", gamma=0.05, budget=150)[0]
    changed.data[5] = 0.25
    dense.partial_fit(X.toarray(), y, classes=[0, 1])
    for model, rows in ((ones, changed), (dense, changed.toarray())):
        model.partial_fit(rows[:1], 1 - model.predict(rows[:1]))  # a mistake: it is stored
    assert ones.memory_bytes_ > before + 0.6 * saved
    np.testing.assert_array_equal(ones.decision_function(X), dense.decision_function(X))
    native_of(ones).check_invariants()


def test_a_new_feature_of_another_value_is_no_whole_distance() -> None:
    """All terms are ones, but the squared norm is not among the tabulated distances."""
    X, y = categories(300, 9, 12)
    X = scipy.sparse.csr_array(
        (X.data.astype(np.float32), X.indices, X.indptr), shape=(300, X.shape[1] + 1)
    )
    sparse, dense = made("rbp", gamma=0.05)
    sparse.partial_fit(X, y, classes=[0, 1])
    dense.partial_fit(X.toarray(), y, classes=[0, 1])
    strange = X[:40].toarray()
    strange[:, -1] = np.linspace(0.1, 4.0, 40)
    np.testing.assert_array_equal(
        sparse.decision_function(scipy.sparse.csr_array(strange)), dense.decision_function(strange)
    )
    assert not np.array_equal(dense.decision_function(strange), dense.decision_function(X[:40]))


def test_budgets_in_bytes_hold_ones() -> None:
    X, y = categories(400, 9, 12)
    model = made("rbp", gamma=0.05, budget="40KB")[0].partial_fit(X, y, classes=[0, 1])
    assert model.memory_bytes_ <= 40_000
    assert model.n_support_ > 10


def test_dense_rows_with_few_zeros_against_bytes() -> None:
    """Blocks would be used for these if the support were numbers."""
    generator = np.random.default_rng(0)
    X = (generator.random((300, 20)) < 0.8).astype(np.float32)
    y = generator.integers(2, size=300)
    sparse, dense = made("rbp", gamma=0.1, budget=15)
    sparse.partial_fit(scipy.sparse.csr_array(X), y, classes=[0, 1])
    dense.partial_fit(X, y, classes=[0, 1])
    for rows in (X, 0.5 * X, X + 1):
        np.testing.assert_array_equal(sparse.decision_function(rows), dense.decision_function(rows))


def test_ones_beside_hashed_features_of_other_values() -> None:
    generator = np.random.default_rng(0)
    ones = (generator.random((300, 30)) < 0.4).astype(np.float64)
    y = generator.integers(2, size=300)

    def beside(values: float) -> Any:
        """The last ten features are far off, and have these values."""
        rows = scipy.sparse.csr_array(ones)
        far = rows.indices >= 20
        indices = np.where(far, rows.indices + 1_000_000, rows.indices)
        data = np.where(far, values, rows.data)
        return scipy.sparse.csr_array((data, indices, rows.indptr), shape=(300, 2_000_000))

    sparse, dense = made("rbp", gamma=0.1, budget=40)
    sparse.partial_fit(beside(1.0), y, classes=[0, 1])
    dense.partial_fit(ones, y, classes=[0, 1])
    for value in (1.0, 0.5):
        rows = ones.copy()
        rows[:, 20:] *= value
        np.testing.assert_array_equal(
            sparse.decision_function(beside(value)), dense.decision_function(rows)
        )
