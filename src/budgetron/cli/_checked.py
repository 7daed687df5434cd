"""The summary of `predict` for rows that have labels: how often the model is right."""

from __future__ import annotations

import math
from typing import Any

from budgetron.cli._tally import NOT_STRANGE, digits, finite, plain, strange


def is_detector(learner: Any) -> bool:
    """Whether it scores rows and knows no labels."""
    return getattr(learner, "_task", None) == "novelty"


class Checked:
    """Compares the predictions of a model with the cells of the label column."""

    def __init__(self, learner: Any, positive: str | None = None) -> None:
        from budgetron.evaluate import ClassificationMetrics, RegressionMetrics

        self._learner = learner
        self._detector = is_detector(learner)
        self._positive = positive  # of a detector, the label of strange rows; None: 1
        self._odd: Any = None  # a label that is neither 0 nor 1
        self._regression = not (self._detector or hasattr(learner, "classes_"))
        self._metrics: Any = (RegressionMetrics if self._regression else ClassificationMetrics)(
            None, None
        )
        if self._detector:
            self._metrics = ClassificationMetrics(None, None, [0, 1], 1)

    def count(self, X: Any, cells: list[Any]) -> None:
        """Count the rows that have a label."""
        import numpy as np

        if self._detector:
            self._count_alarms(X, cells)
            return
        guess = self._learner.predict(X).tolist()
        pairs = zip(map(self._read, cells), guess, strict=True)
        there = [(truth, each) for truth, each in pairs if truth is not None]
        if self._regression:
            self._metrics.add(*np.array(there, float).reshape(-1, 2).T)
        elif there:
            truth, said = zip(*there, strict=True)
            self._metrics.add(np.array(truth, str), np.array([str(plain(g)) for g in said]))

    def _count_alarms(self, X: Any, cells: list[Any]) -> None:
        """Count the rows that have a label: strange ones and others."""
        import numpy as np

        found = [strange(self._read(each), self._positive) for each in cells]
        if None in found and self._odd is None:
            self._odd = self._read(cells[found.index(None)])
        truth = np.array([-1 if each is None else each for each in found], int)
        there = truth >= 0
        scores, alarms = -self._learner.score_samples(X), self._learner.decision_function(X) < 0.0
        self._metrics.add(truth[there], alarms[there].astype(int), scores=scores[there])

    def _read(self, cell: Any) -> Any:
        """Convert a label for the comparison: a number, or text; None if it is missing."""
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
        """The summary, in one line."""
        rows = self._metrics.rows
        if self._odd is not None:
            return f"label {self._odd!r} {NOT_STRANGE}"
        if not rows:
            return "no row has a label"
        found = self._metrics.values()
        many = f"{rows:,} row{'s' if rows > 1 else ''} with a label"
        if self._regression:
            return f"{many}: RMSE {found['rmse']:.4g}, MAE {found['mae']:.4g}, R2 {found['r2']:.4g}"
        if self._detector:
            of_strange = self._metrics.by_class()[1]
            share = of_strange["predicted"] / rows
            caught = f"{found['recall']:.2%}" if of_strange["rows"] else "none"
            auc = digits(finite(found["auc"]))
            return f"{many}: {share:.2%} alarms, {caught} of the strange rows have one, AUC {auc}"
        rates = f"{found['mistake_rate']:.2%} mistakes (majority rate {found['majority_rate']:.2%})"
        return f"{many}: {rates}"
