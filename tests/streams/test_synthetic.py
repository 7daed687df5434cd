"""Synthetic streams: seeded, endless, equal in chunks of any size, and as their names say."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from budgetron.streams import Stream, SyntheticStream, open_stream, synthetic, two_gaussians
from budgetron.streams.synthetic.concepts import (
    Abrupt,
    Checkerboard,
    Gaussians,
    Gradual,
    Hyperplane,
    Inverted,
    Recurring,
    Sea,
)

BOARD = Checkerboard(flip=0)
CONCEPTS: list[Any] = [
    Gaussians(),
    Hyperplane(width=3, period=700),
    Sea(),
    Checkerboard(),
    Inverted(Sea()),
    Abrupt((BOARD, Inverted(BOARD), BOARD), at=(500, 1500)),
    Gradual((Sea(8), Sea(9)), at=900, over=400),
    Recurring((Sea(8), Sea(9), Sea(7)), every=250),
]
each_concept = pytest.mark.parametrize("concept", CONCEPTS, ids=lambda c: type(c).__name__)


def rows(stream: Any, n: int) -> tuple[Any, Any]:
    limited = SyntheticStream(stream, seed=3, rows=n) if not isinstance(stream, Stream) else stream
    chunks = list(limited)
    return np.concatenate([X for X, _ in chunks]), np.concatenate([y for _, y in chunks])


@each_concept
def test_chunks_and_positions_do_not_show(concept: Any) -> None:
    whole, labels = rows(concept, 2500)
    assert whole.shape == (2500, concept.width)
    assert whole.dtype == np.float32
    assert set(labels.tolist()) == {-1.0, 1.0}
    for chunk_rows in (1, 7, 1024, 1500):
        stream = SyntheticStream(concept, seed=3, chunk_rows=chunk_rows, rows=2500)
        assert isinstance(stream, Stream)
        if chunk_rows == 1:
            stream = stream.at(2400)
            X, y = rows(stream, 2500)
            assert_array_equal(X, whole[2400:])
            continue
        X, y = rows(stream, 2500)
        assert_array_equal(X, whole)
        assert_array_equal(y, labels)
    rest = SyntheticStream(concept, seed=3, rows=2500).at({"rows": 1030})
    X, y = rows(rest, 2500)
    assert_array_equal(X, whole[1030:])
    assert_array_equal(y, labels[1030:])
    other = SyntheticStream(concept, seed=4, rows=2500)
    assert not np.array_equal(rows(other, 2500)[0], whole)


@settings(max_examples=30)
@given(cuts=st.lists(st.integers(1, 900), min_size=1, max_size=5), start=st.integers(0, 10**9))
def test_any_cuts_anywhere_give_the_same_rows(cuts: list[int], start: int) -> None:
    concept = Recurring((Sea(8), Sea(9)), every=100)
    n = sum(cuts)
    whole, labels = next(iter(SyntheticStream(concept, seed=1, chunk_rows=n, position=start)))
    at = start
    for cut in cuts:
        X, y = next(iter(SyntheticStream(concept, seed=1, chunk_rows=cut, position=at)))
        assert_array_equal(X, whole[at - start : at - start + cut])
        assert_array_equal(y, labels[at - start : at - start + cut])
        at += cut


def test_it_never_ends() -> None:
    stream = SyntheticStream(Sea(), chunk_rows=10)
    assert sum(len(y) for _, y in islice(stream, 300)) == 3000
    assert stream.bookmark == {"rows": 3000}


# ---- the concepts are what they say ------------------------------------------------------------


def test_sea() -> None:
    X, y = rows(Sea(threshold=7, flip=0.1), 20_000)
    assert X.min() >= 0
    assert X.max() <= 10
    true = np.where(X[:, 0] + X[:, 1] <= 7, 1, -1)
    assert abs(np.mean(true != y) - 0.1) < 0.01


def test_checkerboard() -> None:
    X, y = rows(Checkerboard(cells=3, flip=0), 5000)
    field = np.floor(3 * X.astype(float)).astype(int)
    assert_array_equal(y, np.where(field.sum(axis=1) % 2 == 0, 1, -1))


def test_gaussians() -> None:
    X, y = rows(Gaussians(flip=0), 20_000)
    for sign in (1, -1):
        np.testing.assert_allclose(X[y == sign].mean(axis=0), [sign, sign], atol=0.06)
        np.testing.assert_allclose(X[y == sign].std(axis=0), [0.2, 2], rtol=0.03)


def test_the_hyperplane_turns() -> None:
    stream = SyntheticStream(Hyperplane(width=3, period=4000, flip=0), rows=4000, dtype="float64")
    X, y = rows(stream, 4000)
    for part, side in ((0, X[:, 0]), (1, X[:, 1]), (2, -X[:, 0]), (3, -X[:, 1])):
        here = slice(max(1000 * part - 20, 0), 1000 * part + 20)
        assert np.mean(np.sign(side[here]) == y[here]) > 0.9
    still, labels = rows(SyntheticStream(Hyperplane(period=0, flip=0), rows=500), 500)
    assert_array_equal(np.where(still[:, 0] >= 0, 1, -1), labels)


def inverted(concept: Any, n: int) -> Any:
    """Which rows have another label than the board."""
    X, y = rows(SyntheticStream(concept, rows=n, dtype="float64"), n)
    board = np.where(np.floor(X * 4).sum(axis=1) % 2 == 0, 1, -1)
    return y != board


def test_drift_happens_when_it_should() -> None:
    pair = (BOARD, Inverted(BOARD))
    t = np.arange(4000)
    assert_array_equal(inverted(Abrupt(pair, at=(1700,)), 4000), t >= 1700)
    assert_array_equal(inverted(Recurring(pair, every=300), 4000), t // 300 % 2 == 1)
    turned = inverted(Gradual(pair, at=2000, over=1000), 4000)
    assert not turned[:1500].any()
    assert turned[2500:].all()
    assert 0.1 < turned[1500:2000].mean() < 0.4
    assert 0.6 < turned[2000:2500].mean() < 0.9


# ---- by name, and what is refused --------------------------------------------------------------


def test_by_name() -> None:
    stream = open_stream("synthetic:checkerboard,drift=abrupt,at=100,flip=0,seed=2", rows=300)
    assert stream.name == "synthetic:checkerboard,drift=abrupt,at=100,flip=0,seed=2"
    X, y = rows(stream, 300)
    concept = Abrupt((BOARD, Inverted(BOARD)), at=(100,))
    expected, labels = rows(SyntheticStream(concept, seed=2, rows=300), 300)
    assert_array_equal(X, expected)
    assert_array_equal(y, labels)
    assert sum(len(y) for _, y in synthetic("sea,rows=50,drift=recurring,every=9")) == 50
    assert synthetic("hyperplane,width=4,period=100").n_features == 4
    assert len(next(iter(synthetic("gaussians,drift=gradual,over=50")))[1]) == 4096
    four = synthetic("sea,drift=abrupt,at=1000,flip=0,rows=4000", dtype="float64")
    X, y = rows(four, 4000)
    for part, threshold in enumerate((8, 9, 7, 9.5)):
        here = slice(1000 * part, 1000 * (part + 1))
        assert_array_equal(y[here], np.where(X[here, :2].sum(axis=1) <= threshold, 1, -1))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("see", "did you mean 'sea'"),
        ("zzz", "there are: gaussians, hyperplane, sea, checkerboard"),
        ("sea,flip=2", "flip must be a probability, not 2.0"),
        ("sea,flip=much", "flip must be a number, not 'much'"),
        ("sea,flop=1", "did you mean 'flip'"),
        ("sea,row=5", "did you mean 'rows'"),
        ("sea,wind=5", "flip, rows, seed, drift"),
        ("sea,flip", "a setting must be name=value, not 'flip'"),
        ("sea,drift=sudden", "no drift is called 'sudden'"),
        ("sea,drift=gradual,over=0", "over must be at least 1"),
        ("sea,rows=few", "rows must be a whole number"),
        ("hyperplane,width=1", "width must be at least 2"),
        ("checkerboard,cells=0", "cells must be above 0"),
        ("checkerboard,seed=-1", "seed must be at least 0"),
    ],
)
def test_mistakes_are_named(text: str, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        synthetic(text)


def test_concepts_that_do_not_go_together() -> None:
    with pytest.raises(ValueError, match=r"the same width, not \[2, 3\]"):
        Recurring((Sea(), BOARD))
    with pytest.raises(ValueError, match="at must be 1 rising row numbers"):
        Abrupt((BOARD, BOARD), at=(1, 2))
    with pytest.raises(ValueError, match="concepts must be two"):
        Gradual((BOARD,))
    with pytest.raises(ValueError, match="every"):
        Recurring((BOARD,), every=0)


# ---- the Forgetron paper's own -----------------------------------------------------------------


def test_two_gaussians_is_the_papers_stream() -> None:
    X, y = two_gaussians(n_per_class=20_000, flip=0.1, seed=3)
    assert X.shape == (40_000, 2)
    assert X.dtype == np.float64
    assert set(y.tolist()) == {-1, 1}
    true = np.sign(X[:, 0])  # 5 standard deviations from the border: all but certain
    assert abs(np.mean(true != y) - 0.1) < 0.01
    for sign in (1, -1):
        cloud = X[true == sign]
        np.testing.assert_allclose(cloud.mean(axis=0), [sign, sign], atol=0.06)
        np.testing.assert_allclose(cloud.std(axis=0), [0.2, 2], rtol=0.03)
    assert abs(np.mean(true[:1000])) < 0.15  # shuffled


def test_two_gaussians_is_seeded() -> None:
    X, y = two_gaussians(100, seed=1)
    again, labels = two_gaussians(100, seed=1)
    assert_array_equal(X, again)
    assert_array_equal(y, labels)
    assert not np.array_equal(X, two_gaussians(100, seed=2)[0])
    assert two_gaussians()[0].shape == (10_000, 2)
    with pytest.raises(ValueError, match="flip"):
        two_gaussians(flip=2)
    with pytest.raises(ValueError, match="n_per_class"):
        two_gaussians(n_per_class=0)
