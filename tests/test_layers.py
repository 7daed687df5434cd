"""Every file belongs to one layer, and a layer uses only itself and what is below it.

To add a layer: one line in LAYERS. To read another language: one entry in READERS.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# The folders of core/, from the top. Each may use itself and all that come after it.
CORE = (
    "core/model",
    "core/learners",
    "core/hypothesis",
    "core/storage",
    "core/simd",
    "core/base",
)
# A layer is a folder with all below it; beside it, the layers it may use.
LAYERS: dict[str, tuple[str, ...]] = {
    **{folder: CORE[i:] for i, folder in enumerate(CORE)},
    "core/io": ("core/io", "core/base"),
    "bindings": ("bindings", "core/io", "core/model", "core/base"),
    # Tests may use everything of the core.
    "core/tests": ("core/tests", "core/fuzz", "core/io", *CORE),
    "core/fuzz": ("core/fuzz", "core/io", "core/base"),
}
# Folders all of whose source files must belong to a layer.
COVERED = ("core", "bindings")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)


def included(path: str, text: str) -> Iterator[str]:
    """What a C++ file includes: beside it, or from core/."""
    for name in INCLUDE.findall(text):
        beside = Path(path).parent / name
        yield (beside if (ROOT / beside).is_file() else Path("core") / name).as_posix()


# By the ending of a file: the paths it uses, from its own path and its text.
READERS: dict[str, Callable[[str, str], Iterator[str]]] = {".hpp": included, ".cpp": included}

FILES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in COVERED
    for path in (ROOT / folder).rglob("*")
    if path.suffix in READERS
)


def layer(path: str) -> str | None:
    """The layer of a file; None if it has none."""
    folders = [parent.as_posix() for parent in Path(path).parents]
    return next((folder for folder in folders if folder in LAYERS), None)


def wrong(path: str, text: str) -> list[str]:
    """What a file uses and its layer may not, each said in a line."""
    allowed = LAYERS.get(layer(path) or "", ())
    return [
        f"{path} uses {used}, which is not in {', '.join(allowed)}"
        for used in READERS[Path(path).suffix](path, text)
        if layer(used) not in allowed
    ]


@pytest.mark.parametrize("folder", LAYERS)
def test_a_layer_uses_only_what_is_below_it(folder: str) -> None:
    files = [path for path in FILES if layer(path) == folder]
    assert files, f"{folder} has no files"
    found = [
        line for path in files for line in wrong(path, (ROOT / path).read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("folder", [*CORE, "core/io", "bindings"])
def test_a_layer_says_what_it_is(folder: str) -> None:
    """In a few lines: what lives there, what it may use, where to begin."""
    text = (ROOT / folder / "README.md").read_text(encoding="utf-8")
    assert 3 <= len(text.splitlines()) <= 10
    uses, _, begin = text.partition("May use: ")[2].partition("Begin with ")
    words = set(re.findall(r"`(?:core/)?(\w+)`", uses))
    allowed = [name.rpartition("/")[2] for name in LAYERS[folder] if name != folder]
    if "all below" in uses:
        assert words == set(allowed[:1])
    else:
        assert words == set(allowed)
    assert all((ROOT / folder / name).is_file() for name in re.findall(r"`([\w/]+\.\w+)`", begin))
    assert "`" in begin


def test_every_file_belongs_to_a_layer() -> None:
    assert [path for path in FILES if layer(path) is None] == []


def test_what_is_used_exists() -> None:
    for path in FILES:
        for used in READERS[Path(path).suffix](path, (ROOT / path).read_text(encoding="utf-8")):
            assert (ROOT / used).is_file(), f"{path} uses {used}, which is not there"


@pytest.mark.parametrize(
    ("path", "uses", "right"),
    [
        ("core/base/state.hpp", "base/sample.hpp", True),
        ("core/base/state.hpp", "storage/byte_limit.hpp", False),
        ("core/storage/byte_limit.hpp", "hypothesis/kernel.hpp", False),
        ("core/learners/updates/update.hpp", "hypothesis/turn.hpp", True),
        ("core/learners/updates/update.hpp", "model/model.hpp", False),
        ("core/io/csr_check.hpp", "storage/byte_limit.hpp", False),
        ("core/simd/vec.hpp", "tests/harness.hpp", False),
        ("core/model/model.hpp", "nowhere.hpp", False),
        ("bindings/model.cpp", "arrays.hpp", True),
        ("bindings/model.cpp", "simd/vec.hpp", False),
    ],
)
def test_an_arrow_that_points_up_is_seen(path: str, uses: str, right: bool) -> None:
    assert (wrong(path, f'#pragma once\n  #  include "{uses}"\n') == []) is right
