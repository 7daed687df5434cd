"""A folder for the time of a comparison; what killed ones left behind is removed.

The owner holds a lock on a file in its folder, which the system lets go when the owner ends in
whatever way. A folder whose lock is free belongs to nobody.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows: nothing is swept
    fcntl = None  # type: ignore[assignment]

_PREFIX = "budgetron-rows-"
_LOCK = "owner"


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A folder of our own, which is removed at the end."""
    _sweep()
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as name:
        folder = Path(name)
        with (folder / "unlocked").open("wb") as lock:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX)
            (folder / "unlocked").rename(folder / _LOCK)  # under this name it is locked, always
            yield folder


def _sweep() -> None:
    """Remove folders of processes of this user that are no more."""
    if fcntl is None:
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        # another's, a link, or one that goes away meanwhile
        with contextlib.suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            with (folder / _LOCK).open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
