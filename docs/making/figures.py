"""Figures on small screens: wide ones are marked. Those of notebooks get a description."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes

WIDE = 1.6  # times as wide as high: unreadable at the width of a phone


def mark(app: Any, doctree: Any) -> None:
    """Give wide figures a class, by which docs/static/budgetron.css lets them scroll."""
    for image in doctree.findall(nodes.image):
        if not image.get("alt"):
            image["alt"] = _heading(image)
        if "only-light" in image["classes"] or "only-dark" in image["classes"]:
            continue
        path = Path(app.srcdir) / image["uri"]
        if path.suffix == ".png" and path.exists():
            from PIL import Image

            with Image.open(path) as figure:
                width, height = figure.size
            wide = width / height > WIDE
        else:
            wide = path.suffix == ".svg"
        if wide:
            image["classes"].append("wide")


def _heading(image: Any) -> str:
    """The heading that a figure stands below."""
    place = image.parent
    while place is not None and not isinstance(place, nodes.section):
        place = place.parent
    return "" if place is None else f"Figure: {place.next_node(nodes.title).astext()}"
