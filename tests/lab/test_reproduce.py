"""`budgetron reproduce`: its output, files, stored runs and errors."""

from __future__ import annotations

import json
import lzma
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from budgetron import datasets
from budgetron.cli import main
from budgetron.datasets import DataSet, File
from budgetron.lab.reproduce import names, read, tables
from budgetron.lab.reproduce.runner import _no_daemon
from budgetron.lab.store import Store
from tests.conftest import made_set

TABLE = """
paper = "small"
tables = ["1", "2"]
title = "Small"
citation = "Nobody."
text = "Two streams."

[algorithms.P]
learner = "perceptron"
table = "1"

[algorithms.O]
learner = "remove-oldest"
table = "2"
params = { budget = 20 }

[algorithms.F]
learner = "forgetron"
table = "2"
sweep.budget = [10, 20, 40]

[[sets]]
name = "noisy"
flip = 0.05
rows = 400
gamma = 0.5
preparation = "as made"
published = [
  { algorithm = "P", mean = 10.0, sd = 9.0 },
  { algorithm = "O", mean = 1.0, sd = 0.1, reason = "it is made up." },
  { algorithm = "F" },
]

[[sets]]
name = "absent"
files = ["absent"]
rows = 10
gamma = 0.5
published = [{ algorithm = "P", mean = 1.0, sd = 0.1 }]

[[figures]]
number = "1"
title = "on the way"
x = "rows"
y = "value"

[[figures]]
number = "2a"
title = "over the budget"
x = "budget"
y = "value"
algorithms = ["F", "O"]
spread = "range"
log = ["x"]
"""


@pytest.fixture
def small(
    tmp_path: Path,
    known: dict[str, DataSet],
    empty_cache: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """A paper of our own; returns the folder to write to."""
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "small.toml").write_text(TABLE)
    monkeypatch.setattr(tables, "files", lambda: {"small": folder / "small.toml"})
    held = File("all", "absent.bz2", "http://127.0.0.1:1/absent", 10, held=("absent.libsvm.xz",))
    known["absent"] = made_set("absent", held, features=1)
    monkeypatch.setenv("BUDGETRON_DATA", str(tmp_path))
    return tmp_path / "out"


def run(*arguments: str) -> int:
    return call("reproduce", *arguments, "--processes", "1")


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    return int(end.value.code or 0)


