"""Ahpatron."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from budgetron.estimators import recipes
from budgetron.estimators._base.classifier import OnlineClassifier
from budgetron.estimators._base.ranges import HALVED_BUDGET, RANGES, ranges
from budgetron.parts import Halve, Part


@dataclass(eq=False, repr=False, kw_only=True)
class AhpatronClassifier(OnlineClassifier):
    """Ahpatron: an aggressive Perceptron that halves its budget and projects what it drops.

    Stores every example with margin below ``1 - epsilon``. When the budget is full, the half with
    the smallest coefs is projected onto the other half and dropped.

    Parameters
    ----------
    budget : int or str
        Largest number of stored examples (B), at least 2.
        Text as "256KB" is the bytes of the whole model instead (``budget_``: how many that are).
    epsilon : float in (0, 1)
        How aggressive: an example is stored when y f(x) < 1 - epsilon.
    radius : float or None
        Norm ball (U); None is sqrt(B)/2.
    step : float or None
        Coef of a new example (lambda); None is radius / sqrt(4 B).
    ridge : float
        Regularisation of the projection (eta).
    norm : "keep" or float in (0, 1]
        Norm after halving: as before, or this multiple of the radius (c_t).
    kernel : {"rbf", "laplacian", "poly", "linear"}

    References
    ----------
    Liao, Li, Liao, Hu and Dang, "Ahpatron: A New Budgeted Online Kernel Learning Machine with
    Tighter Mistake Bound", AAAI 2024.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import AhpatronClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = AhpatronClassifier(budget=10, gamma=1.0).fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (98, 8)
    """

    budget: Any = Halve.size
    epsilon: float = 0.5
    radius: float | None = None
    step: float | None = None
    ridge: float = Halve.ridge
    norm: float | str = "keep"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineClassifier._parameter_constraints,
        **ranges("epsilon", "ridge"),
        "budget": HALVED_BUDGET,
        "radius": [Interval(Real, 0.0, None, closed="neither"), None],
        "step": [*RANGES["step"], None],
        "norm": [Interval(Real, 0.0, 1.0, closed="right"), StrOptions({"keep"})],
    }

    @property
    def _least_budget(self) -> int:
        return 2

    def _machine(self, kernel: Part) -> Part:
        return recipes.ahpatron(
            kernel,
            budget=self.budget,
            epsilon=self.epsilon,
            radius=self.radius,
            step=self.step,
            ridge=self.ridge,
            norm=self.norm,
        )
