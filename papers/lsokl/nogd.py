"""NOGD (Lu, Hoi, Wang, Zhao, Liu 2016): gradient descent on Nystrom features.

The first B examples with loss are stored, and OGD runs on them. After that they are only landmarks:
phi(x) = E^(-1/2) V' k_B(x), with the largest eigenvalues of their Gram matrix V E V'. If fewer than
half of them differ, copies are united instead, and storing continues (our addition).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from papers.losses import make_loss
from papers.page import Page, Vector

FLAT = 1e-10  # an eigenvalue below this share of the largest is rounding error


class NOGD(Page):
    algorithms = ("nogd",)
    carried: ClassVar[tuple[str, ...]] = ("projection", "weights")

    def __init__(
        self,
        *where: Any,
        budget: int,
        rank: int | None,
        step: float,
        loss: str,
        tau: float = 0.5,
        epsilon: float = 0.0,
        **more: Any,
    ) -> None:
        super().__init__(*where, **more)
        self.B, self.rate = budget, step
        self.rank = max(1, budget // 5) if rank is None else rank
        self.projection = np.zeros((0, 0))  # V E^(-1/2), (B, rank); empty while OGD runs
        self.weights = np.zeros((0, self.coef.shape[1]))  # w, (rank, K)
        self.loss = make_loss(loss, tau, epsilon)

    def step(self, x: Vector, row: Vector, f: Vector, margin: float, u: Vector) -> None:
        slope = self.loss.slope(margin)
        if slope == 0:
            return
        if self.size == self.B and self.projection.size == 0:
            self.unite_copies()
        if self.size < self.B:
            self.add(x, -self.rate * slope * u)
            return
        if self.projection.size == 0:
            self.change_over()
        phi = row @ self.projection
        self.weights -= self.rate * slope * np.outer(phi, u)
        self.coef = self.projection @ self.weights  # the same f, w.phi(x), as an expansion

    def kinks(self, x: Vector) -> tuple[float, ...]:
        return self.loss.kinks

    def shape_of(self, name: str, size: int) -> tuple[int, ...]:
        return (self.B, size // self.B) if name == "projection" else super().shape_of(name, size)

    def unite_copies(self) -> None:
        by_age = np.argsort(self.ids)
        first = np.array([by_age[self.copies(i, by_age).argmax()] for i in range(self.size)])
        stays = np.unique(first)
        if 2 * stays.size < self.size:
            sums = [self.coef[first == i].sum(axis=0) for i in stays]
            self.keep(stays)
            self.coef = np.array(sums)

    def change_over(self) -> None:
        E, V = np.linalg.eigh(self.gram())  # in ascending order
        E, V = E[-self.rank :], V[:, -self.rank :]
        sound = E / E[-1] >= FLAT
        E, V = E[sound], V[:, sound]
        # Make the largest component positive.
        V *= np.sign(V[np.abs(V).argmax(axis=0), np.arange(E.size)])
        self.projection = V / np.sqrt(E)
        self.weights = np.sqrt(E)[:, None] * (V.T @ self.coef)
