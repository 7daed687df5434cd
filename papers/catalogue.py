"""A dict from catalogue names to pages: every page of papers/*/ lists its algorithms."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from papers.page import Page


def _pages() -> dict[str, type[Page]]:
    found: dict[str, type[Page]] = {}
    for path in sorted(Path(__file__).parent.glob("*/*.py")):
        module = import_module(f"papers.{path.parent.name}.{path.stem}")
        for page in vars(module).values():
            if not isinstance(page, type) or page.__module__ != module.__name__:
                continue
            for name in vars(page).get("algorithms", ()):  # its own, not its parent's
                assert name not in found, f"{found[name].__name__} and {page.__name__} are {name}"
                found[name] = page
    return found


PAGES = _pages()
