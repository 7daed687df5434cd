"""Regression the River way: numbers for one row or for a frame."""

from __future__ import annotations

from typing import Any

from river.base import MiniBatchRegressor

from budgetron._csr import sparse_rows
from budgetron.estimators._base.targets import number
from budgetron.river.model import FLOAT64, RiverLearner


class RiverRegressor(RiverLearner, MiniBatchRegressor):
    """A regressor; before the first row it predicts 0."""

    # ---- learning --------------------------------------------------------------------------------

    def learn_one(self, x: dict[Any, Any], y: float, w: float = 1.0) -> None:
        """Learn one row.

        Parameters
        ----------
        x : features: name to finite number; one that is not there is 0, and with scale="auto"
            one that is None or NaN is missing
        y : target, a finite number
        w : weight, a number >= 0; a row of weight w moves f by w times as much
        """
        target = number(y)
        if w != 1.0:
            w = self._weight(x, w)
            if w == 0.0:
                return
        if self._started and not self._estimator._changed:
            self._estimator._engine.native.learn_named(self._names, x, target, w)
        else:
            self._learn_rows(x, self._row(x), [target], [w])

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn the rows of a frame, in their order; leaves the same bits as `learn_one` on each.

        Parameters
        ----------
        X : pandas DataFrame of finite numbers, with scale="auto" also of missing ones
        y : pandas Series of finite numbers
        w : weights, numbers >= 0; None for all 1
        """
        self._learn_rows(X.columns, self._rows(X), list(y), w)

    def _begin(self, width: int, *, growing: bool) -> None:
        self._estimator._start(width, 1, FLOAT64, growing=growing)

    # ---- predicting ------------------------------------------------------------------------------

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> float:
        """f(x) of one row."""
        if not self._started:
            self._row(x)  # to refuse what it would refuse later
            return 0.0
        prediction: float = self._estimator._engine.native.predict_named(self._names, x)
        return prediction

    def predict_many(self, X: Any) -> Any:
        """f(x) of each row of a frame, as a Series."""
        import pandas as pd

        if not self._started:
            return pd.Series(0.0, index=X.index)
        predictions, _ = self._estimator._answer(sparse_rows(self._rows(X)))
        return pd.Series(predictions[:, 0], index=X.index)
