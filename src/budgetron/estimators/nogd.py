"""NOGD."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from budgetron import recipes
from budgetron.estimators.classifier import OnlineClassifier
from budgetron.estimators.ranges import RANGES, ranges, regression_ranges
from budgetron.estimators.regressor import GradientRegressor
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
        **ranges("budget", "step", "loss", "tau"),
        "rank": [*RANGES["size"], None],
    }

    def _machine(self, kernel: Part) -> Part:
        return recipes.nogd(
            kernel,
            budget=self.budget,
            rank=_rank(self.rank, self.budget),
            step=self.step,
            loss=recipes.loss_part(self.loss, self.tau),
        )


@dataclass(eq=False, repr=False, kw_only=True)
class NOGDRegressor(GradientRegressor):
    """NOGD for regression: gradient descent on Nystrom features of the first examples with loss.

    Parameters
    ----------
    budget : int, default 100
        Number of landmarks (B).
    rank : int or None, default None
        Number of eigenvalues kept, at most ``budget``; None is a fifth of it, at least 1.
    step : float, default 0.1
        Step size (eta).
    loss : {"squared", "absolute", "epsilon-insensitive"}, default "squared"
        Moves f by the error beyond epsilon, by the error's sign always, or by its sign beyond
        epsilon.
    epsilon : float, default 0.1
        Errors up to this size are left alone, but by the absolute loss.
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
    random_state : int, RandomState instance or None, default None
        Seed of the model's generator; this learner draws nothing.

    References
    ----------
    Lu, Hoi, Wang, Zhao and Liu, "Large Scale Online Kernel Learning", JMLR 17, 2016.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from budgetron import NOGDRegressor
    >>> X, y = make_friedman1(1000, n_features=5, random_state=0)
    >>> y = (y - y.mean()) / y.std()
    >>> model = NOGDRegressor(gamma=0.5, rank=50).fit(X, y)
    >>> model.n_support_, round(model.score(X, y), 2)
    (100, 0.79)
    """

    budget: int = Nogd.budget
    rank: int | None = None

    # R^2 0.47: 20 directions.
    _poor_on_few_rows: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GradientRegressor._parameter_constraints,
        **regression_ranges("budget"),
        "rank": NOGDClassifier._parameter_constraints["rank"],
    }

    def _machine(self, kernel: Part) -> Part:
        return recipes.nogd(
            kernel,
            budget=self.budget,
            rank=_rank(self.rank, self.budget),
            step=self.step,
            loss=self._loss(),
        )


def _rank(rank: int | None, budget: int) -> int | None:
    if rank is not None and rank > budget:
        raise ValueError(
            f"rank={rank} is more than the budget={budget} has eigenvalues; rank must be at most "
            "budget"
        )
    return rank
