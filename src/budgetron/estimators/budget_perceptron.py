"""The Perceptron with a budget: Remove-Oldest, RBP, CKS, Stoptron."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sklearn.utils._param_validation import StrOptions

from budgetron import recipes
from budgetron.estimators.classifier import OnlineClassifier
from budgetron.estimators.ranges import ranges
from budgetron.parts import Part, RemoveRandom


@dataclass(eq=False, repr=False, kw_only=True)
class BudgetPerceptronClassifier(OnlineClassifier):
    """Perceptron with at most B examples and one rule for which of them leaves.

    Every mistake is stored; when there is no more room, ``removal`` says who goes.

    Parameters
    ----------
    removal : {"oldest", "random", "margin", "refuse"}, default "random"
        "oldest": the one stored first (Remove-Oldest). "random": any of the B, never the newest
        (RBP). "margin": the one with the largest margin without itself (CKS). "refuse": nothing
        enters any more (Stoptron, the floor every method must beat).
    budget : int, default 100
        Largest number of stored examples (B).
    kernel : {"rbf", "laplacian", "poly", "linear", "sigmoid"}, default "rbf"
    gamma : float or "auto", default "auto"
        Width of the kernel; "auto" is 1 / number of features.
    degree, coef0 : int, float
        Of the polynomial and the sigmoid kernel.
    random_state : int, RandomState instance or None, default None
        Seed of the model's generator.

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
    budget: int = RemoveRandom.size

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
