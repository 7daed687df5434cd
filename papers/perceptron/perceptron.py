"""The kernel Perceptron (Rosenblatt 1958; Freund & Schapire 1999): add every mistake."""

from __future__ import annotations

from papers.page import Page, Vector


class Perceptron(Page):
    algorithms = ("perceptron",)

    def step(self, x: Vector, row: Vector, f: Vector, margin: float, u: Vector) -> None:
        if margin <= 0:  # a tie counts
            self.add(x, u)  # f <- f + y k(x, .)

    def kinks(self, x: Vector) -> tuple[float, ...]:
        return (0.0,)
