"""The Forgetron (Dekel et al. 2008, sections 5 to 7): add, shrink by phi, drop one.

basic       phi from the worst case, on every mistake; drops the oldest      figure 2
self-tuned  the gentlest phi the bound allows; drops the oldest              figure 3
greedy      as self-tuned, but drops a cheap example when there is one       section 7
"""

from __future__ import annotations

from math import log, sqrt
from typing import Any, ClassVar

import numpy as np

from papers.page import SignPage, Vector

SHARE = 15 / 32  # the damage that one mistake allows, eq. (41)


class Forgetron(SignPage):
    algorithms = ("forgetron-basic", "forgetron", "forgetron-greedy")
    carried: ClassVar[tuple[str, ...]] = ("errors", "spent")

    def __init__(self, *where: Any, budget: int, variant: str, **more: Any) -> None:
        super().__init__(*where, **more)
        self.B, self.variant = budget, variant
        self.U = sqrt((budget + 1) / log(budget + 1)) / 4  # (26)
        self.errors = 0  # M, rounds with y f <= 0
        self.spent = 0.0  # Q, the damage of all removals so far

    def step(self, x: Vector, row: Vector, f: Vector, margin: float, u: Vector) -> None:
        if not self.errs(margin):
            return
        self.errors += 1
        self.add(x, self.length * u)  # (1) f' = f + y k(x, .)
        if self.variant == "basic":
            self.coef *= self.worst_case_phi()  # (2)
            if self.size > self.B:
                self.drop(self.oldest())  # (3)
        elif self.size > self.B:
            r = self.choose()
            a, b = self.damage(r)
            phi = self.gentlest_phi(a, b)
            self.coef *= phi  # (2) f'' = phi f'
            self.spent += a * phi**2 + b * phi
            self.drop(r)  # (3)

    def worst_case_phi(self) -> float:
        """min{(B+1)^(-1/(2(B+1))), U/||f'||}, eq. (25)."""
        phi = float((self.B + 1) ** (-1 / (2 * (self.B + 1))))
        norm = self.norm()
        return min(phi, self.U / norm) if norm > 0 else phi

    def choose(self) -> int:
        """The example to drop, eq. (52)."""
        if self.variant == "greedy":
            psi = np.array([sum(self.damage(i)) for i in range(self.size)])  # without shrinking
            psi[-1] = np.inf  # never the new one
            if psi.min() <= SHARE:  # (51)
                return self.least(psi)
        return self.oldest()

    def damage(self, i: int) -> tuple[float, float]:
        """(a, b) of eq. (44): dropping i costs Psi(s phi, mu phi) = a phi^2 + b phi, eq. (15)."""
        f = self.row(self.support[i]) @ self.coef  # f'(x_i)
        s2 = float(self.inner(self.coef[i], self.coef[i]))
        s_mu = float(self.inner(self.coef[i], f))
        if self.regresses:
            s_mu = abs(s_mu)  # mu = |f'(x_i)|: an example's own sign says nothing about f there
        return s2 * self.self_kernel(self.support[i]) - 2 * s_mu, 2 * sqrt(s2)

    def gentlest_phi(self, a: float, b: float) -> float:
        """The largest phi in (0, 1] with a phi^2 + b phi + c <= 0, eqs. (42), (43)."""
        c = self.spent - SHARE * self.errors  # < 0
        return 1.0 if a + b + c <= 0 else -2 * c / (b + sqrt(b * b - 4 * a * c))
