"""Finished cells: complete or absent after any end, stored once, and those of older folders."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import budgetron
from budgetron.lab.compare import Settings, compare
from budgetron.lab.reproduce import read
from budgetron.lab.reproduce.protocols import Outcome
from budgetron.lab.reproduce.runner import Run
from budgetron.lab.store import Store, key_of

OLDER = Path(__file__).parent / "older_folders"
VERSION = "0.1.0"  # that wrote them


def test_what_is_added_is_there_once_and_exact(tmp_path: Path) -> None:
    numbers = {"auc": math.nan, "third": 1 / 3, "far": math.inf, "name": "é\n"}
    store = Store(tmp_path)
    store.add("a", numbers)
    store.add("b", {})
    store.add("a", {"again": 1})  # by another process that ran the same cell
    store.close()
    again = Store(tmp_path)
    assert list(again) == ["a", "b"]
    assert len(again) == 2
    assert "a" in again
    assert "c" not in again
    assert repr(again["a"]) == repr(numbers)
    with pytest.raises(KeyError):
        again["c"]
    other = Store(tmp_path, "others")  # a table of its own in the same file
    other.add("a", {"other": 1})
    assert dict(other) == {"a": {"other": 1}}
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".db"] == ["cells.db"]
    assert again._file.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    memory = Store()
    memory.add("x", {})
    assert list(memory) == ["x"]


def test_what_cannot_be_opened_is_an_error_of_files(tmp_path: Path) -> None:
    (tmp_path / "cells.db").write_bytes(b"this is no database" * 100)
    again = "choose another folder with --out, or delete cells.db to start again"
    with pytest.raises(OSError, match=f": file is not a database; {again}$"):
        Store(tmp_path)
    with pytest.raises(OSError, match=r": not a directory; choose another folder with --out$"):
        Store(tmp_path / "cells.db" / "below")


@pytest.mark.parametrize("damage", ["{half", "3", b"\xff\x00"])
def test_a_record_that_cannot_be_read_is_absent_and_replaced(tmp_path: Path, damage: Any) -> None:
    store = Store(tmp_path)
    for key in "ab":
        store.add(key, {"whole": key})
    store._file.execute("UPDATE cells SET record=? WHERE key='a'", (damage,))
    assert ("a" in store, list(store), len(store)) == (False, ["b"], 1)
    with pytest.raises(KeyError):
        store["a"]
    store.add("a", {"again": 1})
    assert dict(store) == {"a": {"again": 1}, "b": {"whole": "b"}}


WRITER = """
import sys
from pathlib import Path
from budgetron.lab.store import Store

store = Store(Path(sys.argv[1]))
for number in range(100_000):
    store.add(str(number), {"number": number, "text": "x" * 5000})
    print(number, flush=True)
"""


def test_after_a_kill_every_cell_that_was_kept_is_whole(tmp_path: Path) -> None:
    for turn in range(3):
        folder = tmp_path / str(turn)
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        for _ in range(5 + 20 * turn):
            process.stdout.readline()
        time.sleep(0.003 * turn)
        process.send_signal(signal.SIGKILL)
        printed = [int(line) for line in process.communicate()[0].splitlines()]
        store = Store(folder)
        assert len(store) >= max(printed, default=0) + 1
        assert [record["number"] for record in store.values()] == list(range(len(store)))
        assert all(len(record["text"]) == 5000 for record in store.values())
        check = store._file.execute("PRAGMA integrity_check").fetchone()
        assert check == ("ok",)


def test_two_processes_may_write_to_one_folder(tmp_path: Path) -> None:
    script = WRITER.replace("100_000", "50")
    both = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.DEVNULL, env=os.environ
        )
        for _ in range(2)
    ]
    assert [process.wait() for process in both] == [0, 0]
    assert sorted(map(int, Store(tmp_path))) == list(range(50))


def test_an_older_folder_of_compare_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(OLDER / "compare" / "cells.jsonl", tmp_path)
    with (tmp_path / "cells.jsonl").open("a", encoding="utf-8") as file:
        file.write('garbage\n{"key": "torn", "checkpoi')
    monkeypatch.setattr("budgetron.lab.report.write", lambda *_: None)
    monkeypatch.setattr(budgetron, "__version__", VERSION)
    todo: list[int] = []

    def run() -> Any:
        return compare(
            ["synthetic:sea,rows=400"],
            ["rbp", "ahpatron"],
            tmp_path,
            budgets=[10],
            common={"gamma": 0.5},
            settings=Settings(repeats=2, checkpoints=2),
            processes=1,
            begin=todo.append,
        )

    found = run()
    assert todo == [2 * 2]  # only the lines that look at no feature, which are new
    lines = (OLDER / "compare" / "cells.jsonl").read_text(encoding="utf-8").splitlines()
    before = {(r["algorithm"], r["repeat"]): r for r in map(json.loads, lines)}
    assert len(before) == 4
    for record in found.records:
        if not record["reference"]:
            old = before[record["algorithm"], record["repeat"]]["checkpoints"]
            for mine, theirs in zip(record["checkpoints"], old, strict=True):
                same = {name: math.nan if v is None else v for name, v in theirs.items()}
                assert repr(mine) == repr({name: float(v) for name, v in same.items()})
    assert (tmp_path / "cells.jsonl").exists()  # left as it was
    run()
    assert todo == [4, 0]


def test_an_older_folder_of_reproduce_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(OLDER / "reproduce" / "cells.jsonl", tmp_path)
    monkeypatch.setattr(budgetron, "__version__", VERSION)
    (data_set,) = read("mnist_online").sets
    store = Store(tmp_path)
    assert len(store) == 2
    keys = {Run(data_set, row, row.chosen, 0).key: row for row in data_set.published}
    for key, record in store.items():
        assert keys[key].learner in ("ahpatron", "avm", "projectron", "sgd")
        outcome = Outcome.of(record)
        assert outcome.value == outcome.curve[-1][1]


def test_the_import_is_whole_or_not_there(tmp_path: Path) -> None:
    """A file that an interrupted import left has no table, and is imported again."""
    shutil.copy(OLDER / "compare" / "cells.jsonl", tmp_path)
    sqlite3.connect(tmp_path / "cells.db").close()
    assert len(Store(tmp_path)) == 4


def test_keys_do_not_depend_on_the_order_of_names() -> None:
    assert key_of({"a": 1, "b": [2.5]}) == key_of({"b": [2.5], "a": 1}) != key_of({"a": 1})
