"""What writes docs/pages/: copies of documents, one page per algorithm, the gallery, lists."""

from __future__ import annotations

from pathlib import Path


def put(path: Path, text: str) -> Path:
    """Write the file if its text is another one: what has not changed is not built again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
    return path