def test_table_figures_records_and_going_on(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("small", "--permutations", "2", "--out", str(small)) == 0
    out = capsys.readouterr().out
    assert "| noisy | P |  | 10.00 ± 9.00 |" in out
    assert "- **worse** noisy O (B 20): it is made up." in out
    assert "- absent: not here; fetch it: budgetron data get absent." in out
    assert (small / "small.md").read_text() in out
    records = json.loads((small / "small.json").read_text())
    references = ["majority class", "last label"]
    assert [record["algorithm"] for record in records] == ["P", "O", "F", "F", "F", *references]
    assert [len(record["outcomes"]) for record in records] == [2] * 7
    assert "| noisy | majority class |  | - | 5" in out  # classes of the same size
    assert out.splitlines()[2].startswith("Of 5 lines 1 is within 3 deviations of the paper, ")
    assert "all are better than the baselines." in out
    for number in ("1", "2a"):
        picture = small / f"small_figure{number}.png"
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.stat().st_size > 10_000
    kept = dict(Store(small))
    assert len(kept) == 14
    assert run("small", "--table", "1", "--permutations", "2", "--out", str(small)) == 0
    again = capsys.readouterr().out
    assert "| noisy | P |" in again
    assert "| noisy | O |" not in again
    assert dict(Store(small)) == kept
    assert run("small", "--figure", "2", "--permutations", "2", "--out", str(small)) == 0
    drawn = capsys.readouterr().out
    assert "small_figure2a.png" in drawn
    assert "| noisy" not in drawn
    assert dict(Store(small)) == kept


def test_a_logarithmic_axis_has_plain_numbers(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []
    monkeypatch.setattr(
        "budgetron.lab.reproduce.figures.save", lambda canvas, path: drawn.append(canvas)
    )
    assert run("small", "--figure", "2a", "--permutations", "1", "--out", str(small)) == 0
    (figure,) = drawn
    figure.draw_without_rendering()
    texts = [label.get_text() for axis in figure.axes for label in axis.get_xticklabels()]
    assert {"10", "20", "40"} <= set(texts)
    assert not any("$" in text for text in texts)


def test_quick_is_one_permutation_and_leaves_large_sets_out(
    small: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("small", "--table", "1", "--quick", "--out", str(small)) == 0
    assert len(Store(small)) == 1 + 2  # and two lines that look at no feature
    monkeypatch.setattr(tables, "QUICK_ROWS", 300)
    assert run("small", "--table", "1", "--quick", "--out", str(small)) == 0
    assert "- noisy: 400 rows, left out by --quick." in capsys.readouterr().out


def test_help_names_the_limit_of_quick(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == 0
    assert f"{tables.QUICK_ROWS:,} rows" in " ".join(
        capsys.readouterr().out.replace("│", " ").split()
    )


def test_worse_without_a_reason_is_the_exit_status(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toml = small.parent / "tables" / "small.toml"
    toml.write_text(TABLE.replace(', reason = "it is made up."', ""))
    options = ["--permutations", "1", "--sets", "noisy", "--out", str(small)]
    assert run("small", "--table", "1", *options) == 0
    assert run("small", "--table", "2", *options) == 1
    assert "worse than published" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "no paper is called 'nonsense'; there are small, and all"),
        (["small", "--table", "9"], "has no table '9' here; there are 1, 2"),
        (["small", "--figure", "9"], "has no figure '9' here; there are 1, 2a"),
        (["small", "--sets", "nonsense"], "has no set 'nonsense'; there are noisy, absent"),
        (["small", "--sets", "noisy, nose"], "has no set 'nose'; there are noisy, absent"),
    ],
)
def test_unknown_names_are_refused(
    small: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments, "--out", str(small)) == 2
    err = capsys.readouterr().err
    assert message in err
    assert len(err.splitlines()) == 1
    assert not small.exists()


def test_a_folder_that_cannot_be_written_is_one_line(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small.write_text("a file")
    assert run("small", "--out", str(small)) == 2
    err = capsys.readouterr().err
    assert "choose another folder with --out" in err
    assert len(err.splitlines()) == 1


INTERRUPTED = """
import sys
from pathlib import Path
from budgetron.lab.reproduce import tables
tables.files = lambda: {"small": Path("tables/small.toml")}
from budgetron.cli import main
main()
"""


@pytest.mark.long
@pytest.mark.parametrize("processes", ["1", "2"])
def test_interrupted_it_keeps_what_is_finished_and_goes_on(small: Path, processes: str) -> None:
    """Ctrl-C, which goes to all processes of the terminal, while most runs are still to come."""
    command = [sys.executable, "-c", INTERRUPTED, "reproduce", "small", "--table", "1"]
    command += ["--sets", "noisy", "--processes", processes, "--out", "out"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    given: Any = {"cwd": small.parent, "env": environment, "text": True}
    most = 5000
    process = subprocess.Popen(
        [*command, "--permutations", str(most)],
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **given,
    )
    deadline = time.monotonic() + 120
    while len(kept_in(small)) < 4 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert process.poll() is None  # it works
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    kept = kept_in(small)
    said = "interrupted: finished cells are kept in out; run the same command for the rest\n"
    assert (process.returncode, out, err) == (130, "", f"budgetron: {said}")
    assert 4 <= len(kept) < 3 * most
    again = subprocess.run([*command, "--permutations", "2"], capture_output=True, **given)
    assert again.returncode == 0, again.stderr
    assert "| noisy | P |" in again.stdout
    after = kept_in(small)
    assert {key: after[key] for key in kept} == kept


def kept_in(folder: Path) -> dict[str, Any]:
    """The finished runs, as another process sees them."""
    if not (folder / "cells.db").exists():
        return {}
    with closing(Store(folder)) as store:
        return dict(store)


@pytest.mark.parametrize("width", ["80", "100"])
def test_the_help_breaks_no_sentence(
    width: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    assert run("--help") == 0
    text, _, _ = capsys.readouterr().out.partition("╭")
    lines = [line.strip() for line in text.splitlines()]
    about = lines[lines.index("", 2) + 1 :]
    for line, after in pairwise(each for each in about if each):  # the next word had no room
        assert len(line) + 1 + len(after.split()[0]) > int(width) - 2


@pytest.mark.parametrize("content", ["1 1:0.5\nnonsense\n", "1 1:0.5\n0 1:0.25\n"])
def test_data_that_is_not_the_papers_is_one_line(
    small: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = small.parent / "absent.libsvm.xz"
    with lzma.open(path, "wt") as file:
        file.write(content)
    assert run("small", "--table", "1", "--sets", "absent", "--out", str(small)) == 2
    err = capsys.readouterr().err
    assert err.startswith("budgetron: Small: absent: ")
    assert len(err.splitlines()) == 1


def test_what_data_get_fetched_is_reproduced(
    tmp_path: Path,
    origin: tuple[Path, str],
    empty_cache: Path,
    known: dict[str, DataSet],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The german credit table of bogd, on made rows that its origin serves."""
    folder, url = origin
    X = np.random.default_rng(0).normal(size=(1000, 24))
    rows = [" ".join(f"{j}:{v!r}" for j, v in enumerate(row.tolist(), 1)) for row in X]
    lines = [f"{1 if x[0] > 0 else -1} {row}\n" for x, row in zip(X, rows, strict=True)]
    (folder / "german.numer").write_text("".join(lines))
    german = datasets.find("german")
    served = replace(german.files[0], url=f"{url}/german.numer")
    known["german"] = replace(german, files=(served,))

    options = ["--table", "2", "--sets", "german", "--quick"]
    options += ["--out", str(tmp_path / "out")]
    assert run("bogd", *options) == 0
    assert "- german: not here; fetch it: budgetron data get german." in capsys.readouterr().out
    assert call("data", "get", "german") == 0
    kept = empty_cache / "german.numer"
    assert capsys.readouterr().out == f"{kept}  (fetched, verified)\n"
    assert run("bogd", *options) == 0
    out = capsys.readouterr().out
    assert "| german | OGD |" in out
    assert "Not run:" not in out
    cells = Store(tmp_path / "out")
    published = next(s for s in read("bogd_tables").only("2").sets if s.name == "german").published
    assert len(cells) - 2 == len(published) == 2


def test_all_four_papers_are_there() -> None:
    tables: dict[str, set[str]] = {}
    figures: dict[str, set[str]] = {}
    for table in map(read, names()):
        tables.setdefault(table.paper, set()).update(table.tables)
        figures.setdefault(table.paper, set()).update(f.number for f in table.figures)
    assert tables["ahpatron"] == tables["bogd"] == {"2", "3"}
    assert tables["forgetron"] == {"8.1"}
    assert tables["avm"] == {"3", "4", "5"}
    assert figures["forgetron"] == {"4", "5", "6", "7"}
    assert {number.rstrip("ab-size") for number in figures["avm"]} == set("23456789")


def _starts_a_process(answer: Any) -> None:
    """As a cell with a time limit does, in a worker of Dask."""
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=int, daemon=True)
    with _no_daemon():
        process.start()
    process.join()
    answer.send(process.exitcode)


@pytest.mark.long
def test_a_cell_with_a_limit_runs_in_a_worker_that_is_a_daemon() -> None:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    worker = context.Process(target=_starts_a_process, args=(theirs,), daemon=True)
    worker.start()
    assert ours.poll(60)
    assert ours.recv() == 0
    worker.join()
