"""Pegasos with a kernel (Shalev-Shwartz, Singer, Srebro, Cotter 2011; Le et al. 2017, algorithm 1).

Gradient descent with step 1/(lambda t), hence f = (1/(lambda t)) sum_i c_i k(x_i, .) with c_i that
never change. The page keeps coef_i = c_i/(lambda t).
"""

from __future__ import annotations

from typing import Any, ClassVar

from papers.losses import make_loss
from papers.page import Page, Vector


class Pegasos(Page):
    algorithms = ("pegasos",)
    carried: ClassVar[tuple[str, ...]] = ("rounds",)

    def __init__(
        self, *where: Any, regularization: float, loss: str, tau: float, **more: Any
    ) -> None:
        super().__init__(*where, **more)
        self.lam = regularization
        self.loss = make_loss(loss, tau)
        self.rounds = 0  # learned so far, with loss or without

    def step(self, x: Vector, row: Vector, f: Vector, margin: float, u: Vector) -> None:
        self.rounds += 1
        t = self.rounds
        slope = self.loss.slope(margin)
        self.coef *= (t - 1) / t  # 1 - eta_t lambda
        if slope != 0:
            self.add(x, -slope / (self.lam * t) * u)

    def kinks(self, x: Vector) -> tuple[float, ...]:
        return self.loss.kinks
