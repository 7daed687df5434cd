"""A file that grows: rotation, truncation, half a line, compressed copies, and places."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from budgetron.sources.lines import LONGEST, STAND_IN
from budgetron.sources.tail import Tail
from tests.support.messages import json_messages, rows_of


def taken(source: Tail, most: int = 100) -> list[bytes]:
    """All lines that are there."""
    found: list[bytes] = []
    while (batch := source.read(most, 0.3)) is not None and batch.values:
        found += batch.values
    return found


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_a_line_is_a_message_when_its_end_has_come(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("one\ntw")
    source = Tail(str(log))
    assert taken(source) == [b"one"]
    append(log, "o\nthr")
    assert taken(source) == [b"two"]
    append(log, "ee\r\n")
    assert taken(source) == [b"three"]
    assert source.lag == 0
    source.close()


@pytest.mark.parametrize("end", ["\n", ""])
def test_a_line_too_long_for_a_row_is_passed_over(tmp_path: Path, end: str) -> None:
    log = tmp_path / "log"
    append(log, "one\ntwo\n" + "x" * (LONGEST + 5) + "\r\nthree\n" + "y" * (2 * LONGEST) + end)
    source = Tail(str(log))
    lines = [b"one", b"two", STAND_IN, b"three"]
    assert taken(source) == ([*lines, STAND_IN] if end else lines)
    mark = source.read(1, 0.0).mark  # type: ignore[union-attr]
    append(log, "four\n" if end else "\nfour\n")
    again = Tail(str(log))
    again.seek(mark)
    assert taken(again) == ([b"four"] if end else [STAND_IN, b"four"])


def move(log: Path) -> None:
    log.rename(f"{log}.1")
    log.write_text("")


def move_and_pack(log: Path) -> None:
    packed = gzip.compress(log.read_bytes())
    log.rename(f"{log}.1")
    Path(f"{log}.1.gz").write_bytes(packed)
    os.unlink(f"{log}.1")
    log.write_text("")


def move_by_date(log: Path) -> None:
    log.rename(f"{log}-20260131")
    log.write_text("")


ROTATIONS = [move, move_and_pack, move_by_date]


@pytest.mark.parametrize("rotate", ROTATIONS)
@pytest.mark.parametrize("again", [False, True], ids=["running", "resumed"])
def test_rotation_loses_nothing_and_repeats_nothing(
    tmp_path: Path, rotate: Callable[[Path], None], again: bool
) -> None:
    log = tmp_path / "log"
    log.write_text("1\n2\n3\n")
    source = Tail(str(log))
    batch = source.read(2, 0.0)
    assert batch is not None
    assert batch.values == [b"1", b"2"]
    append(log, "4\n")
    if again:
        source.close()
        rotate(log)
        append(log, "5\n6\n")
        source = Tail(str(log))
        source.seek(batch.mark)
    else:
        source.read(0, 0.0)
        rotate(log)
        append(log, "5\n6\n")
    assert taken(source) == [b"3", b"4", b"5", b"6"]
    rotate_again = Path(f"{log}.1")
    if rotate_again.exists():
        rotate_again.rename(f"{log}.2")
    log.rename(rotate_again)
    log.write_text("7")
    append(log, "\n")
    assert taken(source) == [b"7"]
    source.close()


def test_files_between_are_read_oldest_first(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("1\n2\n")
    source = Tail(str(log))
    batch = source.read(1, 0.0)
    assert batch is not None
    source.close()
    shutil.move(log, f"{log}.1")
    log.write_text("3\n")
    with gzip.open(f"{log}.2.gz", "wb") as file:
        file.write(Path(f"{log}.1").read_bytes())
    os.unlink(f"{log}.1")
    os.utime(f"{log}.2.gz", (1, 1))
    shutil.move(log, f"{log}.1")
    log.write_text("4\n")
    Path(f"{log}.bad").write_text("not one of them\n")
    source = Tail(str(log))
    source.seek(batch.mark)
    assert taken(source) == [b"2", b"3", b"4"]
    source.close()


@pytest.mark.parametrize("anew", ["x\n", "one and more than there was before\n"])
def test_a_file_that_was_emptied_is_read_from_its_start(tmp_path: Path, anew: str) -> None:
    log = tmp_path / "log"
    log.write_text("one\ntwo\nhalf")
    told: list[str] = []
    source = Tail(str(log), told.append)
    assert taken(source) == [b"one", b"two"]
    log.write_text(anew.upper())  # the same file, shorter or not
    assert taken(source) == [anew.upper().strip().encode()]
    assert told == [f"tail:{log}: it became shorter: continuing at its start"]
    source.close()


def test_the_last_line_of_a_rotated_file_needs_no_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("1\n2")
    source = Tail(str(log))
    assert taken(source) == [b"1"]
    move(log)
    append(log, "3\n")
    batch = source.read(1, 1.0)
    assert batch is not None
    assert batch.values == [b"2"]
    source.close()
    source = Tail(str(log))
    source.seek(batch.mark)  # at the end of what is log.1 now
    assert taken(source) == [b"3"]
    source.close()


def test_a_file_that_is_not_found_is_reported(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("1\n")
    source = Tail(str(log))
    batch = source.read(1, 0.0)
    assert batch is not None
    source.close()
    log.unlink()
    log.write_text("others\n")
    told: list[str] = []
    source = Tail(str(log), told.append)
    source.seek(batch.mark)
    assert "rows between are lost" in told[0]
    assert taken(source) == [b"others"]
    source.close()


def test_csv_with_a_header_in_every_file(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("x0,x1,label\n1,2,a\n3,4,b\n")
    log.rename(f"{log}.1")
    log.write_text("x0,x1,label\n")
    told: list[str] = []
    os.link(f"{log}.1", tmp_path / "rows")  # read from its start
    append(tmp_path / "rows", "x0,x1,label\n5,6,a\n")
    X, y, stream = rows_of(f"tail:{tmp_path / 'rows'}", format="csv", tell=told.append)
    assert X.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert (y, stream.n_bad, told) == (["a", "b", "a"], 0, [])


def test_a_file_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    told: list[str] = []

    def tell(text: str) -> None:
        told.append(text)
        (tmp_path / "log").write_bytes(b"\n".join(json_messages(5)) + b"\n")

    _, y, _ = rows_of(f"tail:{tmp_path / 'log'}", tell=tell, idle=1.0)
    assert len(y) == 5
    assert told[0] == f"tail:{tmp_path / 'log'}: not reachable (no such file): waiting for it"
