"""Shared code of the tests of theorems: streams, competitors, and a learner's f in each round.

A mistake bound above T/4 proves nothing, so every stream has a competitor whose bound is below
that. Competitors are made by the tests: differences of two bumps on the classes' centres.

Where a test follows a proof it needs the norms of f_t in every round. Its stream then draws the
rows from a pool of N points: f is a vector of N coefs, and a norm costs one N x N product.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetron.parts import Part
from papers.kernels import make_kernel
from tests.support.native import Engine, engine_of, learn_rows

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
GAMMA = 0.5
GAUSSIAN = make_kernel("rbf", GAMMA)
CENTRES = np.array([[1.0, 1.0, 0.0], [-1.0, -1.0, 0.0]])
SIZES = (0.25, 0.5, 1.0, 1.25, 1.4, 2.0, 4.0)  # of the competitors' bumps


def hinge(margins: Array) -> Array:
    return np.maximum(0.0, 1.0 - margins)


def assert_bounded(mistakes: int, bounds: list[float], rounds: int) -> None:
    """Every competitor's bound holds, and the best one says something."""
    assert all(mistakes <= bound for bound in bounds)
    assert min(bounds) < rounds / 4
    assert mistakes > 20, "the stream was too easy to mean anything"


def assert_mean_is(values: Array, expected: Array | float) -> None:
    """The mean over the first axis is `expected`, within five standard errors."""
    error = values.std(axis=0) / sqrt(len(values))
    assert (error > 0).all(), "nothing was drawn"
    assert (np.abs(values.mean(axis=0) - expected) < 5 * error).all()


# ---- streams of which only the margins are needed ------------------------------------------------


@dataclass(frozen=True)
class Competitor:
    """g = c (k(p, .) - k(q, .)), with what the bounds need to know of it."""

    loss: float  # L_T(g), hinge
    squared_norm: float  # ||g||^2


def noisy_blobs(rows: int, flips: float, seed: int) -> tuple[Array, Array]:
    """Two blobs at (1, 1, 0) and (-1, -1, 0), some labels turned; labels 0 and 1."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=rows)
    X = CENTRES[1 - y] + 0.25 * rng.normal(size=(rows, 3))
    turned = rng.random(rows) < flips
    return X, np.where(turned, 1 - y, y).astype(float)


def competitors(X: Array, y: Array) -> list[Competitor]:
    bumps = GAUSSIAN(X, CENTRES) @ [1.0, -1.0]
    size = float(np.array([1.0, -1.0]) @ GAUSSIAN(CENTRES, CENTRES) @ [1.0, -1.0])
    return [Competitor(float(hinge(c * (2 * y - 1) * bumps).sum()), c * c * size) for c in SIZES]


def margins(machine: Part, X: Array, y: Array) -> tuple[Array, Engine]:
    """The margins y f(x) of every round, before it was learned."""
    engine = Engine(machine.spec(), "classification", 2, 0, np.dtype(np.float64))
    decisions = learn_rows(engine.native, X, y, record=True)
    return (2 * y - 1) * decisions[:, 0], engine


# ---- streams over a pool of points ---------------------------------------------------------------


@dataclass(frozen=True)
class Held:
    """What a learner has stored between two rounds: f = sum_i stored_i k(x_{ids_i}, .)."""

    ids: Integers
    stored: Array
    coefs: Array  # the same by point of the pool


class Pool:
    """A stream of T rows of a pool of N points.

    Coefs a of length N stand for f = sum_i a_i k(p_i, .), with the pool's points p_i.

    Attributes
    ----------
    points : (N, d)
    order : (T,) which point each row is
    signs : (T,) the labels, -1 or +1
    gram : (N, N)
    """

    def __init__(self, points: Array, order: Integers, signs: Array) -> None:
        self.points, self.order, self.signs = points, order, signs
        self.gram = GAUSSIAN(points, points)

    @property
    def X(self) -> Array:
        return self.points[self.order]

    @property
    def y(self) -> Array:
        return (self.signs + 1) / 2

    def __len__(self) -> int:
        return len(self.order)

    def by_point(self, rounds: Integers, coefs: Array) -> Array:
        """The coefs a of sum_i coefs_i k(x_i, .) over rows x_i of these rounds."""
        return np.bincount(self.order[rounds], coefs, len(self.points))

    def held(self, engine: Engine) -> Held:
        ids, stored = engine.native.ids(), engine.native.coefs()[:, 0]
        return Held(ids, stored, self.by_point(ids, stored))

    def row(self, t: int) -> Array:
        """The coefs of k(x_t, .)."""
        return self.by_point(np.array([t]), np.ones(1))

    def inner(self, a: Array, b: Array) -> float:
        return float(a @ self.gram @ b)

    def square(self, a: Array) -> float:
        """||f||^2"""
        return self.inner(a, a)

    def at(self, t: int, a: Array) -> float:
        """f(x_t)"""
        return float(self.gram[self.order[t]] @ a)

    def margins(self, a: Array) -> Array:
        """y_t f(x_t) of every round."""
        return self.signs * (self.gram @ a)[self.order]

    def loss(self, a: Array) -> float:
        """L_T(f), hinge."""
        return float(hinge(self.margins(a)).sum())

    def competitors(self, largest_norm: float) -> list[Array]:
        """Bumps on the pool's first two points, which `blobs` puts on the centres."""
        found = []
        for size in SIZES:
            g = np.zeros(len(self.points))
            g[:2] = size, -size
            if self.square(g) <= largest_norm**2:
                found.append(g)
        return found


def blobs(points: int, rows: int, flips: float, seed: int, spread: float = 0.25) -> Pool:
    """Two blobs, their centres being points 0 and 1. Labels are turned row by row."""
    rng = np.random.default_rng(seed)
    blob = np.arange(points) % 2
    pool = CENTRES[blob] + spread * rng.normal(size=(points, 3))
    pool[:2] = CENTRES
    order = rng.integers(points, size=rows)
    signs = np.where(blob == 0, 1.0, -1.0)[order]
    return Pool(pool, order, np.where(rng.random(rows) < flips, -signs, signs))


@dataclass(frozen=True)
class Turn:
    """Round t, counted from 0: f_t, y_t f_t(x_t), and f_{t+1}."""

    t: int
    before: Held
    margin: float
    after: Held


def make_engine(model: Any, pool: Pool, seed: int = 0, average: str = "last") -> Engine:
    """A fresh engine of what the estimator `model` computes."""
    spec = engine_of(model.partial_fit(pool.X[:1], pool.y[:1], classes=[0.0, 1.0])).spec
    return Engine(spec, "classification", 2, seed, np.dtype(np.float64), average=average)


def turns(engine: Engine, pool: Pool) -> Iterator[Turn]:
    """The rounds of a compiled learner, one at a time."""
    X, y = pool.X, pool.y
    after = pool.held(engine)
    for t in range(len(pool)):
        decision = learn_rows(engine.native, X[t : t + 1], y[t : t + 1], record=True)
        before, after = after, pool.held(engine)
        yield Turn(t, before, float(pool.signs[t] * decision[0, 0]), after)
