"""The gallery: every script of examples/ with the figure it draws."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

from making import put

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ORDER = ("shrinking_budget", "drift", "budget_against_mistakes", "which_stay")


def write(pages: Path) -> list[Path]:
    """The page, and the figures where they are not there yet."""
    text = [
        "# Gallery",
        "",
        "Short scripts that draw one figure each: `python examples/NAME.py`.",
        "",
    ]
    figures = []
    for name in ORDER:
        script, figure = EXAMPLES / f"{name}.py", pages / f"{name}.png"
        figures.append(figure)
        if not figure.exists() or figure.stat().st_mtime < script.stat().st_mtime:
            pages.mkdir(parents=True, exist_ok=True)
            subprocess.run([sys.executable, script, "--out", figure], check=True)
        source = script.read_text(encoding="utf-8")
        title, _, about = (ast.get_docstring(ast.parse(source)) or "").partition("\n")
        code = source.split('"""', 2)[2].lstrip("\n")
        text += [f"## {title.rstrip('.')}", "", about.strip(), "", f"![{title}]({figure.name})", ""]
        text += [f":::{{dropdown}} examples/{name}.py", "```py", code.rstrip(), "```", ":::", ""]
    return [*figures, put(pages / "gallery.md", "\n".join(text))]
