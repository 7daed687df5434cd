"""`budgetron compare`: numbers, resuming, the same bits on any number of processes, the report."""

from __future__ import annotations

import csv
import html
import itertools
import json
import math
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
import unicodedata
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_rel

import budgetron
from budgetron.cli import main
from budgetron.lab.baselines import Mean
from budgetron.lab.compare import Settings, compare
from budgetron.lab.learners_by_name import named
from budgetron.lab.report import figures, tables
from budgetron.lab.report.figures import draw, file_names
from budgetron.lab.report.tables import Entry, pivot
from budgetron.lab.statistics import conclusion, summarise
from budgetron.lab.store import Store
from budgetron.streams import two_gaussians

# Drawing takes most of the time of a small comparison; here only two figures are drawn.
UNDRAWN = (
    "import budgetron.lab.report.figures as f; "
    "f.draw = lambda folder, summary, pool: {stream: [] for stream in summary}; "
)
COMMAND = [sys.executable, "-c", UNDRAWN + "from budgetron.cli import main; main()"]
X, Y = two_gaussians(200, seed=5)
TARGET = np.sin(X[:, 0]) + 0.1 * X[:, 1]
SMALL = Settings(repeats=2, checkpoints=4)
OPTIONS: dict[str, Any] = {"settings": SMALL, "common": {"gamma": 0.5}, "processes": 1}


def text_of(X: Any, y: Any) -> str:
    rows = zip(X.tolist(), y.tolist(), strict=True)
    return "".join(f"{label!r} 1:{row[0]!r} 2:{row[1]!r}\n" for row, label in rows)


