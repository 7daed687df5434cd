"""Ahpatron (Liao et al. 2024, algorithm 2): an aggressive Perceptron that halves and projects."""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.page import Page, Vector


class Ahpatron(Page):
    algorithms = ("ahpatron",)

    def __init__(
        self,
        *where: Any,
        budget: int,
        epsilon: float,
        radius: float,
        step: float,
        ridge: float,
        norm: float | str,
        **more: Any,
    ) -> None:
        super().__init__(*where, **more)
        self.B, self.epsilon, self.U = budget, epsilon, radius
        self.rate, self.ridge, self.c = step, ridge, norm

    def step(self, x: Vector, row: Vector, f: Vector, margin: float, u: Vector) -> None:
        if margin >= 1 - self.epsilon:  # line 5
            return
        if self.size == self.B:  # lines 6, 9
            self.halve()  # lines 10-12
        self.add(x, self.rate * u)  # lines 7-8, eq. (8)
        norm = self.norm()
        if norm > self.U:  # Proj_H
            self.coef *= self.U / norm

    def kinks(self, x: Vector) -> tuple[float, ...]:
        return (1 - self.epsilon,)

    def halve(self) -> None:
        """Keep the half with the largest coefs, project the others onto it: eqs. (6), (7), (9)."""
        target = self.norm() if self.c == "keep" else float(self.c) * self.U
        K = self.gram()
        order = np.lexsort((self.ids, -self.sizes()))  # largest first; the older of equal ones
        S2, S1 = order[: self.B // 2], order[self.B // 2 :]
        apart = [i for n, i in enumerate(S2) if not self.copies(i, S2[:n]).any()]
        if 2 * len(apart) < len(S2):  # our addition: a copy is projected, however large its coef is
            S2, S1 = np.array(apart), np.setdiff1d(order, apart)
        K2, K21 = K[np.ix_(S2, S2)], K[np.ix_(S2, S1)]
        theta = np.linalg.solve(K2 + self.ridge * np.eye(S2.size), K21 @ self.coef[S1])  # (9)
        self.coef[S2] += theta  # f_{t,2} + f^_{t,1}
        self.keep(S2)
        norm = self.norm()
        if norm > 0:  # onto the sphere of radius c_t U, (7)
            self.coef *= target / norm
