"""The digests tool: silent if no bit changed, and names the digests that did."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from budgetron import _core
from tests.golden import digests
from tests.support.cases import BY_NAME, stream

ONLY = "rbp/rbf/dense"
HERE = _core.instruction_set()


@pytest.fixture(autouse=True)
def _one_instruction_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digests, "INSTRUCTION_SETS", (HERE,))


@pytest.mark.long
def test_what_was_recorded_holds_until_a_digest_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "recorded.json"
    assert digests.main(["--record", str(file), "--only", ONLY]) == 0
    assert digests.main(["--check", str(file), "--only", ONLY]) == 0
    assert capsys.readouterr().err == ""
    recorded = digests.read(file)
    case = f"{ONLY}/float64/2"
    decisions, _ = recorded[HERE][case].split("-")
    recorded[HERE][case] = f"{decisions}-000000"
    digests.write(file, recorded)
    assert digests.main(["--check", str(file), "--only", ONLY]) == 1
    assert capsys.readouterr().err == f"digests: {HERE}: {case}: state\n"


@pytest.mark.long
def test_recording_one_learner_keeps_the_others(tmp_path: Path) -> None:
    file = tmp_path / "recorded.json"
    wrong = {f"{ONLY}/float64/2": "old", "rbp/gone/rbf/dense": "kept", f"{ONLY}/gone": "old"}
    digests.write(file, {"made with": digests.made_with(), HERE: wrong})
    assert digests.main(["--record", str(file), "--only", ONLY]) == 0
    recorded = digests.read(file)[HERE]
    assert recorded["rbp/gone/rbf/dense"] == "kept"
    assert "old" not in recorded.values()
    assert digests.main(["--check", str(file), "--only", ONLY]) == 0


def test_other_libraries_are_not_compared_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "recorded.json"
    file.write_text(json.dumps({"made with": "another compiler"}))
    assert digests.main(["--check", str(file)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("digests: skipped: recorded.json is recorded with another compiler;")


def test_one_more_row_alters_both_halves() -> None:
    X, y = stream(200)
    found = []
    for rows in (199, 200):
        model = BY_NAME["rbp"].make()
        found.append(digests.digest(model, model.prequential(X[:rows], y[:rows])).split("-"))
    assert found[0][0] != found[1][0]
    assert found[0][1] != found[1][1]


def test_every_learner_and_layout_has_a_digest() -> None:
    recorded = digests.read(digests.RECORDED)
    names = {name for name, *_ in digests._of_defaults()}
    for instruction_set in ("avx512", "avx2", "baseline"):
        assert names <= recorded[instruction_set].keys()


@pytest.mark.parametrize("twin", [True, False])
def test_equal_sets_are_written_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, twin: bool
) -> None:
    monkeypatch.setattr(digests, "INSTRUCTION_SETS", ("avx512", "avx2", "baseline"))
    file = tmp_path / "recorded.json"
    recorded = {
        "made with": "x",
        "avx512": {"a": "1-1"},
        "avx2": {"a": "1-1" if twin else "1-2"},
        "baseline": {"a": "2-2"},
    }
    digests.write(file, recorded)
    assert ('"avx2": "avx512"' in file.read_text()) == twin
    assert digests.read(file) == recorded
