"""Atomic file writes: a file is written beside its place, synced, then renamed.

Whatever happens meanwhile, a reader finds the old file or the new one. A process that is killed
while writing leaves its unfinished file, under a name that `sweep` knows. The writer holds a lock
on the unfinished file, which ends with the process: locked files are never swept. `hold` locks a
path for as long as a run writes there. Without `fcntl` (Windows) there are no locks.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_TOKEN = 16  # random characters in the name of an unfinished file
_LONGEST = 200  # bytes of a name to which others are appended
_KINDS = {
    stat.S_IFDIR: "is a folder",
    stat.S_IFIFO: "is a pipe, not a regular file",
    stat.S_IFSOCK: "is a socket, not a regular file",
    stat.S_IFCHR: "is a device, not a regular file",
    stat.S_IFBLK: "is a device, not a regular file",
}


def check_place(path: str | os.PathLike[str]) -> None:
    """Raise OSError if no file can be written there; its `strerror` says why.

    Something that is not a regular file (a folder, a pipe, a device, a socket) must not be
    replaced.
    """
    place = _place(path)
    try:
        there = os.stat(place)  # also finds names that are too long, and circular links
    except (FileNotFoundError, NotADirectoryError):
        there = None
    if there is not None and not stat.S_ISREG(there.st_mode):
        what = _KINDS.get(stat.S_IFMT(there.st_mode), "is not a regular file")
        kind = IsADirectoryError if stat.S_ISDIR(there.st_mode) else OSError
        raise kind(errno.EISDIR if kind is not OSError else errno.EINVAL, what, os.fspath(path))
    folder = place.parent
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, f"there is no folder {folder}", os.fspath(path))
    if not os.access(folder, os.W_OK):
        what = "the folder cannot be written to"
        raise PermissionError(errno.EACCES, what, os.fspath(path))


def write_whole(path: str | os.PathLike[str], data: bytes | Callable[[IO[bytes]], object]) -> None:
    """Write `data`, or what a function writes, to the file; it is on disk when this returns.

    A symbolic link stays: its target is replaced. The file keeps its permissions and, if this
    process may set it, its owner.

    Raises
    ------
    OSError
        If it cannot be written, or the path is not a regular file; then nothing changes.
    """
    check_place(path)
    place = _place(path)
    handle, beside = _unfinished(place)
    try:
        with open(handle, "wb") as file:
            if place.exists() and hasattr(os, "fchmod"):
                _belong_as(handle, place.stat())
            if callable(data):
                data(file)
            else:
                file.write(data)
            file.flush()
            os.fsync(handle)
            if fcntl is not None:
                os.replace(beside, place)  # while it is locked: nobody sweeps it
        if fcntl is None:
            os.replace(beside, place)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
    sync_folder(place.parent)


def _unfinished(place: Path) -> tuple[int, Path]:
    """A new file beside the path, open, and locked until it is closed."""
    while True:
        beside = place.with_name(f"{_start(place)}{secrets.token_hex(_TOKEN // 2)}.unfinished")
        # As open() does: readable for those the umask allows.
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        if fcntl is None:
            return handle, beside
        with contextlib.suppress(OSError):  # file systems without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return handle, beside
        os.close(handle)  # swept before it was locked: another one


def _belong_as(handle: int, before: os.stat_result) -> None:
    """Copy the owner, if permitted, and the permissions of the old file."""
    with contextlib.suppress(PermissionError):
        os.fchown(handle, before.st_uid, before.st_gid)
    os.fchmod(handle, stat.S_IMODE(before.st_mode))


def _place(path: str | os.PathLike[str]) -> Path:
    return Path(os.path.realpath(path))


def _start(place: Path) -> str:
    """The prefix of the names of files beside a path."""
    name = os.fsencode(place.name)
    if len(name) > _LONGEST:
        return f".{hashlib.sha256(name).hexdigest()}."
    return f".{place.name}."


def sync_folder(folder: Path) -> None:
    """Sync the rename itself; systems that cannot open a folder do not need it."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sweep(path: str | os.PathLike[str]) -> None:
    """Remove the unfinished files of killed processes for this path.

    A file that a process is writing stays, and so does anything that is not a regular file.
    """
    place = _place(path)
    start, end = _start(place), ".unfinished"
    for beside in place.parent.iterdir():
        name = beside.name
        if name.startswith(start) and name.endswith(end) and len(name) == len(start + end) + _TOKEN:
            with contextlib.suppress(OSError):
                _remove_if_left(beside)


def _remove_if_left(beside: Path) -> None:
    if not stat.S_ISREG(os.lstat(beside).st_mode):
        return
    if fcntl is None:  # then the system refuses to remove open files
        beside.unlink()
        return
    handle = os.open(beside, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        beside.unlink()
    finally:
        os.close(handle)


# ---- locks ---------------------------------------------------------------------------------------


class BusyError(OSError):
    """Another process holds the path."""


def hold(path: str | os.PathLike[str]) -> Callable[[], None]:
    """Lock this path until the returned function is called, or the process ends.

    The lock is on a file beside the path; the kernel frees it when a process is killed.

    Raises
    ------
    BusyError
        If another process holds it, or this one does already.
    OSError
        If the file beside it cannot be opened.
    """
    place = _place(path)
    beside = place.with_name(f"{_start(place)}lock")
    if fcntl is None:
        return lambda: None
    while True:
        handle = os.open(beside, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise BusyError(
                errno.EWOULDBLOCK, "another process holds it", os.fspath(path)
            ) from None
        except OSError:  # a file system without locks
            pass
        if os.fstat(handle).st_nlink:
            break
        os.close(handle)  # the previous holder has just removed it

    def release() -> None:
        nonlocal handle
        if handle >= 0:
            with contextlib.suppress(OSError):
                beside.unlink()  # before the lock is released: a waiting process then sees that
            os.close(handle)
            handle = -1

    return release
