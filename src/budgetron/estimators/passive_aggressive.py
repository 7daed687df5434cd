"""Passive-aggressive learning without a budget."""

from __future__ import annotations

from dataclasses import dataclass

from budgetron.estimators._base.classifier import OnlineClassifier
from budgetron.estimators._base.parameters import of
from budgetron.estimators._base.regressor import TubeRegressor
from budgetron.parts import (
    Learner,
    Part,
    PassiveAggressiveUpdate,
    Round,
    TubePassiveAggressiveUpdate,
)


@dataclass(eq=False, repr=False, kw_only=True)
class PassiveAggressiveClassifier(OnlineClassifier):
    """Passive-aggressive (PA): the smallest move that removes the loss, softened by C.

    Stores every example with a margin below 1, without limit.

    Parameters
    ----------
    C : float
        Aggressiveness: largest coef of an example ("I"), or how soft the step is ("II").
    variant : {"I", "II"}
        How C softens a step: "I" cuts it off at C, "II" damps it by 1/(2C).

    References
    ----------
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, "Online passive-aggressive algorithms", JMLR
    2006.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import PassiveAggressiveClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = PassiveAggressiveClassifier().partial_fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (14, 137)
    """

    C: float = of(PassiveAggressiveUpdate, "C")
    variant: str = of(PassiveAggressiveUpdate, "variant")

    def _machine(self, kernel: Part) -> Learner:
        return Round(kernel, PassiveAggressiveUpdate(self.C, self.variant))


@dataclass(eq=False, repr=False, kw_only=True)
class PassiveAggressiveRegressor(TubeRegressor):
    """Passive-aggressive regression: the smallest move that brings the error down to epsilon.

    Stores every example with a larger error, without limit.

    Parameters
    ----------
    C : float
        Aggressiveness: largest coef of an example ("I"; in units of the targets' deviation,
        ``target_scale``), or how soft the step is ("II").
    variant : {"I", "II"}
        How C softens a step: "I" cuts it off at C, "II" damps it by 1/(2C).

    References
    ----------
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, "Online passive-aggressive algorithms", JMLR
    2006, section 5.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from budgetron import PassiveAggressiveRegressor
    >>> X, y = make_friedman1(1000, n_features=5, random_state=0)
    >>> model = PassiveAggressiveRegressor().partial_fit(X, y)
    >>> model.n_support_, round(model.score(X, y), 2)
    (625, 0.97)
    """

    C: float = of(PassiveAggressiveUpdate, "C")
    variant: str = of(PassiveAggressiveUpdate, "variant")

    def _machine(self, kernel: Part) -> Learner:
        update = TubePassiveAggressiveUpdate(self.C, self.variant, float(self.epsilon))
        return Round(kernel, update)
