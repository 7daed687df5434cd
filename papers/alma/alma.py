"""ALMA with p = 2 (Gentile 2001): a Perceptron whose margin and step shrink, norm 1."""

from __future__ import annotations

from math import sqrt
from typing import Any, ClassVar

from papers.page import Page, Vector


class ALMA(Page):
    algorithms = ("alma",)
    carried: ClassVar[tuple[str, ...]] = ("updates",)

    def __init__(self, *where: Any, alpha: float, C: float, margin: float, **more: Any) -> None:
        super().__init__(*where, **more)
        self.alpha, self.C, self.B = alpha, C, margin
        self.updates = 0

    def step(self, x: Vector, row: Vector, f: Vector, margin: float, u: Vector) -> None:
        j = 1 + self.updates
        length = sqrt(self.self_kernel(x))  # of k(x, .); the paper's examples have length 1
        if margin > self.kinks(x)[0]:
            return
        self.add(x, self.C / (length * sqrt(j)) * u)
        norm = self.norm()
        if norm > 1:
            self.coef /= norm
        self.updates = j

    def kinks(self, x: Vector) -> tuple[float, ...]:
        """(1 - alpha) B / sqrt(j), for examples of any length."""
        length = sqrt(self.self_kernel(x))
        return ((1 - self.alpha) * self.B * length / sqrt(1 + self.updates),)
