"""Online gradient descent with a kernel (Kivinen et al. 2004; Zhao et al. 2012, eq. (2))."""

from __future__ import annotations

from typing import Any

from papers.losses import make_loss
from papers.page import Page, Vector


class OGD(Page):
    algorithms = ("ogd",)

    def __init__(
        self,
        *where: Any,
        step: float,
        regularization: float,
        loss: str,
        tau: float = 0.5,
        epsilon: float = 0.0,
        **more: Any,
    ) -> None:
        super().__init__(*where, **more)
        self.rate, self.decay = step, 1 - step * regularization
        self.loss = make_loss(loss, tau, epsilon)

    def step(self, x: Vector, row: Vector, f: Vector, margin: float, u: Vector) -> None:
        slope = self.loss.slope(margin)
        self.coef *= self.decay  # (1 - eta lambda) f
        if slope != 0:
            self.add(x, -self.rate * slope * u)  # - eta l'(y f) y k(x, .)

    def kinks(self, x: Vector) -> tuple[float, ...]:
        return self.loss.kinks
