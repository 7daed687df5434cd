"""Budgetron, the library's own learner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from budgetron import recipes
from budgetron.estimators.classifier import OnlineClassifier
from budgetron.estimators.ranges import ranges, regression_ranges
from budgetron.estimators.regressor import OnlineRegressor
from budgetron.parts import Budgetron, Part


@dataclass(eq=False, repr=False, kw_only=True)
class BudgetronClassifier(OnlineClassifier):
    """Budgetron: a confidence-weighted kernel machine on a budget.

    Holds a Gaussian belief over the coefs of its stored examples, a mean and a covariance. A row
    with loss moves every coef by as much as it is uncertain, and makes it more certain. Stores
    mistakes until the budget is full, and after that replaces examples if the stream has changed.
    Needs no tuning: give it a budget. The covariance takes ``4 * budget**2`` bytes beside the
    examples, and as many again unless ``replace`` is "never".

    Parameters
    ----------
    budget : int or str, default 100
        Largest number of stored examples (B).
        Text as "256KB" is the bytes of the whole model instead (``budget_``: how many that are).
    r : float, default 0.1
        Variance of the noise a row is taken to have; the larger, the smaller the steps.
    jitter : float, default 0.01
        Added to k(x, x) of stored examples, so that similar ones can be told apart.
    replace : {"auto", "never", "always"}, default "auto"
        What a mistake does when the budget is full. "never": it is learned from but not stored.
        "always": it takes the place of the example whose coef is the least certain not to be 0,
        which helps on clean streams and ruins noisy ones. "auto": as "never", but in the 500 rows
        after the mistake rate has risen as "always"; ``drift_log_`` says when.
    kernel : {"rbf", "laplacian", "poly", "linear"}, default "rbf"
    gamma : float, "auto" or "median", default "median"
        Width of the kernel; "auto" is 1 / number of features, "median" 1 / median squared
        distance between the first 200 rows.
    degree, coef0 : int, float
        Of the polynomial kernel.
    scale : {None, "standard", "auto"}, default "auto"
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
    The update is that of Crammer, Kulesza and Dredze, "Adaptive Regularization of Weight Vectors",
    NIPS 2009, on coefs instead of weights.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import BudgetronClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = BudgetronClassifier(budget=20).fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (11, 11)
    """

    budget: Any = Budgetron.budget
    r: float = Budgetron.r
    jitter: float = Budgetron.jitter
    replace: str = Budgetron.replace
    gamma: float | str = "median"
    scale: str | None = "auto"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineClassifier._parameter_constraints,
        **ranges("budget", "r", "jitter", "replace"),
    }

    def _machine(self, kernel: Part) -> Part:
        return recipes.budgetron(
            kernel,
            budget=self.budget,
            r=self.r,
            jitter=self.jitter,
            replace=self.replace,
            admission=Budgetron.admission,
        )

    @property
    def drift_log_(self) -> NDArray[np.int64]:
        """The rows, counted from 0, at which it saw the stream change; at most the last 100."""
        rounds: NDArray[np.int64] = self._native.drifts()
        return rounds


@dataclass(eq=False, repr=False, kw_only=True)
class BudgetronRegressor(OnlineRegressor):
    """Budgetron for regression: recursive least squares over the coefs of the stored examples.

    Holds a Gaussian belief over the coefs, a mean and a covariance, and learns from every row.
    Stores rows whose error is above the mean of the last 1000, until the budget is full. The
    covariance takes ``4 * budget**2`` bytes beside the examples. Predictions follow the scale of
    the targets.

    Parameters
    ----------
    budget : int or str, default 100
        Largest number of stored examples (B).
        Text as "256KB" is the bytes of the whole model instead (``budget_``: how many that are).
    r : float, default 0.1
        Variance of the noise in the targets, in terms of the variance of f where nothing is known.
    jitter : float, default 0.01
        Added to k(x, x) of stored examples, so that similar ones can be told apart.
    kernel : {"rbf", "laplacian", "poly", "linear"}, default "rbf"
    gamma : float, "auto" or "median", default "median"
        Width of the kernel; "auto" is 1 / number of features, "median" 1 / median squared
        distance between the first 200 rows.
    degree, coef0 : int, float
        Of the polynomial kernel.
    scale : {None, "standard", "auto"}, default "auto"
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

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from budgetron import BudgetronRegressor
    >>> X, y = make_friedman1(1000, n_features=5, random_state=0)
    >>> model = BudgetronRegressor().fit(X, y)
    >>> model.n_support_, round(model.score(X, y), 2)
    (98, 0.99)
    """

    budget: Any = Budgetron.budget
    r: float = Budgetron.r
    jitter: float = Budgetron.jitter
    gamma: float | str = "median"
    scale: str | None = "auto"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineRegressor._parameter_constraints,
        **regression_ranges("budget", "r", "jitter"),
    }

    def _machine(self, kernel: Part) -> Part:
        return recipes.budgetron(
            kernel,
            budget=self.budget,
            r=self.r,
            jitter=self.jitter,
            replace="never",
            admission="error",
        )
