"""NOGD."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from budgetron import recipes
from budgetron.estimators.classifier import OnlineClassifier
from budgetron.parts import Hinge, Nogd, Part, SmoothHinge


@dataclass(eq=False, repr=False, kw_only=True)
class NOGDClassifier(OnlineClassifier):
    """NOGD: gradient descent on Nystrom features of the first examples with loss.

    The first ``budget`` examples with loss are stored and learned by gradient descent. From then on
    they are landmarks: the model is linear in the ``rank`` leading directions of their kernel
    matrix. It stays an expansion over them, and ``dual_coef_`` are its coefs.

    Parameters
    ----------
    budget : int, default 100
        Number of landmarks (B).
    rank : int or None, default None
        Number of eigenvalues kept, at most ``budget``; None is a fifth of it, at least 1.
    step : float, default 0.5
        Step size of the gradient descent (eta).
    loss : {"hinge", "smooth-hinge", "logistic"}, default "hinge"
    tau : float, default 0.5
        Width over which the smooth hinge rounds its kink.
    kernel : {"rbf", "laplacian", "poly", "linear"}, default "rbf"
    gamma : float or "auto", default "auto"
        Width of the kernel; "auto" is 1 / number of features.
    degree, coef0 : int, float
        Of the polynomial kernel.
    random_state : int, RandomState instance or None, default None
        Seed of the model's generator; this learner draws nothing.

    References
    ----------
    Lu, Hoi, Wang, Zhao and Liu, "Large Scale Online Kernel Learning", JMLR 17, 2016.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import NOGDClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = NOGDClassifier(budget=20, rank=10, gamma=1.0).fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (22, 20)
    """

    budget: int = Nogd.budget
    rank: int | None = None
    step: float = Nogd.step
    loss: str = Hinge.kind
    tau: float = SmoothHinge.tau

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineClassifier._parameter_constraints,
        "budget": [Interval(Integral, 1, 2**31 - 1, closed="both")],
        "rank": [Interval(Integral, 1, 2**31 - 1, closed="both"), None],
        "step": [Interval(Real, 0.0, None, closed="neither")],
        "loss": [StrOptions({"hinge", "smooth-hinge", "logistic"})],
        "tau": [Interval(Real, 0.0, None, closed="neither")],
    }

    def _machine(self, kernel: Part) -> Part:
        if self.rank is not None and self.rank > self.budget:
            raise ValueError(
                f"rank={self.rank} is more than the budget={self.budget} has eigenvalues; "
                "rank must be at most budget"
            )
        return recipes.nogd(
            kernel,
            budget=self.budget,
            rank=self.rank,
            step=self.step,
            loss=self.loss,
            tau=self.tau,
        )
