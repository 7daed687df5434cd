"""Passive-aggressive learning without a budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from budgetron import recipes
from budgetron.estimators.classifier import OnlineClassifier
from budgetron.estimators.ranges import ranges, regression_ranges
from budgetron.estimators.regressor import TubeRegressor
from budgetron.parts import Part, PassiveAggressiveUpdate


@dataclass(eq=False, repr=False, kw_only=True)
class PassiveAggressiveClassifier(OnlineClassifier):
    """Passive-aggressive (PA): the smallest move that removes the loss, softened by C.

    Stores every example with margin below 1, without limit.

    Parameters
    ----------
    C : float, default 1.0
        Aggressiveness: largest coef of an example ("I"), or how soft the step is ("II").
    variant : {"I", "II"}, default "I"
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
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, "Online passive-aggressive algorithms", JMLR
    2006.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import PassiveAggressiveClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = PassiveAggressiveClassifier(gamma=1.0).fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (14, 135)
    """

    C: float = PassiveAggressiveUpdate.C
    variant: str = PassiveAggressiveUpdate.variant

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineClassifier._parameter_constraints,
        **ranges("C", "variant"),
    }

    def _machine(self, kernel: Part) -> Part:
        return recipes.passive_aggressive(
            kernel,
            C=self.C,
            variant=self.variant,
        )


@dataclass(eq=False, repr=False, kw_only=True)
class PassiveAggressiveRegressor(TubeRegressor):
    """Passive-aggressive regression: the smallest move that brings the error down to epsilon.

    Stores every example with a larger error, without limit.

    Parameters
    ----------
    C : float, default 1.0
        Aggressiveness: largest coef of an example ("I"), or how soft the step is ("II").
    variant : {"I", "II"}, default "I"
    epsilon : float, default 0.1
        Errors up to this size are left alone.
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
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, "Online passive-aggressive algorithms", JMLR
    2006, section 5.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from budgetron import PassiveAggressiveRegressor
    >>> X, y = make_friedman1(1000, n_features=5, random_state=0)
    >>> y = (y - y.mean()) / y.std()
    >>> model = PassiveAggressiveRegressor(gamma=0.5).fit(X, y)
    >>> model.n_support_, round(model.score(X, y), 2)
    (794, 0.9)
    """

    C: float = PassiveAggressiveUpdate.C
    variant: str = PassiveAggressiveUpdate.variant

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TubeRegressor._parameter_constraints,
        **regression_ranges("C", "variant"),
    }

    def _machine(self, kernel: Part) -> Part:
        return recipes.passive_aggressive_regression(
            kernel, C=self.C, variant=self.variant, epsilon=self.epsilon
        )
