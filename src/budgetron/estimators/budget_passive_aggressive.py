"""BPA-S: passive-aggressive learning on a budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from budgetron.estimators import recipes
from budgetron.estimators._base.classifier import OnlineClassifier
from budgetron.estimators._base.ranges import ranges
from budgetron.parts import Absorb, Part, PassiveAggressiveUpdate


@dataclass(eq=False, repr=False, kw_only=True)
class BudgetPassiveAggressiveClassifier(OnlineClassifier):
    """BPA-S: PA-I where a newcomer takes over what it can of the example it replaces.

    One kernel row a round does it all; of the learners that only replace usually the best.

    Parameters
    ----------
    C : float
        Largest step; lower it on noisy labels.
    kernel : {"rbf", "laplacian", "poly", "linear"}

    References
    ----------
    Wang and Vucetic, "Online passive-aggressive algorithms on a budget", AISTATS 2010.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import BudgetPassiveAggressiveClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = BudgetPassiveAggressiveClassifier(budget=10, gamma=1.0).fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (55, 10)
    """

    C: float = PassiveAggressiveUpdate.C
    budget: Any = Absorb.size

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineClassifier._parameter_constraints,
        **ranges("C", "budget"),
    }

    def _machine(self, kernel: Part) -> Part:
        return recipes.budget_passive_aggressive(
            kernel,
            C=self.C,
            budget=self.budget,
        )
