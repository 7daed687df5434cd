"""Learners that minimise a loss by gradient descent, for classification and regression."""

from __future__ import annotations

from dataclasses import dataclass

from budgetron.estimators._base.classifier import OnlineClassifier
from budgetron.estimators._base.parameters import of
from budgetron.estimators._base.regressor import TubeRegressor
from budgetron.parts import (
    LOSSES,
    REGRESSION_LOSSES,
    Absolute,
    Hinge,
    Part,
    SmoothHinge,
    Squared,
    TubeUpdate,
)
from budgetron.parts.ranges import OneOf, parameter

REGRESSION_LOSS = OneOf(*(part.kind for part in REGRESSION_LOSSES))


def regression_loss(loss: str, epsilon: float) -> Part:
    """The loss of this name; all except the absolute loss have an epsilon."""
    part = {part.kind: part for part in REGRESSION_LOSSES}[loss]
    return Absolute() if part is Absolute else part().set_params(epsilon=float(epsilon))


@dataclass(eq=False, repr=False, kw_only=True)
class GradientClassifier(OnlineClassifier):
    """A classifier that minimises a loss.

    Parameters
    ----------
    loss : {"hinge", "smooth-hinge", "logistic"}
        The loss of the margin y f(x) that a step descends.
    tau : float
        Width over which the smooth hinge rounds its kink.
    """

    loss: str = parameter(Hinge.kind, OneOf(*(part.kind for part in LOSSES)))
    tau: float = of(SmoothHinge, "tau")

    def _loss(self) -> Part:
        part = {part.kind: part for part in LOSSES}[self.loss]
        return SmoothHinge(self.tau) if part is SmoothHinge else part()


@dataclass(eq=False, repr=False, kw_only=True)
class GradientRegressor(TubeRegressor):
    """A regressor that minimises a loss.

    Parameters
    ----------
    step : float
        Step size (eta); for losses that move f by the sign of the error, in units of the
        targets' deviation (``target_scale``).
    loss : {"squared", "absolute", "epsilon-insensitive"}
        Moves f by the error beyond epsilon, always by the sign of the error, or by its sign
        beyond epsilon.
    epsilon : float
        Smaller errors do not change f, except with the absolute loss; in units of the targets'
        deviation (``target_scale``).
    """

    step: float = of(TubeUpdate, "step")
    loss: str = parameter(Squared.kind, REGRESSION_LOSS)

    def _loss(self) -> Part:
        return regression_loss(self.loss, self.epsilon)
