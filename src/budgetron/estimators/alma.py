"""ALMA, the approximate large margin algorithm."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from budgetron.estimators._base.classifier import OnlineClassifier
from budgetron.estimators._base.parameters import of
from budgetron.parts import AlmaUpdate, Learner, Part, Round


@dataclass(eq=False, repr=False, kw_only=True)
class ALMAClassifier(OnlineClassifier):
    """ALMA (p = 2): a Perceptron whose margin and step shrink with its updates, within norm 1.

    Approaches the largest margin as alpha approaches 0; stores examples without limit.

    Parameters
    ----------
    alpha : float in (0, 1]
        How far from the largest margin it may end; 1 updates on mistakes only.
    C : float, default sqrt(2)
        Coef of the first example; that of the j-th is C / sqrt(j), by the length of k(x, .).
    margin : float or None
        Scale of the required margin (the paper's B); None is sqrt(8) / alpha.
    kernel : {"rbf", "laplacian", "poly", "linear"}

    References
    ----------
    Gentile, "A new approximate maximal margin classification algorithm", JMLR 2001.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import ALMAClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = ALMAClassifier().partial_fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (28, 58)
    """

    alpha: float = of(AlmaUpdate, "alpha")
    C: float = of(AlmaUpdate, "C")
    margin: float | None = of(AlmaUpdate, "margin", None, default=None)

    def _machine(self, kernel: Part) -> Learner:
        margin = sqrt(8) / self.alpha if self.margin is None else self.margin
        return Round(kernel, AlmaUpdate(self.alpha, self.C, margin), radius=1.0)
