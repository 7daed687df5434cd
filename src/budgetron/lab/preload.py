"""What workers need, imported once by the server they are forked from (`pool.py` says why).

Importing this imports it all; what is not installed, or fails, is left out. The server ends with
its parent, which it looks after only when it has imported everything. So it looks after every
module too: a command that ends early, for a wrong name, leaves nobody who holds its output open.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from budgetron.catalogue import CATALOGUE

_MODULES = (
    "budgetron.lab.tune",
    "budgetron.lab.reproduce.runner",
    *sorted({f"budgetron.estimators.{entry.module}" for entry in CATALOGUE.values()}),
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
)


class _WithItsParent:
    """Finds no module, but ends this process when its parent, which told its number, has ended."""

    parent = int(os.environ.get("BUDGETRON_PARENT", os.getppid()))

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> None:
        if os.getppid() != self.parent:
            os._exit(0)


_finder = _WithItsParent()
sys.meta_path.insert(0, _finder)
try:
    for _module in _MODULES:
        with contextlib.suppress(Exception):  # who needs it will hear of it
            import_module(_module)
finally:
    sys.meta_path.remove(_finder)
