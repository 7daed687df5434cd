"""BSGD (Wang, Crammer, Vucetic 2012): Pegasos that removes, projects or merges its least example.

remove   drop m, the example with the least |a_m| sqrt(k_mm)
project  replace a_m k(x_m, .) by its projection onto the others
merge    replace m and an example n of its sign by one point z between them (Gaussian kernel)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.page import Vector
from papers.pegasos.pegasos import Pegasos

SAME = 1e-10  # |a_i| that differ by less are the same c_i/(lambda t), rounded


class BSGD(Pegasos):
    algorithms = ("bsgd-remove", "bsgd-project", "bsgd-merge")

    def __init__(self, *where: Any, budget: int, maintenance: str, **more: Any) -> None:
        super().__init__(*where, **more)
        self.B, self.maintenance = budget, maintenance
        self.jitter = 0.0  # on the diagonal of K, which duplicates make singular
        if maintenance == "project":
            self.carried = (*self.carried, "jitter")

    def step(self, x: Vector, row: Vector, f: Vector, margin: float, u: Vector) -> None:
        super().step(x, row, f, margin, u)
        if self.size > self.B:
            m = self.least(self.sizes() * np.sqrt(self.self_kernels()), SAME)
            {"remove": self.drop, "project": self.project, "merge": self.merge}[self.maintenance](m)

    def project(self, m: int) -> None:
        """a_S += a_m (K_S + jitter I)^-1 k_S(x_m)."""
        wanted = self.in_span * self.self_kernels()[:-1].mean()  # the mean of those stored before
        if not 0.5 * wanted < self.jitter < 2 * wanted:
            self.jitter = wanted
        x, a = self.support[m], self.coef[m]
        self.drop(m)
        d = np.linalg.solve(self.gram() + self.jitter * np.eye(self.size), self.row(x))
        self.coef += np.outer(d, a)

    def merge(self, m: int) -> None:
        """Put z = h x_m + (1 - h) x_n in place of m and n, for the n with the least cost."""
        same_sign = self.inner(self.coef, self.coef[m]) > 0
        same_sign[m] = False
        n = np.flatnonzero(same_sign)
        if n.size == 0:
            self.drop(m)
            return
        a_m, a_n = self.coef[m], self.coef[n]
        size_m, size_n = self.sizes()[m], self.sizes()[n]
        kappa = self.row(self.support[m])[n]
        h = best_h(size_m / (size_m + size_n), kappa)
        a_z = (kappa ** (1 - h) ** 2)[:, None] * a_m + (kappa**h**2)[:, None] * a_n
        before = size_m**2 + size_n**2 + 2 * self.inner(a_n, a_m) * kappa  # ||.||^2 of the two
        cost = before - self.inner(a_z, a_z)
        cost[cost < SAME * (size_m + size_n) ** 2] = 0  # duplicates cost nothing, whatever their a
        costs = np.full(self.size, np.inf)
        costs[n] = cost
        i = int(np.flatnonzero(n == self.least(costs))[0])
        z = h[i] * self.support[m] + (1 - h[i]) * self.support[n[i]]
        self.keep([j for j in range(self.size) if j not in (m, n[i])])
        self.add(z, a_z[i])


def best_h(w: Vector, kappa: Vector) -> Vector:
    """The h in [0, 1/2] that maximises w kappa^((1-h)^2) + (1-w) kappa^(h^2), for w <= 1/2.

    The derivative has the sign of w (1-h) kappa^(1-2h) - (1-w) h, which changes once: bisection.
    """
    low, high = np.zeros_like(w), np.full_like(w, 0.5)
    for _ in range(60):
        h = (low + high) / 2
        rises = w * (1 - h) * kappa ** (1 - 2 * h) > (1 - w) * h
        low, high = np.where(rises, h, low), np.where(rises, high, h)
    return low  # exactly 0 if kappa is 0
