"""The Shrinking Perceptron (Dekel et al. 2008, section 4): add every mistake, then shrink f."""

from __future__ import annotations

from typing import Any

from papers.page import Page, Vector


class ShrinkingPerceptron(Page):
    algorithms = ("shrinking-perceptron",)

    def __init__(self, *where: Any, shrink: float, **more: Any) -> None:
        super().__init__(*where, **more)
        self.phi = shrink

    def step(self, x: Vector, row: Vector, f: Vector, margin: float, u: Vector) -> None:
        if margin <= 0:
            self.add(x, u)  # f' = f + y k(x, .), eq. (19)
            self.coef *= self.phi  # f <- phi f', the new example included

    def kinks(self, x: Vector) -> tuple[float, ...]:
        return (0.0,)
