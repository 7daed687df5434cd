"""A score of how much a row differs from the rows before it, in plain NumPy: four widths.

    e_i = gamma ||x_i - x||^2 ;  c is the example nearest to x
    s_p = -log(sum_i m_i exp(-p e_i) / sum_i m_i),  p = 1/4, 2, 16, 128
    score = max_p s_p mu_1/mu_p,  mu_1 that of the first p

The compiled learner is core/learners/novelty.hpp; tests/learners/test_novelty.py checks that both
agree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from papers.random import Random

Vector = NDArray[np.float64]
POWERS = np.array([0.25, 2.0, 16.0, 128.0])
MOST_MEANS = 3.0  # a score counts as at most this many means


class Novelty:
    """Stored examples with masses, and the mean score of each width.

    Parameters
    ----------
    gamma, budget, memory, near : as in `budgetron.BudgetronAnomaly`
    random : the generator of the compiled model
    """

    def __init__(
        self, gamma: float, budget: int, memory: float, near: float, random: Random
    ) -> None:
        self.gamma, self.budget, self.memory, self.near = gamma, budget, memory, near
        self.random = random
        self.examples: list[Vector] = []
        self.masses: list[float] = []
        self.stored: list[int] = []  # the round in which each was stored
        self.means = np.zeros(len(POWERS))
        self.counted = self.rounds = 0

    def exponents(self, x: Vector) -> Vector:
        """Gamma ||x_i - x||^2 for every stored example."""
        return np.array([self.gamma * float(np.sum((each - x) ** 2)) for each in self.examples])

    def surprises(self, x: Vector) -> Vector:
        """s_p for every p."""
        if not self.examples:
            return np.zeros(len(POWERS))
        e, m = self.exponents(x), np.array(self.masses)
        nearest = e.min()
        sums = [np.sum(m * np.exp(-p * (e - nearest))) for p in POWERS]
        return np.maximum(0.0, POWERS * nearest - np.log(np.array(sums) / m.sum()))

    def score(self, x: Vector) -> float:
        """The largest s_p, each relative to its mean."""
        s = self.surprises(x)
        known = (self.means > 0.0) & (self.means[0] > 0.0)
        shares = np.where(known, self.means[0] / np.where(known, self.means, 1.0), 0.0)
        shares[0] = 1.0
        return float(np.max(s * shares))

    def learn(self, x: Vector, weight: float = 1.0) -> None:
        """Count the row's scores, then add its mass to the nearest example or store it."""
        if self.examples:
            self._count(self.surprises(x))
        self.masses = [mass * (1.0 - 1.0 / self.memory) for mass in self.masses]
        self.rounds += 1
        e = self.exponents(x)
        new = len(e) == 0 or np.exp(-e.min()) < self.near
        full = len(e) == self.budget
        if not new or (full and not self._replaces()):
            self.masses[int(e.argmin())] += weight
            return
        if full:
            order = sorted(range(len(e)), key=lambda i: (self.masses[i], self.stored[i]))
            self._remove(order[0])
        self.examples.append(x.copy())
        self.masses.append(weight)
        self.stored.append(self.rounds - 1)

    def _replaces(self) -> bool:
        rows = min(float(self.rounds), self.memory)
        return self.random.uniform() * rows < self.budget

    def _remove(self, i: int) -> None:
        """Remove example i; the last example takes its place."""
        for each in (self.examples, self.masses, self.stored):
            last = each.pop()  # type: ignore[attr-defined]
            if i < len(each):  # type: ignore[arg-type]
                each[i] = last  # type: ignore[index]

    def _count(self, s: Vector) -> None:
        self.counted += 1
        most = np.where(self.means > 0.0, MOST_MEANS * self.means, s)
        rows = min(float(self.counted), self.memory)
        self.means += (np.minimum(s, most) - self.means) / rows
