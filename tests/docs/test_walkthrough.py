"""The walk-through of CONTRIBUTING.md can be followed; `make walkthrough` builds what comes out."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from tests.docs.walkthrough import apply, steps
from tests.support.repository import ROOT


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the steps, after all of them."""
    root = tmp_path_factory.mktemp("walkthrough")
    shutil.copytree(ROOT / "core", root / "core")
    shutil.copytree(ROOT / "src" / "budgetron" / "parts", root / "src" / "budgetron" / "parts")
    touched = list(apply(root))
    assert len(touched) == len(steps()) - 1 == 5
    return root


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


def test_the_python_of_the_walkthrough_is_a_part(followed: Path) -> None:
    spec = spec_from_file_location(
        "followed_parts", followed / "src" / "budgetron" / "parts" / "__init__.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["followed_parts"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    del sys.modules["followed_parts"]
    assert "remove-newest" in [part.kind for part in module.BUDGETS]
    assert module.RemoveNewest().spec() == {"kind": "remove-newest", "size": 100}
