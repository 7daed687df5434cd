"""Decisions explained in terms of the columns that a user knows.

`explain(model, rows)` is public as `budgetron.explain`. columns.py finds the features of a column,
reasons.py how far it moved a decision, text.py makes the table for people. May use the estimators,
the tables and the layers below them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse

from budgetron.errors import BudgetronError
from budgetron.estimators._base.estimator import OnlineEstimator
from budgetron.estimators._base.frames import one_row
from budgetron.explaining.columns import Known, number, of_encoding, of_names, of_steps
from budgetron.explaining.reasons import Explainer, Reason
from budgetron.explaining.river_models import column_lists, is_river, learner_of, rows_of
from budgetron.tables.frames import is_frame

MANY = 2000  # features
LEGEND = """\
change: what f for the prediction would lose with the column at its mean
share: what a stored example gives to f; round: rows learned before it came
straight part: what columns give to f without examples. With the constant and
the shares of all examples it sums to f"""


class Reasons(list[Reason]):
    """Reasons for several rows; its text is all of them, one below the other."""

    def to_dicts(self) -> list[dict[str, Any]]:
        """All reasons as plain data, for JSON."""
        return [each.to_dict() for each in self]

    def __str__(self) -> str:
        return "\n\n".join([*map(str, self), LEGEND]) if self else ""

    __repr__ = __str__


def explain(model: Any, rows: Any, *, examples: int = 3) -> Reasons:
    """Explain decisions: the columns that moved each, and the stored examples behind it.

    A column's `change` is how far f, towards the prediction, would fall if all features of the
    column (one per category) were their means over the stream; for a regressor, how far the
    prediction would fall. The examples are those with the largest share in f, with the values of
    their columns: in the units of the table, with the names of categories.

    Parameters
    ----------
    model : a fitted estimator of this package, or a scikit-learn Pipeline that ends with one. The
        columns before TableEncoder and scikit-learn's plain transformers, and those of a model of
        `budgetron run --save`, are those of the table. Or a model of `budgetron.river`, alone or in
        a River pipeline: its columns are those of its TableEncoder, or its features
    rows : a frame or array as the model takes it, one row or several; for River's models also dicts
    examples : largest number of stored examples per row

    Returns
    -------
    reasons : Reasons
        A list of `Reason`; as text one table per row, and `to_dicts` for programs.

    Notes
    -----
    A gap in a number is stored as the mean of its feature in an example, and is shown as that
    unless the model has missing="flag". A value far from the others is shown as four units from
    their centre, where scale="auto" clips rows. With scale="standard" examples were scaled by the
    deviations at the time they were stored, so that their numbers are not exact.

    Examples
    --------
    >>> import budgetron
    >>> from sklearn.pipeline import make_pipeline
    >>> town, age = ["Rome", "Oslo"] * 100, [18 + i % 60 for i in range(200)]
    >>> buys = ["yes" if t == "Rome" and a > 40 else "no" for t, a in zip(town, age)]
    >>> model = make_pipeline(budgetron.TableEncoder(), budgetron.BudgetronClassifier(budget=50))
    >>> model = model.fit({"town": town, "age": age}, buys)
    >>> [reason] = budgetron.explain(model, {"town": ["Rome"], "age": [70]}, examples=0)
    >>> reason.prediction, [move.column for move in reason.moves]
    ('yes', ['town', 'age'])
    """
    if is_river(model):
        estimator = _ours(learner_of(model))
        rows = _table(rows) if isinstance(rows, Mapping) else rows
        X, columns = rows_of(model, rows)
    elif isinstance(getattr(model, "steps", None), list):
        estimator = _ours(model.steps[-1][1])
        rows = _table(rows)
        X = rows
        for _, step in model.steps[:-1]:
            if step is not None and step != "passthrough":
                X = step.transform(X)
        columns = of_steps(model.steps[:-1], estimator.n_features_in_)
    else:
        estimator = _ours(model)
        known = estimator._table
        rows = X = _table(rows) if known is not None and is_frame(rows) else one_row(rows)
        columns = [] if known is None else of_encoding(known.encoder._ready())
    X = looked_at(estimator, X)
    columns = columns or of_features(estimator, X)
    if isinstance(rows, list) and rows and isinstance(rows[0], Mapping):
        rows = column_lists(rows)
    explainer = Explainer(estimator, columns, examples)
    return Reasons(explainer.reasons(X, _cells(rows, columns)))


def _ours(model: Any) -> Any:
    if not isinstance(model, OnlineEstimator):
        what = f"{type(model).__name__} is not an estimator of budgetron"
        raise BudgetronError(f"{what}, nor a pipeline that ends with one")
    model._deciding  # noqa: B018 (raises if nothing was learned)
    return model


def looked_at(estimator: Any, X: Any) -> Any:
    """Rows that the estimator takes, an array or CSR; BudgetronError for others."""
    rows = estimator._rows(X)
    return rows if isinstance(rows, np.ndarray) else rows.matrix()


def of_features(estimator: Any, X: Any) -> list[Known]:
    """Columns of a model that knows no others: its features, by name.

    If there are very many without a name, those that are not 0 in some row.
    """
    names = getattr(estimator, "feature_names_in_", None)
    width = estimator.n_features_in_
    if names is not None or width <= MANY:
        return of_names([f"x{j}" for j in range(width)] if names is None else names)
    there = np.unique(scipy.sparse.csr_array(X).indices)
    return [Known(f"x{j}", np.array([j]), number) for j in there.tolist()]


def _table(rows: Any) -> Any:
    """Rows as a table: one row of a frame, or a dict of values, is a table of one row."""
    if hasattr(rows, "to_frame") and hasattr(rows, "index") and np.ndim(rows) == 1:
        return rows.to_frame().T.infer_objects()
    if isinstance(rows, Mapping) and not any(_is_column(each) for each in rows.values()):
        return {name: [value] for name, value in rows.items()}
    return rows


def _is_column(value: Any) -> bool:
    return not isinstance(value, str) and hasattr(value, "__len__")


def _cells(rows: Any, columns: list[Known]) -> list[dict[str, Any]] | None:
    """What the columns held, by name; None if only the features are known."""
    if scipy.sparse.issparse(rows) or isinstance(rows, np.ndarray | list):
        return None
    from budgetron.tables.frames import table_of

    try:
        table = table_of(rows)
    except (BudgetronError, TypeError):
        return None
    wanted = [each.name for each in columns if each.name in table.column_names]
    found: list[dict[str, Any]] = table.select(wanted).to_pylist()
    return found
