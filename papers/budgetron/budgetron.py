"""Budgetron: AROW (Crammer, Kulesza & Dredze 2009) over the coefs of a budgeted kernel machine.

A Gaussian belief over the coefs: mean a, covariance P, which starts as the inverse Gram matrix
Kinv. Examples stand oldest first. The compiled learner carries P and Kinv as factors U D U' with U
unit upper triangular, packed by columns, D_j at the end of column j: `belief` and `prior`.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, ClassVar

import numpy as np

from papers.kernels import Matrix
from papers.page import Page, Vector

YOUNG = 100


class Budgetron(Page):
    algorithms = ("budgetron",)
    carried: ClassVar[tuple[str, ...]] = (
        "belief", "prior", "fast", "slow", "watched", "window", "young", "mean_error", "errors",
    )  # fmt: skip

    def __init__(
        self,
        *where: Any,
        budget: int,
        r: float,
        jitter: float,
        replace: str = "never",
        **more: Any,
    ) -> None:
        super().__init__(*where, **more)
        self.B, self.r, self.jitter, self.replace = budget, r, jitter, replace
        self.P, self.Kinv = np.zeros((0, 0)), np.zeros((0, 0))
        self.fast = self.slow = 0.0  # mistake rates of the last 100 and 2000 rounds
        self.watched = self.window = 0
        # Rows of each class that are still not watched; YOUNG + 1: there was none yet.
        self.young = np.full(max(2, self.coef.shape[1]), YOUNG + 1)
        self.mean_error, self.errors = 0.0, 0  # of regression

    def step(self, x: Vector, row: Vector, f: Vector, margin: float, u: Vector) -> None:
        weight = float(np.sqrt(self.inner(u, u)))  # of the row: 1 by default
        u = u / weight
        wanted = max(1.0, weight)
        k, loss = self.by_age(row), -margin if self.regresses else wanted - margin
        r = self.r / (weight if self.regresses else min(1.0, weight))
        if self.replace == "auto" and self.watches(
            int(np.argmax(u)) if u.size > 1 else int(u[0] > 0)
        ):
            self.watch(margin <= 0)
        if loss <= 0 and not self.regresses:
            return
        if self.wants(margin):
            full = self.size == self.B
            replaces = full and (self.replace == "always" or self.window > 0)
            novel = (replaces or not full) and self.novelty(x, k) > self.jitter
            if novel and replaces:
                k = self.let_go(k)
                loss = max(0.0, wanted - float(self.inner(u, k @ self.coef)))
            if novel:
                k = self.admit(x, k)
        if self.size > 0:
            others = max(1, u.size - 1)  # directions in which outputs differ
            v = self.P @ k
            b = 1 / (k @ v + r)
            self.coef = self.coef + loss * b * np.outer(v, u)
            self.P = self.P - b / others * np.outer(v, v)

    def kinks(self, x: Vector) -> tuple[float, ...]:
        return (-self.mean_error,) if self.regresses else (0.0, 1.0)

    def wants(self, margin: float) -> bool:
        """Admit mistakes; in regression errors above the mean of those before."""
        if not self.regresses:
            return margin <= 0
        above = -margin > self.mean_error
        self.errors += 1
        self.mean_error += (-margin - self.mean_error) / min(self.errors, 1000)
        return above

    def novelty(self, x: Vector, k: Vector) -> float:
        """What of x the stored examples do not span; at most jitter for a copy of one of them."""
        return float(self.self_kernel(x) - k @ self.Kinv @ k)

    def admit(self, x: Vector, k: Vector) -> Vector:
        d, kxx = self.Kinv @ k, self.self_kernel(x)
        delta2 = max(self.novelty(x, k) + self.jitter, self.jitter)
        border = np.append(-d, 1.0)
        self.Kinv = np.pad(self.Kinv, (0, 1)) + np.outer(border, border) / delta2
        self.P = np.pad(self.P, (0, 1)) + np.outer(border, border) / delta2
        self.add(x, np.zeros(self.coef.shape[1]))
        if self.size == self.B and self.replace == "never":
            self.Kinv = np.zeros((0, 0))  # not needed any more
        return np.append(k, kxx)

    def let_go(self, k: Vector) -> Vector:
        """Condition on a_i = 0 for the i whose coef is the least certain not to be; i leaves."""
        i = self.least(self.sizes() ** 2 / np.diag(self.P))
        self.coef = self.coef - np.outer(self.P[i], self.coef[i] / self.P[i, i])
        self.drop(i)
        self.P, self.Kinv = (
            np.delete(np.delete(A - np.outer(A[i], A[i]) / A[i, i], i, 0), i, 1)
            for A in (self.P, self.Kinv)
        )
        return np.delete(k, i)

    def watches(self, code: int) -> bool:
        """Not the first rows of a class that came late: its mistakes are no drift."""
        self.young = self.young.copy()
        if self.young[code] > YOUNG:
            self.young[code] = 0 if self.watched < 500 else YOUNG
        if self.young[code] == 0:
            return True
        self.young[code] -= 1
        return False

    def watch(self, mistake: bool) -> None:
        """Drift: a mistake rate of late that is above that of long."""
        self.watched, self.window = self.watched + 1, max(0, self.window - 1)
        self.fast += (mistake - self.fast) / min(self.watched, 100)
        self.slow += (mistake - self.slow) / min(self.watched, 2000)
        spread = sqrt(self.slow * (1 - self.slow) / 200 + 1e-6)
        if self.watched > 500 and self.window == 0 and self.fast > self.slow + 4 * spread:
            self.P, self.slow, self.window = self.Kinv.copy(), self.fast, 500

    # ---- as the compiled learner holds it ----------------------------------------------------

    def by_age(self, row: Vector) -> Vector:
        order = np.argsort(self.ids)
        self.keep(order)
        return row[order]

    def shape_of(self, name: str, size: int) -> tuple[int, ...]:
        return (size,)

    @property
    def belief(self) -> Vector:
        return pack(self.P)

    @belief.setter
    def belief(self, packed: Vector) -> None:
        self.P = unpack(packed)

    @property
    def prior(self) -> Vector:
        return pack(self.Kinv)

    @prior.setter
    def prior(self, packed: Vector) -> None:
        self.Kinv = unpack(packed)


def pack(P: Matrix) -> Vector:
    """P = U D U' by columns: a Cholesky factor from the last row up, its diagonal taken out."""
    L = np.linalg.cholesky(P[::-1, ::-1])[::-1, ::-1]
    U = L / np.diag(L)
    np.fill_diagonal(U, np.diag(L) ** 2)
    return U.T[np.tril_indices(len(P))]


def unpack(packed: Vector) -> Matrix:
    n = int(sqrt(2 * packed.size))
    U = np.zeros((n, n))
    U.T[np.tril_indices(n)] = packed
    D = np.diag(U).copy()
    np.fill_diagonal(U, 1.0)
    return np.asarray(U * D @ U.T)
