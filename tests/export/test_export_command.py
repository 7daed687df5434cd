"""`budgetron export`: its files, its output, its errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import budgetron
from budgetron.cli._command import execute
from tests.export.exported import rows


@pytest.fixture
def saved(tmp_path: Path) -> str:
    X, y = rows(400, 0, 3, gaps=True)
    budgetron.save(budgetron.BudgetronClassifier(budget=20).fit(X, y), tmp_path / "m.btn")
    return str(tmp_path / "m.btn")


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = execute(["export", *arguments])
    out = capsys.readouterr()
    return code, out.out, out.err


def test_c(saved: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "my-model.h")
    code, text, _ = said(capsys, saved, "--to", "c", "--out", out)
    assert code == 0
    assert text.splitlines() == [
        f"{out}: BudgetronClassifier, 20 examples, 4 features, 3 classes",
        "  size: 950 bytes of constants, about 64 bytes of stack",
        "  numbers: float32 examples",
        "  one row: 156 multiply-adds, 20 exponentials",
        "  functions: my_model_decide, my_model_classify, my_model_probabilities",
    ]
    assert "static inline int my_model_classify(" in Path(out).read_text()
    said(capsys, saved, "--to", "c", "--out", out, "--name", "Sea", "--precision", "int8")
    written = Path(out).read_text()
    assert "int8_t Sea_example[20]" in written
    assert "#ifndef SEA_INPUT" in written


def test_json(saved: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, reader = str(tmp_path / "m.json"), str(tmp_path / "budgetron.js")
    code, text, _ = said(capsys, saved, "--to", "json", "--out", out, "--reader", reader)
    assert code == 0
    assert "size: " in text
    assert "one row: " in text
    assert json.loads(Path(out).read_text())["format"] == "budgetron-predict"
    assert "budgetron" in Path(reader).read_text()


def test_mistakes_are_one_line(
    saved: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "m")
    X, y = rows(300, 0, 2, gaps=False)
    budgetron.save(budgetron.FOGDClassifier(n_components=9).fit(X, y), tmp_path / "f.btn")
    budgetron.save(budgetron.BudgetronClassifier(), tmp_path / "new.btn")
    new = str(tmp_path / "new.btn")
    fogd, folder = str(tmp_path / "f.btn"), str(tmp_path / "no" / "m.h")
    mistakes = {
        "no such file": (str(tmp_path / "none.btn"), "--to", "c", "--out", out),
        "has not learned anything yet": (new, "--to", "c", "--out", out),
        "stores no examples": (fogd, "--to", "c", "--out", out, "--precision", "int8"),
        "--precision is for --to c": (
            saved,
            "--to",
            "json",
            "--out",
            out,
            "--precision",
            "int8",
        ),
        "--reader is for --to json": (saved, "--to", "c", "--out", out, "--reader", out),
        "name='3'": (saved, "--to", "c", "--out", out, "--name", "3"),
        "'rust' is not one of": (saved, "--to", "rust", "--out", out),
        "/no": (saved, "--to", "c", "--out", folder),
        "not a model file": (__file__, "--to", "c", "--out", out),
    }
    for what, arguments in mistakes.items():
        code, text, error = said(capsys, *arguments)
        assert code == 2, what
        assert text == ""
        assert what in error
        assert error.count("\n") == 1
    assert not Path(out).exists()


def test_nothing_that_is_needed_is_overwritten(
    saved: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, error = said(capsys, saved, "--to", "json", "--out", saved)
    assert (code, error.count("\n")) == (2, 1)
    assert budgetron.load(saved).n_seen_ > 0
    out = str(tmp_path / "m.json")
    code, _, error = said(capsys, saved, "--to", "json", "--out", out, "--reader", out)
    assert (code, error.count("\n")) == (2, 1)


def test_a_name_cannot_end_a_comment() -> None:
    from budgetron.export.c_text import comment

    for name in ("a*/ int evil;", "a*\\ int evil;", "a/\\*b", "*\\/", "/\\/*"):
        inside = comment(name)[2:-2]
        assert "*/" not in inside
        assert "/*" not in inside
