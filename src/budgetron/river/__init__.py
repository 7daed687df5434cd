"""The learners as River models: rows are dicts, features and classes come and go.

>>> from river import datasets, evaluate, metrics, preprocessing
>>> from budgetron.river import BudgetronClassifier
>>> model = preprocessing.StandardScaler() | BudgetronClassifier(budget=100)
>>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
Accuracy: 89.27%

There is one class per estimator, with the same name and parameters; it is made from the estimator,
which does the learning (factory.py). Differences: ``seed`` replaces random_state, gamma="auto"
means "median", since the width of the stream is not known, and the parameters of `fit` (n_epochs,
shuffle, n_jobs) are missing. `TableEncoder` turns rows of words, dates and gaps into numbers before
them. May use the catalogue, the estimators and the layers below them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    import river.base  # noqa: F401
except ModuleNotFoundError as missing:
    if missing.name is None or missing.name.split(".")[0] != "river":
        raise
    raise ModuleNotFoundError(
        "budgetron.river needs River: pip install 'budgetron[river]'", name="river"
    ) from None

from budgetron.river.factory import make, river_classes
from budgetron.river.table_encoder import river_table_encoder

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


_CLASSES = river_classes(__name__)
globals().update(_CLASSES)
TableEncoder = river_table_encoder(__name__)

__all__ = ["TableEncoder", "make", *sorted(_CLASSES)]
