"""Online gradient descent with a kernel."""

from __future__ import annotations

from dataclasses import dataclass

from budgetron.estimators._base.gradient import GradientClassifier, GradientRegressor
from budgetron.estimators._base.parameters import of
from budgetron.parts import GradientUpdate, Learner, Part, Round


@dataclass(eq=False, repr=False, kw_only=True)
class OGDClassifier(GradientClassifier):
    """OGD: gradient steps on the loss; every step stores its example.

    The unbounded reference of BOGD, FOGD and NOGD.

    Parameters
    ----------
    step : float
        Step size (eta).
    regularization : float
        f decays by 1 - step * regularization per round (lambda); the product must be below 1.

    References
    ----------
    Kivinen, Smola and Williamson, "Online learning with kernels", IEEE Transactions on Signal
    Processing 2004.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import OGDClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = OGDClassifier().partial_fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (24, 125)
    """

    step: float = of(GradientUpdate, "step")
    regularization: float = of(GradientUpdate, "regularization")

    def _machine(self, kernel: Part) -> Learner:
        return Round(kernel, GradientUpdate(self.step, self.regularization, self._loss()))


@dataclass(eq=False, repr=False, kw_only=True)
class OGDRegressor(GradientRegressor):
    """OGD for regression: gradient steps on the loss; every step stores its example.

    Parameters
    ----------
    regularization : float
        f decays by 1 - step * regularization per round (lambda); the product must be below 1.

    References
    ----------
    Kivinen, Smola and Williamson, "Online learning with kernels", IEEE Transactions on Signal
    Processing 2004.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from budgetron import OGDRegressor
    >>> X, y = make_friedman1(1000, n_features=5, random_state=0)
    >>> model = OGDRegressor().partial_fit(X, y)
    >>> model.n_support_, round(model.score(X, y), 2)
    (765, 0.89)
    """

    regularization: float = of(GradientUpdate, "regularization")

    def _machine(self, kernel: Part) -> Learner:
        return Round(kernel, GradientUpdate(self.step, self.regularization, self._loss()))
