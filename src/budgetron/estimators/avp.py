"""AVP, the aggressive variant of the Perceptron."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from budgetron.errors import BudgetronError
from budgetron.estimators._base.classifier import OnlineClassifier
from budgetron.estimators._base.parameters import of
from budgetron.parts import AvpUpdate, Learner, Part, Round
from budgetron.parts.ranges import OneOf


@dataclass(eq=False, repr=False, kw_only=True)
class AVPClassifier(OnlineClassifier):
    """AVP: a Perceptron that also learns from margins below 1 - epsilon, within a norm ball.

    Stores examples without limit; Ahpatron is AVP on a budget.

    Parameters
    ----------
    step : float or "adaptive"
        Coef of a new example (lambda_t); "adaptive" is U/sqrt(U^2 + mistakes so far), which needs a
        finite radius.
    epsilon : float in (0, 1)
        How aggressive: an example is stored when y f(x) < 1 - epsilon.
    radius : float
        Norm ball (U). A finite one needs a positive definite kernel, so not the sigmoid.

    References
    ----------
    Liao, Li, Liao, Hu and Dang, "Ahpatron: A New Budgeted Online Kernel Learning Machine with
    Tighter Mistake Bound", AAAI 2024, algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import AVPClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = AVPClassifier().partial_fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (27, 49)
    """

    step: float | str = of(AvpUpdate, "step", OneOf("adaptive"))
    epsilon: float = of(AvpUpdate, "epsilon")
    radius: float = of(Round, "radius")

    def _machine(self, kernel: Part) -> Learner:
        step, radius = self.step, self.radius
        if not isinstance(step, str):
            return Round(kernel, AvpUpdate(step, self.epsilon), radius=radius)
        if not isfinite(radius):
            raise BudgetronError(f"step={step!r} needs a finite radius, got radius={radius}")
        return Round(kernel, AvpUpdate(1.0, self.epsilon, damping=radius**-2), radius=radius)
