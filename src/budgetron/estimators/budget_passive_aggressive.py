"""BPA-S: passive-aggressive learning on a budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from budgetron import recipes
from budgetron.estimators.classifier import OnlineClassifier
from budgetron.estimators.ranges import ranges
from budgetron.parts import Absorb, Part, PassiveAggressiveUpdate


@dataclass(eq=False, repr=False, kw_only=True)
class BudgetPassiveAggressiveClassifier(OnlineClassifier):
    """BPA-S: PA-I where a newcomer takes over what it can of the example it replaces.

    One kernel row a round does it all; of the learners that only replace usually the best.

    Parameters
    ----------
    C : float, default 1.0
        Largest step; lower it on noisy labels.
    budget : int or str, default 100
        Largest number of stored examples (B).
        Text as "256KB" is the bytes of the whole model instead (``budget_``: how many that are).
    kernel : {"rbf", "laplacian", "poly", "linear"}, default "rbf"
    gamma : float, "auto" or "median", default "auto"
        Width of the kernel; "auto" is 1 / number of features, "median" 1 / median squared
        distance between the first 200 rows.
    degree, coef0 : int, float
        Of the polynomial kernel.
    scale : {None, "standard", "auto"}, default None
        "standard" divides features by their running standard deviations; "auto" does if the first
        200 rows need it.
    average : {"last", "mean", "suffix"}, default "last"
        What ``predict`` answers with: the last hypothesis, the mean of all, or the mean of about
        the last half. Examples that left take their share of the mean with them.
    n_epochs, shuffle : int, bool, default 1 and False
        How often ``fit`` goes over the rows, and whether in a new random order each time.
    n_jobs : int or None, default None
        Threads of ``predict`` on many rows; None is 1, -1 all processors.
    class_weight : dict, "balanced" or None, default None
        Weight of each class's rows. "balanced" gives row t n_t / (K_t n_{y,t}): the rows and
        classes so far, and the rows of its class, itself included.
    random_state : int, RandomState instance or None, default None
        Seed of the model's generator; this learner draws nothing.

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
