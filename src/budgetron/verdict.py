"""The warning of a model that does not learn, given once.

The compiled model compares its decisions with the simplest baseline (core/model/verdict.hpp). The
result becomes one warning, and a line of `budgetron info`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from types import FrameType
from typing import Any

ROWS = 1000  # rows of a verdict: core/model/verdict.hpp


class NotLearningWarning(UserWarning):
    """A model predicts worse than the majority class or the mean, or its decisions are all 0.

    It is given once per model, and not if a model is one of many that are compared.
    """

    __module__ = "budgetron"  # its public name, as warnings show it


@dataclass(frozen=True)
class Alarm:
    """Called by a compiled model with its verdict; it knows what could be done.

    Parameters
    ----------
    task : "classification" or "regression"
    kernel : the spec of its kernel
    scale, gamma_rule : as in `budgetron._engine.Preparation`
    """

    task: str
    kernel: Mapping[str, Any]
    scale: str
    gamma_rule: str

    def __call__(self, kind: str, loss: float, guess: float) -> None:
        """Warn, at the place in the user's code."""
        warnings.warn(self.text(kind, loss, guess), NotLearningWarning, _levels())

    def text(self, kind: str, loss: float, guess: float) -> str:
        """What is wrong, with figures, and what to do."""
        if kind == "died out":
            wrong = (
                f"the model says nothing: all kernel values of the last {ROWS:,} rows with stored "
                "examples were 0"
            )
        elif self.task == "classification":
            wrong = (
                f"the last {ROWS:,} rows were predicted with {loss:.1%} mistakes; the majority "
                f"class alone has {guess:.1%}"
            )
        else:
            wrong = (
                f"the last {ROWS:,} rows were predicted with a root mean squared error of "
                f"{sqrt(loss):.3g}; the mean of the targets alone has {sqrt(guess):.3g}"
            )
        return f"{wrong}. {self._cure(kind)}"

    def _cure(self, kind: str) -> str:
        settings = []
        if self.scale == "none":
            settings.append('scale="auto"')
        if "gamma" in self.kernel and self.gamma_rule != "median":
            settings.append('gamma="median"')
        if settings:
            return f"Set {' and '.join(settings)}, or scale the features yourself"
        if kind == "died out":
            return "Rows are far from all stored examples: take a larger budget or another learner"
        return "Take a larger budget or another learner, or check that the features are useful"


def _levels() -> int:
    """How many frames above its caller the first frame outside this package is."""
    frame: FrameType | None = sys._getframe(1)
    levels = 1
    while frame is not None and frame.f_back is not None:
        name = frame.f_globals.get("__name__", "")
        if name != "budgetron" and not name.startswith("budgetron."):
            break
        frame = frame.f_back
        levels += 1
    return levels
