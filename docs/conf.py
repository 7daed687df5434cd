"""The documentation pages: `make docs` builds them, warnings are errors.

The documents live where a reader of the repository looks for them, at its root and in papers/.
This file copies them into docs/pages/ (never edited, never committed), with their links put right,
and Sphinx does the rest.
"""

import os
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
PAGES = DOCS / "pages"

project = "budgetron"
author = "The budgetron developers"
copyright = author
release = re.search(
    r'__version__ = "(.+)"', (ROOT / "src/budgetron/__init__.py").read_text(encoding="utf-8")
)[1]
extensions = ["myst_parser"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"budgetron {release}"
myst_heading_anchors = 3

# Document -> page.
COPIES = {
    ROOT / "ARCHITECTURE.md": PAGES / "architecture.md",
    ROOT / "CONTRIBUTING.md": PAGES / "contributing.md",
    ROOT / "CHANGELOG.md": PAGES / "changelog.md",
    **{
        card: PAGES / "cards" / f"{card.parent.name}.md"
        for card in sorted(ROOT.glob("papers/*/card.md"))
    },
}
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#:\s]+)(#[^)]*)?\)")


def with_links(document: Path, page: Path) -> str:
    """The document's text, its relative links as seen from the page.

    A link to a file that is not part of the site becomes plain text.
    """

    def moved(link: re.Match[str]) -> str:
        text, target, anchor = link[1], (document.parent / link[2]).resolve(), link[3] or ""
        target = COPIES.get(target, target)
        if DOCS not in target.parents:
            return text
        return f"[{text}]({Path(os.path.relpath(target, page.parent)).as_posix()}{anchor})"

    return LINK.sub(moved, document.read_text(encoding="utf-8"))


for document, page in COPIES.items():
    page.parent.mkdir(parents=True, exist_ok=True)
    text = with_links(document, page)
    if not page.exists() or page.read_text(encoding="utf-8") != text:  # unchanged: not built again
        page.write_text(text, encoding="utf-8")
for stale in set(PAGES.rglob("*.md")) - set(COPIES.values()):
    stale.unlink()
