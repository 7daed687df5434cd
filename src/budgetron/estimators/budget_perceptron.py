"""The Perceptron with a budget: Remove-Oldest, RBP, CKS, Stoptron."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sklearn.utils._param_validation import StrOptions

from budgetron.estimators import recipes
from budgetron.estimators._base.classifier import OnlineClassifier
from budgetron.estimators._base.ranges import ranges, regression_ranges
from budgetron.estimators._base.regressor import SignRegressor
from budgetron.parts import Part, RemoveRandom


@dataclass(eq=False, repr=False, kw_only=True)
class BudgetPerceptronClassifier(OnlineClassifier):
    """Perceptron with at most B examples and one rule for which of them leaves.

    Every mistake is stored; when there is no more room, ``removal`` says who goes.

    Parameters
    ----------
    removal : {"oldest", "random", "margin", "refuse"}
        "oldest": the one stored first (Remove-Oldest). "random": any of the B, never the newest
        (RBP). "margin": the one with the largest margin without itself (CKS). "refuse": nothing
        enters any more (Stoptron, the floor every method must beat).

    References
    ----------
    Dekel, Shalev-Shwartz and Singer, "The Forgetron: a kernel-based Perceptron on a budget", SIAM
    Journal on Computing 2008, section 3. Cavallanti, Cesa-Bianchi and Gentile, "Tracking the best
    hyperplane with a simple budget Perceptron", Machine Learning 2007. Crammer, Kandola and Singer,
    "Online classification on a budget", NIPS 2003.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import BudgetPerceptronClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = BudgetPerceptronClassifier(budget=10, gamma=1.0, random_state=0).fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (94, 10)
    """

    removal: str = "random"
    budget: Any = RemoveRandom.size

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineClassifier._parameter_constraints,
        **ranges("budget"),
        "removal": [StrOptions(set(recipes.REMOVALS))],
    }

    def _machine(self, kernel: Part) -> Part:
        return recipes.budget_perceptron(
            kernel,
            removal=self.removal,
            budget=self.budget,
        )


@dataclass(eq=False, repr=False, kw_only=True)
class BudgetPerceptronRegressor(SignRegressor):
    """RBP for regression: a budgeted Perceptron that stores errors beyond epsilon.

    An error e = y - f(x) with abs(e) > epsilon adds ``step * sign(e)`` at x; when there is no more
    room, ``removal`` says who goes.

    Parameters
    ----------
    removal : {"oldest", "random", "refuse"}
        "oldest": the one stored first. "random": any of the B, never the newest (RBP). "refuse":
        nothing enters any more.

    References
    ----------
    Cavallanti, Cesa-Bianchi and Gentile, "Tracking the best hyperplane with a simple budget
    Perceptron", Machine Learning 2007; as a regressor in Le, Nguyen, Nguyen and Phung, JMLR 2017,
    section 9.5.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from budgetron import BudgetPerceptronRegressor
    >>> X, y = make_friedman1(1000, n_features=5, random_state=0)
    >>> y = (y - y.mean()) / y.std()
    >>> model = BudgetPerceptronRegressor(budget=400, gamma=0.5, random_state=0).fit(X, y)
    >>> model.n_support_, round(model.score(X, y), 2)
    (400, 0.71)
    """

    removal: str = "random"
    budget: Any = RemoveRandom.size

    # R^2 0.31: an error moves f by 0.1, and 100 of the 200 rows have left.
    _poor_on_few_rows: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SignRegressor._parameter_constraints,
        **regression_ranges("budget"),
        "removal": [StrOptions({"oldest", "random", "refuse"})],
    }

    def _machine(self, kernel: Part) -> Part:
        return recipes.budget_perceptron(
            kernel,
            removal=self.removal,
            budget=self.budget,
            update=self._update(),
        )
