"""The package itself: quick to import, documented by examples that run, registry in order."""

from __future__ import annotations

import doctest
import importlib
import inspect
import math
import pkgutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import budgetron
from budgetron import _core, parts
from budgetron.catalogue import CATALOGUE
from papers.catalogue import PAGES

ROOT = Path(__file__).resolve().parents[1]
LIGHT = """
import sys, time
start = time.perf_counter()
import budgetron
seconds = time.perf_counter() - start
heavy = {"sklearn", "scipy", "matplotlib", "pyarrow", "typer", "rich"} & set(sys.modules)
print(seconds, sorted(heavy))
"""


def test_import_is_light() -> None:
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, check=True)
    assert done.stdout.split(maxsplit=1)[1].strip() == "[]"


def test_the_package_runs_as_the_command() -> None:
    command = [sys.executable, "-m", "budgetron", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert budgetron.__version__ in done.stdout


def test_the_version_stands_in_one_place() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {budgetron.__version__}\n" in citation
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" in project["project"]["dynamic"]
    assert project["tool"]["scikit-build"]["metadata"]["version"]["input"] == (
        "src/budgetron/__init__.py"
    )
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "## Unreleased" in changes or f"## {budgetron.__version__}" in changes


def test_wheels_are_configured_for_every_system() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheels = project["tool"]["cibuildwheel"]
    assert {"linux", "macos", "windows"} <= set(wheels)
    assert "aarch64" in wheels["linux"]["archs"]
    assert "arm64" in wheels["macos"]["archs"]
    assert wheels["windows"]["environment"]["CXX"] == "clang-cl"
    tried = wheels["test-command"].split("{project}/")[1]
    assert (ROOT / tried).exists()


def test_public_names_resolve() -> None:
    for name in budgetron.__all__:
        assert getattr(budgetron, name) is not None
    assert set(budgetron.__all__) == set(dir(budgetron))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        budgetron.nothing  # noqa: B018


def test_examples_in_docstrings_run() -> None:
    attempted = 0
    for module in pkgutil.walk_packages(budgetron.__path__, "budgetron."):
        if module.name.endswith("_core"):
            continue
        result = doctest.testmod(importlib.import_module(module.name))
        assert result.failed == 0, module.name
        attempted += result.attempted
    attempted += doctest.testmod(budgetron).attempted
    assert attempted > 10


ESTIMATORS = [name for name in budgetron.__all__ if name.endswith(("Classifier", "Regressor"))]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_docstrings_have_every_parameter_with_its_default(name: str) -> None:
    estimator = getattr(budgetron, name)
    section = estimator.__doc__.split("Parameters\n----------\n")[1].split("\n\n")[0]
    headers = [line.split(" : ") for line in section.split("\n") if not line.startswith(" ")]
    told = {}
    for names, kind in headers:
        defaults = kind.split(", default ")[1].split(" and ")
        told |= dict(zip(names.split(", "), defaults, strict=True))
    signature = inspect.signature(estimator).parameters
    assert sorted(told) == sorted(signature)
    for parameter, default in told.items():
        value = eval(default, {"sqrt": math.sqrt, "inf": math.inf})
        assert value == signature[parameter].default, parameter
    assert "Examples\n--------\n>>> " in estimator.__doc__


def test_a_class_of_ones_own_inherits_what_it_does_not_say() -> None:
    class Mine(budgetron.ForgetronClassifier):
        """Mine.

        Parameters
        ----------
        variant : {"basic"}
            Always this.
        """

        variant: str = "basic"

    class Silent(budgetron.ForgetronClassifier):
        pass

    assert Mine.__doc__.startswith(
        'Mine.\n\nParameters\n----------\nvariant : {"basic"}, default "'
    )
    assert 'default "basic"\n    Always this.\nbudget : int or str, default 100\n' in Mine.__doc__
    assert Silent.__doc__ is None
    assert inspect.getdoc(Silent) == inspect.getdoc(budgetron.ForgetronClassifier)


def test_catalogue_pages_and_cases_list_the_same_names() -> None:
    from cases import BY_NAME

    assert set(CATALOGUE) == set(PAGES) == set(BY_NAME)


def test_the_core_refuses_what_the_parts_do_not_say() -> None:
    spec = parts.Round(parts.Gaussian(1.0), parts.AvpUpdate()).spec()
    _core.Model64(spec, "classification", 2, 0)
    spec["update"]["surplus"] = 1.0
    with pytest.raises(ValueError, match="nobody reads 'surplus'"):
        _core.Model64(spec, "classification", 2, 0)
    del spec["update"]["surplus"], spec["update"]["epsilon"]
    with pytest.raises(ValueError, match="'epsilon' is missing"):
        _core.Model64(spec, "classification", 2, 0)
    with pytest.raises(ValueError, match="no learner is called 'nothing'"):
        _core.Model64({"kind": "nothing"}, "classification", 2, 0)


def test_unknown_names_suggest_the_nearest() -> None:
    with pytest.raises(ValueError, match="did you mean 'ahpatron'"):
        budgetron.make("ahpatorn")
    with pytest.raises(ValueError, match="did you mean 'budget'"):
        budgetron.make("ahpatron", budgett=3)
    with pytest.raises(ValueError, match="does classification, not 'ranking'"):
        budgetron.make("perceptron", task="ranking")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"budget": 1}, "'budget' parameter of AhpatronClassifier must be an int in the range"),
        ({"epsilon": 1.5}, "'epsilon' parameter"),
        ({"gamma": -1.0}, "'gamma' parameter"),
        ({"kernel": "cosine"}, "'kernel' parameter"),
        ({"kernel": "sigmoid"}, "not positive definite"),
        ({"norm": "shrink"}, "'norm' parameter"),
    ],
)
def test_bad_parameters_say_which_and_what_is_allowed(params: dict, message: str) -> None:
    model = budgetron.make("ahpatron", **params)
    with pytest.raises(ValueError, match=message):
        model.fit([[0.0], [1.0]], [0, 1])
