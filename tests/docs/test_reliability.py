"""The reliability page agrees with the tests: every promise names one, and they all exist."""

from __future__ import annotations

import re

import pytest

from tests.support.repository import ROOT

PAGE = (ROOT / "docs" / "guide" / "reliability.md").read_text(encoding="utf-8")
TEST = re.compile(r"`((?:tests|core/tests)/[\w/]+\.(?:py|cpp))::(\w+)`")


def promises() -> list[str]:
    """The rows of the tables headed "promise | held by"."""
    tables = re.findall(r"^\| promise \| held by \|\n\|---\|---\|\n((?:\|.*\n)+)", PAGE, re.M)
    return [row for table in tables for row in table.splitlines()]


def test_every_promise_is_held_by_something() -> None:
    assert len(promises()) > 30
    for row in promises():
        held = row.strip("| ").split(" | ")[1]
        assert re.search(r"`(tests|core/tests)/", held), row


@pytest.mark.parametrize(("path", "name"), sorted(set(TEST.findall(PAGE))))
def test_the_tests_it_names_are_there(path: str, name: str) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    wanted = rf"^def {name}\(" if path.endswith(".py") else rf"^TEST\({name}\)"
    assert re.search(wanted, text, re.M), f"{path} has no test {name}"
