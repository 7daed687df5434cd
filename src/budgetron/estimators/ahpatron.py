"""Ahpatron."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

from budgetron.estimators._base.classifier import OnlineClassifier
from budgetron.estimators._base.parameters import BYTES, of
from budgetron.parts import AvpUpdate, Halve, Learner, Part, Round
from budgetron.parts.ranges import POSITIVE, Numbers, OneOf, parameter


@dataclass(eq=False, repr=False, kw_only=True)
class AhpatronClassifier(OnlineClassifier):
    """Ahpatron: an aggressive Perceptron that halves its budget and projects what it drops.

    Stores every example with margin below ``1 - epsilon``. When the budget is full, the half with
    the smallest coefs is projected onto the other half and dropped.

    Parameters
    ----------
    budget : int or str
        Largest number of stored examples (B), at least 2. Text such as "256KB" is the size of
        the whole model in bytes instead (``budget_``: the resulting number of examples).
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
    >>> model = AhpatronClassifier(budget=10).partial_fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (102, 7)
    """

    budget: Any = of(Halve, "size", BYTES)
    epsilon: float = of(AvpUpdate, "epsilon", default=0.5)
    radius: float | None = parameter(None, POSITIVE, None)
    step: float | None = of(AvpUpdate, "step", None, default=None)
    ridge: float = of(Halve, "ridge")
    norm: float | str = parameter("keep", Numbers(0.0, 1.0, "right"), OneOf("keep"))

    def _machine(self, kernel: Part) -> Learner:
        U = sqrt(self.budget) / 2 if self.radius is None else float(self.radius)
        step = U / sqrt(4 * self.budget) if self.step is None else float(self.step)
        norm = 0.0 if isinstance(self.norm, str) else self.norm * U
        return Round(
            kernel,
            AvpUpdate(step, float(self.epsilon)),
            Halve(int(self.budget), float(self.ridge), norm),
            radius=U,
        )
