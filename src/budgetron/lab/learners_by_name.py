"""Learners by name: one of the catalogue, or `module:attribute` for the user's own.

The attribute is a class or a function that makes a learner: anything with `partial_fit` and
`predict`, or with River's `learn_one` and `predict_one`. Modules are also searched in the current
folder. Every mistake in a name is a BudgetronError of one line.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import sys
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from budgetron.catalogue import CATALOGUE, DETECTORS, algorithms, make, nearest
from budgetron.errors import BudgetronError


class NamedLearner(Protocol):
    """What a name means."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str:
        """Changes if the learner's code may have changed."""

    def parameters(self, task: str) -> list[str] | None:
        """The names of its parameters; None if it takes any."""

    def make(self, task: str, **params: Any) -> Any:
        """A new learner.

        Raises
        ------
        BudgetronError
            If the learner does not do the task or has no such parameter.
        """


@dataclass(frozen=True)
class _Listed:
    """A learner of the catalogue."""

    name: str

    @property
    def version(self) -> str:
        from budgetron import __version__

        return __version__

    def parameters(self, task: str) -> list[str] | None:
        if task not in CATALOGUE[self.name].tasks:
            does = " and ".join(CATALOGUE[self.name].tasks)
            raise BudgetronError(f"{self.name} does {does}, not {task}")
        found = next(each for each in algorithms(task) if each.name == self.name)
        return list(found.parameters)

    def make(self, task: str, **params: Any) -> Any:
        return make(self.name, task, **params)


@dataclass(frozen=True)
class _Own:
    """A user's own learner."""

    name: str
    maker: Any
    version: str

    def parameters(self, task: str) -> list[str] | None:
        try:
            found = inspect.signature(self.maker).parameters.values()
        except (TypeError, ValueError):
            return []
        if any(each.kind is each.VAR_KEYWORD for each in found):
            return None
        return [each.name for each in found if each.kind is not each.VAR_POSITIONAL]

    def make(self, task: str, **params: Any) -> Any:
        known = self.parameters(task)
        for parameter in params:
            if known is not None and parameter not in known:
                has = f"it has {', '.join(known)}" if known else "it has none"
                raise BudgetronError(f"{self.name} has no parameter {parameter!r} ({has})")
        try:
            model = self.maker(**params)
        except Exception as error:
            raise BudgetronError(f"{self.name}: {type(error).__name__}: {error}") from error
        pairs = (("partial_fit", "predict"), ("learn_one", "predict_one"))
        if not any(all(hasattr(model, method) for method in pair) for pair in pairs):
            raise BudgetronError(
                f"{self.name} makes a {type(model).__name__}, which has neither partial_fit and "
                "predict nor learn_one and predict_one"
            )
        return model


def named(name: str) -> NamedLearner:
    """The learner of this name.

    Examples
    --------
    >>> named("forgetron").make("classification", budget=10)
    ForgetronClassifier(budget=10)
    >>> named("sklearn.linear_model:SGDClassifier").make("classification", alpha=0.01)
    SGDClassifier(alpha=0.01)
    """
    if ":" in name:
        return _own(name)
    if name not in CATALOGUE:
        hint = nearest(name, CATALOGUE) or f"; there are: {', '.join(CATALOGUE)}"
        if name in DETECTORS:
            raise BudgetronError(f"{name} learns without labels: it is for `budgetron run` only")
        raise BudgetronError(f"unknown algorithm {name!r}{hint} (your own: module:attribute)")
    return _Listed(name)


def _own(name: str) -> _Own:
    module_name, _, path = name.partition(":")
    if not module_name or not path:
        raise BudgetronError(f"{name!r} is not module:attribute")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or module_name
        why = "" if missing == module_name else f" (wanted by {module_name})"
        where = f"here in {os.getcwd()} or among the installed ones"
        raise BudgetronError(f"{name}: there is no module {missing!r}{why}, {where}") from error
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise BudgetronError(f"{name}: {module_name} cannot be imported: {what}") from error
    found: Any = module
    for part in path.split("."):
        if not hasattr(found, part):
            hint = nearest(part, [each for each in dir(found) if not each.startswith("_")])
            raise BudgetronError(f"{name}: {module_name} has no {path!r}{hint}")
        found = getattr(found, part)
    if not callable(found):
        what = type(found).__name__
        raise BudgetronError(f"{name} is a {what}, not a class or a function that makes a learner")
    return _Own(name, found, _version_of(module))


def _version_of(module: Any) -> str:
    """A digest of the module's source: stored results hold only for it."""
    source = getattr(module, "__file__", None)
    if source is None or not os.path.isfile(source):
        return str(getattr(module, "__version__", ""))
    with open(source, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:16]
