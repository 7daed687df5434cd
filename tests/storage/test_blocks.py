"""Rows in blocks: the same bits as one row at a time, with blocks that were really used.

test_agnosticism checks that batch equals loop for every learner; here the blocks are counted, on
rows wide and long enough to run every path.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

from budgetron.catalogue import as_printed
from tests.support.cases import CASES, KERNELS, Case, same_state
from tests.support.native import native_of

MAPS = ("fogd", "pomdr")  # they decide by more than one kernel row


def rows(count: int, width: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(count, width))
    y = (X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 0.4 * generator.normal(size=count) > 0).astype(int)
    return X, y


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_block_gives_the_bits_of_its_rows(case: Case, dtype: type) -> None:
    X, y = rows(240, 9)
    X = X.astype(dtype)
    batch, loop = case.make(random_state=5), case.make(random_state=5)
    for model in (batch, loop):
        model.partial_fit(X[:1], y[:1], classes=[0, 1])
    native_of(batch).set_look_ahead("always")
    native_of(loop).set_look_ahead("never")
    decisions = batch.prequential(X[1:], y[1:])
    np.testing.assert_array_equal(decisions, loop.prequential(X[1:], y[1:]))
    same_state(batch, loop)
    np.testing.assert_array_equal(batch.decision_function(X), [loop.decision_one(x) for x in X])
    assert native_of(loop).rows_ahead == 0
    if case.name in MAPS:
        assert native_of(batch).rows_ahead == 0
        return
    assert native_of(batch).rows_ahead >= 200
    # Every learner here changes its support while rows wait.
    assert native_of(batch).values_recomputed > 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("width", [1, 7, 70])
def test_every_kernel_in_a_full_support_of_many_vectors(
    kernel: str, width: int, dtype: type
) -> None:
    X, y = rows(900, max(width, 3), seed=1)
    X = X[:, :width].astype(dtype) * 0.3
    batch, loop = (
        as_printed("rbp", budget=260, random_state=0, **KERNELS[kernel]) for _ in range(2)
    )
    decisions = batch.prequential(X, y, classes=[0, 1])
    pieces = [
        loop.prequential(X[i : i + 5], y[i : i + 5], classes=[0, 1]) for i in range(0, 900, 5)
    ]
    np.testing.assert_array_equal(decisions, np.concatenate(pieces))
    same_state(batch, loop)
    assert native_of(batch).rows_ahead > 300
    # For each stored row one column of at most five waiting rows, not many columns.
    assert 0 < native_of(batch).values_recomputed <= 5 * native_of(batch).updates
    assert native_of(loop).rows_ahead == 0  # pieces too short for a block


@pytest.mark.parametrize("first", ["dense", "sparse"])
def test_rows_of_the_other_layout_between_those_that_wait(first: str) -> None:
    """The first row fixes the layout: blocks are for a dense store, which sparse rows enter too."""
    X, y = rows(600, 12, seed=2)
    absent = np.random.default_rng(3).random(X.shape) < 0.3
    X[absent] = 0.0
    sparse = scipy.sparse.csr_array(X)
    results: list[Any] = []
    for step in (50, 1):
        model = as_printed("rbp", budget=3, gamma=0.2, random_state=0)
        found = []
        for i in range(0, 600, 50):
            rows_now = X if i == 0 and first == "dense" else sparse
            model.partial_fit(rows_now[i : i + 2], y[i : i + 2], classes=[0, 1])
            for j in range(i, i + 50, step):
                found.append(model.prequential(X[j : j + step], y[j : j + step]))
        results.append((model, np.concatenate(found)))
    np.testing.assert_array_equal(results[0][1], results[1][1])
    same_state(results[0][0], results[1][0])
    assert (native_of(results[0][0]).values_recomputed > 0) == (first == "dense")


def test_rows_with_many_zeros_and_scaled_rows_go_alone() -> None:
    X, y = rows(200, 20)
    scaled = as_printed("rbp", budget=20, scale="standard").partial_fit(X, y, classes=[0, 1])
    assert native_of(scaled).rows_ahead == 0
    X[:, 4:] = 0.0
    empty = as_printed("rbp", budget=20).partial_fit(X, y, classes=[0, 1])
    assert native_of(empty).rows_ahead == 0
