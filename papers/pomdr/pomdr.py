"""POMDR (Li & Liao 2023): optimistic mirror descent that halves its support.

Before it sees y_t the learner guesses the gradient from the last rows: its decision is f_t plus one
step along v_t = mean over them of y_r k(x_r, .). The summed errors of the guess determine the step.
"""

from __future__ import annotations

from math import log, sqrt
from typing import Any, ClassVar

import numpy as np

from papers.kernels import Matrix
from papers.page import Page, Vector


class POMDR(Page):
    algorithms = ("pomdr",)
    carried: ClassVar[tuple[str, ...]] = ("alignment", "halvings")
    remembered: ClassVar[tuple[str, ...]] = ("window",)

    def __init__(
        self,
        *where: Any,
        budget: int,
        radius: float,
        window: int,
        horizon: int | None,
        **more: Any,
    ) -> None:
        super().__init__(*where, **more)
        self.B, self.U, self.M = budget, radius, window
        self.B0, self.near = max(1, budget // 4), 0.01
        if horizon is not None:
            self.B0 = max(1, min(round(10 * log(horizon)), budget - 1))
            self.near = horizon**-0.5
        self.alignment = 0.0  # A, the errors of the guesses since the last halving
        self.halvings = 0
        self.window_rows = self.support.copy()  # the last M rows x_r, oldest first
        self.window_aims = self.coef.copy()  # and their y_r (u_r)

    def rate(self) -> float:
        """lambda_t."""
        return (0.1 if self.halvings else 1.0) * self.U / sqrt(3 + self.alignment)

    def guess(self, X: Matrix) -> Matrix:
        """v_t at the rows of X."""
        K = self.kernel(X, self.window_rows)
        return np.asarray(K @ self.window_aims / max(1, len(self.window_rows)))

    def decide(self, x: Vector, row: Vector) -> Vector:
        return np.asarray(row @ self.coef + self.rate() * self.guess(x[None, :])[0])

    def step(self, x: Vector, row: Vector, f: Vector, margin: float, u: Vector) -> None:
        if margin < 1:
            self.update(x, row, u)
        self.window_rows = np.vstack([self.window_rows, x])[-self.M :]
        self.window_aims = np.vstack([self.window_aims, u])[-self.M :]

    def kinks(self, x: Vector) -> tuple[float, ...]:
        return (1.0,)

    def update(self, x: Vector, row: Vector, u: Vector) -> None:
        rate, k = self.rate(), self.self_kernel(x)
        w2 = float(self.inner(u, u))  # 1, or the row's weight squared
        if 0 < self.size < self.B0 and not self.halvings:  # phase 1
            K = self.gram()
            d = np.linalg.solve(K, row)
            delta2 = max(0.0, k - float(row @ d))
            if sqrt(delta2) <= self.near or delta2 <= self.in_span * k:
                missed = w2 * float(d @ K @ d) - 2 * float(
                    self.inner(u, d @ self.guess(self.support))
                )
                self.alignment += max(0.0, missed)
                self.coef += rate * np.outer(d, u)
                self.scale_down()
                return
        self.alignment += max(0.0, w2 * k - 2 * float(self.inner(u, self.guess(x[None, :])[0])))
        self.add(x, rate * u)
        self.scale_down()
        if self.size == self.B:
            self.halve()

    def scale_down(self) -> None:
        norm = self.norm()
        if norm > self.U:
            self.coef *= self.U / norm

    def halve(self) -> None:
        """The older half stays; every other coef is added to its nearest there; f gets norm U."""
        order = np.argsort(self.ids)
        old, young = order[: self.B // 2], order[self.B // 2 :]
        nearest = old[np.argmax(self.gram()[np.ix_(old, young)], axis=0)]  # the older of equal ones
        np.add.at(self.coef, nearest, self.coef[young])
        self.keep(old)
        norm = self.norm()
        if norm > 0:
            self.coef *= self.U / norm
        self.alignment = 0.0
        self.halvings += 1
