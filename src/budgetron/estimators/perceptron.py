"""The kernel Perceptron."""

from __future__ import annotations

from dataclasses import dataclass

from budgetron.estimators._base.classifier import OnlineClassifier
from budgetron.parts import Learner, Part, PerceptronUpdate, Round


@dataclass(eq=False, repr=False, kw_only=True)
class PerceptronClassifier(OnlineClassifier):
    """Perceptron: every mistake is stored, without limit.

    The reference of all budgeted learners; memory grows with the mistakes.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import PerceptronClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = PerceptronClassifier().partial_fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (32, 28)
    """

    def _machine(self, kernel: Part) -> Learner:
        return Round(kernel, PerceptronUpdate())
