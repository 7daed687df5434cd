"""Scoring of a large table on Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from budgetron.errors import BudgetronError
from budgetron.scoring import Scorer
from budgetron.spark.missing import spark_module

KINDS = {
    "text": "StringType",
    "whole": "LongType",
    "boolean": "BooleanType",
    "number": "DoubleType",
}


def score(table: Any, scorer: Scorer) -> Any:
    """Score each row of a DataFrame: the columns of `keep` and of `Scorer.fields`.

    The model goes to the workers with the task; rows come in Arrow batches (`mapInArrow`), and only
    the columns that the model needs are read. A streaming DataFrame works too.

    Parameters
    ----------
    table : a DataFrame
    scorer : has the model, the columns to add and those to keep

    Returns
    -------
    DataFrame

    Raises
    ------
    BudgetronError
        If PySpark is not installed, or the table lacks a column.

    Examples
    --------
    >>> from budgetron.scoring import Scorer
    >>> from budgetron.spark import score
    >>> scorer = Scorer("model.btn", keep=["id"], probabilities=True)  # doctest: +SKIP
    >>> score(spark.read.parquet("rows/"), scorer).write.parquet("scored/")  # doctest: +SKIP
    """
    types = spark_module("pyspark.sql.types")
    missing = [name for name in scorer.needs if name not in table.columns]
    if missing:
        listed = ", ".join(map(repr, missing[:5]))
        raise BudgetronError(f"the table has no column {listed}; it has {', '.join(table.columns)}")
    kept = [table.schema[name] for name in scorer.keep]
    added = [
        types.StructField(each.name, getattr(types, KINDS[each.kind])()) for each in scorer.fields
    ]
    return table.select(*scorer.needs).mapInArrow(
        _Batches(scorer), types.StructType([*kept, *added])
    )


class _Batches:
    """The scorer over batches, one after the other."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        return map(self._scorer, batches)
