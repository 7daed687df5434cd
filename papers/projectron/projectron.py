"""Projectron and Projectron++ (Orabona, Keshet, Caputo 2008, 2009).

A mistake close to the span of the stored examples is projected onto it instead of being stored.
Projectron++ also learns from examples classified correctly with a margin below 1.
"""

from __future__ import annotations

from math import inf, log, sqrt
from typing import Any

import numpy as np

from papers.page import SignPage, Vector


class Projectron(SignPage):
    algorithms = ("projectron",)

    def __init__(
        self, *where: Any, threshold: float | None, budget: int | None, **more: Any
    ) -> None:
        super().__init__(*where, **more)
        self.eta = threshold
        self.B = inf if budget is None else budget

    def step(self, x: Vector, row: Vector, f: Vector, margin: float, u: Vector) -> None:
        if self.errs(margin):
            self.store_or_project(x, row, self.length * u)

    def store_or_project(self, x: Vector, row: Vector, u: Vector) -> None:
        d, delta2 = self.project(x, row)
        near = self.eta is not None and sqrt(delta2) <= self.eta
        full = self.size == self.B
        in_span = delta2 <= self.in_span * self.self_kernel(x)
        if self.size > 0 and (near or full or in_span):
            self.coef += np.outer(d, u)  # f + y P k(x, .)
        else:
            self.add(x, u)  # f + y k(x, .)

    def project(self, x: Vector, row: Vector) -> tuple[Vector, float]:
        """P k(x, .) = sum_i d_i k(x_i, .): returns d and the squared distance delta^2 to it."""
        d = np.asarray(np.linalg.solve(self.gram(), row), dtype=np.float64)
        return d, max(0.0, self.self_kernel(x) - float(row @ d))


class ProjectronPlus(Projectron):
    algorithms = ("projectron++",)

    def __init__(
        self, *where: Any, threshold: float | None, budget: int | None, rule: str, **more: Any
    ) -> None:
        super().__init__(*where, threshold=threshold, budget=budget, **more)
        self.rule = rule
        if rule == "bounded" and threshold is None and budget is None:
            raise ValueError("the bounded rule needs a threshold or a budget")

    def step(self, x: Vector, row: Vector, f: Vector, margin: float, u: Vector) -> None:
        if margin <= 0 or (self.rule == "aggressive" and margin < 1):
            self.store_or_project(x, row, u)
        elif margin < 1:
            d, delta2 = self.project(x, row)
            tau = self.portion(1 - margin, float(row @ d), sqrt(delta2))
            self.coef += tau * np.outer(d, u)  # f + tau y P k(x, .): nothing is stored

    def kinks(self, x: Vector) -> tuple[float, ...]:
        return (1.0,) if self.rule == "aggressive" else (0.0, 1.0)

    def portion(self, loss: float, p: float, delta: float) -> float:
        """The tau of a margin error, p = ||P k(x, .)||^2; 0 if the bound would be hurt."""
        if p <= 0:  # only by rounding: y f > 0 means that k(x, .) is not orthogonal to the span
            return 0.0
        if self.eta is not None:
            slack = loss - delta / self.eta
            return min(loss / p, 2 * slack / p, 1.0) if slack >= 0 else 0.0
        U = sqrt((self.B + 1) / log(self.B + 1)) / 4  # the Forgetron's
        tau = min(loss / p, 1.0)
        return tau if 2 * loss - tau * p - 2 * U * delta >= 0 else 0.0
