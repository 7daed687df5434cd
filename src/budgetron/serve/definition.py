"""A model to be served: its name, its learner, how tables are read for it, what it is of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from budgetron.errors import BudgetronError
from budgetron.estimators._base.estimator import OnlineEstimator
from budgetron.streams.table.roles import Layout

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True)
class Definition:
    """A model to be served.

    Parameters
    ----------
    name : in addresses and in the names of its files
    learner : an estimator of this package
    layout : how rows of a table become its features; None: its rows are numbers, or it is new
    classes : all labels of a new model; None: they join as they occur
    origin : what tells this model from another of the same name: a checkpoint is of one only
    """

    name: str
    learner: Any
    layout: Layout | None = None
    classes: Sequence[Any] | None = None
    origin: str = ""

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            what = "a model's name has letters, digits, dots, dashes and underscores, at most 64"
            raise BudgetronError(f"{self.name!r} cannot name a model: {what}; rename the file")

    @classmethod
    def of(cls, name: str, model: Any) -> Self:
        """Of an estimator, or of a pipeline of a TableEncoder and one."""
        steps = getattr(model, "steps", None)
        layout = None
        if isinstance(steps, list):
            if len(steps) != 2 or not hasattr(steps[0][1], "_encoding"):
                what = "only a pipeline of a fitted TableEncoder and a learner is served"
                raise BudgetronError(f"{name}: {what}")
            layout, model = Layout.of(steps[0][1]._encoding), steps[1][1]
        if not isinstance(model, OnlineEstimator):
            raise BudgetronError(f"{name}: {type(model).__name__} is no estimator of budgetron")
        return cls(name, model, layout)
