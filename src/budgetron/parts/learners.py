"""Learners: the round, which is made of parts, and the learners with their own page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, isfinite
from typing import ClassVar

from budgetron.errors import BudgetronError
from budgetron.parts.budgets import BUDGETS, Project, Unlimited
from budgetron.parts.kernels import KERNELS, LACKING
from budgetron.parts.losses import LOSSES, REGRESSION_LOSSES, Hinge
from budgetron.parts.part import Need, Part, PartOf
from budgetron.parts.ranges import (
    NOT_NEGATIVE,
    POSITIVE,
    POSITIVE_OR_INFINITE,
    SIZE,
    SIZE_OR_NO_LIMIT,
    Numbers,
    OneOf,
    parameter,
    required,
    whole,
)
from budgetron.parts.updates import REGRESSION_UPDATES, UPDATES, PerceptronUpdate

ANY_LOSS = PartOf((*LOSSES, *REGRESSION_LOSSES))
ANY_UPDATE = PartOf((*UPDATES, *REGRESSION_UPDATES))


@dataclass(frozen=True)
class Learner(Part):
    """A whole learner.

    Parameters
    ----------
    kernel : Part
        The kernel, from `budgetron.parts`.
    """

    kernel: Part = required(PartOf(KERNELS))

    def kernels(self) -> tuple[str, ...]:
        """The kernels that work with the other parts."""
        needs = list(self.needs())
        return tuple(
            kernel.kind
            for kernel in KERNELS
            if all(getattr(kernel, need.quality) for need in needs)
        )

    def check_fits(self) -> None:
        """Raise BudgetronError if its parts, or their parameters, do not fit together."""
        for need in self.needs():
            if not getattr(self.kernel, need.quality):
                raise BudgetronError(
                    f"kernel={self.kernel.kind!r} is {LACKING[need.quality]}, which {need.what} "
                    f"needs: {need.why}; use {', '.join(map(repr, self.kernels()))}"
                )
        self.check_together()


@dataclass(frozen=True)
class Round(Learner):
    """The learner made of parts: decide, update, admit, keep within the norm ball.

    Parameters
    ----------
    kernel : Part
        The kernel, from `budgetron.parts`.
    update : Part
        When f changes, and what is added.
    budget : Part
        What happens when the budget is full.
    radius : float
        Norm ball: f is scaled back into it; infinite: none.

    Examples
    --------
    >>> from budgetron.parts import Gaussian, PerceptronUpdate, RemoveOldest, Round
    >>> Round(Gaussian(gamma=0.5), PerceptronUpdate(), RemoveOldest(50)).spec()["kind"]
    'round'
    """

    update: Part = required(ANY_UPDATE)
    budget: Part = parameter(Unlimited(), PartOf(BUDGETS))
    radius: float = parameter(inf, POSITIVE_OR_INFINITE)
    kind: ClassVar[str] = "round"

    def needs(self) -> Iterator[Need]:
        """What its parts need, and the norm ball."""
        if isfinite(self.radius):
            yield Need("definite", "it needs the norm of f", "a finite radius")
        yield from self.update.needs()
        yield from self.budget.needs()


@dataclass(frozen=True)
class Fogd(Learner):
    """Gradient descent on random Fourier features (Lu et al. 2016, algorithm 1).

    ``seed`` and a feature's number decide that feature's frequencies.

    Parameters
    ----------
    kernel : Part
        The kernel, from `budgetron.parts`.
    n_components : int
        Number of random frequencies (D).
    step : float
        Size of a step.
    loss : Part
        The loss, from `budgetron.parts`.
    seed : int
        Seed of the frequencies.

    Examples
    --------
    >>> from budgetron.parts import Fogd, Gaussian
    >>> Fogd(Gaussian(gamma=0.5)).spec()["kind"]
    'fogd'
    """

    n_components: int = parameter(400, SIZE)
    step: float = parameter(0.5, POSITIVE)
    loss: Part = parameter(Hinge(), ANY_LOSS)
    seed: int = parameter(0, whole(0))
    kind: ClassVar[str] = "fogd"
    need: ClassVar[Need | None] = Need("isotropic", "it draws from a spectral density")


@dataclass(frozen=True)
class Nogd(Learner):
    """Gradient descent on Nystrom features (Lu et al. 2016, algorithm 2).

    Parameters
    ----------
    kernel : Part
        The kernel, from `budgetron.parts`.
    rank : int
        Dimensions of the feature map (r).
    budget : int
        Examples that the feature map is made from.
    step : float
        Size of a step.
    loss : Part
        The loss, from `budgetron.parts`.

    Examples
    --------
    >>> from budgetron.parts import Gaussian, Nogd
    >>> Nogd(Gaussian(gamma=0.5), rank=20).spec()["kind"]
    'nogd'
    """

    rank: int = required(SIZE)
    budget: int = parameter(100, SIZE)
    step: float = parameter(0.5, POSITIVE)
    loss: Part = parameter(Hinge(), ANY_LOSS)
    kind: ClassVar[str] = "nogd"
    need: ClassVar[Need | None] = Need("definite", "it takes square roots of eigenvalues")


@dataclass(frozen=True)
class Avm(Learner):
    """Pegasos on core points (AVM paper, algorithms 2 to 5).

    ``budget`` 0 opens cells without limit. ``width`` is the stream's number of features, by which
    the rectangles are sized.

    Parameters
    ----------
    kernel : Part
        The kernel, from `budgetron.parts`.
    width : int
        Number of features of the stream, by which rectangles are sized.
    regularization : float
        Weight of the norm of f in the objective (lambda).
    delta : float
        Diameter of a cell.
    cover : {"sphere", "rectangle"}
        Shape of a cell.
    beta, rho : float
        Row t is rounded to its core point with probability ``max(0, 1 - beta / t**rho)``.
    budget : int
        Largest number of core points; 0 is no limit.
    loss : Part
        The loss, from `budgetron.parts`.

    Examples
    --------
    >>> from budgetron.parts import Avm, Gaussian
    >>> Avm(Gaussian(gamma=0.5), width=3).spec()["kind"]
    'avm'
    """

    width: int = required(SIZE)
    regularization: float = parameter(1e-4, POSITIVE)
    delta: float = parameter(1.0, POSITIVE)
    cover: str = parameter("sphere", OneOf("sphere", "rectangle"))
    beta: float = parameter(0.0, NOT_NEGATIVE)
    rho: float = parameter(1.0, NOT_NEGATIVE)
    budget: int = parameter(0, SIZE_OR_NO_LIMIT)
    loss: Part = parameter(Hinge(), ANY_LOSS)
    kind: ClassVar[str] = "avm"
    need: ClassVar[Need | None] = Need("isotropic", "its cells are balls and boxes")


@dataclass(frozen=True)
class Forgetron(Learner):
    """Add, shrink, drop one; ``variant`` "basic", "self-tuned" or "greedy" (Dekel et al. 2008).

    ``update`` says when it errs and what it adds; ``signed`` whether the coef of an example carries
    the sign f should have there, as in classification.

    Parameters
    ----------
    kernel : Part
        The kernel, from `budgetron.parts`.
    size : int
        Largest number of stored examples (B).
    variant : {"basic", "self-tuned", "greedy"}
        How much f shrinks, and which example leaves.
    update : Part
        When it errs, and what it adds.
    signed : bool
        Whether coefs carry the sign that f should have there, as in classification.

    Examples
    --------
    >>> from budgetron.parts import Forgetron, Gaussian
    >>> Forgetron(Gaussian(gamma=0.5)).spec()["kind"]
    'forgetron'
    """

    size: int = parameter(100, SIZE)
    variant: str = parameter("self-tuned", OneOf("basic", "self-tuned", "greedy"))
    update: Part = parameter(PerceptronUpdate(), ANY_UPDATE)
    signed: bool = parameter(True, "boolean")
    kind: ClassVar[str] = "forgetron"
    need: ClassVar[Need | None] = Need("definite", "it needs norms")


@dataclass(frozen=True)
class ProjectronPlus(Learner):
    """Projectron that learns from margin errors too, as far as its bound allows.

    Parameters
    ----------
    kernel : Part
        The kernel, from `budgetron.parts`.
    size : int
        Largest number of stored examples; 0 is no limit.
    threshold : float
        A row at most this far from the span of the stored examples is projected.

    Examples
    --------
    >>> from budgetron.parts import Gaussian, ProjectronPlus
    >>> ProjectronPlus(Gaussian(gamma=0.5)).spec()["kind"]
    'projectron-plus'
    """

    size: int = parameter(Project.size, SIZE_OR_NO_LIMIT)
    threshold: float = parameter(Project.threshold, Numbers(None, 1.0))
    kind: ClassVar[str] = "projectron-plus"
    need: ClassVar[Need | None] = Need("definite", "it solves for projections")


@dataclass(frozen=True)
class Pomdr(Learner):
    """Optimistic mirror descent that halves its support (Li & Liao 2023).

    Until there are ``first`` examples, rows at most ``near`` from their span are projected.

    Parameters
    ----------
    kernel : Part
        The kernel, from `budgetron.parts`.
    size : int
        Largest number of stored examples (B).
    radius : float
        Norm ball: f is scaled back into it; infinite: none.
    window : int
        Rows that the guess of the next gradient is made from (M).
    first : int
        Examples of the first phase (B0).
    near : float
        In the first phase a row at most this far from their span is projected.

    Examples
    --------
    >>> from budgetron.parts import Gaussian, Pomdr
    >>> Pomdr(Gaussian(gamma=0.5)).spec()["kind"]
    'pomdr'
    """

    size: int = parameter(100, whole(2))
    radius: float = parameter(25.0, POSITIVE)
    window: int = parameter(15, SIZE)
    first: int = parameter(25, SIZE)
    near: float = parameter(0.01, NOT_NEGATIVE)
    kind: ClassVar[str] = "pomdr"
    need: ClassVar[Need | None] = Need("definite", "it solves for projections")


@dataclass(frozen=True)
class Novelty(Learner):
    """Densities of several widths over at most ``budget`` examples with masses.

    A row adds its mass to the nearest example if their kernel value is at least ``near``. Masses
    halve in 0.7 ``memory`` rows.

    Parameters
    ----------
    kernel : Part
        The Gaussian kernel, from `budgetron.parts`.
    budget : int
        Largest number of stored examples (B).
    memory : float
        Number of rows over which masses are forgotten.
    near : float
        Least kernel value with a stored example at which a row counts as that example.

    Examples
    --------
    >>> from budgetron.parts import Gaussian, Novelty
    >>> Novelty(Gaussian(gamma=0.5)).spec()["kind"]
    'novelty'
    """

    budget: int = parameter(256, SIZE)
    memory: float = parameter(5000.0, Numbers(1.0))
    near: float = parameter(0.99, Numbers(0.0, 1.0, "right"))
    kind: ClassVar[str] = "novelty"
    need: ClassVar[Need | None] = Need("gaussian", "powers of a Gaussian are Gaussians")


@dataclass(frozen=True)
class Budgetron(Learner):
    """A Gaussian belief over the coefs of at most ``budget`` examples.

    ``r`` is the variance of an observation, ``jitter`` is added to k(x, x). ``replace`` is "never",
    "always", "auto", after a drift, or "recent", every row with loss in place of the oldest.
    ``admission`` says which rows are stored while there is room: "mistake", "margin" (all with
    loss), or "error" for regression. ``straight`` is the form of the
    belief over w and c of f(x) = w.x + c + sum_i a_i k(x_i, x): "full", "diagonal", "none", or
    "auto", what fits. No row reduces the variance of f at it below ``floor``. With ``reflex`` a
    second mean, which never stops learning, contributes to the answer.

    Parameters
    ----------
    kernel : Part
        The kernel, from `budgetron.parts`.
    budget : int
        Largest number of stored examples (B).
    r : float
        Variance of an observation.
    jitter : float
        Number added to k(x, x).
    replace : {"auto", "never", "always", "recent"}
        Whether new examples replace stored ones; "auto": after a drift; "recent": always the
        oldest.
    admission : {"mistake", "margin", "error"}
        Which rows are stored while there is room; "error" is for regression.
    straight : {"auto", "full", "diagonal", "none"}
        Form of the belief over the straight part.
    floor : float
        Least variance of f at a row after it was learned.
    reflex : bool
        Whether a second mean, which never stops learning, contributes to the answer.
    relevance : bool
        Whether a metric is learned.

    Examples
    --------
    >>> from budgetron.parts import Budgetron, Gaussian
    >>> Budgetron(Gaussian(gamma=0.5)).spec()["kind"]
    'budgetron'
    """

    budget: int = parameter(100, SIZE)
    r: float = parameter(0.1, POSITIVE)
    jitter: float = parameter(0.01, POSITIVE)
    replace: str = parameter("auto", OneOf("auto", "never", "always", "recent"))
    admission: str = parameter("mistake", OneOf("mistake", "margin", "error"))
    straight: str = parameter("auto", OneOf("auto", "full", "diagonal", "none"))
    floor: float = parameter(0.003, NOT_NEGATIVE)
    reflex: bool = parameter(True, "boolean")
    relevance: bool = parameter(True, "boolean")
    kind: ClassVar[str] = "budgetron"
    need: ClassVar[Need | None] = Need(
        "definite", "its covariance starts as the inverse kernel matrix"
    )
