"""BSGD: budgeted stochastic gradient descent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sklearn.utils._param_validation import StrOptions

from budgetron import recipes
from budgetron.estimators.classifier import OnlineClassifier
from budgetron.estimators.ranges import RANGES, ranges
from budgetron.parts import Hinge, Part, PegasosUpdate, RemoveSmallest, SmoothHinge


@dataclass(eq=False, repr=False, kw_only=True)
class BSGDClassifier(OnlineClassifier):
    """BSGD: Pegasos where the example whose loss moves f least makes room.

    The example with the least abs(a_i) sqrt(k(x_i, x_i)) is dealt with as ``maintenance`` says.

    Parameters
    ----------
    budget : int or str, default 100
        Largest number of stored examples (B).
        Text as "256KB" is the bytes of the whole model instead (``budget_``: how many that are).
    regularization : float, default 1e-4
        Weight of the norm (lambda), above 0.
    maintenance : {"remove", "project", "merge"}, default "remove"
        "remove": it is dropped; "project": onto the span of the others; "merge" (Gaussian kernel
        only): with the example of its sign that costs least.
    loss : {"hinge", "smooth-hinge", "logistic"}, default "hinge"
    tau : float, default 0.5
        Width over which the smooth hinge is rounded.
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
    Wang, Crammer and Vucetic, "Breaking the curse of kernelization: budgeted stochastic gradient
    descent for large-scale SVM training", JMLR 2012.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import BSGDClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = BSGDClassifier(budget=10, gamma=1.0).fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (119, 10)
    """

    budget: Any = RemoveSmallest.size
    regularization: float = PegasosUpdate.regularization
    maintenance: str = "remove"
    loss: str = Hinge.kind
    tau: float = SmoothHinge.tau

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineClassifier._parameter_constraints,
        **ranges("budget", "loss", "tau"),
        "regularization": RANGES["step"],
        "maintenance": [StrOptions(set(recipes.MAINTENANCE))],
    }

    def _machine(self, kernel: Part) -> Part:
        return recipes.bsgd(
            kernel,
            budget=self.budget,
            regularization=self.regularization,
            maintenance=self.maintenance,
            loss=recipes.loss_part(self.loss, self.tau),
        )
