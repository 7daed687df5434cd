"""The Perceptron with at most B examples, and a rule that says which one leaves.

oldest   Remove-Oldest (Dekel et al. 2008, section 3)
random   RBP (Cavallanti, Cesa-Bianchi, Gentile 2007)
margin   CKS (Crammer, Kandola, Singer 2003), as Dekel et al. 2008, section 8, describe it
refuse   Stoptron: the first B mistakes stay, later ones are not stored
"""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.page import SignPage, Vector


class BudgetPerceptron(SignPage):
    algorithms = ("remove-oldest", "rbp", "cks", "stoptron")

    def __init__(self, *where: Any, budget: int, removal: str, **more: Any) -> None:
        super().__init__(*where, **more)
        self.B, self.removal = budget, removal

    def step(self, x: Vector, row: Vector, f: Vector, margin: float, u: Vector) -> None:
        if not self.errs(margin):
            return
        u = self.length * u
        if self.size < self.B:
            self.add(x, u)  # f' = f + y k(x, .)
        elif self.removal == "oldest":
            self.add(x, u)
            self.drop(self.oldest())  # r = min I', eq. (9)
        elif self.removal == "random":
            i = self.random.below(self.size)  # one of the B old ones, never the new one
            self.support[i], self.coef[i], self.ids[i] = x, u, self.t  # the new one takes its place
        elif self.removal == "margin":
            self.add(x, u)
            self.drop(self.least(-self.margins_without()))  # may be the new one

    def margins_without(self) -> Vector:
        """y_i (f' - a_i k(x_i, .))(x_i): the margin each example would keep if it left."""
        f = np.array([self.row(x) @ self.coef for x in self.support])  # f'(x_i)
        sizes = self.sizes()
        return np.asarray(self.inner(self.coef, f) / sizes - sizes * self.self_kernels())
