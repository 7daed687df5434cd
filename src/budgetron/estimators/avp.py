"""AVP, the aggressive variant of the Perceptron."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sklearn.utils._param_validation import StrOptions

from budgetron import recipes
from budgetron.estimators.classifier import OnlineClassifier
from budgetron.estimators.ranges import RANGES, ranges
from budgetron.parts import AvpUpdate, Part, Round


@dataclass(eq=False, repr=False, kw_only=True)
class AVPClassifier(OnlineClassifier):
    """AVP: a Perceptron that also learns from margins below 1 - epsilon, within a norm ball.

    Stores without limit; Ahpatron is this on a budget.

    Parameters
    ----------
    step : float or "adaptive", default 1.0
        Coef of a new example (lambda_t); "adaptive" is U/sqrt(U^2 + mistakes so far), which needs a
        finite radius.
    epsilon : float in (0, 1), default 0.75
        How aggressive: an example is stored when y f(x) < 1 - epsilon.
    radius : float, default inf
        Norm ball (U). A finite one needs a positive definite kernel, so not the sigmoid.
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
    Liao, Li, Liao, Hu and Dang, "Ahpatron: A New Budgeted Online Kernel Learning Machine with
    Tighter Mistake Bound", AAAI 2024, algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import AVPClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = AVPClassifier(gamma=1.0).fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (19, 37)
    """

    step: float | str = AvpUpdate.step
    epsilon: float = AvpUpdate.epsilon
    radius: float = Round.radius

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineClassifier._parameter_constraints,
        **ranges("epsilon", "radius"),
        "step": [*RANGES["step"], StrOptions({"adaptive"})],
    }

    def _machine(self, kernel: Part) -> Part:
        return recipes.avp(
            kernel,
            step=self.step,
            epsilon=self.epsilon,
            radius=self.radius,
        )
