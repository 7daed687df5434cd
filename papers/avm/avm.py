"""AVM (Le et al. 2017, algorithms 2 to 5): Pegasos on core points instead of the rows themselves.

Cells cover the data space as the rows come; a row changes the coef of its cell's core point.
Nothing is ever dropped; `budget` only stops the opening of cells. When units change, delta may be
set again (papers/units.py): core points that are then in one cell are united (our addition).
"""

from __future__ import annotations

from math import inf, sqrt
from typing import Any, ClassVar

import numpy as np

from papers.losses import make_loss
from papers.page import Page, Vector


class AVM(Page):
    algorithms = ("avm",)
    carried: ClassVar[tuple[str, ...]] = (
        "rounds",
        "largest_target",
    )

    def __init__(
        self,
        *where: Any,
        regularization: float,
        delta: float,
        cover: str,
        beta: float,
        rho: float,
        budget: int | None,
        loss: str,
        tau: float = 0.5,
        epsilon: float = 0.0,
        **more: Any,
    ) -> None:
        super().__init__(*where, **more)
        self.lam, self.delta, self.cover = regularization, delta, cover
        self.beta, self.rho = beta, rho
        self.B = inf if budget is None else budget
        self.loss = make_loss(loss, tau, 0.0 if loss == "squared" else epsilon)  # section 7
        self.ball = loss == "squared" and regularization <= 1
        self.largest_target = 0.0  # y_max
        self.length = 2.0 if self.coef.shape[1] > 2 else 1.0  # algorithm 5 moves by e_y - e_z = 2u
        self.rounds = 0  # t - 1

    def step(self, x: Vector, row: Vector, f: Vector, margin: float, u: Vector) -> None:
        self.rounds += 1
        t = self.rounds
        move = -self.loss.slope(margin) / (self.lam * t) * self.length * u  # lines 4, 5
        p = max(0.0, 1 - self.beta / t**self.rho)  # section 6.2.3
        approximate = self.beta == 0 or self.random.uniform() < p  # Z_t, line 6
        i = self.stand_in(x, approximate)  # line 8
        self.coef *= (t - 1) / t
        if i is None:
            self.add(x, move)  # a new core point; also line 11
        else:
            self.coef[i] += move  # lines 9, 16
        if self.ball:
            norm, most = self.norm(), self.largest_target / sqrt(self.lam)
            if norm > most:
                self.coef *= most / norm  # line 12

    def kinks(self, x: Vector) -> tuple[float, ...]:
        return self.loss.kinks

    def learn(self, x: Vector, y: float, weight: float = 1.0) -> Vector:
        if self.regresses:
            self.largest_target = max(self.largest_target, sqrt(weight) * abs(y))
        return super().learn(x, y, weight)

    def stand_in(self, x: Vector, approximate: bool) -> int | None:
        """The core point used for x; None if x becomes one itself."""
        if self.size == 0:
            return None
        gaps = np.abs(self.support - x)
        distance = np.sqrt((gaps**2).sum(axis=1))
        nearest = self.least(distance)
        if approximate and self.cover == "sphere" and distance[nearest] < self.delta / 2:
            return nearest  # algorithm 3
        if approximate and self.cover == "rectangle":
            inside = np.flatnonzero(gaps.max(axis=1) < self.delta / sqrt(x.size))
            if inside.size > 0:
                return self.oldest(inside)  # algorithm 4
        return nearest if self.size == self.B else None

    def unite(self) -> None:
        """From the oldest on: a core point in the cell of an older one adds its coef to that."""
        stays: list[int] = []
        for i in np.argsort(self.ids):
            gaps = np.abs(self.support[stays] - self.support[i])
            if self.cover == "sphere":
                apart, reach = np.sqrt((gaps**2).sum(axis=1)), self.delta / 2
            else:
                apart, reach = gaps.max(axis=1, initial=0), self.delta / sqrt(gaps.shape[1])
            inside = np.flatnonzero(apart < reach)
            if inside.size == 0:
                stays.append(i)
            else:
                nearest = inside[apart[inside].argmin()]
                j = stays[nearest if self.cover == "sphere" else inside[0]]
                self.coef[j] += self.coef[i]
        self.keep(np.array(stays, dtype=int))
