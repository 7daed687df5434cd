"""The steps of CONTRIBUTING.md can be followed; `make walkthrough` also builds the result."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.walkthrough import BUDGET, LEARNER, apply, files, stated, steps
from tests.support.repository import ROOT

TRY = """
import budgetron
from budgetron.catalogue import CATALOGUE
from budgetron.parts import BUDGETS, RemoveNewest
from papers.catalogue import PAGES
from tests.support.cases import BY_NAME

assert budgetron.__file__.startswith({root!r}), budgetron.__file__
RemoveNewest().check()
assert RemoveNewest().spec() == {{"kind": "remove-newest", "size": 100}}
kinds = [part.kind for part in BUDGETS]
assert kinds.index("remove-newest") == kinds.index("remove-oldest") + 1
assert set(CATALOGUE) == set(PAGES) == set(BY_NAME)
assert type(BY_NAME["newest-perceptron"].make()) is budgetron.NewestPerceptronClassifier
assert PAGES["newest-perceptron"].__name__ == "NewestPerceptron"
assert "budget : int or str, default 100" in budgetron.NewestPerceptronClassifier.__doc__
try:
    budgetron.make("newest-perceptron", budget=0)._validate_params()
except ValueError as error:
    assert "'budget' parameter of NewestPerceptronClassifier must be an int" in str(error)
else:
    raise AssertionError("budget=0 was taken")
"""


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files after all steps except those that need the build."""
    root = tmp_path_factory.mktemp("walkthrough")
    left_out = shutil.ignore_patterns("__pycache__")
    for folder in ("core", "src", "papers", "tests"):
        shutil.copytree(ROOT / folder, root / folder, ignore=left_out)
    shutil.copy(ROOT / "CHANGELOG.md", root)
    for title in (BUDGET, LEARNER):
        apply(root, title)
    return root


@pytest.mark.parametrize(("title", "count"), [(BUDGET, 3), (LEARNER, 9)])
def test_how_many_files_a_new_part_touches(title: str, count: int) -> None:
    """The number should fall; a change that raises it says why."""
    assert len(files(title)) == stated(title) == count
    assert len(steps(title)) >= count


def test_the_cpp_of_the_walkthrough_compiles(followed: Path) -> None:
    compiler = shutil.which("c++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler on the path")
    options = [
        "-std=c++20",
        "-fsyntax-only",
        "-Wall",
        "-Wextra",
        "-Wconversion",
        "-Werror",
        "-Icore",
    ]
    subprocess.run(
        [compiler, *options, "core/learners/budgets/budget.cpp"], cwd=followed, check=True
    )


def test_the_python_of_the_walkthrough_is_a_part_and_a_learner(followed: Path) -> None:
    """With the current compiled core, which does not have the part: nothing is learned."""
    shutil.copy(followed / "tests" / "support" / "own_package.py", followed / "sitecustomize.py")
    built = next((ROOT / "src" / "budgetron").glob("_core*.so"), None)
    if built is None:  # an editable install has it elsewhere
        from budgetron import _core

        shutil.copy(_core.__file__, followed / "src" / "budgetron")
    path = os.pathsep.join(str(followed / each) for each in ("src", "."))
    code = TRY.format(root=str(followed))
    environment = {**os.environ, "PYTHONPATH": path}
    subprocess.run([sys.executable, "-c", code], cwd=followed, env=environment, check=True)


def test_the_python_of_the_walkthrough_is_clean(followed: Path) -> None:
    if shutil.which("ruff") is None and not (Path(sys.executable).parent / "ruff").exists():
        pytest.skip("ruff is not installed")
    shutil.copy(ROOT / "pyproject.toml", followed)
    python = [name for name in [*files(BUDGET), *files(LEARNER)] if name.endswith(".py")]
    for job in (["check"], ["format", "--check"]):
        command = [sys.executable, "-m", "ruff", *job, *python]
        subprocess.run(command, cwd=followed, check=True)
