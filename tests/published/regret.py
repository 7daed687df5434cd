"""Problems on which AVM's regret is known, and its runs in the terms of the paper's proofs.

Le et al. 2017 minimise an objective f, which is J here, as f is a decision:

    J(w) = lambda/2 ||w||^2 + E loss(w.phi(x), y)

Rows are drawn from a known distribution: the points of a pool with equal probability, with the
label of its cluster except for a share of noise. So J and its least value J(w*) can be computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np
from scipy.optimize import minimize

from budgetron.catalogue import as_printed
from tests.published.theory import GAMMA, Array, Pool
from tests.support.native import Engine, engine_of, learn_rows

ROWS = 3000
NOISE = 0.05  # share of turned labels
FIRST = 1 << (ROWS.bit_length() - 2)  # the first round of the library's suffix, 1024
ALPHA = (ROWS - FIRST + 1) / ROWS  # so that (1 - alpha) T + 1 is that round


def make_points() -> tuple[Array, Array]:
    """Twenty clusters of seven points, at most 0.0104 across, and the points' labels."""
    rng = np.random.default_rng(0)
    labels = np.where(np.arange(20) % 2, -1.0, 1.0)
    clusters = labels[:, None] * [1.0, 1.0, 0.0] + 0.25 * rng.normal(size=(20, 3))
    within = rng.uniform(-0.003, 0.003, size=(20, 7, 3))
    return (clusters[:, None, :] + within).reshape(-1, 3), np.repeat(labels, 7)


POINTS, LABELS = make_points()


@dataclass(frozen=True)
class Problem:
    """A loss with lambda, and an AVM for it."""

    loss: str
    lam: float
    delta: float
    beta: float = 0.0  # rho = 0: a row is approximated with probability 1 - beta
    tau: float = 0.5

    def __str__(self) -> str:
        return f"{self.loss}, lambda {self.lam}, P(Z = 1) = {1 - self.beta}"

    # ---- the objective -----------------------------------------------------------------------

    def values(self, f: Array, y: Array) -> Array:
        """loss(f, y), section 7."""
        m = y * f
        if self.loss == "squared":
            return (y - f) ** 2 / 2
        if self.loss == "logistic":
            return np.logaddexp(0.0, -m)
        if self.loss == "smooth-hinge":
            return np.where(
                m < 1 - self.tau, 1 - m - self.tau / 2, self._bend(m) ** 2 * self.tau / 2
            )
        return np.maximum(0.0, 1 - m)

    def slopes(self, f: Array, y: Array) -> Array:
        """alpha_t, the derivative of loss(f, y) by f."""
        if self.loss == "squared":
            return f - y
        if self.loss == "logistic":
            return -y / (1 + np.exp(y * f))
        if self.loss == "smooth-hinge":
            return -y * self._bend(y * f)
        return -y * (y * f < 1)

    def _bend(self, m: Array) -> Array:
        return np.clip((1 - m) / self.tau, 0.0, 1.0)

    @cached_property
    def gram(self) -> Array:
        return Pool(POINTS, np.zeros(0, np.int64), np.zeros(0)).gram

    def objective(self, a: Array) -> Array:
        """J of the w with these coefs, (N,) or one w a row."""
        f = a @ self.gram
        risk = (1 - NOISE) * self.values(f, LABELS) + NOISE * self.values(f, -LABELS)
        return self.lam / 2 * (a * f).sum(axis=-1) + risk.mean(axis=-1)

    @cached_property
    def best(self) -> Array:
        """The coefs of w*, at which J is within 1e-7 of its least value."""
        if self.loss == "hinge":
            return self._best_by_dual()

        def residual(a: Array) -> Array:
            f = self.gram @ a
            slope = (1 - NOISE) * self.slopes(f, LABELS) + NOISE * self.slopes(f, -LABELS)
            return self.lam * a + slope / len(LABELS)  # coefs of J'(w)

        found = minimize(
            lambda a: (float(self.objective(a)), self.gram @ residual(a)),
            np.zeros(len(LABELS)),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 10_000, "ftol": 1e-16, "gtol": 1e-12},
        ).x
        rest = residual(found)
        assert rest @ self.gram @ rest / (2 * self.lam) < 1e-7  # J - J(w*), by strong convexity
        return np.asarray(found)

    def _best_by_dual(self) -> Array:
        """With w = (1/lambda) sum of b_i y_i phi(x_i), 0 <= b_i <= the chance of (x_i, y_i)."""
        n = len(LABELS)
        y = np.concatenate([LABELS, -LABELS])
        most = np.repeat([(1 - NOISE) / n, NOISE / n], n)

        def coefs(b: Array) -> Array:
            return (b * y).reshape(2, n).sum(axis=0) / self.lam

        def dual(b: Array) -> tuple[float, Array]:
            a = coefs(b)
            f = self.gram @ a
            return self.lam / 2 * float(a @ f) - float(b.sum()), y * np.tile(f, 2) - 1

        found = minimize(
            dual,
            most / 2,
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(0 * most, most, strict=True)),
            options={"maxiter": 10_000, "maxfun": 50_000, "ftol": 1e-16, "gtol": 1e-12},
        )
        a = coefs(found.x)
        assert self.objective(a) + found.fun < 1e-7  # the gap between J and its dual
        return a

    # ---- the paper's constants ---------------------------------------------------------------

    @property
    def spread(self) -> float:
        """delta_Phi = sqrt(2 (1 - k(delta))), theorem 4."""
        return sqrt(2 - 2 * np.exp(-GAMMA * self.delta**2))

    @property
    def growth(self) -> tuple[float, float]:
        """A and B of section 7: ||loss'|| <= A sqrt(||w||) + B, for targets of size 1.

        The paper has B = 2 for the smooth hinge, but its slope is never above 1. With the squared
        loss and lambda = 0.1, P would be 336 and H 4514: theorem 5's first term is below J(0)/4
        after 2.9 million rounds. So lambda is 1, with the ball (never reached here), and 2.
        """
        if self.loss != "squared":
            return 0.0, 1.0
        return (self.lam**-0.25 if self.lam <= 1 else (self.lam - 1) ** -0.5), 1.0

    @property
    def constants(self) -> tuple[float, float, float]:
        """H and M of lemma 21, W of lemma 22."""
        (A, B), d, lam = self.growth, self.spread, self.lam
        P = (((d + 1) * A + sqrt(((d + 1) * A) ** 2 + 4 * B * lam * (d + 1))) / (2 * lam)) ** 2
        M = 2 * (P**2 + 1) if self.loss == "squared" else 1.0
        H = (lam * P + (1 + d) * (A * sqrt(P) + B)) ** 2
        W = ((sqrt(M) * d + sqrt(M * d**2 + 2 * H)) / (2 * lam)) ** 2
        return H, M, W

    @property
    def smoothness(self) -> float:
        """L of theorem 13, but with lambda, to which lambda/2 ||w||^2 is smooth, for lambda/2."""
        return self.lam + {"squared": 1.0, "logistic": 1.0, "smooth-hinge": 1 / self.tau}[self.loss]

    # ---- runs --------------------------------------------------------------------------------

    def pool(self, seed: int) -> Pool:
        """A sample of the distribution."""
        rng = np.random.default_rng(1000 + seed)
        order = rng.integers(len(LABELS), size=ROWS)
        turned = rng.random(ROWS) < NOISE
        return Pool(POINTS, order, np.where(turned, -LABELS[order], LABELS[order]))

    def engine(self, seed: int, average: str = "last") -> Engine:
        two = self.loss != "squared"
        shared: dict[str, Any] = {
            "gamma": GAMMA,
            "regularization": self.lam,
            "delta": self.delta,
            "beta": self.beta,
            "rho": 0.0,
            "loss": self.loss,
        }
        model = (
            as_printed("avm", **shared, tau=self.tau)
            if two
            else as_printed("avm", "regression", **shared)
        )
        spec = engine_of(model.partial_fit(POINTS[:2], [0.0, 1.0])).spec
        task = ("classification", 2) if two else ("regression", 1)
        return Engine(spec, *task, seed, np.dtype(np.float64), average=average)

    def targets(self, pool: Pool) -> Array:
        return pool.signs if self.loss == "squared" else pool.y

    def answer(self, pool: Pool, seed: int, average: str) -> Array:
        """The coefs of the averaged w, as the library answers with them."""
        engine = self.engine(seed, average)
        learn_rows(engine.native, pool.X, self.targets(pool))
        columns = np.arange(POINTS.shape[1], dtype=np.int32)
        _, ids, kernels, shares, *_ = engine.native.explain(columns, POINTS[0])
        return pool.by_point(ids, shares[:, 0] / kernels)


