"""What is needed to run a comparison again: command, versions, machine, settings, streams."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from budgetron import __version__
from budgetron.lab.cells import Settings
from budgetron.lab.rows import Rows

_PACKAGES = ("numpy", "scipy", "scikit-learn", "river")


def about(
    streams: Sequence[Rows], settings: Settings, command: str | None, processes: int
) -> dict[str, Any]:
    """Facts by heading."""
    return {
        "command": command or shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"budgetron": __version__, "Python": platform.python_version(), **_packages()},
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "processes": processes,
            "system": platform.platform(),
        },
        "settings": {name: getattr(settings, name) for name in type(settings).__dataclass_fields__},
        "streams": {
            rows.name: {
                "source": rows.source or "in memory",
                "task": rows.task,
                "rows": len(rows.y),
                "features": int(rows.X.shape[1]),
                "dtype": str(rows.X.dtype),
                "digest": rows.digest,
                "positive": rows.positive(settings.positive),
            }
            for rows in streams
        },
    }


def _packages() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _processor() -> str:
    """The processor's name, if the system knows it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
