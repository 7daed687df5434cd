"""The papers as data: cards, tables, grids.

They are in `papers/`, one folder per paper. An installed package has copies in its own folder
`papers` (CMakeLists.txt puts them there); a checkout reads them where they are.
"""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).resolve().parent


def papers() -> dict[str, Path]:
    """Paper -> its folder."""
    installed = _HERE / "papers"
    root = installed if installed.is_dir() else _HERE.parents[1] / "papers"
    return {each.name: each for each in sorted(root.iterdir()) if each.is_dir()}
