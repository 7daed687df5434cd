"""Names and labels from outside cannot control the terminal: control characters are shown."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table

import budgetron
from budgetron._text import shown, spreadsheet
from budgetron.cli import main
from budgetron.cli._console import output, progress

# All control characters but NUL and "/", which no file name has; some that turn text around.
CONTROL = "".join(map(chr, [*range(1, 32), *range(127, 160), 0x2028, 0x202E, 0x2066]))
NAME = f"[bold]{CONTROL}[red]"
# Of a column and a label in CSV: on one line.
FIELD = NAME.replace("\n", "").replace("\r", "")


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int) -> tuple[str, str]:
    """What the command printed: only lines of printable characters."""
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    out, err = capsys.readouterr()
    assert ended.value.code == code, err
    for text in (out, err):
        assert text.replace("\n", "").isprintable(), text
    return out, err


@given(st.text())
def test_shown_is_printable_and_the_same_where_it_was(text: str) -> None:
    assert shown(text).isprintable()
    assert shown(shown(text)) == shown(text)
    assert shown(text) == text or not text.isprintable()


@given(st.text(max_size=5))
def test_no_text_cell_is_a_formula(text: str) -> None:
    cell = spreadsheet(text)
    assert cell in (text, f"'{text}")
    if cell == text and cell[:1] in "=+-@\t\r" and cell:
        float(cell)


def test_what_comes_from_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = tmp_path / f"{NAME}.csv"
    rows.write_text(f'a,"{FIELD}",label\n' + f'1,2,"{FIELD}"\n3,4,other\n' * 20)
    model = str(tmp_path / f"{NAME}.btn")
    run = ["run", str(rows), "-a", "rbp", "--gamma", "1"]
    monkeypatch.setenv("COLUMNS", "2000")
    out, _ = said(capsys, *run, "--save", model, code=0)
    assert shown(NAME) in out
    said(capsys, *run, "--json", code=0)
    said(capsys, *run, "--label", FIELD + "?", code=2)
    said(capsys, *run, "--classes", "a,b", code=2)
    said(capsys, *run, "--hash", f"{FIELD},{FIELD}?", code=2)
    said(capsys, "run", str(rows) + "?", "-a", NAME, code=2)
    said(capsys, "info", model, code=0)
    said(capsys, "info", str(rows), code=2)
    said(capsys, "predict", model, str(rows) + "?", code=2)
    said(capsys, "compare", str(rows) + "?", "-a", "rbp", "-b", "5", code=2)
    said(capsys, f"--{NAME}", code=2)


def test_answers_are_as_they_are_but_on_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, rows = str(tmp_path / "m.btn"), tmp_path / "rows.libsvm"
    rows.write_text("0 1:1\n")
    labels = np.array(["=1\x1b[2J", "\x1b"])
    budgetron.save(budgetron.make("rbp", gamma=1.0).fit([[1.0], [-1.0]], labels), path)
    with pytest.raises(SystemExit):
        main(["predict", path, str(rows)])
    assert capsys.readouterr().out == "row,label\n1,'=1\x1b[2J\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    out, _ = said(capsys, "predict", path, str(rows), code=0)
    assert out == "row,label\n1,'=1\\x1b[2J\n"


def test_a_name_in_the_progress_line_is_no_markup(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress("[bold]\x1b]0;title\x07", 10) as report:
        report(5, "[red]\x1b[2J")
    shows: Any = capsys.readouterr().err
    assert "[bold]\\x1b]0;title\\x07" in shows
    assert "\x1b]0" not in shows
    assert "\x07" not in shows


def test_the_console_shows_what_it_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    output().print("\x1b[2Ja\nb [red] :smile:")
    assert capsys.readouterr().out == "\\x1b[2Ja\nb [red] :smile:\n"


@pytest.mark.parametrize("wraps", [False, True])
def test_what_is_escaped_is_measured_as_it_is_shown(
    wraps: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    table = Table()
    table.add_column("name", no_wrap=not wraps, overflow="fold" if wraps else "ellipsis")
    table.add_row("\x1b" * 9)
    output().print(table)
    lines = capsys.readouterr().out.splitlines()
    assert {len(line) for line in lines} == {30}
    assert ("…" in lines[3]) != wraps
    output().print("\x1b" * 9)
    first, second = capsys.readouterr().out.splitlines()
    assert (first + second, len(first)) == ("\\x1b" * 9, 30)
