"""Ahpatron."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from budgetron import recipes
from budgetron.estimators.classifier import OnlineClassifier
from budgetron.estimators.ranges import HALVED_BUDGET, RANGES, ranges
from budgetron.parts import Halve, Part


@dataclass(eq=False, repr=False, kw_only=True)
class AhpatronClassifier(OnlineClassifier):
    """Ahpatron: an aggressive Perceptron that halves its budget and projects what it drops.

    Stores every example with margin below ``1 - epsilon``. When the budget is full, the half with
    the smallest coefs is projected onto the other half and dropped.

    Parameters
    ----------
    budget : int or str, default 100
        Largest number of stored examples (B), at least 2.
        Text as "256KB" is the bytes of the whole model instead (``budget_``: how many that are).
    epsilon : float in (0, 1), default 0.5
        How aggressive: an example is stored when y f(x) < 1 - epsilon.
    radius : float or None, default None
        Norm ball (U); None is sqrt(B)/2.
    step : float or None, default None
        Coef of a new example (lambda); None is radius / sqrt(4 B).
    ridge : float, default 5e-4
        Regularisation of the projection (eta).
    norm : "keep" or float in (0, 1], default "keep"
        Norm after halving: as before, or this multiple of the radius (c_t).
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
    Liao, Li, Liao, Hu and Dang, "Ahpatron: A New Budgeted Online Kernel Learning Machine with
    Tighter Mistake Bound", AAAI 2024.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import AhpatronClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = AhpatronClassifier(budget=10, gamma=1.0).fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (98, 8)
    """

    budget: Any = Halve.size
    epsilon: float = 0.5
    radius: float | None = None
    step: float | None = None
    ridge: float = Halve.ridge
    norm: float | str = "keep"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineClassifier._parameter_constraints,
        **ranges("epsilon", "ridge"),
        "budget": HALVED_BUDGET,
        "radius": [Interval(Real, 0.0, None, closed="neither"), None],
        "step": [*RANGES["step"], None],
        "norm": [Interval(Real, 0.0, 1.0, closed="right"), StrOptions({"keep"})],
    }

    @property
    def _least_budget(self) -> int:
        return 2

    def _machine(self, kernel: Part) -> Part:
        return recipes.ahpatron(
            kernel,
            budget=self.budget,
            epsilon=self.epsilon,
            radius=self.radius,
            step=self.step,
            ridge=self.ridge,
            norm=self.norm,
        )
