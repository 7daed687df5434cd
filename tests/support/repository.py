"""The place of the repository, and a copy of its files."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def copy(root: Path) -> None:
    """Copy the files of the repository without build results; unchanged files are not touched.

    Files of an earlier copy that are no longer in the repository are deleted.
    """
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    names = [name for name in listed.stdout.splitlines() if not name.startswith("docs/")]
    wanted = {name for name in names if (ROOT / name).is_file()}
    for path in [each for each in root.rglob("*") if each.is_file()]:
        name = path.relative_to(root).as_posix()
        if name not in wanted and not name.startswith("build/") and path.suffix != ".so":
            path.unlink()
    for name in sorted(wanted):
        data = (ROOT / name).read_bytes()
        if not (root / name).exists() or (root / name).read_bytes() != data:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, root / name)
