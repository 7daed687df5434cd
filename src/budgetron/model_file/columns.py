"""The columns of the table that a learner of `budgetron run` was learned from.

The command keeps how it read the table beside the model, in the part of the document that is for
whoever wrote it. A learner out of such a file takes frames by it, and keeps it when it is saved.
"""

from __future__ import annotations

from typing import Any

from budgetron.errors import BudgetronError
from budgetron.estimators._base.estimator import OnlineEstimator, TableRows
from budgetron.estimators.table_encoder import TableEncoder
from budgetron.tables.encoding import Encoding
from budgetron.tables.older import of_older

Document = dict[str, Any]


def know_columns(model: Any, document: Document) -> None:
    """Have a learner read frames as the file says that its table was read.

    Raises
    ------
    BudgetronError
        If what the file says of the columns makes no sense.
    """
    extra = document.get("extra")
    written = extra.get("table") if isinstance(extra, dict) else None
    if written is None or not isinstance(model, OnlineEstimator):
        return
    if not isinstance(written, dict):
        raise BudgetronError("what it says of the columns it learned makes no sense")
    found = written.get("encoding")
    encoding = of_older(written) if found is None else Encoding.from_dict(found)
    if hasattr(model, "_engine") and encoding.width > model.n_features_in_:
        raise BudgetronError("the columns have more features than the model")
    model._table = TableRows(TableEncoder.of(encoding), written)  # type: ignore[misc]


def columns_of(model: Any) -> Document:
    """What `know_columns` reads, of a learner that has it; else nothing."""
    known = model._table if isinstance(model, OnlineEstimator) else None
    return {} if known is None else {"table": known.written}
