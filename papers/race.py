"""A race of learners, in plain NumPy.

The model's learner has the gamma of the median rule. Contenders learn beside it from the same
rows. A width has 4 or 16 times that gamma and half of the budget. A metric (papers/metric.py) is a
copy of the model's learner that sees rows in its own coordinates.

    e = loss of the model - loss of the contender     mistakes, or |error|
    d = w e                                           w: the weight of the row
    z = sum d / sqrt(max(sum d^2, q sum e^2))         q: the mean of w^2 over the whole stream

Without weights z = sum d / |d|. With q it is as if the two differed in heavy rows as often as in
all: where classes are weighed, heavy rows are few, and they may not have differed in one yet.

Every CHECK rows from its row FIRST on, one with z > win becomes the model's learner with the whole
budget, the one with the largest sum d if there are several; metrics leave then, and after a width
widths that are not narrower; narrower ones get the whole budget; the others begin anew with their
sums. If nobody wins, one leaves if
z < lose, or if z < 0 DOUBT rows, or z < hope `patience` rows, after it began or somebody won, or
after its row `last`.

Ours; docs/develop/decisions/0053 and 0054 have the reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from papers.page import Page, Vector

FACTORS = (4.0, 16.0)
SHARE = 0.5  # of the budget
FIRST, CHECK = 300, 100
YOUNG = 200  # rows of a width, which begins after the warm-up, that do not count
DOUBT = 500
LAST = 6000


@dataclass(frozen=True)
class Rules:
    """Of a kind of contenders."""

    win: float = 4.0
    lose: float = -2.0
    hope: float = 1.5
    patience: int = 2000
    last: int = LAST


WIDTH, METRIC = Rules(), Rules(2.5, -2.0, 0.0, DOUBT, 3000)


@dataclass
class Contender:
    """A learner beside the model's, and what it was better by in each round since somebody won."""

    factor: float
    page: Page
    rules: Rules = WIDTH
    rows: int = 0  # since it began
    square: float = 1.0  # q
    differences: list[float] = field(default_factory=list)  # e
    weights: list[float] = field(default_factory=list)

    def count(self, difference: float, weight: float) -> None:
        self.rows += 1
        if self.rules != WIDTH or self.rows > YOUNG:
            self.differences.append(difference)
            self.weights.append(weight)

    @property
    def compares(self) -> bool:
        return self.rows >= FIRST and self.rows % CHECK == 0

    @property
    def wins(self) -> bool:
        return self.compares and self.z > self.rules.win

    @property
    def leaves(self) -> bool:
        if not self.compares:
            return False
        counted = len(self.differences)
        late = counted >= self.rules.patience and self.z < self.rules.hope
        doubted = counted >= DOUBT and self.z < 0
        return self.z < self.rules.lose or doubted or late or self.rows >= self.rules.last

    @property
    def ahead(self) -> float:
        return float(np.dot(self.weights, self.differences))

    @property
    def z(self) -> float:
        e = np.array(self.differences)
        variance = max(np.square(e * self.weights).sum(), self.square * np.square(e).sum())
        return self.ahead / float(np.sqrt(variance)) if variance > 0 else 0.0


class Race:
    """The race; `page` is the model's learner, `make(factor, share)` another one.

    `weights`: of the rows that the page has learned before.
    """

    def __init__(
        self, page: Page, make: Callable[[float, float], Page], weights: Sequence[float] = ()
    ) -> None:
        self.weights = list(weights)
        self.page, self.factor = page, 1.0
        self.model = make(1.0, 1.0)
        self.contenders = [Contender(factor, make(factor, SHARE)) for factor in FACTORS]

    def learn(self, x: Vector, y: float, weight: float = 1.0) -> Vector:
        """A round of all; returns the model's decision."""
        self.weights.append(weight)
        f = self.page.learn(x, y, weight)
        if not self.contenders:
            return f
        for each in self.contenders:
            other = each.page.learn(x, y, weight)
            each.count(self.loss(f, y) - self.loss(other, y), weight)
            each.square = float(np.square(self.weights).mean())
        self.check()
        return f

    def loss(self, f: Vector, y: float) -> float:
        if self.page.regresses:
            return abs(y - float(f[0]))
        right = (1.0 if f[0] >= 0 else -1.0) == y if f.size == 1 else int(np.argmax(f)) == int(y)
        return float(not right)

    def check(self) -> None:
        winners = [each for each in self.contenders if each.wins]
        if winners:
            best = max(winners, key=lambda each: each.ahead)
            set_budget(best.page, self.model)
            self.page = best.page
            left = [each for each in self.contenders if each.rules == WIDTH]
            if best.rules == WIDTH:
                self.factor = best.factor
                left = [each for each in left if each.factor > self.factor]
                for each in left:
                    set_budget(each.page, self.model)
            for each in left:
                each.differences, each.weights = [], []
            self.contenders = left
        else:
            self.contenders = [each for each in self.contenders if not each.leaves]


def set_budget(page: Page, like: Page) -> None:
    """The learner has the budget of another one from now on."""
    page.B = like.B  # type: ignore[attr-defined]
