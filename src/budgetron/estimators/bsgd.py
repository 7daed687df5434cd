"""BSGD: budgeted stochastic gradient descent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from budgetron.estimators._base.gradient import GradientClassifier
from budgetron.estimators._base.parameters import BYTES, of
from budgetron.parts import (
    Learner,
    Merge,
    Part,
    PegasosUpdate,
    ProjectSmallest,
    RemoveSmallest,
    Round,
)
from budgetron.parts.ranges import OneOf, parameter

# The part for each value of maintenance=.
MAINTENANCE = {"remove": RemoveSmallest, "project": ProjectSmallest, "merge": Merge}


@dataclass(eq=False, repr=False, kw_only=True)
class BSGDClassifier(GradientClassifier):
    """BSGD: Pegasos that makes room with the example whose removal changes f least.

    ``maintenance`` says what happens to the example with the least abs(a_i) sqrt(k(x_i, x_i)).

    Parameters
    ----------
    regularization : float
        Weight of the norm (lambda), above 0.
    maintenance : {"remove", "project", "merge"}
        "remove": it is dropped; "project": it is projected onto the span of the others; "merge"
        (Gaussian kernel only): it is merged with the example of its sign that costs least.
    kernel : {"rbf", "laplacian", "poly", "linear"}

    References
    ----------
    Wang, Crammer and Vucetic, "Breaking the curse of kernelization: budgeted stochastic gradient
    descent for large-scale SVM training", JMLR 2012.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import BSGDClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = BSGDClassifier(budget=10).partial_fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (116, 10)
    """

    budget: Any = of(RemoveSmallest, "size", BYTES)
    regularization: float = of(PegasosUpdate, "regularization")
    maintenance: str = parameter("remove", OneOf(*MAINTENANCE))

    def _machine(self, kernel: Part) -> Learner:
        update = PegasosUpdate(self.regularization, self._loss())
        return Round(kernel, update, MAINTENANCE[self.maintenance](size=self.budget))
