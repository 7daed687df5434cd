"""BPA-S, the passive-aggressive learner on a budget (Wang & Vucetic 2010): one leaves, one enters.

It chooses, of the B ways to replace a stored example r by x, the one that changes f least: x takes
over the projection of a_r k(x_r, .) onto k(x, .), plus the PA-I step.
"""

from __future__ import annotations

from typing import Any

from papers.page import Page, Vector


class BudgetPassiveAggressive(Page):
    algorithms = ("bpas",)

    def __init__(self, *where: Any, C: float, budget: int, **more: Any) -> None:
        super().__init__(*where, **more)
        self.C, self.B = C, budget

    def step(self, x: Vector, row: Vector, f: Vector, margin: float, u: Vector) -> None:
        loss = max(0.0, 1 - margin)
        if loss == 0:
            return
        k = self.self_kernel(x)
        tau = min(self.C, loss / k)  # PA-I
        if self.size < self.B:
            self.add(x, tau * u)
            return
        # The part that x cannot take over.
        lost = self.sizes() ** 2 * (self.self_kernels() - row**2 / k)
        r = self.least(lost)
        self.coef[r] = self.coef[r] * (row[r] / k) + tau * u
        self.support[r], self.ids[r] = x, self.t

    def kinks(self, x: Vector) -> tuple[float, ...]:
        return (1.0,)
