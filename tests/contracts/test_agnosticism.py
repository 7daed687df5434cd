"""Results do not depend on how the rows come: chunks, layout, dtype of the container, resuming.

The contracts themselves are in budgetron.checks, where users find them too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budgetron.checks import contracts
from tests.support.cases import CASES, Case, stream

each_case = pytest.mark.parametrize("case", CASES, ids=str)
each_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def learn(case: Case, X: Any, y: np.ndarray, **more: Any) -> Any:
    return case.make(random_state=5, **more).partial_fit(X, y, classes=[0, 1])


@each_case
@given(cuts=st.lists(st.integers(1, 299), max_size=8, unique=True))
def test_chunks_do_not_matter(case: Case, cuts: list[int]) -> None:
    contracts.check_chunks_do_not_matter(case.make(random_state=5), cuts=cuts, joining=True)


@each_dtype
@each_case
def test_batch_equals_one_row_at_a_time(case: Case, dtype: type) -> None:
    contracts.check_batch_equals_loop(case.make(random_state=5), dtypes=[dtype])


@pytest.mark.parametrize("joining", [False, True])
@each_dtype
@each_case
def test_dense_equals_csr(case: Case, dtype: type, joining: bool) -> None:
    learner = case.make(random_state=5)
    contracts.check_dense_equals_sparse(learner, dtypes=[dtype], joining=joining)


@each_case
def test_unsorted_and_duplicate_indices_are_put_in_order_in_a_copy(case: Case) -> None:
    contracts.check_sparse_rows_are_put_in_order(case.make())


@each_case
def test_read_only_and_fortran_order(case: Case) -> None:
    contracts.check_memory_layout_does_not_matter(case.make(random_state=5))


@each_case
def test_resuming_continues_to_the_bit(case: Case) -> None:
    contracts.check_resumes_exactly(case.make(random_state=5))


@each_case
def test_predict_changes_nothing(case: Case) -> None:
    contracts.check_deciding_changes_nothing(case.make(random_state=5))


@each_case
def test_inputs_are_not_aliased(case: Case) -> None:
    contracts.check_arrays_are_neither_changed_nor_kept(case.make(random_state=5))


@each_case
def test_float32_stays_and_everything_else_is_float64(case: Case) -> None:
    X, y = stream(100)
    assert learn(case, X.astype(np.float32), y).support_vectors_.dtype == np.float32
    assert learn(case, X, y).support_vectors_.dtype == np.float64
    assert learn(case, np.round(X).astype(np.int64), y).support_vectors_.dtype == np.float64
    # Later batches are cast to what the first one said.
    model = learn(case, X.astype(np.float32), y).partial_fit(X, y)
    assert model.support_vectors_.dtype == np.float32
