"""POMDR."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Any

from budgetron.estimators._base.classifier import OnlineClassifier
from budgetron.estimators._base.parameters import BYTES, of
from budgetron.parts import Learner, Part, Pomdr
from budgetron.parts.ranges import SIZE, parameter


@dataclass(eq=False, repr=False, kw_only=True)
class POMDRClassifier(OnlineClassifier):
    """POMDR: optimistic mirror descent that halves its support.

    Decides by f plus a guess of its next step, made from the last rows; the errors of the guesses
    set the size of the steps. When the budget is full, the younger half of the stored examples
    gives its coefs to the nearest examples of the older half.

    Parameters
    ----------
    budget : int or str
        Largest number of stored examples (B), at least 2. It is reached only within a round:
        the example that would be number B makes room for B/2. Text such as "256KB" is the size
        of the whole model in bytes instead (``budget_``: the resulting number of examples).
    radius : float
        Norm ball (U), which also scales the steps.
    window : int
        Number of last rows that the guess uses (M). They are kept beside the budget.
    horizon : int or None
        Expected number of rows (T). It sets the length of the first phase, in which rows near
        the span of the stored examples are projected: until 10 log T examples are stored, and
        within T^(-1/2); None is B/4 and 0.01.
    kernel : {"rbf", "laplacian", "poly", "linear"}

    References
    ----------
    Li and Liao, "Improved kernel alignment regret bound for online kernel learning", AAAI 2023.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import POMDRClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = POMDRClassifier(budget=20).partial_fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (19, 15)
    """

    budget: Any = of(Pomdr, "size", BYTES)
    radius: float = of(Pomdr, "radius")
    window: int = of(Pomdr, "window")
    horizon: int | None = parameter(None, SIZE, None)

    def _machine(self, kernel: Part) -> Learner:
        budget, horizon = self.budget, self.horizon
        first, near = max(1, budget // 4), Pomdr.near
        if horizon is not None:
            first, near = max(1, min(round(10 * log(horizon)), budget - 1)), horizon**-0.5
        return Pomdr(
            kernel,
            size=int(budget),
            radius=float(self.radius),
            window=int(self.window),
            first=int(first),
            near=near,
        )
