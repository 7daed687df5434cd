"""Docstrings of public names are complete: parameters, attributes and an example that runs.

tests/house/test_package.py runs all examples and checks their output.
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from typing import Any

import pytest

import budgetron
from budgetron.estimators._base.estimator import OnlineEstimator

MODULES = (
    "budgetron",
    "budgetron.river",
    "budgetron.streams",
    "budgetron.evaluate",
    "budgetron.compare",
    "budgetron.tune",
    "budgetron.client",
    "budgetron.serve",
    "budgetron.export",
    "budgetron.onnx",
    "budgetron.plot",
    "budgetron.fleet",
    "budgetron.fleet.classifier",
    "budgetron.fleet.regressor",
    "budgetron.sources",
    "budgetron.scoring",
    "budgetron.spark",
    "budgetron.dask",
    "budgetron.ray",
    "budgetron.checks",
    "budgetron.datasets",
    "budgetron.parts",
)
# Classes that are only returned or raised, and base classes: no example needed.
NO_EXAMPLE = {
    "Budget",
    "Candidate",
    "DataSet",
    "Failure",
    "File",
    "FleetEvent",
    "Kernel",
    "Learned",
    "Learner",
    "Line",
    "Loss",
    "Part",
    "Predictions",
    "RegressionLoss",
    "RegressionUpdate",
    "RowStream",
    "Sink",
    "Source",
    "Stream",
    "Update",
}
SECTION = re.compile(r"\n(?=\w[\w ]*\n---+\n)")
HEADER = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : |$)", re.MULTILINE)


def public(module: str) -> list[Any]:
    """The public classes and functions of a module."""
    found = import_module(module)
    names = getattr(found, "__all__", None) or [
        name
        for name, value in vars(found).items()
        if not name.startswith("_")
        and f"{getattr(value, '__module__', '')}.".startswith(f"{module}.")
    ]
    values = [getattr(found, name) for name in names]
    return [value for value in values if inspect.isclass(value) or inspect.isfunction(value)]


def is_error(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, BaseException)


def sections(document: str) -> dict[str, str]:
    """The sections of a docstring by their headings."""
    _, *found = SECTION.split("\n" + document)
    return {each.split("\n")[0]: each.split("\n", 2)[2] for each in found}


def described(document: str) -> set[str]:
    """The names described under Parameters and Attributes."""
    found = sections(document)
    text = "\n".join(found.get(heading, "") for heading in ("Parameters", "Attributes"))
    return {name.lstrip("*") for names in HEADER.findall(text) for name in names.split(", ")}


def parameters(value: Any) -> set[str]:
    """The parameters that a caller may pass."""
    if inspect.isclass(value) and getattr(value, "_is_protocol", False):
        return set()
    names = inspect.signature(value).parameters
    return {name for name in names if not name.startswith("_") and name not in ("args", "kwargs")}


def lacking(value: Any) -> list[str]:
    """What is missing in the docstring of a class or function."""
    document = inspect.getdoc(value) or ""
    # The default docstring of a dataclass.
    if not document or document.startswith(f"{value.__name__}("):
        return ["a docstring"]
    if is_error(value):
        return []
    found = [f"the meaning of {name}" for name in parameters(value) - described(document)]
    if value.__name__ not in NO_EXAMPLE and ">>> " not in document:
        found.append("an example")
    return found


@pytest.mark.parametrize("module", MODULES)
def test_docstrings_are_complete(module: str) -> None:
    values = public(module)
    assert values
    incomplete = {value.__name__: lack for value in values if (lack := lacking(value))}
    assert not incomplete


def test_what_is_lacking_is_seen() -> None:
    def half(first: int, second: int) -> None:
        """Do something.

        Parameters
        ----------
        first : the first
        """

    assert lacking(half) == ["the meaning of second", "an example"]
    half.__doc__ = None
    assert lacking(half) == ["a docstring"]


def test_estimators_say_the_meaning_of_parameters_and_attributes() -> None:
    names = [name for name in budgetron.__all__ if name.endswith(("Classifier", "Regressor"))]
    assert len(names) > 30
    for name in names:
        estimator = getattr(budgetron, name)
        assert issubclass(estimator, OnlineEstimator)
        found = sections(estimator.__doc__)
        attributes = {
            attribute
            for attribute in dir(estimator)
            if attribute.endswith("_")
            and not attribute.startswith("_")
            and isinstance(inspect.getattr_static(estimator, attribute), property)
        }
        if not hasattr(estimator, estimator._budget_name):
            attributes.remove("budget_")
        told = {each for names in HEADER.findall(found["Attributes"]) for each in names.split(", ")}
        assert attributes <= told, name
        assert {"n_features_in_", "n_support_", "memory_bytes_"} <= told, name
        for heading in ("Parameters", "Attributes"):
            for entry in re.split(r"\n(?=\w)", found[heading].strip()):
                assert "\n    " in entry, f"{name}: {entry!r} has no meaning"
