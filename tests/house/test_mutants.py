"""The list of mutants is valid: every error still applies, and the tests that detect it exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.house.mutants import Mutant, mutants
from tests.support.repository import ROOT

LISTED = mutants()


def names_in(path: Path) -> set[str]:
    """The tests of a file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".cpp":
        return set(re.findall(r"^TEST\((\w+)\)", text, re.M))
    return {node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("mutant", LISTED, ids=lambda mutant: mutant.name)
def test_a_mutant_applies_and_has_its_tests(mutant: Mutant) -> None:
    assert mutant.why_not(ROOT) == ""
    assert mutant.killed_by
    for test in mutant.killed_by:
        file, _, name = test.partition("::")
        assert (ROOT / file).is_file(), f"there is no {file}"
        assert name.partition("[")[0] in names_in(ROOT / file), f"{file} has no test {name}"
    kinds = {test.startswith("core/") for test in mutant.killed_by}
    assert len(kinds) == 1, "C++ tests and tests of pytest do not go together"
    assert mutant.compiled or kinds == {False}, "C++ tests notice nothing of the package"


def test_the_list_covers_core_and_package() -> None:
    assert len({mutant.name for mutant in LISTED}) == len(LISTED) >= 40
    core = [mutant.file for mutant in LISTED if mutant.file.startswith("core/")]
    package = [
        mutant.file for mutant in LISTED if mutant.file.startswith(("src/budgetron/", "studies/"))
    ]
    assert len(core) >= 15
    assert len(package) >= 15
    assert len(core) + len(package) == len(LISTED)
