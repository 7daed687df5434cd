"""The interface of the compiled model: a batch is checked once, and may be cut anywhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from budgetron._batch import Batch
from budgetron._csr import SparseRows, sparse_rows
from tests.support.cases import BY_NAME, as_format, same_state, stream
from tests.support.native import learn_rows, native_of, predict_rows

X, Y = stream(60)
TARGETS = Y.astype(float)


def started(layout: str = "dense") -> Any:
    return BY_NAME["rbp"].make().partial_fit(as_format(X[:1], layout), Y[:1], classes=[0, 1])


@pytest.mark.parametrize(
    "change",
    [
        {"rows": X.astype(np.float32)},
        {"rows": np.asfortranarray(X)},
        {"rows": X[0]},
        {"rows": X.tolist()},
        {"rows": None},
        {"y": Y},
        {"y": TARGETS[:, None]},
        {"y": TARGETS.tolist()},
        {"weights": np.ones(60, dtype=np.float32)},
        {"weights": 1.0},
        {"chances": np.ones(60, dtype=np.float32)},
        {"chances": np.broadcast_to(1.0, 60)},
        {"chances": 1.0},
    ],
    ids=str,
)
def test_another_type_is_refused(change: dict[str, Any]) -> None:
    native = native_of(started())
    with pytest.raises((TypeError, AttributeError)):
        native.learn(replace(Batch(X, TARGETS), **change))
    assert native.seen == 1


@pytest.mark.parametrize(
    "change", [{"indptr": np.int32}, {"indices": np.int64}, {"values": np.float32}], ids=str
)
def test_another_type_of_sparse_rows_is_refused(change: dict[str, Any]) -> None:
    rows = sparse_rows(scipy.sparse.csr_array(X))
    wrong = replace(rows, **{name: getattr(rows, name).astype(of) for name, of in change.items()})
    native = native_of(started("csr"))
    for call in (native.predict, lambda rows: native.learn(Batch(rows, TARGETS))):
        with pytest.raises(TypeError, match=f"{next(iter(change))} is not a 1-d C-ordered array"):
            call(wrong)
    assert native.seen == 1


def test_rows_targets_and_weights_are_as_many() -> None:
    native = native_of(started())
    for batch in (
        Batch(X, TARGETS[:-1]),
        Batch(X[:-1], TARGETS),
        Batch(X, TARGETS, np.ones(59)),
        Batch(X, TARGETS, chances=np.ones(59)),
        Batch(X[:0], TARGETS[:1]),
    ):
        with pytest.raises(ValueError, match="numbers of rows, targets, weights"):
            native.learn(batch)
    assert native.seen == 1
    assert native.learn(Batch(X[:0], TARGETS[:0], record=True)).shape == (0, 1)
    assert native.seen == 1


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("cut", [1, 7, 59])
def test_a_batch_in_slices_is_the_whole(cut: int, layout: str) -> None:
    rows = sparse_rows(scipy.sparse.csr_array(X)) if layout == "csr" else X
    weights = np.linspace(0.5, 2.0, 60)
    whole, parts = started(layout), started(layout)
    batch = Batch(rows, TARGETS, weights, record=True)
    decisions = native_of(whole).learn(batch)
    got = [native_of(parts).learn(batch[i : i + cut]) for i in range(0, 60, cut)]
    np.testing.assert_array_equal(np.concatenate(got), decisions)
    same_state(whole, parts)
    some = np.array([3, 3, 58, 0])
    np.testing.assert_array_equal(
        predict_rows(native_of(whole), rows[some]), predict_rows(native_of(whole), X[some])
    )


def test_slices_of_sparse_rows() -> None:
    matrix = scipy.sparse.random_array((9, 5), density=0.4, rng=np.random.default_rng(0))
    rows, dense = sparse_rows(matrix.tocsr()), matrix.toarray()
    for bounds in (slice(2, 7), slice(0, 0), slice(4, None), slice(None, -3), slice(7, 2)):
        some: SparseRows = rows[bounds]
        assert np.shares_memory(some.values, rows.values)
        assert some.shape == dense[bounds].shape
        np.testing.assert_array_equal(some.matrix().toarray(), dense[bounds])
    np.testing.assert_array_equal(rows[2:8][np.array([5, 0])].matrix().toarray(), dense[[7, 2]])


def test_flags() -> None:
    """`unseen` counts only the first row of a batch as a mistake; `record` returns decisions."""
    native = native_of(started())
    assert learn_rows(native, X, TARGETS) is None
    native = native_of(started())
    plain, joined = native.mistakes, native_of(started())
    right = (predict_rows(native, X[:1])[:, 0] >= 0).astype(float)
    learn_rows(native, np.tile(X[:1], (600, 1)), np.tile(right, 600))
    learn_rows(joined, np.tile(X[:1], (600, 1)), np.tile(right, 600), unseen=True)
    assert (native.mistakes - plain, joined.mistakes - plain) == (0, 1)
