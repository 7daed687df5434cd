"""Rows and labels that skip scikit-learn's checks are those that would pass them unchanged."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import budgetron
from budgetron import _core
from budgetron._csr import sparse_rows
from budgetron.estimators._base.plain import codes, plain_labels, plain_rows
from tests.support.native import engine_of

ROWS = np.arange(6, dtype=np.float32).reshape(2, 3)


class Marked(np.ndarray[Any, Any]):
    """A subclass of an array."""


@pytest.mark.parametrize(
    "X",
    [
        ROWS.astype(np.float64),
        np.asfortranarray(ROWS),
        ROWS[:, :2],
        ROWS[:0],
        ROWS[0],
        ROWS.tolist(),
        ROWS.view(Marked),
        np.where(ROWS == 1, np.nan, ROWS),
        np.where(ROWS == 1, np.inf, ROWS),
        np.where(ROWS == 1, np.inf, np.where(ROWS == 2, -np.inf, ROWS)),
        np.full((2, 3), 3e38, dtype=np.float32),  # its sum is too large
        sparse_rows(scipy.sparse.csr_array(ROWS.astype(np.float64))),
        scipy.sparse.csr_array(ROWS),  # not looked at yet
        scipy.sparse.csc_array(ROWS),
        sparse_rows(scipy.sparse.csr_array(np.where(ROWS == 1, np.nan, ROWS))),
    ],
)
def test_rows_that_are_not_plain(X: Any) -> None:
    assert not plain_rows(X, [np.float32], 3)


@pytest.mark.parametrize(
    "X",
    [
        ROWS,
        *(sparse_rows(each(ROWS)) for each in (scipy.sparse.csr_array, scipy.sparse.csr_matrix)),
    ],
)
def test_plain_rows(X: Any) -> None:
    assert plain_rows(X, [np.float32], 3)
    assert plain_rows(X, [np.float64, np.float32])
    assert not plain_rows(X, [np.float32], 4)


@pytest.mark.parametrize(
    "y", [[0, 1], np.array([[0], [1]]), np.array([0.5]), np.array([np.nan]), np.array([np.inf])]
)
def test_labels_that_are_not_plain(y: Any) -> None:
    assert not plain_labels(y)


def test_codes_are_places_in_the_order() -> None:
    classes = np.array([-1.0, 2.0, 7.0])
    assert codes(np.array([7, -1, 2]), classes).tolist() == [2, 0, 1]  # type: ignore[union-attr]
    for strange in ([-2.0], [8.0], [2.5], ["2.0"]):
        assert codes(np.array(strange), classes) is None
        assert codes(np.array(strange), classes[1:]) is None
    assert codes(np.array([7, 2, 7]), classes[1:]).tolist() == [1, 0, 1]  # type: ignore[union-attr]
    assert codes(np.array([7, -1]), classes[1:]) is None
    assert codes(np.array([1]), classes[:0]) is None


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_a_first_batch_is_looked_at(form: Any) -> None:
    y = np.array([0, 1])
    model = budgetron.make("perceptron", gamma=1.0, scale=None)
    refused = {
        "NaN": np.where(ROWS == 1, np.nan, ROWS),
        "infinity": np.where(ROWS == 1, np.inf, ROWS),
        "0 feature": ROWS[:, :0],
        "0 sample": ROWS[:0],
    }
    for message, X in refused.items():
        with pytest.raises(ValueError, match=message):
            model.partial_fit(form(X), y[: X.shape[0]], classes=[0, 1])
    assert not hasattr(model, "n_features_in_")
    model.partial_fit(form(ROWS), y, classes=[0, 1])
    assert model.n_features_in_ == 3
    assert engine_of(model.fit(form(ROWS.astype(np.int32)), y)).dtype == np.float64


def test_names_are_forgotten_by_a_fit_without() -> None:
    pandas = pytest.importorskip("pandas")
    model = budgetron.make("perceptron", gamma=1.0)
    model.fit(pandas.DataFrame(ROWS, columns=list("abc")), [0, 1])
    assert model.feature_names_in_.tolist() == list("abc")
    assert not hasattr(model.fit(ROWS, [0, 1]), "feature_names_in_")


@pytest.mark.parametrize(
    ("classes", "message"),
    [([0.5, 1.0], "continuous"), ([[0, 1], [1, 0]], "1d"), ([np.nan, 1.0], "NaN"), ([], "label 0")],
)
def test_strange_classes_are_refused(classes: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        budgetron.make("perceptron").partial_fit(ROWS, np.array([0, 1]), classes=classes)


def in_order(indptr: list[int], indices: list[int], rows: int, width: int) -> bool:
    """Computed by the definition."""
    if indptr[0] != 0 or indptr[-1] != len(indices) or len(indptr) != rows + 1:
        return False
    if any(begin > end or end > len(indices) for begin, end in pairwise(indptr)):
        return False
    own = [indices[begin:end] for begin, end in pairwise(indptr)]
    return all(row == sorted(set(row)) for row in own) and all(0 <= j < width for j in indices)


def test_csr_in_order() -> None:
    """Small matrices, most of them with one number changed."""
    random = np.random.default_rng(0)
    found = []
    for _ in range(2000):
        rows, width = (int(n) for n in random.integers(1, 6, 2))
        X = scipy.sparse.csr_array(random.random((rows, width)) < random.random())
        indptr, indices = X.indptr.astype(np.int32), X.indices.astype(np.int32)
        for changed in (indptr, indices):
            if changed.size and random.random() < 0.4:
                changed[random.integers(changed.size)] += random.integers(-3, 4)
        expected = in_order(indptr.tolist(), indices.tolist(), rows, width)
        assert _core.csr_in_order(indptr, indices, rows, width) == expected
        assert not _core.csr_in_order(indptr, indices, rows + 1, width)
        found.append(expected)
    assert 500 < sum(found) < 1500


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_csr_in_any_order_learns_the_same(index: Any) -> None:
    X = scipy.sparse.random_array((60, 9), density=0.4, format="csr", rng=0)
    y = np.arange(60) % 2
    turned = scipy.sparse.csr_array(X.shape, dtype=X.dtype)
    order = np.concatenate([np.arange(a, b)[::-1] for a, b in pairwise(X.indptr)])
    turned.indptr, turned.indices = X.indptr.astype(index), X.indices[order].astype(index)
    turned.data = X.data[order]
    before = turned.indices.copy()
    one, other = (
        budgetron.make("bpas", budget=9, gamma=1.0).prequential(rows, y) for rows in (X, turned)
    )
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(turned.indices, before)
    turned.indices[3] = 9
    with pytest.raises(ValueError, match="indices must be < 9"):
        budgetron.make("bpas").partial_fit(turned, y)
    turned.indptr[-1] = -1
    with pytest.raises(ValueError, match="indptr must be"):
        budgetron.make("bpas").partial_fit(turned, y)


def test_a_bad_batch_is_refused_after_a_plain_one() -> None:
    """The checks that a plain batch skips still apply to the next."""
    y = np.array([0, 1])
    model = budgetron.make("perceptron", gamma=1.0, scale=None)
    model.partial_fit(ROWS, y, classes=[0, 1])
    before = model.decision_function(ROWS)
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.where(ROWS == 1, np.nan, ROWS).astype(np.float32), y)
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(ROWS[:, :2], y)
    with pytest.raises(ValueError, match="label 2"):
        model.partial_fit(ROWS, np.array([0, 2]))
    with pytest.raises(ValueError, match="inconsistent"):
        model.partial_fit(ROWS, y[:1])
    np.testing.assert_array_equal(model.decision_function(ROWS), before)
