"""The kernel that runs the notebooks: that of this Python, which reports errors only.

ipykernel warns that its ports are not encrypted. Here they are of one machine and one build, and
the warning would hide others.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from making import put


def write(folder: Path) -> None:
    """Describe the kernel in a folder, and have Jupyter look there first."""
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    command.append("--IPKernelApp.log_level=ERROR")
    spec = {"argv": command, "display_name": "Python 3", "language": "python"}
    put(folder / "kernels" / "python3" / "kernel.json", json.dumps(spec))
    before = os.environ.get("JUPYTER_PATH")
    os.environ["JUPYTER_PATH"] = os.pathsep.join([str(folder), *([before] if before else [])])
