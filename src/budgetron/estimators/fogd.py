"""FOGD."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from budgetron.estimators._base.estimator import OnlineEstimator
from budgetron.estimators._base.gradient import GradientClassifier, GradientRegressor
from budgetron.estimators._base.parameters import BYTES, of
from budgetron.parts import Fogd, Learner, Part


@dataclass(eq=False, repr=False, kw_only=True)
class FourierDescent(OnlineEstimator):
    """The base of FOGD's classifier and regressor.

    Parameters
    ----------
    n_components : int or str
        Number of random frequencies (D). Text such as "256KB" is the size of the whole model in
        bytes instead (``budget_``: the resulting number of frequencies).
    step : float
        Step size of the gradient descent (eta), for features of length 1. For published steps on
        features without the factor 1/sqrt(D), multiply by D.
    kernel : {"rbf", "laplacian"}
        Must have a spectral density.
    degree, coef0 : int, float
        Not used.
    random_state : int, RandomState instance or None
        Seed of the frequencies. Those of a feature depend on the seed and the feature's number,
        not on when it first occurs. None is 0.
    """

    n_components: Any = of(Fogd, "n_components", BYTES)

    _stores_examples: ClassVar[bool] = False
    _budget_name: ClassVar[str] = "n_components"

    def _machine(self: Any, kernel: Part) -> Learner:
        return Fogd(kernel, int(self.n_components), float(self.step), self._loss(), self._seed)


@dataclass(eq=False, repr=False, kw_only=True)
class FOGDClassifier(FourierDescent, GradientClassifier):
    """FOGD: gradient descent on random Fourier features of the kernel.

    Stores no examples. It learns the weights of ``2 * n_components`` features, cosines and sines of
    random frequencies, whose inner product approaches the kernel as their number grows. So
    ``n_support_`` is 0, and ``support_vectors_`` and ``dual_coef_`` are empty; ``memory_bytes_`` is
    the size of frequencies and weights.

    References
    ----------
    Lu, Hoi, Wang, Zhao and Liu, "Large Scale Online Kernel Learning", JMLR 17, 2016.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import FOGDClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = FOGDClassifier(n_components=50, random_state=0).partial_fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (30, 0)
    """

    step: float = of(Fogd, "step")


@dataclass(eq=False, repr=False, kw_only=True)
class FOGDRegressor(FourierDescent, GradientRegressor):
    """FOGD for regression: gradient descent on random Fourier features of the kernel.

    Stores no examples, like FOGDClassifier: ``n_support_`` is 0.

    References
    ----------
    Lu, Hoi, Wang, Zhao and Liu, "Large Scale Online Kernel Learning", JMLR 17, 2016.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from budgetron import FOGDRegressor
    >>> X, y = make_friedman1(1000, n_features=5, random_state=0)
    >>> model = FOGDRegressor(n_components=100, random_state=0).partial_fit(X, y)
    >>> model.n_support_, round(model.score(X, y), 2)
    (0, 0.86)
    """
