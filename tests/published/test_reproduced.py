"""The tool that compares `reproduce all --quick` with its record, on a small table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from budgetron.lab.reproduce import names, read
from tests.published import reproduced

NOT_HAD = {"slice"}  # its file cannot be had

ONLY = "forgetron_figures | one stream 5 %"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "recorded.json"
    assert reproduced.main(["--record", str(path), "--only", ONLY]) == 0
    return path


def test_a_digit_that_moves_is_named(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--check", str(file), "--only", ONLY]
    capsys.readouterr()
    assert reproduced.main(words) == 0
    assert capsys.readouterr().out == "reproduced: 0 of 16 cells differ\n"
    recorded = json.loads(file.read_text())
    key = next(key for key in recorded if "| CG |" in key)
    then = recorded[key][0]
    recorded[key][0] = then + 0.01  # one mistake in 10,000 rows
    del recorded[next(key for key in recorded if "self-tuned" in key)]
    recorded[key.replace("| CG |", "| CG, once |")] = [1.0, 1, ""]
    reproduced.write(file, recorded)
    assert reproduced.main(words) == 1
    said = capsys.readouterr().err
    assert f"{key}: recorded [{then + 0.01}" in said
    assert "not recorded; now [" in said
    assert f"{key.replace('| CG |', '| CG, once |')}: recorded, and no longer run" in said


def test_a_word_that_names_nothing_is_a_mistake(file: Path) -> None:
    with pytest.raises(SystemExit, match="2"):
        reproduced.main(["--check", str(file), "--only", "nonsense"])


def test_other_cells_are_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "recorded.json"
    path.write_text(json.dumps({"made with": "another compiler", "a | b | c | {}": [1.0, 1, ""]}))
    before = path.read_text()
    with pytest.raises(SystemExit, match="2"):
        reproduced.main(["--record", str(path), "--only", ONLY])
    assert path.read_text() == before


def test_other_libraries_are_not_compared_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "recorded.json"
    path.write_text(json.dumps({"made with": "another compiler"}))
    assert reproduced.main(["--check", str(path)]) == 0
    assert capsys.readouterr().out.startswith(
        "reproduced: skipped: recorded.json is made with another compiler;"
    )


def test_the_record_has_every_quick_line_and_no_other() -> None:
    recorded = json.loads(reproduced.RECORDED.read_text(encoding="utf-8"))
    wanted = {"made with"}
    for name in names():
        for data_set in read(name).quick().sets:
            if data_set.name in NOT_HAD or data_set.not_run is not None:
                continue
            for row in data_set.published:
                if row.limit is None and row.not_run is None:
                    setting = json.dumps({**row.params, **row.chosen}, sort_keys=True)
                    wanted.add(f"{name} | {data_set.name} | {row.algorithm} | {setting}")
    assert set(recorded) == wanted
