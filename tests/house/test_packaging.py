"""Package metadata agree: pyproject.toml, conda recipe, wheels, citation."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import budgetron

ROOT = Path(__file__).resolve().parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
RECIPE = (ROOT / "deploy/conda/recipe.yaml").read_text(encoding="utf-8")


def listed(section: str) -> set[str]:
    """Lines of a list of the recipe, without blanks."""
    found = re.search(rf"^  {section}:\n((?:    - .*\n)+)", RECIPE, re.MULTILINE)
    assert found is not None, section
    return {line.strip()[2:].replace(" ", "") for line in found[1].splitlines()}


def test_the_recipe_needs_what_the_project_needs() -> None:
    wanted = set(PROJECT["project"]["dependencies"])
    wanted.add(f"python{PROJECT['project']['requires-python']}")
    assert listed("run") == {each.replace(" ", "") for each in wanted}


def test_the_recipe_builds_with_what_the_project_builds_with() -> None:
    assert set(PROJECT["build-system"]["requires"]) <= listed("host")
    assert f"cmake{PROJECT['tool']['scikit-build']['cmake']['version']}" in listed("build")


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("deploy/conda/recipe.yaml", r'version: "([^"]+)"'),
        ("CITATION.cff", r"^version: (\S+)"),
        ("src/budgetron/__init__.py", r'__version__ = "([^"]+)"'),
    ],
)
def test_versions_agree(file: str, pattern: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    found = re.search(pattern, text, re.MULTILINE)
    assert found is not None
    assert found[1] == budgetron.__version__


def test_the_command_of_the_recipe_is_the_projects() -> None:
    [(name, door)] = PROJECT["project"]["scripts"].items()
    assert f"- {name} = {door}" in RECIPE


def test_wheels_of_the_stable_abi_serve_all_later_versions() -> None:
    """Only one tag has the stable ABI; a later version in the list would be built twice."""
    [override] = PROJECT["tool"]["scikit-build"]["overrides"]
    stable = override["wheel"]["py-api"]
    tags = PROJECT["tool"]["cibuildwheel"]["build"].split()
    plain = [tag for tag in tags if not tag.endswith("t-*")]
    assert plain == ["cp311-*", f"{stable}-*"]
