"""Pegasos with a kernel."""

from __future__ import annotations

from dataclasses import dataclass

from budgetron.estimators._base.gradient import GradientClassifier
from budgetron.estimators._base.parameters import of
from budgetron.parts import Learner, Part, PegasosUpdate, Round


@dataclass(eq=False, repr=False, kw_only=True)
class PegasosClassifier(GradientClassifier):
    """Pegasos: gradient steps of 1/(lambda t) on the regularised loss, stored without limit.

    Converges to the support vector machine with that regularization.

    Parameters
    ----------
    regularization : float
        Weight of the norm (lambda), above 0.

    References
    ----------
    Shalev-Shwartz, Singer, Srebro and Cotter, "Pegasos: primal estimated sub-gradient solver for
    SVM", Mathematical Programming 2011.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import PegasosClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = PegasosClassifier().partial_fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (36, 36)
    """

    regularization: float = of(PegasosUpdate, "regularization")

    def _machine(self, kernel: Part) -> Learner:
        return Round(kernel, PegasosUpdate(self.regularization, self._loss()))
