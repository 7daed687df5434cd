"""The command in the terminal: help of one screen, examples that run, suggestions, plain output."""

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
from budgetron.catalogue import CATALOGUE
from budgetron.cli import main
from budgetron.cli._command import _with_the_verb, app
from budgetron.cli.algorithms import find
from budgetron.cli.demo import NEXT
from budgetron.errors import BudgetronError
from budgetron.lab.cells import Cell
from budgetron.lab.store import Record

COMMAND = [sys.executable, "-c", "from budgetron.cli import main; main()"]
GROUP = get_command(app)
ALONE = [name for name in GROUP.commands if name != "data"]
VERBS = [[name] for name in GROUP.commands] + [["data", name] for name in ("list", "get", "path")]
# What needs a network, a paper's data, or minutes; compare is run by docs/guide/own-learner.md,
# inspect, whose example looks at a file that compare writes, by docs/guide/tables.md. serve, which
# does not end by itself, is run by tests/serve.
NOT_RUN = {"compare", "demo", "inspect", "reproduce", "serve", "data get", "data path"}


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


STAYS = ("that stays as it is", "and cells that stay as they are")


def test_about_prints_the_card_of_every_algorithm(capsys: pytest.CaptureFixture[str]) -> None:
    assert set(papers()) == set(CATALOGUE)
    assert set(papers().values()) == set(cards())
    assert said(capsys, "about", "forgetron-greedy").strip() == card("forgetron").strip()
    for name, text in cards().items():
        for heading in ("Idea", "Pseudocode", "Symbols", "Guarantee", "Cost", "When to use"):
            assert section(text, heading), f"{name} has no {heading}"
        fixed = tuple(f"For a kernel {it}: " for it in STAYS)
        assert section(text, "Guarantee").startswith(fixed), name


def in_terminal(arguments: list[str], **environment: str) -> str:
    """What the command writes when its output is a terminal."""
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


COLOUR = re.compile(r"\x1b\[[\d;]*?(?<![\d])(?:3[0-8]|4[0-8]|9\d|10[0-7])[;m]")


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
    monkeypatch.setattr(module, "_streams", lambda part: pytest.fail("worked first"))
    (tmp_path / "file").write_text("mine")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(SystemExit) as end:
            main(["demo", "--out", str(out)])
        assert end.value.code == 2
        assert "choose another folder with --out" in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "mine"


def test_demo_ends_by_saying_where_the_report_is_and_three_commands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = said(capsys, "demo", "--quick", "--out", str(tmp_path / "demo"))
    *_, figure, report, then, one, two, three = out.splitlines()
    assert Path(figure.removeprefix("figure: ")).exists()
    page = Path(report.removeprefix("report: ")).read_text(encoding="utf-8")
    assert page.count("<tr>") > 2 * len(CATALOGUE)
    assert "data:image/svg+xml" in page
    assert not re.search(r'(src|href)="http', page)
    assert then == "try next:"
    assert [line.strip() for line in (one, two, three)] == list(NEXT)
    for command in NEXT:
        assert said(capsys, *shlex.split(command)[1:])


def test_demo_shows_what_failed_and_what_was_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Fails(Cell):
        def run(self) -> Record:
            if self.setup.label == "rbp":
                raise BudgetronError("it is tired")
            warnings.warn("odd rows", RuntimeWarning, stacklevel=1)
            return super().run()

    monkeypatch.setattr("budgetron.lab.cells.Cell", Fails)
    monkeypatch.setattr(
        "budgetron.lab.report.figures.draw",
        lambda folder, summary, pool: {stream: [] for stream in summary},
    )
    few = [find("rbp"), find("perceptron")]
    monkeypatch.setattr("budgetron.algorithms", lambda: few)
    with pytest.raises(SystemExit) as end, parallel_config(n_jobs=1):
        main(["demo", "--quick", "--out", str(tmp_path / "demo")])
    out, err = capsys.readouterr()
    assert end.value.code == 2
    assert len(re.findall(r"rbp +20 +failed", out)) == 2
    assert re.search(r"warning: odd rows \(\d+ times\)\n", err)
    assert "failed: rbp on digits, even against odd: it is tired\n" in err
    assert err.endswith("4 cells failed; the others are kept in " + str(tmp_path / "demo") + "\n")
    assert out.endswith(f"  {NEXT[-1]}\n")


@pytest.mark.parametrize("name", ALONE)
def test_a_verb_that_is_named_is_set_up_alone(name: str) -> None:
    group = get_command(_with_the_verb(name))
    assert list(group.commands) == [name]
    assert [p.name for p in group.params] == [p.name for p in GROUP.params]


def test_all_are_there_where_none_is_named() -> None:
    assert _with_the_verb("--help") is _with_the_verb("") is _with_the_verb("data") is app
