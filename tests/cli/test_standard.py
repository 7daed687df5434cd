"""Standard input, output and error that are closed, full or without a reader: nothing is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

# Forks after the imports, which take longer than the runs. A child ends as a program does.
PROGRAM = """
import contextlib, gc, io, json, os, sys
import budgetron.cli, budgetron.model_file, budgetron.streams.libsvm, budgetron.streams.read_ahead
import rich.table

with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    budgetron.cli.main(["run", sys.argv[2], "-a", "rbp", "--gamma", "1"])
gc.freeze()

def become(number, name, what):
    os.close(number)
    if what == "closed":
        setattr(sys, name, None)  # as Python has it where a number is free at its start
    elif what == "full":
        os.dup2(os.open("/dev/full", os.O_WRONLY), number)
    elif what == "unread":
        read, write = os.pipe()
        os.close(read)
        os.dup2(write, number)
    else:
        os.dup2(os.open(os.devnull, os.O_RDWR), number)

ended = []
for words, stdin, stdout, stderr in json.loads(sys.argv[1]):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(write, 100)
        os.close(read), os.close(write)
        if stderr == "heard":
            os.dup2(100, 2)
        else:
            become(2, "stderr", stderr)
        os.close(100)
        become(1, "stdout", stdout)
        become(0, "stdin", stdin)
        budgetron.cli.main(words)
    os.close(write)
    with open(read) as pipe:
        said = pipe.read()
    ended.append([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said])
print(json.dumps(ended))
"""
CODES = {"fine": 0, "closed": 2, "full": 2, "unread": 141}
SAYS = {
    "fine": "",
    "closed": "budgetron: standard output: it is closed\n",
    "full": "budgetron: standard output: no space left on device\n",
    "unread": "",
}


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "rows.libsvm"
    path.write_text("1 1:1 2:0.5\n2 1:0.2\n" * 20)
    return str(path)


def ended(file: str, cases: list[Any]) -> list[tuple[int, str]]:
    """Exit code and standard error of every case: words, stdin, stdout, stderr."""
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    words = [sys.executable, "-c", PROGRAM, json.dumps(cases), file]
    buffered = {**os.environ, "PYTHONUNBUFFERED": ""}  # as users have it
    done = subprocess.run(words, stdout=subprocess.PIPE, check=True, timeout=120, env=buffered)
    return [tuple(each) for each in json.loads(done.stdout)]


def test_the_model_is_saved_whatever_becomes_of_the_output(file: str, tmp_path: Path) -> None:
    run = ["run", file, "-a", "rbp", "--gamma", "1", "--save"]
    places: list[tuple[str, str, list[str]]] = [(out, "heard", []) for out in CODES]
    places += [("fine", "closed", []), ("full", "full", ["--json"])]
    asked = [
        ([*run, str(tmp_path / f"{i}.btn"), *options], "closed", stdout, stderr)
        for i, (stdout, stderr, options) in enumerate(places)
    ]
    for i, (found, case) in enumerate(zip(ended(file, asked), asked, strict=True)):
        _, _, stdout, stderr = case
        assert found == (CODES[stdout], SAYS[stdout] if stderr == "heard" else ""), case
        assert (tmp_path / f"{i}.btn").stat().st_size > 1000, case


@pytest.mark.long
def test_every_verb_says_in_one_line_that_it_cannot_print(file: str, tmp_path: Path) -> None:
    model = str(tmp_path / "m.btn")
    save = (["run", file, "-a", "rbp", "--gamma", "1", "--save", model], "fine", "fine", "heard")
    verbs = [["info", model], ["predict", model, file], ["run", "--help"]]
    asked = [(words, "fine", out, "heard") for words in verbs for out in ("closed", "full")]
    (first, *others) = ended(file, [save, *asked])
    assert first == (0, "")
    for found, case in zip(others, asked, strict=True):
        assert found == (CODES[case[2]], SAYS[case[2]]), case


def test_standard_input_that_is_closed(file: str) -> None:
    run = ["run", "-", "-a", "rbp"]
    said = "budgetron: <stdin>: standard input is closed\n"
    formats = [[], ["--format", "csv"]]
    found = ended(file, [([*run, *each], "closed", "fine", "heard") for each in formats])
    assert found == [(2, said)] * len(formats)


def test_ctrl_c_while_the_command_is_imported() -> None:
    program = (
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == sys.argv[1]:\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from budgetron.cli import main\n"
        "main(['run', 'synthetic:sea,rows=10', '-a', 'rbp'])\n"
    )
    for module in ("typer", "numpy"):
        words = [sys.executable, "-c", program, module]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (130, "", ""), module
