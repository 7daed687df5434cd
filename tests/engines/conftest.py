"""Tests of engines run if their engine is installed: `make engines-NAME` sets BUDGETRON_ENGINE.

The tests of an engine are in the folder of its name, which is collected only for that engine.
"""

from __future__ import annotations

import os
from pathlib import Path

HERE = Path(__file__).parent


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Skip the folders of other engines."""
    inside = collection_path.relative_to(HERE).parts if HERE in collection_path.parents else ()
    folder = HERE / inside[0] if inside else HERE
    other = inside and folder.is_dir() and inside[0] != os.environ.get("BUDGETRON_ENGINE")
    return True if other else None
