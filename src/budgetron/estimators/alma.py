"""ALMA, the approximate large margin algorithm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from budgetron import recipes
from budgetron.estimators.classifier import OnlineClassifier
from budgetron.estimators.ranges import RANGES, ranges
from budgetron.parts import AlmaUpdate, Part


@dataclass(eq=False, repr=False, kw_only=True)
class ALMAClassifier(OnlineClassifier):
    """ALMA (p = 2): a Perceptron whose margin and step shrink with its updates, within norm 1.

    Approaches the largest margin as alpha approaches 0; without limit on what is stored.

    Parameters
    ----------
    alpha : float in (0, 1], default 0.9
        How far from the largest margin it may end; 1 updates on mistakes only.
    C : float, default sqrt(2)
        Coef of the first example; that of the j-th is C / sqrt(j), by the length of k(x, .).
    margin : float or None, default None
        Scale of the margin asked for (the paper's B); None is sqrt(8) / alpha.
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
    Gentile, "A new approximate maximal margin classification algorithm", JMLR 2001.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import ALMAClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = ALMAClassifier(gamma=1.0).fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (25, 62)
    """

    alpha: float = AlmaUpdate.alpha
    C: float = AlmaUpdate.C
    margin: float | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineClassifier._parameter_constraints,
        **ranges("alpha", "C"),
        "margin": [*RANGES["margin"], None],
    }

    def _machine(self, kernel: Part) -> Part:
        return recipes.alma(
            kernel,
            alpha=self.alpha,
            C=self.C,
            margin=self.margin,
        )
