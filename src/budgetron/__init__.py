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
    from budgetron._engine import PrecisionWarning
    from budgetron.catalogue import algorithms, make
    from budgetron.estimators.ahpatron import AhpatronClassifier
    from budgetron.estimators.alma import ALMAClassifier
    from budgetron.estimators.avm import AVMClassifier, AVMRegressor
    from budgetron.estimators.avp import AVPClassifier
    from budgetron.estimators.bogd import BOGDClassifier, BOGDRegressor
    from budgetron.estimators.bsgd import BSGDClassifier
    from budgetron.estimators.budget_passive_aggressive import BudgetPassiveAggressiveClassifier
    from budgetron.estimators.budget_perceptron import (
        BudgetPerceptronClassifier,
        BudgetPerceptronRegressor,
    )
    from budgetron.estimators.budgetron import BudgetronClassifier, BudgetronRegressor
    from budgetron.estimators.custom import KernelClassifier
    from budgetron.estimators.diameter import suggest_delta
    from budgetron.estimators.fogd import FOGDClassifier, FOGDRegressor
    from budgetron.estimators.forgetron import ForgetronClassifier, ForgetronRegressor
    from budgetron.estimators.nogd import NOGDClassifier, NOGDRegressor
    from budgetron.estimators.ogd import OGDClassifier, OGDRegressor
    from budgetron.estimators.passive_aggressive import (
        PassiveAggressiveClassifier,
        PassiveAggressiveRegressor,
    )
    from budgetron.estimators.pegasos import PegasosClassifier
    from budgetron.estimators.perceptron import PerceptronClassifier
    from budgetron.estimators.pomdr import POMDRClassifier
    from budgetron.estimators.projectron import (
        ProjectronClassifier,
        ProjectronPlusClassifier,
        ProjectronRegressor,
    )
    from budgetron.estimators.shrinking_perceptron import ShrinkingPerceptronClassifier
    from budgetron.model_file import ModelFileError, load, save

# Where each public name lives: a new estimator adds its line here and in catalogue.py.
_HOMES = {
    "ALMAClassifier": "budgetron.estimators.alma",
    "AVMClassifier": "budgetron.estimators.avm",
    "AVMRegressor": "budgetron.estimators.avm",
    "AVPClassifier": "budgetron.estimators.avp",
    "AhpatronClassifier": "budgetron.estimators.ahpatron",
    "BOGDClassifier": "budgetron.estimators.bogd",
    "BOGDRegressor": "budgetron.estimators.bogd",
    "BSGDClassifier": "budgetron.estimators.bsgd",
    "BudgetPassiveAggressiveClassifier": "budgetron.estimators.budget_passive_aggressive",
    "BudgetPerceptronClassifier": "budgetron.estimators.budget_perceptron",
    "BudgetPerceptronRegressor": "budgetron.estimators.budget_perceptron",
    "BudgetronClassifier": "budgetron.estimators.budgetron",
    "BudgetronRegressor": "budgetron.estimators.budgetron",
    "FOGDClassifier": "budgetron.estimators.fogd",
    "FOGDRegressor": "budgetron.estimators.fogd",
    "ForgetronClassifier": "budgetron.estimators.forgetron",
    "ForgetronRegressor": "budgetron.estimators.forgetron",
    "KernelClassifier": "budgetron.estimators.custom",
    "ModelFileError": "budgetron.model_file",
    "NOGDClassifier": "budgetron.estimators.nogd",
    "NOGDRegressor": "budgetron.estimators.nogd",
    "OGDClassifier": "budgetron.estimators.ogd",
    "OGDRegressor": "budgetron.estimators.ogd",
    "POMDRClassifier": "budgetron.estimators.pomdr",
    "PassiveAggressiveClassifier": "budgetron.estimators.passive_aggressive",
    "PassiveAggressiveRegressor": "budgetron.estimators.passive_aggressive",
    "PegasosClassifier": "budgetron.estimators.pegasos",
    "PerceptronClassifier": "budgetron.estimators.perceptron",
    "PrecisionWarning": "budgetron._engine",
    "ProjectronClassifier": "budgetron.estimators.projectron",
    "ProjectronRegressor": "budgetron.estimators.projectron",
    "ProjectronPlusClassifier": "budgetron.estimators.projectron",
    "ShrinkingPerceptronClassifier": "budgetron.estimators.shrinking_perceptron",
    "algorithms": "budgetron.catalogue",
    "load": "budgetron.model_file",
    "make": "budgetron.catalogue",
    "save": "budgetron.model_file",
    "suggest_delta": "budgetron.estimators.diameter",
}

__all__ = [
    "ALMAClassifier",
    "AVMClassifier",
    "AVMRegressor",
    "AVPClassifier",
    "AhpatronClassifier",
    "BOGDClassifier",
    "BOGDRegressor",
    "BSGDClassifier",
    "BudgetPassiveAggressiveClassifier",
    "BudgetPerceptronClassifier",
    "BudgetPerceptronRegressor",
    "BudgetronClassifier",
    "BudgetronRegressor",
    "FOGDClassifier",
    "FOGDRegressor",
    "ForgetronClassifier",
    "ForgetronRegressor",
    "KernelClassifier",
    "ModelFileError",
    "NOGDClassifier",
    "NOGDRegressor",
    "OGDClassifier",
    "OGDRegressor",
    "POMDRClassifier",
    "PassiveAggressiveClassifier",
    "PassiveAggressiveRegressor",
    "PegasosClassifier",
    "PerceptronClassifier",
    "PrecisionWarning",
    "ProjectronClassifier",
    "ProjectronPlusClassifier",
    "ProjectronRegressor",
    "ShrinkingPerceptronClassifier",
    "__version__",
    "algorithms",
    "load",
    "make",
    "save",
    "suggest_delta",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'budgetron' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
