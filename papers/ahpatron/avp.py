"""AVP (Liao et al. 2024, algorithm 1): a Perceptron that updates on margins below 1 - epsilon."""

from __future__ import annotations

from math import isfinite, sqrt
from typing import Any, ClassVar

from papers.page import Page, Vector


class AVP(Page):
    algorithms = ("avp",)
    carried: ClassVar[tuple[str, ...]] = ("mistakes",)

    def __init__(
        self, *where: Any, step: float | str, epsilon: float, radius: float, **more: Any
    ) -> None:
        super().__init__(*where, **more)
        self.rate, self.epsilon, self.U = step, epsilon, radius
        self.mistakes = 0  # |M'_t|, rounds with y f <= 0

    def step(self, x: Vector, row: Vector, f: Vector, margin: float, u: Vector) -> None:
        if margin <= 0:
            self.mistakes += 1
        if margin >= 1 - self.epsilon:  # line 4
            return
        rate = self.learning_rate()
        self.add(x, rate * u)  # lines 5-6
        if isfinite(self.U):
            norm = self.norm()
            if norm > self.U:  # Proj_H
                self.coef *= self.U / norm

    def kinks(self, x: Vector) -> tuple[float, ...]:
        return (0.0, 1 - self.epsilon)  # what counts as a mistake, and line 4

    def learning_rate(self) -> float:
        """lambda_t: given, or that of corollary 2, which counts this round's mistake."""
        if self.rate == "adaptive":
            return self.U / sqrt(self.U**2 + self.mistakes)
        return float(self.rate)
