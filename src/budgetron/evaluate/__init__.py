"""Prequential evaluation: each row is predicted first, then learned.

`prequential` runs any learner over rows or a stream and returns an `Evaluation`: metrics, time,
stored examples and bytes at checkpoints. `ClassificationMetrics` and `RegressionMetrics` are what
it counts with, for whoever makes the predictions elsewhere. How rows are cut into chunks changes
no bit of a metric. May use model files, the catalogue, the estimators and what is below them; it
reads streams by their protocol alone.
"""

from budgetron.evaluate.loop import Evaluation, held_out, prequential
from budgetron.evaluate.metrics import ClassificationMetrics, RegressionMetrics

__all__ = ["ClassificationMetrics", "Evaluation", "RegressionMetrics", "held_out", "prequential"]
