"""A race of kernel widths, in plain NumPy.

The model's learner has the gamma of the median rule. Contenders have 4 and 16 times that, and half
of the budget each; they learn beside it from the same rows.

    d = weight (loss of the model - loss of the contender)     mistakes, or |error|
    z = sum d / |d|

Every CHECK rows from row FIRST on, one with z > WIN becomes the model's learner with the whole
budget, the one with the largest sum d if there are several; contenders that are not narrower than
it leave, the others begin anew with their sums. Otherwise one leaves if z < LOSE, or if z < HOPE
when nobody has won for PATIENCE rows. After LAST rows all leave.

Ours; docs/develop/decisions/0053 has the reasons.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from papers.page import Page, Vector

FACTORS = (4.0, 16.0)
SHARE = 0.5  # of the budget
FIRST, CHECK, PATIENCE, LAST = 300, 100, 2000, 10_000
WIN, LOSE, HOPE = 4.0, -2.0, 1.5


@dataclass
class Contender:
    """A learner beside the model's, and what it was better by in each round."""

    factor: float
    page: Page
    ahead: list[float] = field(default_factory=list)

    @property
    def z(self) -> float:
        size = float(np.sqrt(np.square(self.ahead).sum()))
        return sum(self.ahead) / size if size > 0 else 0.0


class Race:
    """The race; `page` is the model's learner, `make(factor, share)` another one."""

    def __init__(self, page: Page, make: Callable[[float, float], Page]) -> None:
        self.page, self.factor = page, 1.0
        self.whole = lambda contender: set_budget(contender.page, make(1.0, 1.0))
        self.contenders = [Contender(factor, make(factor, SHARE)) for factor in FACTORS]
        self.rows = self.won = 0

    def learn(self, x: Vector, y: float, weight: float = 1.0) -> Vector:
        """A round of all; returns the model's decision."""
        f = self.page.learn(x, y, weight)
        if not self.contenders:
            return f
        for each in self.contenders:
            other = each.page.learn(x, y, weight)
            each.ahead.append(weight * (self.loss(f, y) - self.loss(other, y)))
        self.rows += 1
        if self.rows >= FIRST and self.rows % CHECK == 0:
            self.check()
        return f

    def loss(self, f: Vector, y: float) -> float:
        if self.page.regresses:
            return abs(y - float(f[0]))
        right = (1.0 if f[0] >= 0 else -1.0) == y if f.size == 1 else int(np.argmax(f)) == int(y)
        return float(not right)

    def check(self) -> None:
        winners = [each for each in self.contenders if each.z > WIN]
        if winners:
            best = max(winners, key=lambda each: sum(each.ahead))
            self.whole(best)
            self.page, self.factor, self.won = best.page, best.factor, self.rows
            left = [Contender(each.factor, each.page) for each in self.contenders]
            self.contenders = [each for each in left if each.factor > self.factor]
        else:
            late = self.rows >= self.won + PATIENCE
            self.contenders = [
                each for each in self.contenders if not (each.z < LOSE or (late and each.z < HOPE))
            ]
        if self.rows >= LAST:
            self.contenders = []


def set_budget(page: Page, like: Page) -> None:
    """The learner has the budget of another one from now on."""
    page.B = like.B  # type: ignore[attr-defined]
