"""The Shrinking Perceptron."""

from __future__ import annotations

from dataclasses import dataclass

from budgetron.estimators._base.classifier import OnlineClassifier
from budgetron.estimators._base.parameters import of
from budgetron.parts import Learner, Part, Round, ShrinkingUpdate


@dataclass(eq=False, repr=False, kw_only=True)
class ShrinkingPerceptronClassifier(OnlineClassifier):
    """Perceptron that shrinks f with every mistake, so that old examples fade.

    No example leaves: memory grows with the mistakes. The first step of the Forgetron.

    Parameters
    ----------
    shrink : float in (0, 1]
        Factor of f after each mistake (phi).

    References
    ----------
    Dekel, Shalev-Shwartz and Singer, "The Forgetron: a kernel-based Perceptron on a budget", SIAM
    Journal on Computing 2008, section 4.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import ShrinkingPerceptronClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = ShrinkingPerceptronClassifier().partial_fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (33, 26)
    """

    shrink: float = of(ShrinkingUpdate, "shrink")

    def _machine(self, kernel: Part) -> Learner:
        return Round(kernel, ShrinkingUpdate(self.shrink))
