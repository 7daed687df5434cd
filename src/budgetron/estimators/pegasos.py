"""Pegasos with a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from budgetron import recipes
from budgetron.estimators.classifier import OnlineClassifier
from budgetron.estimators.ranges import RANGES, ranges
from budgetron.parts import Hinge, Part, PegasosUpdate, SmoothHinge


@dataclass(eq=False, repr=False, kw_only=True)
class PegasosClassifier(OnlineClassifier):
    """Pegasos: gradient steps of 1/(lambda t) on the regularised loss, stored without limit.

    Converges to the support vector machine with that regularization.

    Parameters
    ----------
    regularization : float, default 1e-4
        Weight of the norm (lambda), above 0.
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
    Shalev-Shwartz, Singer, Srebro and Cotter, "Pegasos: primal estimated sub-gradient solver for
    SVM", Mathematical Programming 2011.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import PegasosClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = PegasosClassifier(gamma=1.0).fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (25, 28)
    """

    regularization: float = PegasosUpdate.regularization
    loss: str = Hinge.kind
    tau: float = SmoothHinge.tau

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineClassifier._parameter_constraints,
        **ranges("loss", "tau"),
        "regularization": RANGES["step"],
    }

    def _machine(self, kernel: Part) -> Part:
        return recipes.pegasos(
            kernel,
            regularization=self.regularization,
            loss=recipes.loss_part(self.loss, self.tau),
        )
