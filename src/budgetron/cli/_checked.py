"""What `predict` tells of rows whose labels are there: how often it is right."""

from __future__ import annotations

import math
from typing import Any

from budgetron.cli._tally import plain


class Checked:
    """Compares what a model predicts with the cells of the label's column, as they stand there."""

    def __init__(self, learner: Any) -> None:
        from budgetron.evaluate import ClassificationMetrics, RegressionMetrics

        self._learner = learner
        self._regression = not hasattr(learner, "classes_")
        self._metrics: Any = (RegressionMetrics if self._regression else ClassificationMetrics)(
            None, None
        )

    def count(self, X: Any, cells: list[Any]) -> None:
        """Count rows; one without a label does not count."""
        import numpy as np

        guess = self._learner.predict(X).tolist()
        pairs = zip(map(self._read, cells), guess, strict=True)
        there = [(truth, each) for truth, each in pairs if truth is not None]
        if self._regression:
            self._metrics.add(*np.array(there, float).reshape(-1, 2).T)
        elif there:
            truth, said = zip(*there, strict=True)
            self._metrics.add(np.array(truth, str), np.array([str(plain(g)) for g in said]))

    def _read(self, cell: Any) -> Any:
        """A label as it is compared: a number, or a text; None where there is none."""
        if cell is None:
            return None
        try:
            number = float(cell)
            if not math.isfinite(number):
                return None
            return number if self._regression else str(plain(number))
        except (TypeError, ValueError):
            return None if self._regression else str(cell).strip()

    @property
    def text(self) -> str:
        """What was found, in a line."""
        rows = self._metrics.rows
        if not rows:
            return "no row has a label"
        found = self._metrics.values()
        many = f"{rows:,} row{'s' if rows > 1 else ''} with a label"
        if self._regression:
            return f"{many}: RMSE {found['rmse']:.4g}, MAE {found['mae']:.4g}, R2 {found['r2']:.4g}"
        rates = f"{found['mistake_rate']:.2%} mistakes (majority rate {found['majority_rate']:.2%})"
        return f"{many}: {rates}"
