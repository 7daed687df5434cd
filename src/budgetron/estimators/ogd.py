"""Online gradient descent with a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from budgetron import recipes
from budgetron.estimators.classifier import OnlineClassifier
from budgetron.estimators.ranges import ranges, regression_ranges
from budgetron.estimators.regressor import GradientRegressor
from budgetron.parts import GradientUpdate, Hinge, Part, SmoothHinge


@dataclass(eq=False, repr=False, kw_only=True)
class OGDClassifier(OnlineClassifier):
    """OGD: gradient steps on the loss, every one of which stores its example.

    The unbounded yardstick of BOGD, FOGD and NOGD.

    Parameters
    ----------
    step : float, default 0.5
        Step size (eta).
    regularization : float, default 0.0
        f decays by 1 - step * regularization a round (lambda); the product must be below 1.
    loss : {"hinge", "smooth-hinge", "logistic"}, default "hinge"
    tau : float, default 0.5
        Width over which the smooth hinge is rounded.
    kernel : {"rbf", "laplacian", "poly", "linear", "sigmoid"}, default "rbf"
    gamma : float, "auto" or "median", default "auto"
        Width of the kernel; "auto" is 1 / number of features, "median" 1 / median squared
        distance between the first 200 rows.
    degree, coef0 : int, float
        Of the polynomial and the sigmoid kernel.
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
    Kivinen, Smola and Williamson, "Online learning with kernels", IEEE Transactions on Signal
    Processing 2004.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import OGDClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = OGDClassifier(gamma=1.0).fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (19, 126)
    """

    step: float = GradientUpdate.step
    regularization: float = GradientUpdate.regularization
    loss: str = Hinge.kind
    tau: float = SmoothHinge.tau

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineClassifier._parameter_constraints,
        **ranges("step", "regularization", "loss", "tau"),
    }

    def _machine(self, kernel: Part) -> Part:
        return recipes.ogd(
            kernel,
            step=self.step,
            regularization=self.regularization,
            loss=recipes.loss_part(self.loss, self.tau),
        )


@dataclass(eq=False, repr=False, kw_only=True)
class OGDRegressor(GradientRegressor):
    """OGD for regression: gradient steps on the loss, every one of which stores its example.

    Parameters
    ----------
    step : float, default 0.1
        Step size (eta).
    regularization : float, default 0.0
        f decays by 1 - step * regularization a round (lambda); the product must be below 1.
    loss : {"squared", "absolute", "epsilon-insensitive"}, default "squared"
        Moves f by the error beyond epsilon, by the error's sign always, or by its sign beyond
        epsilon.
    epsilon : float, default 0.1
        Errors up to this size are left alone, but by the absolute loss.
    kernel : {"rbf", "laplacian", "poly", "linear", "sigmoid"}, default "rbf"
    gamma : float, "auto" or "median", default "auto"
        Width of the kernel; "auto" is 1 / number of features, "median" 1 / median squared
        distance between the first 200 rows.
    degree, coef0 : int, float
        Of the polynomial and the sigmoid kernel.
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
    Kivinen, Smola and Williamson, "Online learning with kernels", IEEE Transactions on Signal
    Processing 2004.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from budgetron import OGDRegressor
    >>> X, y = make_friedman1(1000, n_features=5, random_state=0)
    >>> y = (y - y.mean()) / y.std()
    >>> model = OGDRegressor(gamma=0.5).fit(X, y)
    >>> model.n_support_, round(model.score(X, y), 2)
    (837, 0.79)
    """

    regularization: float = GradientUpdate.regularization

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GradientRegressor._parameter_constraints,
        **regression_ranges("regularization"),
    }

    def _machine(self, kernel: Part) -> Part:
        return recipes.ogd(
            kernel, step=self.step, regularization=self.regularization, loss=self._loss()
        )
