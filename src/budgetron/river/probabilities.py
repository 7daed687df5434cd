"""Probabilities of the classes: the one place that turns decisions into them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from budgetron.engine import Floats


def probabilities(estimator: Any, decisions: Floats, rows: Callable[[], Any]) -> Floats:
    """The probability of each class for each row, (n, K), K >= 2.

    The estimator's own where it has any; else the logistic function of the decision, or for more
    than two classes the softmax of the outputs.

    Parameters
    ----------
    estimator : that made the decisions
    decisions : (n,) for two classes, else (n, K)
    rows : the rows they are about, as CSR
    """
    if hasattr(estimator, "predict_proba"):
        own: Floats = estimator._engine.predict(rows(), probabilities=True)
        return own
    if decisions.ndim == 1:
        share = 0.5 * (1.0 + np.tanh(0.5 * decisions))
        return np.column_stack([1.0 - share, share])
    powers = np.exp(decisions - decisions.max(axis=1, keepdims=True))
    shares: Floats = powers / powers.sum(axis=1, keepdims=True)
    return shares
