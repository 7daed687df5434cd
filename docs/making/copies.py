"""Documents that live where a reader of the repository looks for them, as pages of the site.

Their links are put right; a link to a file that is no page becomes plain text. The glossary is the
section of ARCHITECTURE.md.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from making import put

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#:\s]+)(#[^)]*)?\)")


def sources(pages: Path) -> dict[Path, Path]:
    """Document -> page."""
    named = {
        ROOT / f"{name}.md": pages / f"{name.lower()}.md"
        for name in ("ARCHITECTURE", "CONTRIBUTING", "CHANGELOG")
    }
    cards = {
        card: pages / "cards" / f"{card.parent.name}.md"
        for card in sorted(ROOT.glob("papers/*/card.md"))
    }
    return named | cards


def with_links(text: str, document: Path, page: Path, known: dict[Path, Path]) -> str:
    """The document's text, its relative links as seen from the page."""

    def moved(link: re.Match[str]) -> str:
        text, target, anchor = link[1], (document.parent / link[2]).resolve(), link[3] or ""
        target = known.get(target, target)
        if DOCS not in target.parents:
            return text
        return f"[{text}]({Path(os.path.relpath(target, page.parent)).as_posix()}{anchor})"

    return LINK.sub(moved, text)


def write(pages: Path) -> list[Path]:
    """All copies and the glossary."""
    known = sources(pages)
    written = []
    for document, page in known.items():
        text = with_links(document.read_text(encoding="utf-8"), document, page, known)
        written.append(put(page, text))
    architecture = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    glossary = re.search(r"^## Glossary\n(.*?)(?=^## |\Z)", architecture, re.M | re.S)[1]
    return [*written, put(pages / "glossary.md", f"# Glossary\n{glossary}")]
