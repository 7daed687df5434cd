"""The package itself: fast to import, documented by examples that run, consistent registry."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import math
import os
import pkgutil
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch

import numpy as np
import pytest
from packaging.specifiers import SpecifierSet

import budgetron
from benchmarks.imports import LINES, seconds
from budgetron import _core, parts
from budgetron.catalogue import CATALOGUE
from budgetron.errors import BudgetronError
from papers.catalogue import PAGES
from tests.support.cases import (
    CASES,
    KINDS,
    REGRESSION,
    REGRESSION_KINDS,
    Case,
    numeric_stream,
    stream,
)
from tests.support.native import engine_of
from tests.support.repository import ROOT

FOREIGN = """
import sys
before = set(sys.modules)
import budgetron
names = {name.partition(".")[0] for name in set(sys.modules) - before}
print(*sorted(names - sys.stdlib_module_names - {"budgetron"}))
"""


def test_importing_needs_the_standard_library_and_lazy_loader() -> None:
    command = [sys.executable, "-c", FOREIGN]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["lazy_loader"]


def test_import_is_light() -> None:
    """Processor time, which other programs do not affect; one fast import of five is enough."""
    statement, bar = LINES["budgetron"]
    assert any(seconds(statement) < bar for _ in range(5))


def test_the_package_runs_as_the_command() -> None:
    command = [sys.executable, "-m", "budgetron", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert budgetron.__version__ in done.stdout


def test_the_version_is_in_one_place() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {budgetron.__version__}\n" in citation
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" in project["project"]["dynamic"]
    assert project["tool"]["scikit-build"]["metadata"]["version"]["input"] == (
        "src/budgetron/__init__.py"
    )
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "## Unreleased" in changes or f"## {budgetron.__version__}" in changes


STABLE = (3, 12)  # the first Python of the stable ABI
# The first release of cibuildwheel that builds each CPython by default (its changelog).
BUILDS = {(3, 11): (2, 9), (3, 12): (2, 15), (3, 13): (2, 20), (3, 14): (3, 1)}
# The names that cibuildwheel uses for GitHub's runners.
RUNNERS = {
    "ubuntu": ("linux", "manylinux"),
    "macos": ("macos", "macosx"),
    "windows": ("windows", "win"),
}


def test_wheels_are_built_of_every_python_on_every_system() -> None:
    """The two files together build every supported Python on every system."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheels = project["tool"]["cibuildwheel"]
    workflow = (ROOT / ".github/workflows/wheels.yml").read_text(encoding="utf-8")
    taken = SpecifierSet(project["project"]["requires-python"])
    pythons = [python for python in BUILDS if taken.contains("{}.{}".format(*python))]
    assert sys.version_info[:2] in pythons

    [pinned] = re.findall(r"pypa/cibuildwheel@v(\d+)\.(\d+)", workflow)
    assert tuple(map(int, pinned)) >= max(BUILDS[python] for python in pythons)

    jobs = re.findall(r"\{ os: (\w+)-\S+, archs: (\w+), ", workflow)
    systems = {(RUNNERS[runner][0], arch) for runner, arch in jobs}
    told = {(name, arch) for name, _ in RUNNERS.values() for arch in wheels[name]["archs"]}
    assert systems == told
    for runner, arch in jobs:
        for python in pythons:
            built = min(python, STABLE)  # its wheel serves all later versions
            wheel = "cp{}{}-{}_{}".format(*built, RUNNERS[runner][1], arch.lower())
            assert any(fnmatch(wheel, each) for each in wheels["build"].split()), wheel
            assert not any(fnmatch(wheel, each) for each in wheels["skip"].split()), wheel


def test_wheels_are_tried_by_a_script_that_refuses_the_checkout() -> None:
    """Otherwise it would try the sources beside it, and pass whatever the wheel contains."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    python, script = project["tool"]["cibuildwheel"]["test-command"].split()
    assert python == "python"
    command = [sys.executable, script.format(project=ROOT)]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "src")}
    )
    assert done.returncode != 0
    assert "not the installed one" in done.stderr


def test_public_names_resolve() -> None:
    for name in budgetron.__all__:
        assert getattr(budgetron, name) is not None
    assert set(budgetron.__all__) == set(dir(budgetron))
    assert "__version__" in dir(budgetron)
    with pytest.raises(AttributeError) as raised:
        budgetron.mkae  # noqa: B018
    assert str(raised.value) == "module 'budgetron' has no attribute 'mkae'"
    # Python uses this to suggest `make`.
    assert (raised.value.name, raised.value.obj) == ("mkae", budgetron)


def test_a_star_import_brings_the_public_names_alone() -> None:
    names: dict[str, object] = {}
    exec("from budgetron import *", names)
    assert names.keys() - {"__builtins__"} == set(budgetron.__all__)
    names = {"sqrt": None}
    exec("from budgetron.parts import *", names)
    families = ["KERNELS", "LOSSES", "UPDATES", "BUDGETS"]
    families += ["REGRESSION_LOSSES", "REGRESSION_UPDATES"]
    of_families = {part.__name__ for name in families for part in getattr(parts, name)}
    assert {"Part", "Spec", "Round", "Budget", *families, *of_families} <= names.keys()
    assert names["sqrt"] is None
    for name in names.keys() - {"__builtins__", "sqrt", "Spec", *families}:
        part = names[name]
        assert isinstance(part, type), name
        assert issubclass(part, parts.Part), name


@pytest.mark.parametrize("name", [3, None, ["ahpatron"], "ahptron"])
def test_a_name_that_is_no_algorithm_is_refused_in_a_line(name: object) -> None:
    with pytest.raises(BudgetronError, match=r"perceptron, remove-oldest, .*budgetron") as raised:
        budgetron.make(name)  # type: ignore[call-overload]
    assert repr(name) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_public_names_are_those_of_the_stub() -> None:
    """Only `name as name`, which lazy_loader reads."""
    text = (ROOT / "src/budgetron/__init__.pyi").read_text(encoding="utf-8")
    named = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom):
            assert node.level == 1
            for each in node.names:
                assert each.asname == each.name
                named.append(each.name)
        else:
            assert ast.unparse(node) in ("__version__: str", "__all__: list[str]")
    assert sorted(["__version__", *named]) == sorted(budgetron.__all__)
    assert len(set(named)) == len(named)


def test_everything_can_be_imported_at_once() -> None:
    """As lazy_loader does if this variable is set."""
    command = [sys.executable, "-c", "import sys, budgetron; print('sklearn' in sys.modules)"]
    environment = {**os.environ, "EAGER_IMPORT": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split() == ["True"]


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
    from tests.support.cases import BY_NAME

    assert set(CATALOGUE) == set(PAGES) == set(BY_NAME)


def test_the_core_refuses_what_the_parts_do_not_say() -> None:
    spec = parts.Round(parts.Gaussian(1.0), parts.AvpUpdate()).spec()
    _core.Model64(spec, "classification", 2, 0)
    spec["update"]["surplus"] = 1.0
    with pytest.raises(ValueError, match="nothing reads 'surplus'"):
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


def test_the_short_list_of_cases_has_every_compiled_learner() -> None:
    """Tests of shared code run only over this list."""

    def kinds(cases: list[Case], rows: tuple[np.ndarray, np.ndarray]) -> set[str]:
        return {engine_of(case.make().partial_fit(*rows)).spec["kind"] for case in cases}

    assert kinds(KINDS, stream(20)) == kinds(CASES, stream(20))
    some = numeric_stream(20)
    assert kinds(REGRESSION_KINDS, some) == kinds(REGRESSION, some)
