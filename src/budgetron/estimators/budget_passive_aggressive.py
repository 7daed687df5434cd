"""BPA-S: passive-aggressive learning on a budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from budgetron.estimators._base.classifier import OnlineClassifier
from budgetron.estimators._base.parameters import BYTES, of
from budgetron.parts import Absorb, Learner, Part, PassiveAggressiveUpdate, Round


@dataclass(eq=False, repr=False, kw_only=True)
class BudgetPassiveAggressiveClassifier(OnlineClassifier):
    """BPA-S: PA-I in which a new example takes over what it can of the example it replaces.

    It costs one kernel row per round; usually the best of the learners that only replace.

    Parameters
    ----------
    C : float
        Largest step; use a smaller one for noisy labels.
    kernel : {"rbf", "laplacian", "poly", "linear"}

    References
    ----------
    Wang and Vucetic, "Online passive-aggressive algorithms on a budget", AISTATS 2010.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import BudgetPassiveAggressiveClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = BudgetPassiveAggressiveClassifier(budget=10).partial_fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (44, 10)
    """

    C: float = of(PassiveAggressiveUpdate, "C")
    budget: Any = of(Absorb, "size", BYTES)

    def _machine(self, kernel: Part) -> Learner:
        return Round(kernel, PassiveAggressiveUpdate(self.C, "I"), Absorb(self.budget))
