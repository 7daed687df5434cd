"""BOGD and BOGD++: bounded online gradient descent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from budgetron.estimators._base.estimator import OnlineEstimator
from budgetron.estimators._base.gradient import GradientClassifier, GradientRegressor
from budgetron.estimators._base.parameters import BYTES, of
from budgetron.parts import GradientUpdate, Learner, Part, Round, Sample


@dataclass(eq=False, repr=False, kw_only=True)
class BoundedDescent(OnlineEstimator):
    """The base of BOGD's classifier and regressor.

    Parameters
    ----------
    regularization : float
        f decays by 1 - step * regularization per round (lambda); the product must be below 1.
    max_coef : float
        No coef exceeds max_coef * step (gamma).
    sampling : {"uniform", "nonuniform"}
        "nonuniform" (BOGD++): small coefs leave more often; not with the sigmoid kernel.
    """

    budget: Any = of(Sample, "size", BYTES)
    regularization: float = of(GradientUpdate, "regularization", default=1e-6)
    max_coef: float = of(Sample, "clip", default=1.0)
    sampling: str = of(Sample, "sampling")

    def _machine(self: Any, kernel: Part) -> Learner:
        return Round(
            kernel,
            GradientUpdate(self.step, self.regularization, self._loss()),
            Sample(self.budget, self.sampling, clip=self.max_coef * self.step),
        )


@dataclass(eq=False, repr=False, kw_only=True)
class BOGDClassifier(BoundedDescent, GradientClassifier):
    """BOGD: gradient descent that removes a random stored example to make room.

    The others grow by 1/(1 - p), so that on average f moves as without a budget.

    Parameters
    ----------
    step : float
        Step size (eta).

    References
    ----------
    Zhao, Wang, Wu, Jin and Hoi, "Fast bounded online gradient descent algorithms for scalable
    kernel-based online learning", ICML 2012.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import BOGDClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = BOGDClassifier(budget=10, random_state=0).partial_fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (159, 10)
    """

    step: float = of(GradientUpdate, "step")


@dataclass(eq=False, repr=False, kw_only=True)
class BOGDRegressor(BoundedDescent, GradientRegressor):
    """BOGD for regression: gradient descent that removes a random example to make room.

    The others grow by 1/(1 - p), so that on average f moves as without a budget.

    Parameters
    ----------
    max_coef : float
        No coef exceeds max_coef * step (gamma), in units of the targets' deviation
        (``target_scale``). Without a limit (inf) the other coefs may grow faster than their
        errors are corrected, and f diverges.

    References
    ----------
    Zhao, Wang, Wu, Jin and Hoi, "Fast bounded online gradient descent algorithms for scalable
    kernel-based online learning", ICML 2012; as a regressor in Le, Nguyen, Nguyen and Phung, JMLR
    2017, section 9.5.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from budgetron import BOGDRegressor
    >>> X, y = make_friedman1(1000, n_features=5, random_state=0)
    >>> model = BOGDRegressor(budget=400, random_state=0).partial_fit(X, y)
    >>> model.n_support_, round(model.score(X, y), 2)
    (400, 0.83)
    """

    # R^2 0.22: no coef exceeds 0.1, and 100 of the 200 rows have left.
    _poor_on_few_rows: ClassVar[bool] = True
