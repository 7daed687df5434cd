"""The documents are true: their examples print what is shown, and their links and paths exist."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import budgetron
from budgetron.catalogue import CATALOGUE
from tests.docs import documents
from tests.docs.documents import RUN, blocks, results, shown
from tests.docs.walkthrough import BUDGET, LEARNER, new_files
from tests.support.repository import ROOT

GENERATED = (ROOT / "docs" / "_build", ROOT / "docs" / "pages")  # made by docs/conf.py
DOCUMENTS = [
    *sorted(ROOT.glob("*.md")),
    *sorted(ROOT.glob("core/**/*.md")),
    *sorted(ROOT.glob("bindings/*.md")),
    *sorted(ROOT.glob("papers/**/*.md")),
    *(ROOT / folder / "README.md" for folder in ("studies", "benchmarks", "examples", "tests")),
    *(
        path
        for path in sorted(ROOT.glob("docs/**/*.md"))
        if not any(folder in path.parents for folder in GENERATED)
    ),
]
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
# A file or folder of the repository, named in backticks and without a placeholder in it.
NAMED = re.compile(r"`((?:bindings|benchmarks|core|docs|papers|src|studies|tests)/[\w./+-]+)`")
# They exist only after `make docs`, or in the copy of the walk-through of CONTRIBUTING.md.
BUILT = ("docs/_build", "docs/pages", *new_files(BUDGET), *new_files(LEARNER))
MADE = {
    "command-line",
    "gallery",
    "glossary",
    "index",
    *(name.replace("+", "-plus") for name in CATALOGUE),
}

each_document = pytest.mark.parametrize(
    "document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix()
)


def with_code(*, run: bool) -> list[Path]:
    """The documents with blocks that are run; or with any code."""
    texts = {path: list(blocks(path.read_text(encoding="utf-8"))) for path in DOCUMENTS}
    return [
        path
        for path, found in texts.items()
        if any(not run or (block.kind in RUN and not block.excused) for block in found)
    ]


@pytest.mark.parametrize(
    "document", with_code(run=True), ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_code_prints_what_is_shown(document: Path) -> None:
    for block, before, now in results(document.read_text(encoding="utf-8")):
        assert shown(now) == shown(before), f"{document.name}, line {block.line}"


@pytest.mark.parametrize(
    "document", with_code(run=False), ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_code_is_run_or_says_why_not(document: Path) -> None:
    for block in blocks(document.read_text(encoding="utf-8")):
        assert block.kind in RUN or block.excused, f"{document.name}, line {block.line}"


def test_blocks_are_found_run_and_compared(tmp_path: Path) -> None:
    text = """
<!-- file: rows.csv -->
```csv
a,label
1,x
2,y
```

```python
print(open("rows.csv").read()[:7])
n = 3
```

```text
a,label
```

```console
$ budgetron --version
budgetron 9.9.9
$ echo one | cat
one
```

<!-- not run: needs a network -->
```console
$ budgetron data get a9a
```
"""
    before = os.getcwd()
    (_, *printed), (block, *said) = results(text)
    assert os.getcwd() == before
    assert printed == ["a,label\n", "a,label\n"]
    assert block.kind == "console"
    assert (
        said[1]
        == f"$ budgetron --version\nbudgetron {budgetron.__version__}\n$ echo one | cat\none\n"
    )
    assert shown(said[0]) != shown(said[1])
    assert (
        shown("│ seconds │ 3.1 │\n│ rows │ 7 │")
        == shown("│ seconds │ 4.1 │\nrows 7")
        == ["rows", "7"]
    )


def test_the_readme_is_run_and_another_output_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its blocks of both kinds are run, and fail if they print something else."""
    assert ROOT / "README.md" in with_code(run=True)
    monkeypatch.setattr(documents, "here", lambda data_set: True)
    monkeypatch.setattr(documents, "_python", lambda code, space: "another output")
    monkeypatch.setattr(documents, "_console", lambda body: "another output")
    ran = list(results((ROOT / "README.md").read_text(encoding="utf-8")))
    assert {block.kind for block, _, _ in ran} == {"python", "console"}
    assert all(shown(before) and shown(now) != shown(before) for _, before, now in ran)


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
        if GENERATED[1] in target.parents:  # a page that docs/making writes
            if target.stem in MADE:
                continue
            target = ROOT / f"{target.stem.upper()}.md"
        assert target.exists(), f"{document.name} links to {link}"
        if anchor:
            assert anchor in anchors(target), f"{document.name} links to {link}"


@each_document
def test_named_paths_exist(document: Path) -> None:
    for name in NAMED.findall(document.read_text(encoding="utf-8")):
        if not name.startswith(BUILT):
            assert (ROOT / name).exists(), f"{document.name} names {name}"


def test_the_way_of_a_row_names_what_is_there() -> None:
    """ARCHITECTURE.md, one row from the shell to the support: its files and names exist."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    section = text.partition("## One row, from the shell to the support")[2].partition("\n## ")[0]
    files = NAMED.findall(section)
    assert files[0] == "src/budgetron/cli/run.py"
    assert {"src/budgetron/_batch.py", "bindings/python_model.hpp", "core/model/model.hpp"} <= set(
        files
    )
    code = "\n".join((ROOT / name).read_text(encoding="utf-8") for name in files if "." in name)
    words = set(re.findall(r"\w+", code))
    for name in re.findall(r"`([A-Za-z_][\w:.]*(?:\(\))?)`", section):
        if not name.endswith((".py", ".cpp", ".hpp")):
            last = re.split(r"::|\.", name.removesuffix("()"))[-1]
            assert last in words, f"{name} is in none of the files named"
