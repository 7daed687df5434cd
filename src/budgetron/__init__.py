"""Kernel machines that learn from a stream in fixed memory.

>>> import budgetron
>>> model = budgetron.make("ahpatron", budget=50)
>>> model
AhpatronClassifier(budget=50)

Estimators are imported when they are first asked for, so importing this package is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from budgetron.catalogue import algorithms, make
    from budgetron.engine import PrecisionWarning
    from budgetron.estimators.ahpatron import AhpatronClassifier
    from budgetron.estimators.perceptron import PerceptronClassifier

# Where each public name lives: a new estimator adds its line here and in catalogue.py.
_HOMES = {
    "AhpatronClassifier": "budgetron.estimators.ahpatron",
    "PerceptronClassifier": "budgetron.estimators.perceptron",
    "PrecisionWarning": "budgetron.engine",
    "algorithms": "budgetron.catalogue",
    "make": "budgetron.catalogue",
}

__all__ = [
    "AhpatronClassifier",
    "PerceptronClassifier",
    "PrecisionWarning",
    "__version__",
    "algorithms",
    "make",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'budgetron' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
