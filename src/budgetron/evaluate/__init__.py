"""Prequential evaluation: each row is predicted first, then learned.

`prequential` runs any learner over rows or a stream and returns an `Evaluation`: metrics, time,
stored examples and bytes at checkpoints. `ClassificationMetrics` and `RegressionMetrics` count,
also for predictions made elsewhere. The cut of rows into chunks changes no bit of a metric. May use
model files, the catalogue, the estimators and the layers below them; it reads streams only by their
protocol.
"""

from budgetron.evaluate.loop import Evaluation, held_out, prequential
from budgetron.evaluate.metrics import ClassificationMetrics, RegressionMetrics

__all__ = ["ClassificationMetrics", "Evaluation", "RegressionMetrics", "held_out", "prequential"]
