"""The build of the library to which a cell of Budgetron belongs.

Budgetron changes more often than the version number. Cells of other learners are kept per version:
`make digests` checks that their bits do not change.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from budgetron import __version__, _core

OURS = "budgetron"


def version_of(learner: str) -> str:
    """The version under which cells of this learner are kept."""
    return f"{__version__} {_module()}" if learner == OURS else __version__


@cache
def _module() -> str:
    """A digest of the compiled module."""
    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()[:12]
