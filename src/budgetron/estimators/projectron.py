"""Projectron and Projectron++."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from budgetron.errors import BudgetronError
from budgetron.estimators._base.classifier import OnlineClassifier
from budgetron.estimators._base.parameters import BYTES
from budgetron.estimators._base.regressor import SignRegressor
from budgetron.parts import (
    AvpUpdate,
    Learner,
    Part,
    PerceptronUpdate,
    Project,
    ProjectronPlus,
    Round,
)
from budgetron.parts.ranges import SIZE, Numbers, OneOf, parameter

THRESHOLD = Numbers(0.0, 1.0, "left")


def project(threshold: float | None, budget: int | None) -> Project:
    """The budget part for these parameters; None means no limit and no threshold."""
    return Project(
        size=0 if budget is None else int(budget),
        threshold=-1.0 if threshold is None else float(threshold),
    )


@dataclass(eq=False, repr=False, kw_only=True)
class ProjectronClassifier(OnlineClassifier):
    """Projectron: a Perceptron that projects mistakes near the span of its stored examples.

    A projected mistake changes the coefs of the stored examples and stores nothing, so their number
    stops growing by itself; a budget guarantees it.

    Parameters
    ----------
    threshold : float in [0, 1) or None
        Largest distance from the span at which a mistake is projected (eta). None: only
        mistakes that lie in the span up to rounding.
    budget : int, str or None
        Largest number of stored examples (B): when there are that many, every mistake is projected.
        None is no limit.
    kernel : {"rbf", "laplacian", "poly", "linear"}

    References
    ----------
    Orabona, Keshet and Caputo, "The Projectron: a bounded kernel-based Perceptron", ICML 2008.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import ProjectronClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = ProjectronClassifier().partial_fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (33, 18)
    """

    threshold: float | None = parameter(Project.threshold, THRESHOLD, None)
    budget: Any = parameter(None, SIZE, BYTES, None)

    def _machine(self, kernel: Part) -> Learner:
        return Round(kernel, PerceptronUpdate(), project(self.threshold, self.budget))


@dataclass(eq=False, repr=False, kw_only=True)
class ProjectronRegressor(SignRegressor):
    """Projectron for regression: projects errors near the span of its stored examples.

    An error e = y - f(x) with abs(e) > epsilon adds ``step * sign(e)`` at x, or at the projection
    of x onto the span of the stored examples if that is near.

    Parameters
    ----------
    threshold : float in [0, 1) or None
        Largest distance from the span at which an error is projected (eta). None: only errors
        that lie in the span up to rounding.
    budget : int, str or None
        Largest number of stored examples (B): when there are that many, every error is projected.
        None is no limit.
    kernel : {"rbf", "laplacian", "poly", "linear"}

    References
    ----------
    Orabona, Keshet and Caputo, "The Projectron: a bounded kernel-based Perceptron", ICML 2008; as a
    regressor in Le, Nguyen, Nguyen and Phung, JMLR 2017, section 9.5.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from budgetron import ProjectronRegressor
    >>> X, y = make_friedman1(1000, n_features=5, random_state=0)
    >>> model = ProjectronRegressor(budget=100).partial_fit(X, y)
    >>> model.n_support_, round(model.score(X, y), 2)
    (100, 0.9)
    """

    threshold: float | None = parameter(Project.threshold, THRESHOLD, None)
    budget: Any = parameter(None, SIZE, BYTES, None)

    def _machine(self, kernel: Part) -> Learner:
        return Round(kernel, self._update(), project(self.threshold, self.budget))


@dataclass(eq=False, repr=False, kw_only=True)
class ProjectronPlusClassifier(ProjectronClassifier):
    """Projectron++: Projectron that also learns from margin errors.

    Mistakes are projected or stored as in Projectron. A correctly classified example with a margin
    below 1 moves f within the span of the stored examples.

    Parameters
    ----------
    rule : {"bounded", "aggressive"}
        "bounded" learns from a margin error only as far as the mistake bound allows, and needs a
        threshold above 0 or a budget; "aggressive" treats it like a mistake: fewer errors, more
        stored examples, no bound.

    References
    ----------
    Orabona, Keshet and Caputo, "Bounded kernel-based online learning", Journal of Machine Learning
    Research 10, 2009.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import ProjectronPlusClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = ProjectronPlusClassifier().partial_fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (29, 15)
    """

    rule: str = parameter("bounded", OneOf("bounded", "aggressive"))

    def _machine(self, kernel: Part) -> Learner:
        if self.rule == "bounded" and self.threshold == 0.0:
            raise BudgetronError(
                "threshold=0.0 makes no step with rule='bounded': it must be > 0, or None"
            )
        if self.rule == "bounded" and self.threshold is None and self.budget is None:
            raise BudgetronError(
                "rule='bounded' needs a threshold in (0, 1) or a budget, but threshold=None and "
                "budget=None"
            )
        projected = project(self.threshold, self.budget)
        if self.rule == "aggressive":  # as the Ahpatron paper ran it
            return Round(kernel, AvpUpdate(step=1.0, epsilon=0.0), projected)
        return ProjectronPlus(kernel, projected.size, projected.threshold)
