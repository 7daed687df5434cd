"""Updates: when f moves, and by how much. They only see numbers, so each works with any budget."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

from budgetron.errors import BudgetronError
from budgetron.parts.losses import LOSSES, Hinge
from budgetron.parts.part import Need, Part, PartOf, family
from budgetron.parts.ranges import NOT_NEGATIVE, POSITIVE, Numbers, OneOf, parameter


@dataclass(frozen=True)
class Update(Part):
    """An update of classification."""

    family: ClassVar[str] = "update"


@dataclass(frozen=True)
class RegressionUpdate(Part):
    """An update of regression, with the error e = target - f(x)."""

    family: ClassVar[str] = "update"


@dataclass(frozen=True)
class PerceptronUpdate(Update):
    """Add (x, y) when y f(x) <= 0 (Rosenblatt 1958; Freund & Schapire 1999).

    Examples
    --------
    >>> from budgetron.parts import PerceptronUpdate
    >>> PerceptronUpdate()
    PerceptronUpdate()
    """

    kind: ClassVar[str] = "perceptron"


@dataclass(frozen=True)
class ShrinkingUpdate(Update):
    """Add (x, y) when y f(x) <= 0, then multiply f by `shrink` (Forgetron paper, section 4).

    Parameters
    ----------
    shrink : float in (0, 1]
        Factor of f after a mistake.

    Examples
    --------
    >>> from budgetron.parts import ShrinkingUpdate
    >>> ShrinkingUpdate()
    ShrinkingUpdate(shrink=0.99)
    """

    shrink: float = parameter(0.99, Numbers(0.0, 1.0, "right"))
    kind: ClassVar[str] = "shrinking"


@dataclass(frozen=True)
class AvpUpdate(Update):
    """Add (x, step y / sqrt(1 + damping M)) when y f(x) < 1 - epsilon.

    M counts the rounds with y f(x) <= 0 (Ahpatron paper, algorithm 1 and, with damping = 1/U^2,
    corollary 2).

    Parameters
    ----------
    step : float
        Coef of a new example.
    epsilon : float in (0, 1)
        A row is learned when y f(x) < 1 - epsilon.
    damping : float
        How fast steps shrink with the mistakes; 0: they do not.

    Examples
    --------
    >>> from budgetron.parts import AvpUpdate
    >>> AvpUpdate()
    AvpUpdate(step=1.0, epsilon=0.75, damping=0.0)
    """

    step: float = parameter(1.0, POSITIVE)
    epsilon: float = parameter(0.75, Numbers(0.0, 1.0))
    damping: float = parameter(0.0, NOT_NEGATIVE)
    kind: ClassVar[str] = "avp"


@dataclass(frozen=True)
class AlmaUpdate(Update):
    """Add (x, y C/sqrt(k j)) when y f(x) <= (1 - alpha) margin sqrt(k/j), the j-th update.

    k = k(x, x). ALMA is this within a radius of 1 (Gentile 2001, p = 2).

    Parameters
    ----------
    alpha : float in (0, 1]
        How far from the largest margin it may end; 1 updates on mistakes only.
    C : float
        Coef of the first example; that of the j-th is C / sqrt(j), by the length of k(x, .).
    margin : float
        Scale of the required margin (the paper's B).

    Examples
    --------
    >>> from budgetron.parts import AlmaUpdate
    >>> AlmaUpdate()
    AlmaUpdate(alpha=0.9, C=1.4142135623730951, margin=3.1426968052735447)
    """

    alpha: float = parameter(0.9, Numbers(0.0, 1.0, "right"))
    C: float = parameter(sqrt(2), POSITIVE)
    margin: float = parameter(sqrt(8) / 0.9, POSITIVE)
    kind: ClassVar[str] = "alma"
    need: ClassVar[Need | None] = Need("definite", "it divides by the length sqrt(k(x, x))")


@dataclass(frozen=True)
class PassiveAggressiveUpdate(Update):
    """Add (x, tau y) if there is hinge loss l: as much as removes it, softened by C.

    tau = min(C, l/k(x, x)) ("I") or l/(k(x, x) + 1/(2C)) ("II") (Crammer et al. 2006).

    Parameters
    ----------
    C : float
        Aggressiveness: the larger, the less a step is softened.
    variant : {"I", "II"}
        How a step is softened: cut off at C, or damped by 1/(2C).

    Examples
    --------
    >>> from budgetron.parts import PassiveAggressiveUpdate
    >>> PassiveAggressiveUpdate()
    PassiveAggressiveUpdate(C=1.0, variant='I')
    """

    C: float = parameter(1.0, POSITIVE)
    variant: str = parameter("I", OneOf("I", "II"))
    kind: ClassVar[str] = "passive-aggressive"


@dataclass(frozen=True)
class GradientUpdate(Update):
    """Multiply f by 1 - step * regularization; add (x, -step * slope * y) if there is a slope.

    Kivinen, Smola & Williamson 2004.

    Parameters
    ----------
    step : float
        Size of a step.
    regularization : float
        Weight of the norm of f in the objective (lambda).
    loss : Part
        The loss, from `budgetron.parts`.

    Examples
    --------
    >>> from budgetron.parts import GradientUpdate
    >>> GradientUpdate()
    GradientUpdate(step=0.5, regularization=0.0, loss=Hinge())
    """

    step: float = parameter(0.5, POSITIVE)
    regularization: float = parameter(0.0, NOT_NEGATIVE)
    loss: Part = parameter(Hinge(), PartOf(LOSSES))
    kind: ClassVar[str] = "gradient"

    def check_together(self) -> None:
        """Raise BudgetronError if the decay is not above 0."""
        if self.step * self.regularization >= 1:
            raise BudgetronError(
                f"step={self.step} and regularization={self.regularization} would wipe out f in "
                "every round: step * regularization must be below 1"
            )


@dataclass(frozen=True)
class PegasosUpdate(Update):
    """The gradient update, step 1/(regularization t) in round t (Shalev-Shwartz et al. 2011).

    Parameters
    ----------
    regularization : float
        Weight of the norm of f in the objective (lambda).
    loss : Part
        The loss, from `budgetron.parts`.

    Examples
    --------
    >>> from budgetron.parts import PegasosUpdate
    >>> PegasosUpdate()
    PegasosUpdate(regularization=0.0001, loss=Hinge())
    """

    regularization: float = parameter(1e-4, POSITIVE)
    loss: Part = parameter(Hinge(), PartOf(LOSSES))
    kind: ClassVar[str] = "pegasos"


@dataclass(frozen=True)
class TubeUpdate(RegressionUpdate):
    """Add (x, step sign(e)) when the error e = target - f(x) has abs(e) > epsilon: regression.

    Parameters
    ----------
    step : float
        Size of a step.
    epsilon : float
        Errors up to this cost nothing.

    Examples
    --------
    >>> from budgetron.parts import TubeUpdate
    >>> TubeUpdate()
    TubeUpdate(step=0.1, epsilon=0.1)
    """

    step: float = parameter(0.1, POSITIVE)
    epsilon: float = parameter(0.1, NOT_NEGATIVE)
    kind: ClassVar[str] = "tube"


@dataclass(frozen=True)
class TubePassiveAggressiveUpdate(RegressionUpdate):
    """The passive-aggressive update of regression: l = abs(e) - epsilon, sign(e) for y.

    Parameters
    ----------
    C : float
        Aggressiveness: the larger, the less a step is softened.
    variant : {"I", "II"}
        How a step is softened: cut off at C, or damped by 1/(2C).
    epsilon : float
        Errors up to this cost nothing.

    Examples
    --------
    >>> from budgetron.parts import TubePassiveAggressiveUpdate
    >>> TubePassiveAggressiveUpdate()
    TubePassiveAggressiveUpdate(C=1.0, variant='I', epsilon=0.1)
    """

    C: float = parameter(PassiveAggressiveUpdate.C, POSITIVE)
    variant: str = parameter(PassiveAggressiveUpdate.variant, OneOf("I", "II"))
    epsilon: float = parameter(TubeUpdate.epsilon, NOT_NEGATIVE)
    kind: ClassVar[str] = "tube-passive-aggressive"


UPDATES = family(Update)
REGRESSION_UPDATES = family(RegressionUpdate)
