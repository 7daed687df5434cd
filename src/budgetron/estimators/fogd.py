"""FOGD."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from budgetron import recipes
from budgetron.estimators.classifier import OnlineClassifier
from budgetron.estimators.ranges import RANGES, ranges
from budgetron.estimators.regressor import GradientRegressor
from budgetron.parts import Fogd, Hinge, Part, SmoothHinge


@dataclass(eq=False, repr=False, kw_only=True)
class FOGDClassifier(OnlineClassifier):
    """FOGD: gradient descent on random Fourier features of the kernel.

    Stores no example: what is learned are the weights of ``2 * n_components`` features, cosines and
    sines of random frequencies, whose inner product approaches the kernel as their number grows.
    ``n_support_`` is therefore 0 and ``support_vectors_`` and ``dual_coef_`` are empty;
    ``memory_bytes_`` says what the frequencies and weights take.

    Parameters
    ----------
    n_components : int, default 400
        Number of random frequencies (D).
    step : float, default 0.5
        Step size of the gradient descent (eta), for features of length 1. For published steps on
        features without the factor 1/sqrt(D), multiply by D.
    loss : {"hinge", "smooth-hinge", "logistic"}, default "hinge"
    tau : float, default 0.5
        Width over which the smooth hinge rounds its kink.
    kernel : {"rbf", "laplacian"}, default "rbf"
        Must have a spectral density.
    gamma : float, "auto" or "median", default "auto"
        Width of the kernel; "auto" is 1 / number of features, "median" 1 / median squared
        distance between the first 200 rows.
    degree, coef0 : int, float
        Not used.
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
        Seed of the frequencies. Those of a feature depend on the seed and on the feature's number,
        not on when it first occurs.

    References
    ----------
    Lu, Hoi, Wang, Zhao and Liu, "Large Scale Online Kernel Learning", JMLR 17, 2016.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import FOGDClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = FOGDClassifier(n_components=50, gamma=1.0, random_state=0).fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (27, 0)
    """

    n_components: int = Fogd.n_components
    step: float = Fogd.step
    loss: str = Hinge.kind
    tau: float = SmoothHinge.tau

    _stores_examples: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineClassifier._parameter_constraints,
        **ranges("step", "loss", "tau"),
        "n_components": RANGES["size"],
    }

    def _machine(self, kernel: Part) -> Part:
        return recipes.fogd(
            kernel,
            n_components=self.n_components,
            step=self.step,
            loss=recipes.loss_part(self.loss, self.tau),
            seed=self._seed,
        )


@dataclass(eq=False, repr=False, kw_only=True)
class FOGDRegressor(GradientRegressor):
    """FOGD for regression: gradient descent on random Fourier features of the kernel.

    Stores no example, as FOGDClassifier does not: ``n_support_`` is 0.

    Parameters
    ----------
    n_components : int, default 400
        Number of random frequencies (D).
    step : float, default 0.1
        Step size of the gradient descent (eta), for features of length 1. For published steps on
        features without the factor 1/sqrt(D), multiply by D.
    loss : {"squared", "absolute", "epsilon-insensitive"}, default "squared"
        Moves f by the error beyond epsilon, by the error's sign always, or by its sign beyond
        epsilon.
    epsilon : float, default 0.1
        Errors up to this size are left alone, but by the absolute loss.
    kernel : {"rbf", "laplacian"}, default "rbf"
    gamma : float, "auto" or "median", default "auto"
        Width of the kernel; "auto" is 1 / number of features, "median" 1 / median squared
        distance between the first 200 rows.
    degree, coef0 : int, float
        Not used.
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
        Seed of the frequencies. Those of a feature depend on the seed and on the feature's number,
        not on when it first occurs.

    References
    ----------
    Lu, Hoi, Wang, Zhao and Liu, "Large Scale Online Kernel Learning", JMLR 17, 2016.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from budgetron import FOGDRegressor
    >>> X, y = make_friedman1(1000, n_features=5, random_state=0)
    >>> y = (y - y.mean()) / y.std()
    >>> model = FOGDRegressor(gamma=0.5, n_components=100, random_state=0).fit(X, y)
    >>> model.n_support_, round(model.score(X, y), 2)
    (0, 0.8)
    """

    n_components: int = Fogd.n_components

    _stores_examples: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GradientRegressor._parameter_constraints,
        "n_components": FOGDClassifier._parameter_constraints["n_components"],
    }

    def _machine(self, kernel: Part) -> Part:
        return recipes.fogd(
            kernel,
            n_components=self.n_components,
            step=self.step,
            loss=self._loss(),
            seed=self._seed,
        )
