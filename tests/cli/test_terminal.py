"""The command in the terminal: help on one screen, examples that run, suggestions, plain output."""

from __future__ import annotations

import os
import pty
import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from joblib import parallel_config
from typer.main import get_command

from budgetron.cards import card, cards, papers, section
from budgetron.catalogue import ALL, CATALOGUE
from budgetron.cli import main
from budgetron.cli._command import _with_the_verb, app
from budgetron.cli._console import print_markdown, wrapped
from budgetron.cli.algorithms import GROUPS
from budgetron.cli.demo import PEERS, STRONG, next_commands
from budgetron.errors import BudgetronError
from budgetron.lab.cells import Cell
from budgetron.lab.store import Record

COMMAND = [sys.executable, "-c", "from budgetron.cli import main; main()"]
GROUP = get_command(app)
ALONE = [name for name in GROUP.commands if name != "data"]
VERBS = [[name] for name in GROUP.commands] + [["data", name] for name in ("list", "get", "path")]
# These need a network, a paper's data, or minutes; docs/guide/own-learner.md runs compare,
# docs/guide/tables.md runs inspect, whose example reads a file that compare writes. tests/serve
# runs serve, which does not end by itself.
NOT_RUN = {"compare", "demo", "inspect", "merge", "reproduce", "serve", "data get", "data path"}


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    """Standard output, or for a mistake standard error."""
    with pytest.raises(SystemExit) as exit:
        main(list(arguments))
    out, err = capsys.readouterr()
    assert exit.value.code == code, err
    return err if code else out


@pytest.mark.parametrize("verb", [[], *VERBS], ids=" ".join)
def test_help_has_an_example_and_what_is_next(
    verb: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = said(capsys, *verb, "--help")
    assert len(text.splitlines()) <= 80
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text, "a line was cut"
    example, _, then = text.partition("Example:")[2].partition("Next:")
    (command,) = example.strip().splitlines()  # whole, to be copied
    assert command.startswith("budgetron ")
    assert then.strip()
    monkeypatch.setenv("COLUMNS", "40")
    narrow = said(capsys, *verb, "--help").partition("Example:")[0]
    assert max(map(len, narrow.splitlines())) <= 40


def test_the_examples_of_the_help_run_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = []
    for verb in VERBS:
        text = said(capsys, *verb, "--help")
        words = shlex.split(text.partition("Example:")[2].strip().splitlines()[0])
        name = " ".join(verb)
        if name in NOT_RUN or verb == ["data"]:
            command = GROUP
            for word in verb:
                command = command.commands[word]
            known = {option for each in command.params for option in each.opts}
            assert {word for word in words if word.startswith("--")} <= known
            continue
        alone = ["--processes", "1"] if name == "tune" else []
        assert said(capsys, *words[1:], *alone)
        ran.append(name)
    assert {"run", "predict", "tune", "about"} <= set(ran)
    assert (tmp_path / "sea.btn").exists()


def test_the_nearest_is_suggested(capsys: pytest.CaptureFixture[str]) -> None:
    for typed, meant in (
        (["runn", "FILE"], "'run'"),
        (["data", "lst"], "'list'"),
        (["run", "FILE", "-a", "rbp", "--budgte", "9"], "did you mean --budget?"),
        (["run", "FILE", "-a", "forgetrn"], "'forgetron'"),
        (["about", "forgetrn"], "'forgetron'"),
    ):
        error = said(capsys, *typed, code=2)
        assert meant in error
        assert error.count("\n") == 1


FIXED = ("For a fixed kernel: ", "For a fixed kernel and fixed cells: ")


def test_about_prints_the_card_of_every_algorithm(capsys: pytest.CaptureFixture[str]) -> None:
    assert set(papers()) == set(CATALOGUE)
    assert set(papers().values()) == set(cards())
    assert said(capsys, "about", "forgetron-greedy").strip() == card("forgetron").strip()
    for name, text in cards().items():
        for heading in ("Idea", "Pseudocode", "Symbols", "Guarantee", "Cost", "When to use"):
            assert section(text, heading), f"{name} has no {heading}"
        assert section(text, "Guarantee").startswith(FIXED), name


def in_terminal(arguments: list[str], **environment: str) -> str:
    """The output of the command if it is a terminal."""
    mine, its = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=its,
        stderr=its,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "60", **environment},
    )
    os.close(its)
    text = b""
    while True:
        try:
            came = os.read(mine, 65536)
        except OSError:  # the other end is closed: Linux says so by an error
            break
        if not came:
            break
        text += came
    os.close(mine)
    assert process.wait() == 0
    return text.decode()


