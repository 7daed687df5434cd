"""The list of estimators in the reference: all that the package has."""

from __future__ import annotations

from pathlib import Path

import budgetron
from making import put


def write(pages: Path) -> list[Path]:
    """What docs/reference/api.md includes; no page of its own."""
    names = [name for name in budgetron.__all__ if name.endswith(("Classifier", "Regressor"))]
    listed = "\n".join(f".. autoclass:: budgetron.{name}" for name in names)
    return [put(pages / "estimators.txt", f"```{{eval-rst}}\n{listed}\n```\n")]
