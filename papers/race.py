"""A race of learners, in plain NumPy.

The model's learner has the gamma of the median rule. Contenders learn beside it from the same rows.
A width has 4 or 16 times that gamma and half of the budget. A metric (papers/metric.py) is a copy
of the model's learner that sees rows in its own coordinates. A straight contender has the whole
budget and a straight part, if the model's learner dropped its own because rows are dense. A memory
has the whole budget and keeps other examples than the model's learner: the most recent ones
(replace="recent", without a straight part), or, if that one does, the most useful ones. It starts
at the times of a metric and at a drift, if there is none.

    e = loss of the model - loss of the contender     mistakes, or |error|
    d = w e                                           w: the weight of the row
    z = sum d / sqrt(max(sum d^2, q sum e^2))         q: the mean of w^2 over the whole stream

Without weights z = sum d / |d|. With q it is as if the two differed in heavy rows as often as in
all: with class weights heavy rows are few, and the two may not have differed in one yet.

Every CHECK rows from its row FIRST on, a contender with z > win becomes the model's learner with
the whole budget; if there are several, the one with the largest sum d. Then metrics leave, and
after a width's win all but narrower widths, which get the whole budget and win at AFTER_WIN from
then on; the others restart their sums. After a memory's win all leave, and narrower widths with
that memory start. If nobody wins, a contender leaves if z < lose; or if z < 0
DOUBT rows, or z < hope `patience` rows, after its start or the last win; or after its row `last`.

This is our addition; docs/develop/decisions/0053, 0054, 0070 and 0075 give the reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from papers import metric
from papers.budgetron.budgetron import NONE, Budgetron
from papers.page import Page, Vector

FACTORS = (4.0, 16.0)
SHARE = 0.5  # of the budget
FIRST, CHECK = 300, 100
YOUNG = 200  # rows of a width, which starts after the warm-up, that do not count
DOUBT = 500
LAST = 6000
AFTER_WIN = 2.5  # z for widths after one that has won


@dataclass(frozen=True)
class Rules:
    """Rules of one kind of contender."""

    win: float = 4.0
    lose: float = -2.0
    hope: float = 1.5
    patience: int = 2000
    last: int = LAST


WIDTH, METRIC = Rules(), Rules(2.5, -2.0, 0.0, DOUBT, 3000)
STRAIGHT = Rules(win=2.5)
MEMORY = Rules(4.0, -2.0, 1.0, DOUBT, 3000)


@dataclass
class Contender:
    """A learner beside the model's, and its lead in each round since the last win."""

    factor: float
    page: Page
    rules: Rules = WIDTH
    memory: bool = False
    rows: int = 0  # since its start
    square: float = 1.0  # q
    differences: list[float] = field(default_factory=list)  # e
    weights: list[float] = field(default_factory=list)

    def count(self, difference: float, weight: float) -> None:
        self.rows += 1
        if self.rules == METRIC or self.rows > YOUNG:
            self.differences.append(difference)
            self.weights.append(weight)

    @property
    def is_width(self) -> bool:
        return self.rules == WIDTH and not self.memory

    @property
    def compares(self) -> bool:
        return self.rows >= FIRST and self.rows % CHECK == 0

    def wins(self, after: bool) -> bool:
        """`after`: a width has won before."""
        win = AFTER_WIN if after and self.is_width else self.rules.win
        return self.compares and self.z > win

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
    """The race; `page` is the model's learner, `make(factor, share)` makes another one.

    `weights`: of the rows that the page has learned before.
    """

    def __init__(
        self, page: Page, make: Callable[[float, float], Page], weights: Sequence[float] = ()
    ) -> None:
        self.weights = list(weights)
        self.page, self.factor = page, 1.0
        self.model = make(1.0, 1.0)
        self.make = make
        self.rounds = len(self.weights)
        self.contenders = self.narrower()
        straight = make(1.0, 1.0)
        if isinstance(page, Budgetron) and page.turns and page.form == NONE:
            assert isinstance(straight, Budgetron)
            straight.keeps_straight = True
            self.contenders.append(Contender(1.0, straight, STRAIGHT))

    def learn(self, x: Vector, y: float, weight: float = 1.0) -> Vector:
        """One round of all learners; returns the model's decision."""
        self.weights.append(weight)
        f = self.page.learn(x, y, weight)
        self.rounds += 1
        for each in self.contenders:
            other = each.page.learn(x, y, weight)
            each.count(self.loss(f, y) - self.loss(other, y), weight)
            each.square = float(np.square(self.weights).mean())
        before = self.page
        self.check()
        if isinstance(self.page, Budgetron) and not self.page.regresses:
            self.add_memory(self.page, won=self.page is not before)
        return f

    def narrower(self) -> list[Contender]:
        """Widths that keep the same examples as the model's learner."""
        share = SHARE if self.factor == 1 else 1.0
        pages = {factor: self.make(factor, share) for factor in FACTORS if factor > self.factor}
        if isinstance(self.page, Budgetron) and self.page.replace == "recent":
            for page in pages.values():
                recent(page)
        return [Contender(factor, page) for factor, page in pages.items()]

    def add_memory(self, page: Budgetron, won: bool) -> None:
        # A drift opens a window of 500 rounds; the round that called it is the first.
        due = metric.due(self.rounds) or (page.window == 500 and not won)
        if not due or self.model.replace != "auto":  # type: ignore[attr-defined]
            return
        if not any(each.memory for each in self.contenders):
            other = self.make(self.factor, 1.0)
            assert isinstance(other, Budgetron)
            other = recent(other) if page.replace == "auto" else other
            rules = MEMORY if other.replace == "recent" else STRAIGHT
            self.contenders.append(Contender(self.factor, other, rules, memory=True))

    def loss(self, f: Vector, y: float) -> float:
        if self.page.regresses:
            return abs(y - float(f[0]))
        right = (1.0 if f[0] >= 0 else -1.0) == y if f.size == 1 else int(np.argmax(f)) == int(y)
        return float(not right)

    def check(self) -> None:
        winners = [each for each in self.contenders if each.wins(self.factor > 1)]
        if winners:
            best = max(winners, key=lambda each: each.ahead)
            set_budget(best.page, self.model)
            self.page = best.page
            left = [each for each in self.contenders if each is not best and each.rules != METRIC]
            if best.memory:
                left = self.narrower()
            elif best.is_width:
                self.factor = best.factor
                left = [each for each in left if each.is_width and each.factor > self.factor]
                for each in left:
                    set_budget(each.page, self.model)
            for each in left:
                each.differences, each.weights = [], []
            self.contenders = left
        else:
            self.contenders = [each for each in self.contenders if not each.leaves]


def recent(page: Page) -> Budgetron:
    """A new learner that keeps the most recent examples."""
    assert isinstance(page, Budgetron)
    page.replace, page.form = "recent", NONE
    return page


def set_budget(page: Page, like: Page) -> None:
    """Give the learner the budget of another one."""
    page.B = like.B  # type: ignore[attr-defined]
