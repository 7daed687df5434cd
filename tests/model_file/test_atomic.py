"""Files are complete or absent: what may be replaced, who may write, what is left behind."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from budgetron.model_file import atomic as durable
from budgetron.model_file.atomic import BusyError, check_place, hold, sweep, write_whole

fcntl = pytest.importorskip("fcntl")
pytestmark = pytest.mark.thread_unsafe(
    reason="threads would share the folder whose files it counts"
)


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


# ---- what may be replaced ------------------------------------------------------------------------


def special_files(folder: Path) -> dict[str, Path]:
    """One file of each kind to which no model can be written."""
    made = {kind: folder / kind for kind in ("pipe", "socket", "folder", "circle")}
    os.mkfifo(made["pipe"])
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.open(".", os.O_RDONLY)
        os.chdir(folder)  # a socket's path may not be long
        try:
            listener.bind("socket")
        finally:
            os.fchdir(here)
            os.close(here)
    made["folder"].mkdir()
    made["circle"].symlink_to(made["circle"])
    made["link to the pipe"] = folder / "link"
    made["link to the pipe"].symlink_to(made["pipe"])
    return made


def test_only_regular_files_are_replaced(tmp_path: Path) -> None:
    made = special_files(tmp_path)
    before = {name: os.lstat(tmp_path / name).st_mode for name in names(tmp_path)}
    for path in made.values():
        for attempt in (check_place, lambda path: write_whole(path, b"model")):
            with pytest.raises(OSError, match=r"folder|pipe|socket|links") as raised:
                attempt(path)
            assert "\n" not in str(raised.value)
    assert {name: os.lstat(tmp_path / name).st_mode for name in names(tmp_path)} == before


@pytest.mark.parametrize("letter", ["a", "ä", "字"])
def test_names_as_long_as_the_system_takes_them(letter: str, tmp_path: Path) -> None:
    most = 255 // len(letter.encode())
    for length in (*range(1, most, 31), most - 1, most):
        path = tmp_path / (letter * length)
        check_place(path)
        write_whole(path, b"one")
        write_whole(path, b"two")
        hold(path)()
        assert path.read_bytes() == b"two"
    with pytest.raises(OSError, match="name too long"):
        check_place(tmp_path / (letter * (most + 1)))
    assert all(not name.startswith(".") for name in names(tmp_path))


def test_a_file_keeps_owner_and_permissions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model"
    path.write_bytes(b"before")
    path.chmod(0o600)
    if os.geteuid() == 0:
        os.chown(path, 12345, 23456)
    before = path.stat()
    asked: list[tuple[int, int]] = []
    give = os.fchown

    def fchown(handle: int, owner: int, group: int) -> None:
        asked.append((owner, group))
        give(handle, owner, group)

    monkeypatch.setattr(os, "fchown", fchown)
    write_whole(path, b"after")
    after = path.stat()
    assert asked == [(before.st_uid, before.st_gid)]
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)
    assert stat.S_IMODE(after.st_mode) == 0o600

    def refused(handle: int, owner: int, group: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "fchown", refused)
    write_whole(path, b"by somebody who may not give files away")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


# ---- who writes ----------------------------------------------------------------------------------


def test_a_file_that_is_being_written_is_not_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model"
    left = tmp_path / f".model.{'0' * 16}.unfinished"
    left.write_bytes(b"of a process that was killed")
    moments: list[list[str]] = []

    def at_this_moment(function: Any) -> Any:
        def called(*args: Any) -> Any:
            sweep(path)
            moments.append(names(tmp_path))
            return function(*args)

        return called

    for moment in ("fsync", "replace"):
        monkeypatch.setattr(durable.os, moment, at_this_moment(getattr(os, moment)))
    write_whole(path, b"whole")
    assert [len(each) for each in moments[:2]] == [1, 1]  # the unfinished one; the leftover is gone
    assert names(tmp_path) == ["model"]
    assert path.read_bytes() == b"whole"


def test_a_file_swept_before_it_was_locked_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model"
    lock = fcntl.flock
    swept: list[str] = []

    def flock(handle: int, how: int) -> None:
        if not swept:
            swept.extend(names(tmp_path))
            (tmp_path / swept[0]).unlink()
        lock(handle, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    write_whole(path, b"whole")
    assert len(swept) == 1
    assert names(tmp_path) == ["model"]


def test_what_is_no_unfinished_file_is_not_swept(tmp_path: Path) -> None:
    path = tmp_path / "model"
    token = "a" * 16
    (tmp_path / f".model.{token}.unfinished").mkdir()
    (tmp_path / f".model.{'b' * 16}.unfinished").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(tmp_path / f".model.{'c' * 16}.unfinished")
    (tmp_path / f".model.{token}x.unfinished").touch()
    (tmp_path / f".others.{token}.unfinished").touch()
    before = names(tmp_path)
    (tmp_path / f".model.{'d' * 16}.unfinished").touch()
    sweep(path)
    assert names(tmp_path) == before


def test_one_holds_a_place_at_a_time(tmp_path: Path) -> None:
    path, link = tmp_path / "model", tmp_path / "link"
    link.symlink_to(path)
    release = hold(path)
    for same in (path, link, str(path)):
        with pytest.raises(BusyError):
            hold(same)
    hold(tmp_path / "another")()
    release()
    release()  # once more does no harm
    again = hold(link)
    again()
    assert names(tmp_path) == ["link"]


def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "model"
    code = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(durable.__file__).parent)!r})
import atomic
atomic.hold({str(path)!r})
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-S", "-c", code], check=False).returncode == -9
    assert names(tmp_path) == [".model.lock"]
    hold(path)()
    assert names(tmp_path) == []


def test_file_systems_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(handle: int, how: int) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", flock)
    path = tmp_path / "model"
    release = hold(path)
    write_whole(path, b"whole")
    release()
    assert names(tmp_path) == ["model"]
    left = tmp_path / f".model.{'0' * 16}.unfinished"
    left.touch()
    sweep(path)  # nobody knows whether it is still being written
    assert left.exists()


def test_systems_without_fcntl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durable, "fcntl", None)
    path = tmp_path / "model"
    first, second = hold(path), hold(path)
    left = tmp_path / f".model.{'0' * 16}.unfinished"
    left.touch()
    sweep(path)
    write_whole(path, b"whole")
    first()
    second()
    assert names(tmp_path) == ["model"]
