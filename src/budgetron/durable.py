"""Files that are whole or not there: written beside their place, synced, then put in it.

Whatever happens meanwhile, a reader finds the old file or the new one. A process that is killed
while writing leaves its unfinished file behind, under a name that `sweep` knows.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Put `data` in the file's place, on disk by the time this returns.

    A symbolic link stays one: what it points to is replaced. The file keeps its permissions.
    """
    place = Path(os.path.realpath(path))
    beside = place.with_name(f".{place.name}.{secrets.token_hex(8)}.unfinished")
    try:
        # As open() would: readable by whom the umask lets.
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
            if place.exists() and hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), stat.S_IMODE(place.stat().st_mode))
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, place)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
    _sync_folder(place.parent)


def _sync_folder(folder: Path) -> None:
    """The rename itself on disk; systems that cannot open a folder do not need it."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sweep(path: str | os.PathLike[str]) -> None:
    """Remove what killed processes left behind while they wrote this file."""
    place = Path(os.path.realpath(path))
    start, end = f".{place.name}.", ".unfinished"
    for beside in place.parent.iterdir():
        name = beside.name
        if name.startswith(start) and name.endswith(end) and len(name) == len(start + end) + 16:
            beside.unlink(missing_ok=True)
