"""Projectron and Projectron++."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sklearn.utils._param_validation import StrOptions

from budgetron import recipes
from budgetron.estimators.classifier import OnlineClassifier
from budgetron.estimators.ranges import RANGES
from budgetron.estimators.regressor import SignRegressor
from budgetron.parts import Part, Project


@dataclass(eq=False, repr=False, kw_only=True)
class ProjectronClassifier(OnlineClassifier):
    """Projectron: a Perceptron that projects mistakes near the span of what it stores.

    A projected mistake changes the coefs of the stored examples and stores nothing, so their number
    stops growing by itself; a budget stops it for certain.

    Parameters
    ----------
    threshold : float in [0, 1) or None, default 0.1
        Largest distance from the span at which a mistake is projected (eta). None: none but what
        lies in the span up to rounding.
    budget : int or None, default None
        Largest number of stored examples (B): when there are that many, every mistake is projected.
        None is no limit.
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
    Orabona, Keshet and Caputo, "The Projectron: a bounded kernel-based Perceptron", ICML 2008.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import ProjectronClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = ProjectronClassifier(gamma=1.0).fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (31, 17)
    """

    threshold: float | None = Project.threshold
    budget: int | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineClassifier._parameter_constraints,
        "threshold": [*RANGES["threshold"], None],
        "budget": [*RANGES["budget"], None],
    }

    def _machine(self, kernel: Part) -> Part:
        return recipes.projectron(kernel, threshold=self.threshold, budget=self.budget)


@dataclass(eq=False, repr=False, kw_only=True)
class ProjectronRegressor(SignRegressor):
    """Projectron for regression: projects errors near the span of what it stores.

    An error e = y - f(x) with abs(e) > epsilon adds ``step * sign(e)`` at x, or at the projection
    of x onto the span of the stored examples if that is near.

    Parameters
    ----------
    threshold : float in [0, 1) or None, default 0.1
        Largest distance from the span at which an error is projected (eta). None: none but what
        lies in the span up to rounding.
    budget : int or None, default None
        Largest number of stored examples (B): when there are that many, every error is projected.
        None is no limit.
    step : float, default 0.1
        Coef that an example enters with.
    epsilon : float, default 0.1
        Errors up to this size are left alone.
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
    Orabona, Keshet and Caputo, "The Projectron: a bounded kernel-based Perceptron", ICML 2008; as a
    regressor in Le, Nguyen, Nguyen and Phung, JMLR 2017, section 9.5.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from budgetron import ProjectronRegressor
    >>> X, y = make_friedman1(1000, n_features=5, random_state=0)
    >>> y = (y - y.mean()) / y.std()
    >>> model = ProjectronRegressor(gamma=0.5, budget=100).fit(X, y)
    >>> model.n_support_, round(model.score(X, y), 2)
    (58, 0.81)
    """

    threshold: float | None = Project.threshold
    budget: int | None = None

    # R^2 0.49: an error moves f by 0.1.
    _poor_on_few_rows: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SignRegressor._parameter_constraints,
        "threshold": [*RANGES["threshold"], None],
        "budget": [*RANGES["budget"], None],
    }

    def _machine(self, kernel: Part) -> Part:
        return recipes.projectron(
            kernel, threshold=self.threshold, budget=self.budget, update=self._update()
        )


@dataclass(eq=False, repr=False, kw_only=True)
class ProjectronPlusClassifier(OnlineClassifier):
    """Projectron++: Projectron that learns from margin errors too.

    Mistakes are projected or stored as by Projectron. An example on the right side with a margin
    below 1 moves f within the span of what is stored.

    Parameters
    ----------
    threshold : float in [0, 1) or None, default 0.1
        Largest distance from the span at which a mistake is projected (eta). None: none but what
        lies in the span up to rounding.
    budget : int or None, default None
        Largest number of stored examples (B): when there are that many, every mistake is projected.
        None is no limit.
    rule : {"bounded", "aggressive"}, default "bounded"
        "bounded" learns from a margin error only as far as the mistake bound allows, and needs a
        threshold above 0 or a budget; "aggressive" treats it like a mistake: fewer errors, more
        stored examples, no bound.
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
    Orabona, Keshet and Caputo, "Bounded kernel-based online learning", Journal of Machine Learning
    Research 10, 2009.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import ProjectronPlusClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = ProjectronPlusClassifier(gamma=1.0).fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (24, 16)
    """

    threshold: float | None = Project.threshold
    budget: int | None = None
    rule: str = "bounded"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ProjectronClassifier._parameter_constraints,
        "rule": [StrOptions({"bounded", "aggressive"})],
    }

    def _machine(self, kernel: Part) -> Part:
        if self.rule == "bounded" and self.threshold == 0.0:
            raise ValueError("threshold=0.0 leaves rule='bounded' no step: it must be > 0, or None")
        if self.rule == "bounded" and self.threshold is None and self.budget is None:
            raise ValueError(
                "rule='bounded' needs a threshold in (0, 1) or a budget, but threshold=None and "
                "budget=None"
            )
        return recipes.projectron_plus(
            kernel, threshold=self.threshold, budget=self.budget, rule=self.rule
        )