def numbers(folder: Path) -> list[dict[str, str]]:
    """Records without the fields that differ between runs."""
    with (folder / "checkpoints.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        del row["seconds"]
    return rows


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "budgetron.lab.report.figures.draw",
        lambda folder, summary, pool: {stream: [] for stream in summary},
    )


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A small comparison: two learners with two budgets, one without, on two tasks."""
    folder = tmp_path_factory.mktemp("compare")
    streams = [("noisy", X, Y), ("wave", X, TARGET)]
    options = {**OPTIONS, "budgets": [5, 10]}
    both = compare([streams[1]], ["rbp"], folder / "wave", **OPTIONS, budgets=[5])
    names = ["forgetron", "rbp", "perceptron"]
    found = compare([streams[0]], names, folder / "noisy", **options)
    assert both.summary["wave"][0].task == "regression"
    return folder, found


def test_errors_are_the_learners_own(done: tuple[Path, Any]) -> None:
    _, found = done
    assert not found.failures
    lines = {(line.algorithm, line.budget): line for line in found.summary["noisy"]}
    assert set(lines) == {
        ("forgetron", 5),
        ("forgetron", 10),
        ("rbp", 5),
        ("rbp", 10),
        ("perceptron", None),
        ("majority class", None),
        ("last label", None),
    }
    for repeat in (0, 1):
        order = np.random.default_rng(repeat).permutation(len(Y))
        model = budgetron.make("rbp", budget=5, gamma=0.5, random_state=repeat)
        model.prequential(X[order], Y[order])
        assert lines["rbp", 5].errors[repeat] == pytest.approx(100 * model.n_mistakes_ / len(Y))
    assert lines["rbp", 5].means["stored"] == 5
    assert [line.best for line in lines.values()].count(True) == 3


def test_summary_by_hand() -> None:
    records = made_up("a", 0.1, 0.2, 0.3)
    records += made_up("b", 0.2, 0.31, 0.4) + made_up("c", 0.1, 0.25, 0.3)
    a, b, c = summarise(records)["s"]
    assert a.shown == "20.00 ± 10.00"
    assert (a.best, b.best, c.best) == (True, False, False)
    assert b.p == pytest.approx(ttest_rel([20, 31, 40], [10, 20, 30]).pvalue)
    assert (b.even, c.even) == (False, True)
    assert math.isnan(a.p)
    text = [[cell.markdown for cell in row] for row in pivot([a, b, c]).rows]  # the best first
    assert text == [["a", "**20.00 ± 10.00**"], ["c", "21.67 ± 10.41 ≈"], ["b", "30.33 ± 10.02"]]
    _, b, _ = summarise(records[:3] + records[4:])["s"]  # one cell failed: paired by permutation
    assert b.p == pytest.approx(ttest_rel([31, 40], [20, 30]).pvalue)


def made_up(name: str, *rates: float, stream: str = "s", **more: Any) -> list[dict[str, Any]]:
    common = {"stream": stream, "task": "classification", "algorithm": name, "budget": 7, **more}
    last = {"rows": 10.0, "seconds": 1.0}
    return [
        {**common, "repeat": r, "checkpoints": [{**last, "mistake_rate": rate}]}
        for r, rate in enumerate(rates)
    ]


def test_the_conclusion_is_what_the_numbers_say() -> None:
    a, b = made_up("a", 0.1, 0.2, 0.3), made_up("b", 0.2, 0.31, 0.4)
    c, poor = made_up("c", 0.1, 0.25, 0.3), made_up("poor", 0.9, 0.9, 0.91)
    bar = made_up("majority class", 0.9, 0.9, 0.9, budget=None, reference=True)
    first = "On s a made the fewest mistakes (20.00 ± 10.00 %, budget 7), significantly fewer than "
    assert conclusion(summarise(a + b + bar)) == (
        f"{first}the other line; every line is better than the baselines."
    )
    assert conclusion(summarise(a + b + c + poor + bar)) == (
        f"{first}2 of 3 other lines, but not than c (budget 7); of all 4 lines 1 is no "
        "better than the majority class."
    )
    assert conclusion(summarise(a[:1] + b[:1])) == (
        "On s a made the fewest mistakes (10.00 %, budget 7); with one permutation there is no "
        "test."
    )
    other = [
        {**record, "stream": "t"} for record in made_up("b", 0.1, 0.1) + made_up("a", 0.2, 0.2)
    ]
    third = [{**record, "stream": "u"} for record in a + b]
    text = conclusion(summarise(a + b + other + third))
    assert text.startswith("On 2 of 3 sets a made the fewest mistakes (on the other b), ")
    assert conclusion({}) == "All cells failed, so there is nothing to conclude."


def test_references_look_at_no_feature(done: tuple[Path, Any]) -> None:
    _, found = done
    lines = {line.algorithm: line for line in found.summary["noisy"] if line.reference}
    for repeat in (0, 1):
        y = Y[np.random.default_rng(repeat).permutation(len(Y))]
        wrong = 1 + np.sum(y[1:] != y[:-1])  # to the first row there is no answer
        assert lines["last label"].errors[repeat] == pytest.approx(100 * wrong / len(y))
        seen = [np.sum(y[:i] == y.max()) > i / 2 for i in range(1, len(y))]
        wrong = 1 + np.sum(np.where(seen, y.max(), y.min()) != y[1:])
        assert lines["majority class"].errors[repeat] == pytest.approx(100 * wrong / len(y))
    assert not any(line.best or line.even for line in lines.values())
    model = Mean()
    said = [*model.prequential(X[:3], TARGET[:3]), *model.prequential(X[3:6], TARGET[3:6])]
    assert said == pytest.approx([0.0, *(TARGET[:i].mean() for i in range(1, 6))])


def test_the_positive_class_is_the_one_named(tmp_path: Path, undrawn: None) -> None:
    from sklearn.metrics import f1_score

    words = np.where(Y > 0, "yes", "no")
    for positive, shown in ((None, "yes"), ("no", "no")):
        settings = Settings(repeats=1, checkpoints=1, keep_order=True, positive=positive)
        options = {**OPTIONS, "settings": settings, "budgets": [5]}
        found = compare([("s", X, words)], ["rbp"], tmp_path / shown, **options)
        model = budgetron.make("rbp", budget=5, gamma=0.5, random_state=0)
        said = model.prequential(X, words)
        known = np.flatnonzero(words != words[0])[0] + 1  # both classes
        labels = model.classes_[(said >= 0).astype(int)]
        expected = f1_score(words[known:], labels[known:], pos_label=shown)
        assert found.summary["s"][0].means["f1"] == pytest.approx(expected, abs=0.02)
        page = (tmp_path / shown / "report.html").read_text(encoding="utf-8")
        assert f"F1 of {shown}<" in page
        assert f"precision, recall and F1 are of class {shown}<" in page
    scores = [dict(Store(tmp_path / each)) for each in ("yes", "no")]
    f1 = [next(iter(each.values()))["checkpoints"][-1]["f1"] for each in scores]
    assert f1[0] != f1[1]
    settings = Settings(repeats=1, positive="maybe")
    with pytest.raises(ValueError, match="s has no class 'maybe'; there are no, yes"):
        compare([("s", X, words)], ["rbp"], tmp_path, **{**OPTIONS, "settings": settings})


def test_two_processes_give_the_bits_of_one(done: tuple[Path, Any], tmp_path: Path) -> None:
    folder, _ = done
    names = ["forgetron", "rbp", "perceptron"]
    options = {**OPTIONS, "budgets": [5, 10], "processes": 2}
    compare([("noisy", X, Y)], names, tmp_path, **options)
    assert numbers(tmp_path) == numbers(folder / "noisy")
    assert len(numbers(tmp_path)) == (5 + 2) * 2 * 4
    figures = {path.name: path for path in (tmp_path / "figures").iterdir()}
    assert figures.keys() == {path.name for path in (folder / "noisy" / "figures").iterdir()}
    for name in figures.keys() - {"noisy-time.png", "noisy-time.svg"}:  # times are never the same
        assert figures[name].read_bytes() == (folder / "noisy" / "figures" / name).read_bytes()


def test_records_and_figures(done: tuple[Path, Any]) -> None:
    import pyarrow.parquet

    folder, found = done
    with (folder / "noisy" / "records.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(found.records) == 14
    table = pyarrow.parquet.read_table(folder / "noisy" / "records.parquet").to_pylist()
    for row, other in zip(rows, table, strict=True):
        assert float(row["mistake_rate"]) == other["mistake_rate"]
        assert row["budget"] == (other["budget"] or "")
        assert int(row["rows"]) == other["rows"] == len(Y)
    names = {path.name for path in (folder / "noisy" / "figures").iterdir()}
    stems = ("rows-5", "rows-10", "stored", "bytes", "time")
    assert names == {f"noisy-{stem}.{kind}" for stem in stems for kind in ("png", "svg")}
    about = json.loads((folder / "noisy" / "about.json").read_text())
    assert about["versions"]["budgetron"] == budgetron.__version__
    assert about["settings"]["seed"] == 0
    assert about["machine"]["cores"]
    assert about["command"]


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (3.1e-6, 4.6e-6),
        (2e-6, 9e-6),
        (8e-7, 6e-5),
        (1e-6, 1e-2),
        (4.1e-6, 4.2e-6),
        (2.1e-6, 12.6e-6),
        (2.1e-6, 2.5e-4),
        (2.1e-6, 1.5e-3),
    ],
)
def test_log_axes_have_ticks_to_read(low: float, high: float) -> None:
    from matplotlib.figure import Figure

    from budgetron.lab.report.figures import label_log

    figure = Figure(figsize=(5.2, 3.4))
    axis = figure.subplots()
    axis.plot([low, high], [1, 2])
    axis.set_xscale("log")
    label_log(axis.xaxis, "s")
    figure.draw_without_rendering()
    left, right = axis.get_xlim()
    texts = [
        label.get_text()
        for tick, label in zip(axis.get_xticks(), axis.get_xticklabels(), strict=True)
        if left <= tick <= right
    ]
    assert 3 <= len(texts) <= 7
    assert len(set(texts)) == len(texts)
    assert all(text.endswith("s") for text in texts)


def test_the_report_stands_alone(done: tuple[Path, Any]) -> None:
    folder, _ = done
    for name in ("noisy", "wave"):
        page = (folder / name / "report.html").read_text(encoding="utf-8")
        sources = re.findall(r'(?:src|href)="([^"]*)"', page)
        assert sources
        assert all(source.startswith(("data:", "#")) for source in sources)
        assert "url(" not in page
        assert "@import" not in page
        assert 'name="viewport"' in page
        assert page.count('<table class="sortable">') == 2
        assert page.count("<figure>") == (5 if name == "noisy" else 4)
        assert page.count('class="best"') == 2 * (3 if name == "noisy" else 1)


def test_a_name_is_text_not_markup(tmp_path: Path, undrawn: None) -> None:
    compare([("<b>&[red]", X, Y)], ["x=stoptron"], tmp_path, **OPTIONS, budgets=[5])
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<b>&[" not in page
    assert "&lt;b&gt;&amp;[red]" in page


STRANGE = ["$", "$x^{$", "a$b", "\\frac$$", "x\ny", "\x1b[2J", "\x00|<&*"]


@pytest.mark.parametrize("name", STRANGE)
def test_any_name_can_be_drawn(tmp_path: Path, name: str) -> None:
    figure, (axis,) = figures.sheet([name])
    axis.plot([1, 2], label=name)
    figures.add_legend(figure)
    figures.save(figure, tmp_path / "figure")
    ElementTree.parse(tmp_path / "figure.svg")


@pytest.mark.parametrize("name", STRANGE)
def test_any_name_is_one_line_of_the_table(name: str) -> None:
    text = Entry(name).markdown
    assert text.isprintable()
    assert not re.findall(r"(?<!\\)\|", text)


def test_no_cell_of_the_records_is_a_formula(tmp_path: Path) -> None:
    words = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "cat", "-1.5", "+1"]
    tables.write_rows(tmp_path / "records", [{"word": each, "number": -1.5} for each in words])
    with (tmp_path / "records.csv").open(newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    safe = [f"'{each}" for each in words[:4]] + ["\\t=1"] + words[5:]
    assert [each["word"] for each in found] == safe
    assert {each["number"] for each in found} == {"-1.5"}


CONTROL = "".join(map(chr, [*range(1, 32), *range(127, 160), 0x2028, 0x202E, 0xDC80]))


def test_no_control_character_reaches_a_page(
    tmp_path: Path, undrawn: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by the name of a stream, a learner or a label, nor by a learner's messages."""
    (tmp_path / "says.py").write_text(
        "import warnings\n"
        "class Says:\n"
        "    rows = 0\n"
        "    def partial_fit(self, X, y): self.rows += len(y)\n"
        "    def predict(self, X):\n"
        f"        warnings.warn({'odd ' + CONTROL!a})\n"
        "        if self.rows > 100:\n"
        f"            raise ValueError({'wrong ' + CONTROL!a})\n"
        "        return ['one'] * len(X)\n"
    )
    monkeypatch.chdir(tmp_path)
    names = [f"one{CONTROL}", f"two{CONTROL}"]
    labels = np.array(names)[(Y > 0).astype(int)]
    found = compare(
        [(f"stream{CONTROL}", X, labels)], [f"learner{CONTROL}=rbp", "says:Says"], "out",
        budgets=[5], settings=Settings(repeats=2, checkpoints=1), command=CONTROL, processes=1,
    )  # fmt: skip
    assert len(found.failures) == 2
    assert len(found.warnings) == 1
    for name in ("report.html", "table.md", "records.csv", "checkpoints.csv", "about.json"):
        text = Path("out", name).read_text(encoding="utf-8")
        assert text.replace("\n", "").isprintable(), name
        if name != "about.json":
            assert text.count("\\x1b") >= 1, name
    assert "Positive class: two\\\\x01" in Path("out", "table.md").read_text(encoding="utf-8")


