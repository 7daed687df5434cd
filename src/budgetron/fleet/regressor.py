"""A fleet that predicts numbers, with scikit-learn's interface: the key is a column of X."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from sklearn.base import RegressorMixin

from budgetron.fleet.estimator import KeyedEstimator


class FleetRegressor(RegressorMixin, KeyedEstimator):  # type: ignore[misc]
    """`Fleet` with ``task="regression"`` for scikit-learn: one column of X is the key.

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
    >>> from budgetron.fleet.regressor import FleetRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.integers(0, 5, 4000), rng.normal(size=(4000, 2))])
    >>> y = X[:, 1] * X[:, 0] + 10 * X[:, 0]
    >>> model = FleetRegressor(key=0, memory="5MB").fit(X, y)
    >>> bool(model.score(X, y) > 0.9), len(model.fleet_)
    (True, 5)
    """

    _task: ClassVar[str] = "regression"

    def fit(self, X: Any, y: Any) -> Self:
        """Start anew and learn the rows once, in their order."""
        self._learn_anew(X, y)
        return self

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn the rows, in order, after all rows learned before."""
        self._learn(X, y)
        return self
