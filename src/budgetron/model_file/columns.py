"""The columns of the table that a learner of `budgetron run` was learned from.

The command keeps how it read the table beside the model, in the part of the document for the
caller. A learner from such a file takes frames that way, and keeps it when it is saved.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from budgetron.errors import BudgetronError
from budgetron.estimators._base.estimator import OnlineEstimator, TableRows
from budgetron.estimators.table_encoder import TableEncoder
from budgetron.tables.encoding import Encoding
from budgetron.tables.older import of_older

Document = dict[str, Any]


def know_columns(model: Any, document: Document) -> None:
    """Make a learner read frames as the file describes its table.

    Raises
    ------
    BudgetronError
        If the description of the columns in the file is not valid.
    """
    extra = document.get("extra")
    written = extra.get("table") if isinstance(extra, dict) else None
    if written is None or not isinstance(model, OnlineEstimator):
        return
    if not isinstance(written, dict):
        raise BudgetronError("its description of the columns is not valid")
    encoding = _encoding_in(written)
    if hasattr(model, "_engine") and encoding.width > model.n_features_in_:
        raise BudgetronError("the columns have more features than the model")
    model._table = TableRows(TableEncoder.of(encoding), written)  # type: ignore[misc]


def with_columns(model: Any, extra: Document | None) -> Document | None:
    """The extra data of the caller, with what `know_columns` reads, if the learner has it.

    `missing` is the number of missing values per column of the table in the rows learned, for
    people: the learner counts them per feature.
    """
    known = model._table if isinstance(model, OnlineEstimator) else None
    extra = {**({} if known is None else {"table": known.written}), **(extra or {})}
    steps = getattr(model, "steps", None)
    learner, encoding = model, None
    if isinstance(steps, list) and len(steps) == 2 and isinstance(steps[0][1], TableEncoder):
        learner, encoding = steps[1][1], getattr(steps[0][1], "_encoding", None)
    elif isinstance(model, OnlineEstimator) and isinstance(extra.get("table"), dict):
        with suppress(BudgetronError):  # a reader reports what is wrong
            encoding = _encoding_in(extra["table"])
    if encoding is not None and hasattr(learner, "_engine") and learner.n_missing_:
        _, features, counts = learner._native.gaps
        by_feature = dict(zip(features.tolist(), counts.tolist(), strict=True))
        extra["missing"] = encoding.by_column(by_feature)
    return extra or None


def _encoding_in(written: Document) -> Encoding:
    found = written.get("encoding")
    return of_older(written) if found is None else Encoding.from_dict(found)
