"""Learners that descend a loss: which one, for classification and for regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from budgetron.estimators import recipes
from budgetron.estimators._base.classifier import OnlineClassifier
from budgetron.estimators._base.ranges import ranges, regression_ranges
from budgetron.estimators._base.regressor import TubeRegressor
from budgetron.parts import Hinge, Part, SmoothHinge, Squared, TubeUpdate


@dataclass(eq=False, repr=False, kw_only=True)
class GradientClassifier(OnlineClassifier):
    """A classifier that descends a loss.

    Parameters
    ----------
    loss : {"hinge", "smooth-hinge", "logistic"}
    tau : float
        Width over which the smooth hinge rounds its kink.
    """

    loss: str = Hinge.kind
    tau: float = SmoothHinge.tau

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineClassifier._parameter_constraints,
        **ranges("loss", "tau"),
    }

    def _loss(self) -> Part:
        return recipes.loss_part(self.loss, self.tau)


@dataclass(eq=False, repr=False, kw_only=True)
class GradientRegressor(TubeRegressor):
    """A regressor that descends a loss.

    Parameters
    ----------
    step : float
        Step size (eta).
    loss : {"squared", "absolute", "epsilon-insensitive"}
        Moves f by the error beyond epsilon, by the error's sign always, or by its sign beyond
        epsilon.
    epsilon : float
        Errors up to this size are left alone, but by the absolute loss.
    """

    step: float = TubeUpdate.step
    loss: str = Squared.kind

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TubeRegressor._parameter_constraints,
        **regression_ranges("step", "loss"),
    }

    def _loss(self) -> Part:
        return recipes.regression_loss(self.loss, self.epsilon)
