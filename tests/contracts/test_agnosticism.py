"""Results do not depend on how the rows come: chunks, layout, dtype of the container, resuming."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import CASES, Case, same_state, stream

each_case = pytest.mark.parametrize("case", CASES, ids=str)
each_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def learn(case: Case, X: Any, y: np.ndarray, **more: Any) -> Any:
    return case.make(random_state=5, **more).partial_fit(X, y, classes=[0, 1])


@each_case
@given(cuts=st.lists(st.integers(1, 299), max_size=8, unique=True))
def test_chunks_do_not_matter(case: Case, cuts: list[int]) -> None:
    X, y = stream(300)
    whole = case.make(random_state=5)
    decisions = whole.prequential(X, y)
    parts = case.make(random_state=5)
    pieces = [
        parts.prequential(X[a:b], y[a:b])
        for a, b in zip([0, *sorted(cuts)], [*sorted(cuts), 300], strict=True)
    ]
    same_state(whole, parts)
    np.testing.assert_array_equal(decisions, np.concatenate(pieces))


@each_dtype
@each_case
def test_batch_equals_one_row_at_a_time(case: Case, dtype: type) -> None:
    X, y = stream(300)
    X = X.astype(dtype)
    batch = case.make(random_state=5)
    decisions = batch.prequential(X, y, classes=[0, 1])
    loop = case.make(random_state=5).partial_fit(X[:1], y[:1], classes=[0, 1])
    one = [loop.learn_one(x, label) for x, label in zip(X[1:], y[1:], strict=True)]
    same_state(batch, loop)
    np.testing.assert_array_equal(decisions[1:], one)


@each_dtype
@each_case
def test_dense_equals_csr(case: Case, dtype: type) -> None:
    X, y = stream(300, sparse=True)
    X = X.astype(dtype)
    dense = case.make(random_state=5)
    sparse = case.make(random_state=5)
    np.testing.assert_array_equal(
        dense.prequential(X, y), sparse.prequential(scipy.sparse.csr_array(X), y)
    )
    np.testing.assert_array_equal(dense.dual_coef_, sparse.dual_coef_)
    np.testing.assert_array_equal(dense.support_vectors_, sparse.support_vectors_.toarray())
    np.testing.assert_array_equal(
        dense.decision_function(scipy.sparse.csr_matrix(X)), sparse.decision_function(X)
    )


@each_case
def test_unsorted_and_duplicate_indices_are_put_in_order_in_a_copy(case: Case) -> None:
    # Row 0 is [3, 0, 1] with feature 0 given twice and the features out of order.
    data, indices = np.array([1.0, 1.0, 2.0]), np.array([2, 0, 0])
    messy = scipy.sparse.csr_array((data, indices, np.array([0, 3])), shape=(1, 3))
    clean = np.array([[3.0, 0.0, 1.0]])
    one = case.make().partial_fit(messy, [1], classes=[0, 1])
    other = case.make().partial_fit(clean, [1], classes=[0, 1])
    probe = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(one.decision_function(probe), other.decision_function(probe))
    np.testing.assert_array_equal(messy.data, [1.0, 1.0, 2.0])
    np.testing.assert_array_equal(messy.indices, [2, 0, 0])


@each_case
def test_read_only_and_fortran_order(case: Case) -> None:
    X, y = stream(200)
    plain = learn(case, X, y)
    frozen = X.copy()
    frozen.setflags(write=False)
    same_state(plain, learn(case, frozen, y))
    same_state(plain, learn(case, np.asfortranarray(X), y))
    same_state(plain, learn(case, np.repeat(X, 2, axis=0)[::2], y))


@each_case
def test_resuming_continues_to_the_bit(case: Case) -> None:
    X, y = stream(300)
    whole = learn(case, X, y)
    half = learn(case, X[:137], y[:137])
    resumed = copy.deepcopy(half)
    resumed.partial_fit(X[137:], y[137:])
    same_state(whole, resumed)
    half.partial_fit(X[137:], y[137:])
    same_state(whole, half)


@each_case
def test_predict_changes_nothing(case: Case) -> None:
    X, y = stream(200)
    model, twin = learn(case, X, y), learn(case, X, y)
    model.predict(X)
    model.decision_function(X[:3])
    model.decision_one(X[0])
    same_state(model, twin)


@each_case
def test_inputs_are_not_aliased(case: Case) -> None:
    X, y = stream(200)
    model = learn(case, X, y)
    before = model.decision_function(X[:20])
    saved = X[:20].copy()
    X[:] = 0.0
    np.testing.assert_array_equal(model.decision_function(saved), before)


@each_case
def test_float32_stays_and_everything_else_is_float64(case: Case) -> None:
    X, y = stream(100)
    assert learn(case, X.astype(np.float32), y).support_vectors_.dtype == np.float32
    assert learn(case, X, y).support_vectors_.dtype == np.float64
    assert learn(case, np.round(X).astype(np.int64), y).support_vectors_.dtype == np.float64
    # Later batches are cast to what the first one said.
    model = learn(case, X.astype(np.float32), y).partial_fit(X, y)
    assert model.support_vectors_.dtype == np.float32