@dataclass(frozen=True)
class Path:
    """A run in the proof's terms; row t - 1 is round t.

    Attributes
    ----------
    w : (T + 1, N) the coefs of w_1 .. w_{T+1}
    distance : (T + 1,) ||w_t - w*||^2
    alpha : (T,) alpha_t
    h : (T,) ||h_t||^2
    error : (T,) ||Delta_t||^2, 0 where x_t was not approximated
    cross : (T,) <w_t - w*, Z_t Delta_t>
    """

    w: Array
    distance: Array
    alpha: Array
    h: Array
    error: Array
    cross: Array


def walk(problem: Problem, seed: int) -> Path:
    """Run the compiled learner, find out each round's core point, and compute what the proof names.

    w_{t+1} must be w_t - h_t/(lambda t) with h_t = lambda w_t + alpha_t phi(c_t), and c_t within
    delta/2 of x_t. Where alpha_t is 0 there is no telling c_t, nor any need to.
    """
    pool, K = problem.pool(seed), problem.gram
    engine = problem.engine(seed)
    w = np.zeros((ROWS + 1, len(POINTS)))
    X, targets = pool.X, problem.targets(pool)
    for t in range(ROWS):
        learn_rows(engine.native, X[t : t + 1], targets[t : t + 1])
        w[t + 1] = pool.held(engine).coefs
    rounds = np.arange(1.0, ROWS + 1)[:, None]
    f = (w[:-1] @ K)[np.arange(ROWS), pool.order]
    alpha = problem.slopes(f, pool.signs)
    move = -problem.lam * (rounds * w[1:] - (rounds - 1) * w[:-1])  # alpha_t phi(c_t)
    core = np.where(alpha == 0, pool.order, np.abs(move).argmax(axis=1))
    one = np.eye(len(POINTS))
    np.testing.assert_allclose(move, alpha[:, None] * one[core], atol=1e-8)
    gaps = np.linalg.norm(POINTS[core] - X, axis=1)
    assert (gaps < problem.delta / 2).all()
    assert ((gaps > 0) & (alpha != 0)).sum() > 30, "hardly a row was approximated"
    delta = alpha[:, None] * (one[core] - one[pool.order])
    h = problem.lam * w[:-1] + alpha[:, None] * one[core]
    away = w - problem.best

    def inner(a: Array, b: Array) -> Array:
        return (a @ K * b).sum(axis=1)

    return Path(
        w,
        inner(away, away),
        alpha,
        inner(h, h),
        inner(delta, delta),
        inner(away[:-1], delta),
    )
