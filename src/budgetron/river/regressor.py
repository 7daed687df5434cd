"""Regression with River's interface: numbers for one row or for a frame."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
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
        x : features: name to finite number; a feature that is missing in the dict is 0, and with
            scale="auto" one that is None or NaN is a missing value
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
        """Learn the rows of a frame, in order; gives the same bits as `learn_one` on each.

        Parameters
        ----------
        X : pandas DataFrame of finite numbers, with scale="auto" also of missing values
        y : pandas Series of finite numbers
        w : weights, numbers >= 0; None for all 1
        """
        self._learn_rows(X.columns, self._rows(X), list(y), w)

    def _begin(self, width: int, *, growing: bool) -> None:
        self._estimator._start(width, 1, FLOAT64, growing=growing)

    # ---- predicting ------------------------------------------------------------------------------

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> float:
        """Predict f(x) for one row."""
        if not self._started:
            self._row(x)  # to refuse rows that learning would refuse
            return 0.0
        prediction: float = self._estimator._engine.native.predict_named(self._names, x)
        return prediction

    def predict_many(self, X: Any) -> Any:
        """Predict f(x) for each row of a frame, as a Series."""
        import pandas as pd

        if not self._started:
            return pd.Series(0.0, index=X.index)
        predictions, _ = self._estimator._answer(sparse_rows(self._rows(X)))
        return pd.Series(predictions[:, 0], index=X.index)

    def predict_interval_one(self, x: dict[Any, Any], coverage: float = 0.9) -> tuple[float, float]:
        """The interval of one row that holds its target with this probability: lower and upper end.

        Infinite while too few rows were learned.
        """
        self._estimator._check_intervals(coverage)
        if not self._started:
            self._row(x)
            return -inf, inf
        native = self._estimator._engine.native
        lower, upper = native.answer_named(self._names, x, "interval", float(coverage)).tolist()
        return lower, upper

    def predict_interval_many(self, X: Any, coverage: float = 0.9) -> Any:
        """The interval of each row of a frame, as a frame with the columns lower and upper."""
        import pandas as pd

        self._estimator._check_intervals(coverage)
        ends = np.tile([-inf, inf], (len(X), 1))
        if self._started:
            rows = sparse_rows(self._rows(X))
            ends = self._estimator._covering(rows, "interval", float(coverage))[0]
        return pd.DataFrame(ends, index=X.index, columns=["lower", "upper"])
