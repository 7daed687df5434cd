"""NOGD."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from budgetron.errors import BudgetronError
from budgetron.estimators._base.estimator import OnlineEstimator
from budgetron.estimators._base.gradient import GradientClassifier, GradientRegressor
from budgetron.estimators._base.parameters import BYTES, of
from budgetron.parts import Learner, Nogd, Part


@dataclass(eq=False, repr=False, kw_only=True)
class NystromDescent(OnlineEstimator):
    """The base of NOGD's classifier and regressor.

    Parameters
    ----------
    budget : int or str
        Number of landmarks (B). Text such as "256KB" is the size of the whole model in bytes
        instead (``budget_``: the resulting number of landmarks).
    rank : int or None
        Number of eigenvalues kept, at most ``budget``; None is a fifth of it, at least 1.
    step : float
        Step size of the gradient descent (eta).
    kernel : {"rbf", "laplacian", "poly", "linear"}
    """

    budget: Any = of(Nogd, "budget", BYTES)
    rank: int | None = of(Nogd, "rank", None, default=None)

    @property
    def _least_budget(self) -> int:
        return self.rank or 1

    def _machine(self: Any, kernel: Part) -> Learner:
        rank, budget = self.rank, self.budget
        if rank is not None and rank > budget:
            raise BudgetronError(
                f"rank={rank} is more than the budget={budget}; rank must be at most budget"
            )
        kept = max(1, budget // 5) if rank is None else int(rank)
        return Nogd(kernel, kept, int(budget), float(self.step), self._loss())


@dataclass(eq=False, repr=False, kw_only=True)
class NOGDClassifier(NystromDescent, GradientClassifier):
    """NOGD: gradient descent on Nystrom features of the first examples with loss.

    The first ``budget`` examples with loss are stored and learned by gradient descent. From then on
    they are landmarks: the model is linear in the ``rank`` leading directions of their kernel
    matrix. It stays an expansion over them with the coefs ``dual_coef_``.

    References
    ----------
    Lu, Hoi, Wang, Zhao and Liu, "Large Scale Online Kernel Learning", JMLR 17, 2016.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import NOGDClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = NOGDClassifier(budget=20, rank=10).partial_fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (24, 20)
    """

    step: float = of(Nogd, "step")


@dataclass(eq=False, repr=False, kw_only=True)
class NOGDRegressor(NystromDescent, GradientRegressor):
    """NOGD for regression: gradient descent on Nystrom features of the first examples with loss.

    References
    ----------
    Lu, Hoi, Wang, Zhao and Liu, "Large Scale Online Kernel Learning", JMLR 17, 2016.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from budgetron import NOGDRegressor
    >>> X, y = make_friedman1(1000, n_features=5, random_state=0)
    >>> model = NOGDRegressor(rank=50).partial_fit(X, y)
    >>> model.n_support_, round(model.score(X, y), 2)
    (100, 0.88)
    """