def test_notices_are_wrapped_between_words_in_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"{i % 7},{i / 8}\n" for i in range(200))
    (tmp_path / "t.csv").write_text("a,y\n" + rows)
    monkeypatch.chdir(tmp_path)
    arguments = ["run", "t.csv", "--label", "y", "--json"]
    text = in_terminal(arguments, COLUMNS="80").replace("\r\n", "\n")
    assert (
        "budgetron: label 'y': 200 distinct numbers with fractions in 200 rows:\n"
        "regression; --task classification to change\n"
    ) in text
    with pytest.raises(SystemExit):
        main(arguments)
    assert "in 200 rows: regression; --task" in capsys.readouterr().err  # one line into a file
    name = "x" * 90
    assert wrapped(f"budgetron: {name}: no rows", 80) == f"budgetron:\n{name}:\nno rows"


COLOUR = re.compile(r"\x1b\[[\d;]*?(?<![\d])(?:3[0-8]|4[0-8]|9\d|10[0-7])[;m]")


@pytest.mark.long
def test_colours_are_for_terminals_that_want_them(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["about", "forgetron"]
    assert COLOUR.search(in_terminal(arguments))
    plain = in_terminal(arguments, NO_COLOR="1")
    assert not COLOUR.search(plain)
    assert "Pseudocode" in plain
    assert "\x1b" not in said(capsys, *arguments)  # into a pipe


def test_a_narrow_terminal_gets_fewer_columns_but_whole_numbers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for columns in ("120", "40"):
        monkeypatch.setenv("COLUMNS", columns)
        text = said(capsys, "data", "list")
        assert max(map(len, text.splitlines())) <= int(columns)
        assert "581,012" in text
        assert "…" not in text
        assert ("wider terminals show" in text) == (columns == "40")


def test_tab_completes_verbs_options_and_algorithms() -> None:
    def offered(words: str) -> list[str]:
        environment = {
            "_BUDGETRON_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split(" ")) - 1),
        }
        done = subprocess.run(
            COMMAND, capture_output=True, text=True, env={**os.environ, **environment}, check=True
        )
        return done.stdout.split()

    assert offered("budgetron alg") == ["algorithms"]
    assert offered("budgetron run FILE --che") == ["--checkpoint"]
    assert offered("budgetron run FILE -a forgetron-") == ["forgetron-basic", "forgetron-greedy"]


def test_demo_tries_its_folder_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules["budgetron.cli.demo"]  # the name in budgetron.cli is the verb
    monkeypatch.setattr(module, "_streams", lambda out, rows: pytest.fail("worked first"))
    (tmp_path / "file").write_text("mine")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(SystemExit) as end:
            main(["demo", "--out", str(out)])
        assert end.value.code == 2
        assert "choose another folder with --out" in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.long
def test_demo_shows_a_raw_table_a_change_and_where_all_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    out = said(capsys, "demo", "--quick", "--out", "demo")
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "demo/payments.csv, generated: 400 rows with words, dates and gaps"
    raw = Path("demo/payments.csv").read_text(encoding="utf-8").splitlines()
    assert [line.strip() for line in lines[1:6]] == raw[:5]
    assert len(raw) == 401
    assert {cell == "" for row in raw for cell in row.split(",")} == {True, False}
    for stream in ("a table of payments", "a stream that changes at row 200"):
        table = out.partition(stream)[2].partition("±")[0]
        for name in (*STRONG, *PEERS, "majority class"):
            assert re.search(rf"^  {re.escape(name)} ", table, re.MULTILINE), name
    *_, figure, report, then, one, two, three = lines
    assert Path(figure.removeprefix("figure: ")).stat().st_size > 10_000
    page = Path(report.removeprefix("report: ")).read_text(encoding="utf-8")
    assert page.count("<tr>") > 2 * len(CATALOGUE)  # all learners, not only those shown
    assert "data:image/svg+xml" in page
    assert not re.search(r'(src|href)="http', page)
    assert then == "try next:"
    commands = [line.strip() for line in (one, two, three)]
    assert commands == next_commands(Path("demo"))
    for command in commands:
        assert said(capsys, *shlex.split(command)[1:])


def test_demo_shows_what_failed_and_what_was_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Fails(Cell):
        def run(self) -> Record:
            if self.setup.label == "forgetron":
                raise BudgetronError("it is tired")
            warnings.warn("odd rows", RuntimeWarning, stacklevel=1)
            return super().run()

    monkeypatch.setattr("budgetron.lab.cells.Cell", Fails)
    monkeypatch.setattr(
        "budgetron.lab.report.figures.draw",
        lambda folder, summary, pool: {stream: [] for stream in summary},
    )
    few = {name: CATALOGUE[name] for name in ("forgetron", "perceptron")}
    monkeypatch.setattr("budgetron.catalogue.CATALOGUE", few)
    monkeypatch.setattr(sys.modules["budgetron.cli.demo"], "find_spec", lambda name: None)
    with pytest.raises(SystemExit) as end, parallel_config(n_jobs=1):
        main(["demo", "--quick", "--out", str(tmp_path / "demo")])
    out, err = capsys.readouterr()
    assert end.value.code == 2
    assert len(re.findall(r"forgetron +100 +failed", out)) == 2
    assert "River is not installed, so its learners are left out" in err
    assert re.search(r"warning: odd rows \(\d+ times\)\n", err)
    assert "failed: forgetron on a table of payments: it is tired\n" in err
    assert err.endswith("2 cells failed; the others are kept in " + str(tmp_path / "demo") + "\n")
    assert out.endswith(f"  {next_commands(tmp_path)[-1]}\n")


def test_algorithms_are_grouped_short_and_the_recommended_one_is_first(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = said(capsys, "algorithms").splitlines()
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(ALL)
    named = [line.split()[0] for line in lines if line.startswith("  ") and line.strip()]
    assert named == [name for names in GROUPS.values() for name in names]  # one line per name
    assert named[0] == "budgetron"
    assert max(map(len, lines)) <= 80
    assert not any("…" in line for line in lines)


WIDE = """# A title

Some *words* with `code`.

| set | algorithm | ours | seconds theirs | difference |
|---|---|---|---|---|
| phishing | `Projectron++` | **7.30 ± 0.11** (573) | 3.04 | a \\| b |
"""


@pytest.mark.parametrize(("columns", "whole"), [(100, True), (64, True), (44, False)])
def test_markdown_is_laid_out_for_the_terminal(
    columns: int,
    whole: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    print_markdown(WIDE)
    assert capsys.readouterr().out == WIDE + "\n"  # a file or a pipe gets it unchanged
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    print_markdown(WIDE)
    text = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)
    assert max(map(len, text.splitlines())) <= columns
    assert "---" not in text
    assert not re.search(r"[`*…]", text)
    for word in ("phishing", "Projectron++", "7.30", "Some words with code."):
        assert word in text
    assert whole is False or re.search(r"a\s+\|\s+b|a \| b", text)
    assert ("wider terminals show" in text) != whole


def test_a_card_fits_into_80_columns() -> None:
    text = re.sub(r"\x1b\[[\d;]*m", "", in_terminal(["about", "bogd"], COLUMNS="80"))
    assert max(len(line.rstrip("\r")) for line in text.split("\n")) <= 80
    assert "|---" not in text
    assert "…" not in text


@pytest.mark.parametrize("name", ALONE)
def test_a_verb_that_is_named_is_set_up_alone(name: str) -> None:
    group = get_command(_with_the_verb(name))
    assert list(group.commands) == [name]
    assert [p.name for p in group.params] == [p.name for p in GROUP.params]


def test_all_are_there_where_none_is_named() -> None:
    assert _with_the_verb("--help") is _with_the_verb("") is _with_the_verb("data") is app
