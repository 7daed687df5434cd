"""The fleet behind scikit-learn's interface: the key is a column of X."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin

from budgetron._engine import Floats
from budgetron.errors import BudgetronError
from budgetron.estimators._base.targets import labels
from budgetron.fleet.estimator import KeyedEstimator


class FleetClassifier(ClassifierMixin, KeyedEstimator):  # type: ignore[misc]
    """`Fleet` for scikit-learn: one column of X is the key.

    Parameters
    ----------
    key : int or str
        Number of the key column, or its name in a frame.
    algorithm, memory, budget, shared, file, half_life, caution, random_state : as in `Fleet`
    parameters : dict or None
        Parameters of the algorithm, such as ``{"gamma": 0.5}``.

    Attributes
    ----------
    fleet_ : Fleet

    Examples
    --------
    >>> import numpy as np
    >>> from budgetron.fleet.classifier import FleetClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.integers(0, 5, 2000), rng.normal(size=(2000, 2))])
    >>> y = (X[:, 1] > 0) == (X[:, 0] % 2 == 0)
    >>> model = FleetClassifier(key=0, memory="5MB").fit(X, y)
    >>> bool(model.score(X, y) > 0.9), len(model.fleet_)
    (True, 5)
    """

    _task: ClassVar[str] = "classification"

    def fit(self, X: Any, y: Any) -> Self:
        """Start anew and learn the rows once, in their order."""
        self._learn_anew(X, y, classes=np.unique(labels(y)))
        self.classes_ = self.fleet_.classes_
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn the rows, in order, after all rows learned before.

        Parameters
        ----------
        X : array or frame, with the key column
        y : labels
        classes : all labels there will be; needed in the first call
        """
        if not hasattr(self, "fleet_") and classes is None:
            raise BudgetronError("pass all classes in the first call of partial_fit")
        self._learn(X, y, classes=classes)
        self.classes_ = self.fleet_.classes_
        return self

    def decision_function(self, X: Any) -> Floats:
        """f_key(x): (n,) for two classes, where >= 0 means ``classes_[1]``; else (n, K)."""
        return self._fleet.decision_function(*self._split(X))

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class, (n, K), in the order of ``classes_``."""
        return self._fleet.predict_proba(*self._split(X))