# ---- resuming ------------------------------------------------------------------------------------


# Pieces that files may have alike: case, accents in both ways, signs no file name may have.
NEAR = st.lists(
    st.sampled_from(
        ["a", "A", " ", "-", "/", ":", "\\", ".", "-2", "é", "e\u0301", "ß", "ss", "ﬁ"]
    ),
    max_size=3,
).map("".join)


def taken_for(name: str) -> set[str]:
    """What file systems may make of a name."""
    forms = {unicodedata.normalize(form, name) for form in ("NFC", "NFD", "NFKC")}
    return {fold(form) for form in forms for fold in (str.lower, str.upper, str.casefold)}


@given(st.lists(NEAR | st.text(max_size=80), unique=True, max_size=12))
def test_no_two_names_share_a_file(names: list[str]) -> None:
    found = file_names(names)
    assert found.keys() == set(names)
    for one, other in itertools.combinations(found.values(), 2):
        assert not taken_for(one) & taken_for(other)
    for name, file in found.items():
        assert re.fullmatch(r"(?!\.)[\w.+-]+", file)
        assert len(file.encode()) < 220
        if re.fullmatch(r"[a-z][a-z0-9.+_-]{,30}", name) and len(names) == 1:
            assert file == name
    assert file_names(names) == found


def test_streams_of_nearly_one_name_have_figures_of_their_own(
    tmp_path: Path, undrawn: None
) -> None:
    names = ["a b", "a-b", "A/b", "a b", "a b 2", "a-b-rows"]
    streams = [(name, X[:60], Y[:60]) for name in names]
    settings = Settings(repeats=1, checkpoints=2)
    found = compare(
        streams, ["rbp"], tmp_path, budgets=[5, 10], **{**OPTIONS, "settings": settings}
    )
    assert list(found.summary) == ["a b", "a-b", "A/b", "a b 3", "a b 2", "a-b-rows"]

    class Pool:
        def unordered(self, function: Any, jobs: Any) -> Any:
            return ((job, True) for job in jobs)

    pool: Any = Pool()
    drawn = draw(tmp_path, found.summary, pool)
    paths = [str(each.path).lower() for figures in drawn.values() for each in figures]
    assert len(paths) == len(set(paths)) == 5 * len(names)
    assert {each.path.name for each in drawn["a b"]} == {
        "a-b-rows-5",
        "a-b-rows-10",
        "a-b-stored",
        "a-b-bytes",
        "a-b-time",
    }


