"""Anomaly detection with River's interface: a score for one row or for a frame."""

from __future__ import annotations

from typing import Any

import numpy as np
from river.base import AnomalyDetector

from budgetron._csr import sparse_rows
from budgetron.river.model import FLOAT64, RiverLearner


class RiverDetector(RiverLearner, AnomalyDetector):
    """An anomaly detector; before the first row every score is 0."""

    # ---- learning --------------------------------------------------------------------------------

    def learn_one(self, x: dict[Any, Any], w: float = 1.0) -> None:
        """Learn one row.

        Parameters
        ----------
        x : features: name to finite number; a feature that is missing in the dict is 0, and with
            scale="auto" one that is None or NaN is a missing value
        w : weight, a number >= 0; a row of weight w counts as w rows
        """
        if w != 1.0:
            w = self._weight(x, w)
            if w == 0.0:
                return
        if self._started and not self._estimator._changed:
            self._estimator._engine.native.learn_named(self._names, x, 0.0, w)
        else:
            self._learn_rows(x, self._row(x), np.zeros(1), [w])

    def learn_many(self, X: Any, w: Any = None) -> None:
        """Learn the rows of a frame, in order; gives the same bits as `learn_one` on each.

        Parameters
        ----------
        X : pandas DataFrame of finite numbers, with scale="auto" also of missing values
        w : weights, numbers >= 0; None for all 1
        """
        self._learn_rows(X.columns, self._rows(X), np.zeros(len(X)), w)

    def _begin(self, width: int, *, growing: bool) -> None:
        self._estimator._start(width, 1, FLOAT64, growing=growing)

    # ---- scoring ---------------------------------------------------------------------------------

    def score_one(self, x: dict[Any, Any]) -> float:
        """How unusual a row is among the rows before it: at least 0; higher is more unusual."""
        if not self._started:
            self._row(x)  # to refuse rows that learning would refuse
            return 0.0
        score: float = self._estimator._engine.native.predict_named(self._names, x)
        return score

    def score_many(self, X: Any) -> Any:
        """The score of each row of a frame, as a Series."""
        import pandas as pd

        if not self._started:
            return pd.Series(0.0, index=X.index)
        scores, _ = self._estimator._answer(sparse_rows(self._rows(X)))
        return pd.Series(scores[:, 0], index=X.index)

    def classify(self, x: dict[Any, Any]) -> bool:
        """Whether a row is an anomaly: its score is beyond the threshold of ``alarm_rate``."""
        if not self._started:
            self._row(x)
            return False
        coverage = self._estimator._coverage
        native = self._estimator._engine.native
        return bool(native.answer_named(self._names, x, "interval", coverage)[0] > 0.0)
