"""AVP, the aggressive variant of the Perceptron."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sklearn.utils._param_validation import StrOptions

from budgetron.estimators import recipes
from budgetron.estimators._base.classifier import OnlineClassifier
from budgetron.estimators._base.ranges import RANGES, ranges
from budgetron.parts import AvpUpdate, Part, Round


@dataclass(eq=False, repr=False, kw_only=True)
class AVPClassifier(OnlineClassifier):
    """AVP: a Perceptron that also learns from margins below 1 - epsilon, within a norm ball.

    Stores without limit; Ahpatron is this on a budget.

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
    >>> model = AVPClassifier(gamma=1.0).fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (19, 37)
    """

    step: float | str = AvpUpdate.step
    epsilon: float = AvpUpdate.epsilon
    radius: float = Round.radius

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineClassifier._parameter_constraints,
        **ranges("epsilon", "radius"),
        "step": [*RANGES["step"], StrOptions({"adaptive"})],
    }

    def _machine(self, kernel: Part) -> Part:
        return recipes.avp(
            kernel,
            step=self.step,
            epsilon=self.epsilon,
            radius=self.radius,
        )
