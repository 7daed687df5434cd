"""Every local link of the built site leads somewhere: files and anchors. No network is used.

`python docs/check_links.py docs/_build/html` prints what does not, and exits with 1
if there is any.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The anchors a page has and what it links to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect ids, references and sources."""
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def main(root: Path) -> int:
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in root.rglob("*.html")}
    broken = checked = 0
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue  # of the outside world
            checked += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = pages.get(target)
            anchor = unquote(parts.fragment)
            missing = known is not None and anchor and anchor not in known.anchors
            if not target.exists() or missing:
                broken += 1
                print(f"{path.relative_to(root)}: {link}")
    print(f"{checked:,} local links on {len(pages)} pages, {broken} of them broken")
    return int(broken > 0 or not pages)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
