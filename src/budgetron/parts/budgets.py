"""Budgets: what happens to a new example, and to the stored ones, when there is no more room."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import ClassVar

from budgetron.parts.part import Need, Part, family
from budgetron.parts.ranges import (
    NOT_NEGATIVE,
    POSITIVE,
    POSITIVE_OR_INFINITE,
    SIZE,
    SIZE_OR_NO_LIMIT,
    Numbers,
    OneOf,
    parameter,
    whole,
)


@dataclass(frozen=True)
class Budget(Part):
    """A budget; its largest number of examples, if it has one, is called `size`."""

    family: ClassVar[str] = "budget"


@dataclass(frozen=True)
class Unlimited(Budget):
    """Store everything."""

    kind: ClassVar[str] = "unlimited"


@dataclass(frozen=True)
class RemoveOldest(Budget):
    """Full: the oldest leaves (Forgetron paper, section 3)."""

    size: int = parameter(100, SIZE)
    kind: ClassVar[str] = "remove-oldest"


@dataclass(frozen=True)
class RemoveRandom(Budget):
    """Full: one of the stored, drawn uniformly, leaves (Cavallanti et al. 2007)."""

    size: int = parameter(100, SIZE)
    kind: ClassVar[str] = "remove-random"


@dataclass(frozen=True)
class RemoveMargin(Budget):
    """Full: the one that has the largest margin without itself leaves (Crammer et al. 2003)."""

    size: int = parameter(100, SIZE)
    kind: ClassVar[str] = "remove-margin"


@dataclass(frozen=True)
class RemoveSmallest(Budget):
    """Full: the one with the least abs(a_i) sqrt(k_ii) leaves (Wang, Crammer & Vucetic 2012)."""

    size: int = parameter(100, SIZE)
    kind: ClassVar[str] = "remove-smallest"
    need: ClassVar[Need | None] = Need("definite", "it needs sqrt(k_ii)")


@dataclass(frozen=True)
class Refuse(Budget):
    """Full: nothing enters any more."""

    size: int = parameter(100, SIZE)
    kind: ClassVar[str] = "refuse"


@dataclass(frozen=True)
class Absorb(Budget):
    """Full: the new one replaces the one it stands in for best (Wang & Vucetic 2010, BPA-S)."""

    size: int = parameter(100, SIZE)
    kind: ClassVar[str] = "absorb"
    need: ClassVar[Need | None] = Need("definite", "it projects one example onto another")


@dataclass(frozen=True)
class Sample(Budget):
    """Full: one drawn at random leaves, the others grow so that f stays the same on average.

    `sampling` is "uniform", or "nonuniform" with small coefs likelier to leave; no coef may pass
    `clip` (BOGD paper, algorithm 1 and eq. 16).
    """

    size: int = parameter(100, SIZE)
    sampling: str = parameter("uniform", OneOf("uniform", "nonuniform"))
    clip: float = parameter(inf, POSITIVE_OR_INFINITE)
    kind: ClassVar[str] = "sample"

    def needs(self) -> Iterator[Need]:
        """A size of coefs, where these decide."""
        if self.sampling == "nonuniform":
            yield Need("definite", "it needs sqrt(k_ii)", "sampling 'nonuniform'")


@dataclass(frozen=True)
class Project(Budget):
    """Project onto the span of the stored examples what is near it (Projectron).

    A newcomer at most ``threshold`` away is projected, and every one when there are ``size``
    examples; ``size`` 0 is no limit, a negative ``threshold`` none.
    """

    size: int = parameter(0, SIZE_OR_NO_LIMIT)
    threshold: float = parameter(0.1, Numbers(None, 1.0))
    kind: ClassVar[str] = "project"
    need: ClassVar[Need | None] = Need("definite", "it solves for a projection")


@dataclass(frozen=True)
class ProjectSmallest(Budget):
    """Full: project the example with the least ``|a| sqrt(k(x, x))`` onto the others (BSGD)."""

    size: int = parameter(100, SIZE)
    kind: ClassVar[str] = "project-smallest"
    need: ClassVar[Need | None] = Need("definite", "it solves for a projection")


@dataclass(frozen=True)
class Merge(Budget):
    """Full: merge the example with the least ``|a|`` with the cheapest of its sign (BSGD).

    Only with the Gaussian kernel.
    """

    size: int = parameter(100, SIZE)
    kind: ClassVar[str] = "merge"
    need: ClassVar[Need | None] = Need("gaussian", "two examples merge into one only there")


@dataclass(frozen=True)
class Halve(Budget):
    """Full: keep the half with the largest coefs and project the others onto it.

    ``norm`` is what the result is rescaled to; 0 keeps the norm f had (Ahpatron paper, algorithm 2
    and theorem 6).
    """

    size: int = parameter(100, whole(2))
    ridge: float = parameter(5e-4, POSITIVE)
    norm: float = parameter(0.0, NOT_NEGATIVE)
    kind: ClassVar[str] = "halve"
    need: ClassVar[Need | None] = Need("definite", "it solves for a projection")


BUDGETS = family(Budget)
