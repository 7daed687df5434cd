"""Budgets: what happens to a new example, and to the stored ones, when the budget is full."""

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
    """Store everything.

    Examples
    --------
    >>> from budgetron.parts import Unlimited
    >>> Unlimited()
    Unlimited()
    """

    kind: ClassVar[str] = "unlimited"


@dataclass(frozen=True)
class RemoveOldest(Budget):
    """Full: the oldest example leaves (Forgetron paper, section 3).

    Parameters
    ----------
    size : int
        Largest number of stored examples (B).

    Examples
    --------
    >>> from budgetron.parts import RemoveOldest
    >>> RemoveOldest()
    RemoveOldest(size=100)
    """

    size: int = parameter(100, SIZE)
    kind: ClassVar[str] = "remove-oldest"


@dataclass(frozen=True)
class RemoveRandom(Budget):
    """Full: a stored example, drawn uniformly, leaves (Cavallanti et al. 2007).

    Parameters
    ----------
    size : int
        Largest number of stored examples (B).

    Examples
    --------
    >>> from budgetron.parts import RemoveRandom
    >>> RemoveRandom()
    RemoveRandom(size=100)
    """

    size: int = parameter(100, SIZE)
    kind: ClassVar[str] = "remove-random"


@dataclass(frozen=True)
class RemoveMargin(Budget):
    """Full: the example with the largest margin without itself leaves (Crammer et al. 2003).

    Parameters
    ----------
    size : int
        Largest number of stored examples (B).

    Examples
    --------
    >>> from budgetron.parts import RemoveMargin
    >>> RemoveMargin()
    RemoveMargin(size=100)
    """

    size: int = parameter(100, SIZE)
    kind: ClassVar[str] = "remove-margin"


@dataclass(frozen=True)
class RemoveSmallest(Budget):
    """Full: the example with the least abs(a_i) sqrt(k_ii) leaves (Wang et al. 2012).

    Parameters
    ----------
    size : int
        Largest number of stored examples (B).

    Examples
    --------
    >>> from budgetron.parts import RemoveSmallest
    >>> RemoveSmallest()
    RemoveSmallest(size=100)
    """

    size: int = parameter(100, SIZE)
    kind: ClassVar[str] = "remove-smallest"
    need: ClassVar[Need | None] = Need("definite", "it needs sqrt(k_ii)")


@dataclass(frozen=True)
class Refuse(Budget):
    """Full: no example is stored any more.

    Parameters
    ----------
    size : int
        Largest number of stored examples (B).

    Examples
    --------
    >>> from budgetron.parts import Refuse
    >>> Refuse()
    Refuse(size=100)
    """

    size: int = parameter(100, SIZE)
    kind: ClassVar[str] = "refuse"


@dataclass(frozen=True)
class Absorb(Budget):
    """Full: a new example replaces the one it can replace best (Wang & Vucetic 2010, BPA-S).

    Parameters
    ----------
    size : int
        Largest number of stored examples (B).

    Examples
    --------
    >>> from budgetron.parts import Absorb
    >>> Absorb()
    Absorb(size=100)
    """

    size: int = parameter(100, SIZE)
    kind: ClassVar[str] = "absorb"
    need: ClassVar[Need | None] = Need("definite", "it projects one example onto another")


@dataclass(frozen=True)
class Sample(Budget):
    """Full: a random example leaves, the others grow so that f stays the same on average.

    `sampling` is "uniform", or "nonuniform": small coefs leave more often; no coef may exceed
    `clip` (BOGD paper, algorithm 1 and eq. 16).

    Parameters
    ----------
    size : int
        Largest number of stored examples (B).
    sampling : {"uniform", "nonuniform"}
        Which example leaves: all with the same probability, or small coefs more often.
    clip : float
        No coef may exceed this.

    Examples
    --------
    >>> from budgetron.parts import Sample
    >>> Sample()
    Sample(size=100, sampling='uniform', clip=inf)
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
    """Project a new example near the span of the stored ones onto this span (Projectron).

    A new example at most ``threshold`` away is projected, and every one when there are ``size``
    examples; ``size`` 0 is no limit, a negative ``threshold`` none.

    Parameters
    ----------
    size : int
        Largest number of stored examples; 0 is no limit.
    threshold : float
        A row at most this far from the span of the stored examples is projected.

    Examples
    --------
    >>> from budgetron.parts import Project
    >>> Project()
    Project(size=0, threshold=0.1)
    """

    size: int = parameter(0, SIZE_OR_NO_LIMIT)
    threshold: float = parameter(0.1, Numbers(None, 1.0))
    kind: ClassVar[str] = "project"
    need: ClassVar[Need | None] = Need("definite", "it solves for a projection")


@dataclass(frozen=True)
class ProjectSmallest(Budget):
    """Full: project the example with the least ``|a| sqrt(k(x, x))`` onto the others (BSGD).

    Parameters
    ----------
    size : int
        Largest number of stored examples (B).

    Examples
    --------
    >>> from budgetron.parts import ProjectSmallest
    >>> ProjectSmallest()
    ProjectSmallest(size=100)
    """

    size: int = parameter(100, SIZE)
    kind: ClassVar[str] = "project-smallest"
    need: ClassVar[Need | None] = Need("definite", "it solves for a projection")


@dataclass(frozen=True)
class Merge(Budget):
    """Full: merge the example with the least ``|a|`` with the cheapest of its sign (BSGD).

    Only with the Gaussian kernel.

    Parameters
    ----------
    size : int
        Largest number of stored examples (B).

    Examples
    --------
    >>> from budgetron.parts import Merge
    >>> Merge()
    Merge(size=100)
    """

    size: int = parameter(100, SIZE)
    kind: ClassVar[str] = "merge"
    need: ClassVar[Need | None] = Need("gaussian", "two examples merge into one only there")


@dataclass(frozen=True)
class Halve(Budget):
    """Full: keep the half with the largest coefs and project the others onto it.

    ``norm`` is the norm of the result; 0 keeps the norm of f (Ahpatron paper, algorithm 2
    and theorem 6).

    Parameters
    ----------
    size : int
        Largest number of stored examples (B).
    ridge : float
        Regularisation of the projection.
    norm : float
        Norm of f afterwards; 0 keeps the norm that f had.

    Examples
    --------
    >>> from budgetron.parts import Halve
    >>> Halve()
    Halve(size=100, ridge=0.0005, norm=0.0)
    """

    size: int = parameter(100, whole(2))
    ridge: float = parameter(5e-4, POSITIVE)
    norm: float = parameter(0.0, NOT_NEGATIVE)
    kind: ClassVar[str] = "halve"
    need: ClassVar[Need | None] = Need("definite", "it solves for a projection")


BUDGETS = family(Budget)
