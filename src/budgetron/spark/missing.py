"""PySpark, or a message about what to install."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from budgetron.errors import BudgetronError


def spark_module(name: str = "pyspark.sql") -> Any:
    """A module of PySpark; BudgetronError if it is not installed.

    Examples
    --------
    >>> from budgetron.spark.missing import spark_module
    >>> spark_module("no_spark")
    Traceback (most recent call last):
    budgetron.BudgetronError: Spark needs the package no_spark: pip install 'budgetron[spark]'
    """
    try:
        return import_module(name)
    except ImportError as error:
        what = f"Spark needs the package {(error.name or name).partition('.')[0]}"
        raise BudgetronError(f"{what}: pip install 'budgetron[spark]'") from None
