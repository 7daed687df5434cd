"""The documents are true: their examples print what is shown, and what they point to is there."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
GENERATED = (ROOT / "docs" / "_build", ROOT / "docs" / "pages")  # made by docs/conf.py
DOCUMENTS = [
    *sorted(ROOT.glob("*.md")),
    *sorted(ROOT.glob("papers/**/*.md")),
    *(
        path
        for path in sorted(ROOT.glob("docs/**/*.md"))
        if not any(folder in path.parents for folder in GENERATED)
    ),
]
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(
    r"^```python\n(?P<code>.*?)^```$(?:\s*^```text\n(?P<printed>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
# A file or folder of the repository, named in backticks and without a placeholder in it.
NAMED = re.compile(r"`((?:bindings|benchmarks|core|docs|papers|src|tests)/[\w./+-]+)`")
BUILT = ("docs/_build",)  # there after `make docs` only

each_document = pytest.mark.parametrize(
    "document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix()
)


def examples() -> list[object]:
    return [
        pytest.param(found["code"], found["printed"], id=f"{path.name}-{number}")
        for path in DOCUMENTS
        for number, found in enumerate(EXAMPLE.finditer(path.read_text(encoding="utf-8")), 1)
    ]


@pytest.mark.parametrize(("code", "printed"), examples())
def test_examples_print_what_is_shown(code: str, printed: str | None) -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "example", "exec"), {"__name__": "example"})
    assert out.getvalue() == (printed or "")


def test_the_readme_has_an_example() -> None:
    assert EXAMPLE.search((ROOT / "README.md").read_text(encoding="utf-8"))


def anchors(document: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub and MyST make them."""
    text = FENCE.sub("", document.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@each_document
def test_relative_links_resolve(document: Path) -> None:
    text = FENCE.sub("", document.read_text(encoding="utf-8"))
    for link in LINK.findall(text):
        if re.match(r"\w+:", link):  # https: and the like
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), f"{document.name} links to {link}"
        if anchor:
            assert anchor in anchors(target), f"{document.name} links to {link}"


@each_document
def test_named_paths_exist(document: Path) -> None:
    for name in NAMED.findall(document.read_text(encoding="utf-8")):
        if not name.startswith(BUILT):
            assert (ROOT / name).exists(), f"{document.name} names {name}"
