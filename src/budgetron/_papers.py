"""What the package knows of each paper as data: its card, its tables, its grid.

They lie in `papers/`, one folder per paper. An installed package has copies in its own folder
`papers` (CMakeLists.txt puts them there); in a checkout they are read where they are.
"""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).resolve().parent


def papers() -> dict[str, Path]:
    """Paper -> its folder."""
    installed = _HERE / "papers"
    root = installed if installed.is_dir() else _HERE.parents[1] / "papers"
    return {each.name: each for each in sorted(root.iterdir()) if each.is_dir()}
