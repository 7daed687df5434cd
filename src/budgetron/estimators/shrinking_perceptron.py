"""The Shrinking Perceptron."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from budgetron import recipes
from budgetron.estimators.classifier import OnlineClassifier
from budgetron.estimators.ranges import ranges
from budgetron.parts import Part, ShrinkingUpdate


@dataclass(eq=False, repr=False, kw_only=True)
class ShrinkingPerceptronClassifier(OnlineClassifier):
    """Perceptron that shrinks f with every mistake, so that old examples fade.

    Nothing leaves: memory grows with the mistakes. The first step of the Forgetron.

    Parameters
    ----------
    shrink : float in (0, 1], default 0.99
        What f is multiplied by after each mistake (phi).
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
    Dekel, Shalev-Shwartz and Singer, "The Forgetron: a kernel-based Perceptron on a budget", SIAM
    Journal on Computing 2008, section 4.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import ShrinkingPerceptronClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = ShrinkingPerceptronClassifier(gamma=1.0).fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (26, 26)
    """

    shrink: float = ShrinkingUpdate.shrink

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineClassifier._parameter_constraints,
        **ranges("shrink"),
    }

    def _machine(self, kernel: Part) -> Part:
        return recipes.shrinking_perceptron(
            kernel,
            shrink=self.shrink,
        )
