"""Updates: when f moves, and by how much. They see numbers only, so each goes with every budget."""

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
    """Add (x, y) when y f(x) <= 0 (Rosenblatt 1958; Freund & Schapire 1999)."""

    kind: ClassVar[str] = "perceptron"


@dataclass(frozen=True)
class ShrinkingUpdate(Update):
    """Add (x, y) when y f(x) <= 0, then multiply f by `shrink` (Forgetron paper, section 4)."""

    shrink: float = parameter(0.99, Numbers(0.0, 1.0, "right"))
    kind: ClassVar[str] = "shrinking"


@dataclass(frozen=True)
class AvpUpdate(Update):
    """Add (x, step y / sqrt(1 + damping M)) when y f(x) < 1 - epsilon.

    M counts the rounds with y f(x) <= 0 (Ahpatron paper, algorithm 1 and, with damping = 1/U^2,
    corollary 2).
    """

    step: float = parameter(1.0, POSITIVE)
    epsilon: float = parameter(0.75, Numbers(0.0, 1.0))
    damping: float = parameter(0.0, NOT_NEGATIVE)
    kind: ClassVar[str] = "avp"


@dataclass(frozen=True)
class AlmaUpdate(Update):
    """Add (x, y C/sqrt(k j)) when y f(x) <= (1 - alpha) margin sqrt(k/j), the j-th update.

    k = k(x, x). ALMA is this within a radius of 1 (Gentile 2001, p = 2).
    """

    alpha: float = parameter(0.9, Numbers(0.0, 1.0, "right"))
    C: float = parameter(sqrt(2), POSITIVE)
    margin: float = parameter(sqrt(8) / 0.9, POSITIVE)
    kind: ClassVar[str] = "alma"
    need: ClassVar[Need | None] = Need("definite", "it divides by the length sqrt(k(x, x))")


@dataclass(frozen=True)
class PassiveAggressiveUpdate(Update):
    """Add (x, tau y) where there is hinge loss l: as much as removes it, softened by C.

    tau = min(C, l/k(x, x)) ("I") or l/(k(x, x) + 1/(2C)) ("II") (Crammer et al. 2006).
    """

    C: float = parameter(1.0, POSITIVE)
    variant: str = parameter("I", OneOf("I", "II"))
    kind: ClassVar[str] = "passive-aggressive"


@dataclass(frozen=True)
class GradientUpdate(Update):
    """Multiply f by 1 - step * regularization and add (x, -step * slope * y) where it has slope.

    Kivinen, Smola & Williamson 2004.
    """

    step: float = parameter(0.5, POSITIVE)
    regularization: float = parameter(0.0, NOT_NEGATIVE)
    loss: Part = parameter(Hinge(), PartOf(LOSSES))
    kind: ClassVar[str] = "gradient"

    def check_together(self) -> None:
        """Raise BudgetronError where the decay is not above 0."""
        if self.step * self.regularization >= 1:
            raise BudgetronError(
                f"step={self.step} and regularization={self.regularization} would wipe out f in "
                "every round: step * regularization must be below 1"
            )


@dataclass(frozen=True)
class PegasosUpdate(Update):
    """The gradient update, step 1/(regularization t) in round t (Shalev-Shwartz et al. 2011)."""

    regularization: float = parameter(1e-4, POSITIVE)
    loss: Part = parameter(Hinge(), PartOf(LOSSES))
    kind: ClassVar[str] = "pegasos"


@dataclass(frozen=True)
class TubeUpdate(RegressionUpdate):
    """Add (x, step sign(e)) when the error e = target - f(x) has abs(e) > epsilon: regression."""

    step: float = parameter(0.1, POSITIVE)
    epsilon: float = parameter(0.1, NOT_NEGATIVE)
    kind: ClassVar[str] = "tube"


@dataclass(frozen=True)
class TubePassiveAggressiveUpdate(RegressionUpdate):
    """The passive-aggressive update of regression: l = abs(e) - epsilon, sign(e) for y."""

    C: float = parameter(PassiveAggressiveUpdate.C, POSITIVE)
    variant: str = parameter(PassiveAggressiveUpdate.variant, OneOf("I", "II"))
    epsilon: float = parameter(TubeUpdate.epsilon, NOT_NEGATIVE)
    kind: ClassVar[str] = "tube-passive-aggressive"


UPDATES = family(Update)
REGRESSION_UPDATES = family(RegressionUpdate)
