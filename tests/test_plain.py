"""Rows and labels that go past scikit-learn's checks are those that would pass them unchanged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import budgetron
from budgetron.estimators.plain import codes, plain_labels, plain_rows

ROWS = np.arange(6, dtype=np.float32).reshape(2, 3)


class Marked(np.ndarray[Any, Any]):
    """An array that is not just an array."""


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
        scipy.sparse.csr_array(ROWS.astype(np.float64)),
        scipy.sparse.csc_array(ROWS),
        scipy.sparse.csr_array(np.where(ROWS == 1, np.nan, ROWS)),
    ],
)
def test_rows_that_are_not_plain(X: Any) -> None:
    assert not plain_rows(X, np.dtype(np.float32), 3)


@pytest.mark.parametrize("X", [ROWS, scipy.sparse.csr_array(ROWS), scipy.sparse.csr_matrix(ROWS)])
def test_plain_rows(X: Any) -> None:
    assert plain_rows(X, np.dtype(np.float32), 3)


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
    assert codes(np.array([1]), classes[:0]) is None


def test_a_bad_batch_is_refused_after_a_plain_one() -> None:
    """The checks a plain batch goes past are still there for the next."""
    y = np.array([0, 1])
    model = budgetron.make("perceptron", gamma=1.0).partial_fit(ROWS, y, classes=[0, 1])
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