def test_finished_cells_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("budgetron.lab.report.write", lambda *_: None)

    def run(names: str = "forgetron,stoptron", **changed: Any) -> tuple[int, Any]:
        todo: list[int] = []
        options = {**OPTIONS, "budgets": [5], "begin": todo.append, **changed}
        found = compare([("s", X, Y)], names.split(","), tmp_path, **options)
        return todo[0], found

    first, found = run()
    again, same = run()
    references = 2 * 2  # two lines that look at no feature, on two permutations
    assert (first, again) == (4 + references, 0)
    assert same.records == found.records
    assert run(settings=Settings(repeats=3, checkpoints=4))[0] == 2 + 2
    assert run(budgets=[5, 6])[0] == 4
    assert run(common={"gamma": 0.6})[0] == 4
    assert run(settings=Settings(repeats=2, checkpoints=4, delay=1))[0] == 4 + references
    assert run(settings=Settings(repeats=2, checkpoints=4, positive="1"))[0] == 4 + references
    assert run("other=forgetron")[0] == 0
    assert run(rows=300)[0] == 4 + references


@pytest.mark.long
def test_killed_and_run_again(tmp_path: Path) -> None:
    """After SIGKILL the finished cells are there, no worker is left, and a rerun does the rest."""
    (tmp_path / "s.libsvm").write_text(text_of(X, Y))
    # A learner that is slow, and shows its process.
    (tmp_path / "slow.py").write_text(
        "import os, time\n"
        "class Slow:\n"
        "    def learn_one(self, x, y): pass\n"
        "    def predict_one(self, x):\n"
        "        open(f'pid-{os.getpid()}', 'w').close()\n"
        "        time.sleep(0 if os.path.exists('hurry') else 0.01)\n"
        "        return 1.0\n"
    )
    command = [*COMMAND, "compare", "s.libsvm", "-a", "stoptron,slow:Slow", "-b", "5"]
    command += ["--repeats", "2", "--processes", "2", "--rows", "200", "--checkpoints", "2"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    process = subprocess.Popen(command, cwd=tmp_path, env=environment)
    folder = tmp_path / "comparison"
    deadline = time.monotonic() + 120
    while not kept_in(folder) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = kept_in(folder)
    assert 1 <= len(kept) < 8
    assert len(list(tmp_path.glob("pid-*"))) >= 1
    while _working_in(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _working_in(tmp_path)
    (tmp_path / "hurry").touch()
    command[command.index("--processes") + 1] = "1"
    again = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert "slow:Slow" in again.stdout
    after = kept_in(folder)
    assert len(after) == 2 * 2 + 2 * 2
    assert {key: after[key] for key in kept} == kept  # none lost, none run again


def kept_in(folder: Path) -> dict[str, Any]:
    """The finished cells, as another process sees them."""
    if not (folder / "cells.db").exists():
        return {}
    store = Store(folder)
    try:
        return dict(store)
    finally:
        store.close()


def _working_in(folder: Path) -> list[str]:
    """Processes there: workers, and what they were forked from."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if place.readlink() == folder:
                found.append(place.parent.name)
        except OSError:  # it has ended
            continue
    return found


# ---- the command ---------------------------------------------------------------------------------


@pytest.fixture
def cli(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    undrawn: None,
) -> Any:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "noisy.libsvm").write_text(text_of(X, Y))

    def run(*arguments: str, code: int = 0) -> tuple[str, str]:
        with pytest.raises(SystemExit) as exit:
            main(["compare", *arguments, "--processes", "1"])
        out, err = capsys.readouterr()
        assert exit.value.code == code, err
        assert "Traceback" not in err
        return out, err

    return run


OWN = """
class Constant:
    def __init__(self, label=1.0):
        self.label = label
    def partial_fit(self, X, y):
        return self
    def predict(self, X):
        return [self.label] * len(X)

class Broken(Constant):
    def predict(self, X):
        if len(X) and X[0, 0] > 1.3:
            raise KeyError("too large")
        return [1.0]

class Warns(Constant):
    def predict(self, X):
        import warnings
        warnings.warn("odd rows", RuntimeWarning)
        return super().predict(X)

def factory():
    return Constant(-1.0)

thing = 3

def nothing():
    return object()
"""


def test_the_command(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "own_learners.py").write_text(OWN)
    names = "low=forgetron,high=forgetron,own_learners:Constant,own_learners:factory"
    out, err = cli(
        "noisy.libsvm", "-a", names, "--budgets", "5", "--repeats", "2", "--gamma", "0.5",
        "--set", "high.budget=40", "--set", "own_learners:Constant.label=-1", "--out", "found",
    )  # fmt: skip
    assert err == ""
    lines = {line.split()[0]: line.split() for line in out.splitlines() if "±" in line}
    share = f"{100 * np.mean(Y == 1):.2f}"
    assert lines["own_learners:Constant"][3:6] == [share, "±", "0.00"]
    assert lines["own_learners:factory"][3:6] == [share, "±", "0.00"]
    assert lines["low"][1] == "5"
    assert lines["high"][1] == "40"
    assert "noisy (positive class: 1)" in out
    assert "Positive class: 1." in (tmp_path / "found" / "table.md").read_text(encoding="utf-8")
    assert "report: found/report.html" in out
    assert (tmp_path / "found" / "report.html").exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["-a", "forgetorn"], "unknown algorithm 'forgetorn'; did you mean 'forgetron'?"),
        (["-a", "missing_module:A"], "there is no module 'missing_module'"),
        (["-a", "own_learners:Constnt"], "did you mean 'Constant'?"),
        (["-a", "own_learners:thing"], "is a int, not a class"),
        (["-a", "own_learners:nothing"], "makes a object, which has neither"),
        (["-a", "f=own_learners:factory", "--set", "f.x=1"], "has no parameter 'x'"),
        (["-a", ":"], "is not module:attribute"),
        (["-a", "forgetron,forgetron"], "occurs twice"),
        (["-a", "forgetron", "--set", "x=1"], "none of the algorithms has a parameter 'x'"),
        (["-a", "forgetron", "--set", "rbp.budget=1"], "is called 'rbp'"),
        (["-a", "forgetron", "--set", "forgetron.step=1"], "no parameter 'step'"),
        (["-a", "forgetron", "--set", "budget"], "--set takes"),
        (["-a", "forgetron", "--budgets", "5,256KX"], "256KX"),
        (["-a", "forgetron", "--budgets", "0"], "budget"),
        (["-a", ","], "which learners? Add -a "),
        (["-a", "ahpatron", "--task", "regression"], "ahpatron does classification"),
        (["-a", "forgetron", "--task", "x"], "--task is"),
        (["-a", "forgetron", "--delay", "400", "--rows", "400"], "a delay of 400 rows is too long"),
        (["-a", "forgetron", "--dtype", "int"], "--dtype is"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(
    cli: Any, tmp_path: Path, arguments: list[str], complaint: str
) -> None:
    (tmp_path / "own_learners.py").write_text(OWN)
    out, err = cli("noisy.libsvm", *arguments, code=2)
    assert out == ""
    assert err.count("\n") == 1
    assert complaint in err
    assert not (tmp_path / "comparison").exists()


OTHER = "CREATE TABLE cells (a, b)"


@pytest.mark.parametrize("verb", ["compare noisy.libsvm -a rbp", "reproduce all", "demo"])
@pytest.mark.parametrize(
    ("place", "complaint"),
    [
        ("file", "not a directory; choose another folder with --out"),
        ("file/below", "not a directory; choose another folder with --out"),
        ("other", "cells.db is a database of another program; choose another folder with --out"),
        ("damaged", "or delete cells.db to start again"),
        ("nonsense", "file is not a database; choose another folder with --out, or delete"),
    ],
)  # fmt: skip
def test_a_folder_that_cannot_be_used_is_one_line_before_the_work(
    verb: str,
    place: str,
    complaint: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("mine")
    for name in ("other", "damaged", "nonsense"):
        (tmp_path / name).mkdir()
    with closing(sqlite3.connect("other/cells.db")) as file:
        file.execute(OTHER)
    with closing(Store(Path("damaged"))) as store:
        for number in range(200):
            store.add(str(number), {"some": "text" * 100})
    whole = Path("damaged/cells.db").read_bytes()
    Path("damaged/cells.db").write_bytes(whole[:4096] + b"\x7f" * (len(whole) - 4096))
    Path("nonsense/cells.db").write_bytes(b"this is no database" * 100)

    def work(*given: Any, **named: Any) -> None:
        raise AssertionError("it worked first")

    for name in ("lab.compare.load", "lab.reproduce.runner.measure", "cli.demo._streams"):
        module, _, attribute = f"budgetron.{name}".rpartition(".")
        monkeypatch.setattr(sys.modules.get(module) or import_module(module), attribute, work)
    with pytest.raises(SystemExit) as end:
        main([*verb.split(), "--out", place])
    out, err = capsys.readouterr()
    assert (end.value.code, out, err.count("\n")) == (2, "", 1)
    assert f"cannot keep results in {place}: " in err
    assert complaint in err
    assert (tmp_path / "file").read_text() == "mine"


def test_streams_that_cannot_be_read(cli: Any, tmp_path: Path) -> None:
    assert (
        cli("missing", "-a", "rbp", code=2)[1] == "budgetron: missing: no such file or directory\n"
    )
    (tmp_path / "empty").touch()
    assert cli("empty", "-a", "rbp", code=2)[1] == "budgetron: empty: no rows to learn from\n"


def test_tables_are_read_by_the_options(cli: Any, tmp_path: Path) -> None:
    rows = zip(X.tolist(), Y.tolist(), strict=True)
    lines = [f"{a}|{'up' if b > 0 else 'down'}|{label:g}" for (a, b), label in rows]
    (tmp_path / "table").write_text("\n".join([*lines, "1|2"]) + "\n")
    arguments = ["table", "-a", "rbp", "-b", "5", "--repeats", "1", "--gamma", "0.5"]
    reading = ["--format", "csv", "--label", "2", "--delimiter", "|", "--no-header", "--skip-bad"]
    for words in (["--categorical", "1"], ["--hash", "1"]):
        out, err = cli(*arguments, *reading, *words)
        assert "rbp" in out
        assert err.startswith("budgetron: table: columns: 1 number, 1 category ")
        assert "\nbudgetron: 1 bad row skipped; the first: table" in err
    cli(*arguments, *reading, "--columns", "0")
    assert len(Store(Path("comparison"))) == 3 * 3  # each reading gave other rows
    cli(*arguments, *reading)
    assert len(Store(Path("comparison"))) == 3 * 3  # a word is a category


def test_all_are_those_that_do_the_task_of_each_stream(tmp_path: Path, undrawn: None) -> None:
    streams = [("noisy", X[:40], Y[:40]), ("wave", X[:40], TARGET[:40])]
    settings = Settings(repeats=1, checkpoints=1)
    found = compare(streams, ["all"], tmp_path, budgets=[5], settings=settings, processes=1)
    for stream, task in (("noisy", "classification"), ("wave", "regression")):
        lines = [line.algorithm for line in found.summary[stream] if not line.reference]
        assert lines == [each.name for each in budgetron.algorithms(task)]


def test_a_cell_that_fails_loses_no_other(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "own_learners.py").write_text(OWN)
    first = np.argsort(X[:, 0])  # what breaks it comes after the rows tried beforehand
    (tmp_path / "sorted.libsvm").write_text(text_of(X[first], Y[first]))
    out, err = cli(
        "sorted.libsvm", "-a", "rbp,own_learners:Broken", "-b", "5", "--repeats", "2", code=2
    )
    assert "rbp" in out
    (row,) = [line for line in out.splitlines() if "Broken" in line]
    assert row.split()[1:5] == ["no", "budget", "failed", "–"]
    line = 1 + next(i for i, text in enumerate(OWN.splitlines()) if "too large" in text)
    place = f"(own_learners.py, line {line})"
    failed = f"own_learners:Broken on sorted: KeyError: 'too large' {place}"
    assert f"failed: {failed}" in err
    assert err.endswith("2 cells failed; the others are kept in comparison\n")
    about = json.loads(Path("comparison/about.json").read_text(encoding="utf-8"))
    assert about["failed"] == [{"what": failed, "cells": 2}]
    page = Path("comparison/report.html").read_text(encoding="utf-8")
    assert f"{html.escape(failed)} (2 cells)".replace("&#x27;", "&#39;") in page
    assert f"- {failed} (2 cells)" in Path("comparison/table.md").read_text(encoding="utf-8")


def test_where_all_cells_fail_the_report_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with its figures: only the reference lines without features are drawn."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "failing_learners.py").write_text(OWN)
    first = np.argsort(X[:, 0])
    (tmp_path / "sorted.libsvm").write_text(text_of(X[first], Y[first]))
    words = ["compare", "sorted.libsvm", "-a", "failing_learners:Broken", "--repeats", "1"]
    with pytest.raises(SystemExit) as end:
        main([*words, "--processes", "1"])
    assert end.value.code == 2
    out, err = capsys.readouterr()
    assert out.startswith("All cells failed, so there is nothing to conclude.")
    assert "majority class" in out
    assert err.endswith("1 cell failed; the others are kept in comparison\n")
    page = Path("comparison/report.html").read_text(encoding="utf-8")
    assert "<strong>failed</strong> failing_learners:Broken on sorted" in page


def test_a_warning_is_one_line_without_a_path(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "own_learners.py").write_text(OWN)
    arguments = ["-a", "rbp,own_learners:Warns", "-b", "5", "--repeats", "2", "--rows", "50"]
    _, err = cli("noisy.libsvm", *arguments)
    assert err == "budgetron: warning: odd rows (2 times)\n"
    assert "warned: odd rows (2 cells)" in Path("comparison/report.html").read_text(
        encoding="utf-8"
    )


def test_an_own_learner_that_cannot_start_loses_no_other(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "own_learners.py").write_text(OWN)
    # rows that break it are among those tried beforehand
    first = np.argsort(-X[:, 0])
    (tmp_path / "sorted.libsvm").write_text(text_of(X[first], Y[first]))
    arguments = ["sorted.libsvm", "-b", "5", "--repeats", "2"]
    out, err = cli(*arguments, "-a", "rbp,own_learners:Broken", code=2)
    assert any("rbp" in line and "±" in line for line in out.splitlines())
    assert any("own_learners:Broken" in line and "failed" in line for line in out.splitlines())
    assert (
        "failed: own_learners:Broken on sorted: KeyError: 'too large' (own_learners.py, line" in err
    )
    assert err.endswith("2 cells failed; the others are kept in comparison\n")
    out, err = cli(*arguments, "-a", "own_learners:Broken", code=2)  # no other
    assert out == ""
    assert re.fullmatch(
        r"budgetron: own_learners:Broken: KeyError: 'too large' \(own_learners.py, line \d+\)\n",
        err,
    )


def test_own_learners_by_name() -> None:
    learner = named("sklearn.linear_model:SGDClassifier")
    assert "alpha" in (learner.parameters("classification") or [])
    assert learner.version
    with pytest.raises(ValueError, match=r"there is no module 'sklearn.nowhere'"):
        named("sklearn.nowhere:A")


def test_options_that_come_several_times_are_joined() -> None:
    from budgetron.cli.compare import names, parts

    assert names(["rbp", "forgetron,rbp", "stoptron"]) == ["rbp", "forgetron", "stoptron"]
    assert names(["rbp,rbp"]) == ["rbp", "rbp"]  # which is refused
    assert parts(["10", " 20, 10", ""]) == ["10", "20"]
