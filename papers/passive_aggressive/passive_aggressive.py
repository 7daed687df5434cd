"""Passive-aggressive (Crammer, Dekel, Keshet, Shalev-Shwartz, Singer 2006), PA-I and PA-II."""

from __future__ import annotations

from typing import Any

from papers.page import Page, Vector


class PassiveAggressive(Page):
    algorithms = ("pa",)

    def __init__(
        self, *where: Any, C: float, variant: str, epsilon: float = 0.0, **more: Any
    ) -> None:
        super().__init__(*where, **more)
        self.C, self.variant = C, variant
        self.enough = -epsilon if self.regresses else 1.0  # the least margin without a loss

    def step(self, x: Vector, row: Vector, f: Vector, margin: float, u: Vector) -> None:
        loss = self.enough - margin  # 1 - y f, or |target - f| - epsilon
        if loss > 0:
            self.add(x, self.tau(loss, self.self_kernel(x)) * u)

    def kinks(self, x: Vector) -> tuple[float, ...]:
        return (self.enough,)

    def tau(self, loss: float, k: float) -> float:
        """The smallest move that removes the loss, softened by C; k = k(x, x)."""
        return min(self.C, loss / k) if self.variant == "I" else loss / (k + 1 / (2 * self.C))
