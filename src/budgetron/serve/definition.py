"""A model to serve: its name, its learner, the layout of its tables, its origin."""

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
    """A model to serve.

    Parameters
    ----------
    name : its name in addresses and file names
    learner : an estimator of this package
    layout : how rows of a table become features; None: its rows are numbers, or it is new
    classes : all labels of a new model; None: labels are added as they occur
    origin : tells this model from another of the same name: a checkpoint belongs to one of them
    """

    name: str
    learner: Any
    layout: Layout | None = None
    classes: Sequence[Any] | None = None
    origin: str = ""

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            what = "a name has at most 64 letters, digits, dots, dashes and underscores"
            raise BudgetronError(f"{self.name!r} cannot name a model: {what}; rename the file")

    @classmethod
    def of(cls, name: str, model: Any) -> Self:
        """Make one from an estimator, or from a pipeline of a TableEncoder and an estimator."""
        steps = getattr(model, "steps", None)
        layout = None
        if isinstance(steps, list):
            if len(steps) != 2 or not hasattr(steps[0][1], "_encoding"):
                what = "only a pipeline of a fitted TableEncoder and a learner can be served"
                raise BudgetronError(f"{name}: {what}")
            layout, model = Layout.of(steps[0][1]._encoding), steps[1][1]
        if not isinstance(model, OnlineEstimator):
            raise BudgetronError(f"{name}: {type(model).__name__} is not an estimator of budgetron")
        return cls(name, model, layout)
