"""Exact resume: a run killed at any moment resumes, and ends as if it had never been killed."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import random
import signal
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from budgetron.cli import main
from budgetron.cli._interruption import Interruption
from budgetron.cli._tally import Mistakes
from budgetron.estimators._base.classifier import OnlineClassifier
from budgetron.streams.base import CHUNK_ROWS
from tests.support.cases import stream
from tests.support.killed_runs import call, killed, result_of, same, started
from tests.support.native import has_learned

ROWS = 100_000
EVERY = 500
KILLS = int(os.environ.get("BUDGETRON_KILLS", "5"))  # `make kills`: 20
EXAMPLES = int(os.environ.get("BUDGETRON_FUZZ_EXAMPLES", "100"))


def write_libsvm(path: Path, rows: int) -> Path:
    X, y = stream(rows)
    lines = [
        f"{2 * label - 1} " + " ".join(f"{j}:{v:.4g}" for j, v in enumerate(row, 1) if v)
        for row, label in zip(X, y, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_libsvm(tmp_path_factory.mktemp("source") / "rows.txt", ROWS)


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_libsvm(tmp_path_factory.mktemp("short") / "short.txt", 3000)


# rbp draws from the generator, "auto" and "median" keep rows and deviations: all must be resumed.
SETTINGS = ["--budget", "40", "--gamma", "median", "--scale", "auto", "--seed", "3"]


def command(source: Path, *more: str) -> list[str]:
    return ["run", str(source), "--algorithm", "rbp", *SETTINGS, "--json", *more]


def test_a_run_killed_many_times_ends_as_if_it_had_not_been(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "model.btn"
    arguments = command(source, "--checkpoint", str(kept), "--every", str(EVERY))
    in_the_middle = killed(arguments, kept, KILLS)
    assert 4 * in_the_middle >= 3 * KILLS
    resumed = result_of(arguments, capsys)
    assert 0 < resumed["resumed_from"] < ROWS  # so it learned fewer rows than there are
    assert list(tmp_path.iterdir()) == [kept]  # nothing unfinished is left lying about

    whole = result_of(command(source), capsys)
    assert whole["resumed_from"] == 0
    assert same(resumed, whole)
    assert (whole["rows"], whole["mistakes"] > 1000) == (ROWS, True)


def interrupted(arguments: list[str], number: int, chunk: int, times: int, said: str) -> None:
    """In a process: the command, which gets the signal while it learns a chunk."""
    learn = Mistakes.learn
    chunks = itertools.count(1)

    def learn_and_signal(self: Any, model: Any, place: Any, X: Any, y: Any, crew: Any) -> Any:
        if next(chunks) == chunk:
            for _ in range(times):
                os.kill(os.getpid(), number)
        return learn(self, model, place, X, y, crew)

    Mistakes.learn = learn_and_signal  # type: ignore[method-assign]
    with open(said, "w") as sys.stderr:
        main(arguments)


def interrupt_behind(patch: pytest.MonkeyPatch, wanted: int) -> None:
    """Ctrl-C after so many chunks."""
    learn = Mistakes.learn
    chunks = itertools.count(1)

    def learn_some(self: Any, model: Any, place: Any, X: Any, y: Any, crew: Any) -> Any:
        if next(chunks) > wanted:
            raise KeyboardInterrupt
        return learn(self, model, place, X, y, crew)

    patch.setattr(Mistakes, "learn", learn_some)


def end_of(process: Any) -> int:
    process.join(60)
    assert process.exitcode is not None
    return int(process.exitcode)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_that_is_asked_to_stop_keeps_what_it_learned(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], number: int, code: int
) -> None:
    kept, saved, whole, said = (tmp_path / name for name in ("kept", "saved", "whole", "said"))
    every, stopped = 30_000, 5 * CHUNK_ROWS
    arguments = command(source, "--save", str(saved), "--checkpoint", str(kept))
    arguments += ["--every", str(every)]
    assert end_of(started(interrupted, arguments, number, 5, 1, str(said))) == code
    assert not saved.exists()
    assert stopped % every != 0
    assert stopped < ROWS
    line = said.read_text()
    assert line.startswith(f"budgetron: interrupted: {stopped:,} rows ")
    assert line.endswith(f"; the same command resumes after row {stopped:,}\n")
    assert line.count("\n") == 1

    resumed = result_of(arguments, capsys)
    assert resumed["resumed_from"] == stopped
    uninterrupted = result_of(command(source, "--save", str(whole)), capsys)
    assert (resumed["rows"], resumed["mistakes"]) == (ROWS, uninterrupted["mistakes"])
    assert saved.read_bytes() == whole.read_bytes()


def test_the_second_ctrl_c_ends_at_once(source: Path, tmp_path: Path) -> None:
    kept, said = tmp_path / "kept", tmp_path / "said"
    arguments = command(source, "--checkpoint", str(kept), "--every", str(3 * CHUNK_ROWS))
    assert end_of(started(interrupted, arguments, signal.SIGINT, 5, 2, str(said))) == 130
    line = said.read_text()
    assert line.startswith(
        f"budgetron: interrupted: {4 * CHUNK_ROWS:,} rows "
    )  # the chunk was not learned
    assert line.endswith(f"; the same command resumes after row {3 * CHUNK_ROWS:,}\n")


def test_ctrl_c_while_the_model_is_made(
    short: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*args: Any, **more: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(OnlineClassifier, "_start", interrupt)  # its width is known by then
    assert call(command(short)) == 130
    assert capsys.readouterr().err == "budgetron: interrupted: 0 rows\n"


def test_signals_that_somebody_else_handles_are_left_alone() -> None:
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # nohup
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with Interruption() as asked:
            assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
            signal.raise_signal(signal.SIGTERM)
            assert asked.code == 143
            assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL  # the next one ends it
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def test_the_resumed_process_opens_the_source_behind_what_it_learned(
    short: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    learned: list[int] = []
    learn = Mistakes.learn

    def counting(self: Any, model: Any, place: Any, X: Any, y: Any, crew: Any) -> Any:
        learned.append(len(y))
        return learn(self, model, place, X, y, crew)

    arguments = command(short, "--checkpoint", str(tmp_path / "m.btn"), "--every", "500")
    with monkeypatch.context() as patch:
        interrupt_behind(patch, 3)
        assert call(arguments) == 130
    assert "the same command resumes after row 1,500" in capsys.readouterr().err
    monkeypatch.setattr(Mistakes, "learn", counting)
    assert result_of(arguments, capsys)["resumed_from"] == 1500
    assert sum(learned) == 1500
    learned.clear()
    again = result_of(arguments, capsys)  # finished: there is nothing left, and the answer stays
    assert (sum(learned), again["rows"], again["resumed_from"]) == (0, 3000, 3000)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (["--gamma", "0.25"], "gamma was median, now 0.25"),
        (["--budget", "41"], "budget was 40, now 41"),
        (["--dtype", "float64"], "dtype was float32, now float64"),
        (["--skip-bad"], "skip_bad was False, now True"),
        (["--classes=-1,1"], "classes was None, now [-1.0, 1.0]"),
        (["--set", "degree=2"], "degree was None, now 2"),
    ],
)
def test_another_run_is_refused(
    short: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], change: list[str], says: str
) -> None:
    kept = tmp_path / "model.btn"
    arguments = command(short, "--checkpoint", str(kept))
    assert call(arguments) == 0
    before = kept.read_bytes()
    capsys.readouterr()
    assert call(arguments + change) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert kept.read_bytes() == before


def test_another_source_is_refused(
    short: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "rows.txt"
    source.write_bytes(short.read_bytes())
    arguments = command(source, "--checkpoint", str(tmp_path / "model.btn"))
    assert call(arguments) == 0
    text = bytearray(source.read_bytes())
    text[-2:-1] = b"7" if text[-2:-1] != b"7" else b"8"
    source.write_bytes(text)
    capsys.readouterr()
    assert call(arguments) == 2
    assert "(source is another file now)" in capsys.readouterr().err


def test_a_model_or_a_stranger_is_not_overwritten(
    short: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, stranger = tmp_path / "model.btn", tmp_path / "letter.txt"
    assert call(command(short, "--save", str(model))) == 0
    stranger.write_text("dear reader")
    for path, says in ((model, "not a checkpoint of a run"), (stranger, "not a model file")):
        before = path.read_bytes()
        capsys.readouterr()
        assert call(command(short, "--checkpoint", str(path))) == 2
        assert says in capsys.readouterr().err
        assert path.read_bytes() == before


def test_standard_input_cannot_resume(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert call(command(Path("-"), "--checkpoint", str(tmp_path / "model.btn"))) == 2
    assert "standard input cannot be read again" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--save", "--checkpoint"])
def test_a_place_that_cannot_be_written_is_refused_before_the_work(
    short: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    for path in (tmp_path, tmp_path / "nowhere" / "model.btn"):
        assert call(command(short, option, str(path))) == 2
        assert "folder" in capsys.readouterr().err


def test_a_checkpoint_is_a_model(short: Path, tmp_path: Path) -> None:
    import budgetron

    kept, model = tmp_path / "kept.btn", tmp_path / "model.btn"
    assert call(command(short, "--checkpoint", str(kept), "--save", str(model))) == 0
    X = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    one, other = budgetron.load(kept), budgetron.load(model)
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


def test_info_shows_the_position_of_a_checkpoint(
    short: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "c.btn")
    assert call(command(short, "--checkpoint", path, "--every", "1000", "--rows", "2500")) == 0
    capsys.readouterr()
    assert call(["info", path]) == 0
    shown = capsys.readouterr().out
    assert "checkpoint" in shown
    assert "after row 2,500" in shown


BAD = {
    "libsvm": (["1 1:0.5"] * 40, {3: "1 1:x", 30: "1 1:inf"}),
    "csv": (["1,0.5,u"] * 40, {3: "1,-inf,u", 30: "1,inf,u"}),
    "csv of the wrong length": (["1,0.5,u"] * 40, {3: "1", 30: "1,2,3,4"}),
    "csv with categories": (["1,0.5,u"] * 40, {3: "1,-inf,v", 5: "2", 30: "1,inf,u"}),
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("more", [[], ["--rows", "37"]])
def test_a_resumed_run_reports_the_bad_rows_of_all_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, more: list[str]
) -> None:
    lines, bad = BAD[kind]
    lines = [bad.get(i, f"{i % 2}{line[1:]}") for i, line in enumerate(lines)]
    options = ["--skip-bad", "--gamma", "0.5", "--algorithm", "rbp", "--json", *more]
    source = tmp_path / "rows.txt"
    if kind != "libsvm":
        lines.insert(0, "label,a,b")
        options += ["--format", "csv"]
        options += ["--categorical" if "categories" in kind else "--hash", "b"]
        options += ["--numeric", "a", "--strict"]  # by which infinity makes its row a bad one
    source.write_text("\n".join(lines) + "\n")
    kept = str(tmp_path / "kept")
    keep = ["--checkpoint", kept, "--every", "10"]

    def reported(*arguments: str) -> tuple[Any, ...]:
        capsys.readouterr()
        assert call(["run", str(source), *options, *arguments]) == 0
        said = capsys.readouterr()
        result = json.loads(said.out)
        return result["bad_lines"], result["bad_messages"], said.err.splitlines()[-1]

    whole = reported("--every", "10")
    assert whole[0] == len(bad)
    assert len(whole[1]) == len(bad)
    for stop in (2, 4):  # before and behind the last bad row, at 20 and 40 rows or the end
        Path(kept).unlink(missing_ok=True)
        with pytest.MonkeyPatch.context() as patch:
            interrupt_behind(patch, stop)
            call(["run", str(source), *options, *keep])
        assert reported(*keep) == whole
    assert reported(*keep) == whole  # finished: nothing is left to learn


def test_a_checkpoint_without_messages_is_resumed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checkpoints from before they kept the messages of bad rows."""
    from budgetron.streams import libsvm, table

    rows = [f"{i % 7},{i % 2}" for i in range(40)]
    rows[3] = "inf,1"
    (tmp_path / "rows.csv").write_text("a,label\n" + "\n".join(rows) + "\n")
    arguments = [str(tmp_path / "rows.csv"), "--skip-bad", "--gamma", "0.5", "--algorithm", "rbp"]
    arguments += ["--strict", "--checkpoint", str(tmp_path / "c.btn"), "--every", "10"]
    with monkeypatch.context() as patch:
        for module in (libsvm, table):
            patch.setattr(module, "noted", lambda **of_bad_rows: {})
        assert call(["run", *arguments]) == 0
    capsys.readouterr()
    assert call(["run", *arguments]) == 0
    assert "1 bad row skipped\n" in capsys.readouterr().err


# ---- others and their files ----------------------------------------------------------------------


def test_two_runs_do_not_share_a_checkpoint(
    short: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from budgetron.model_file.atomic import hold

    pytest.importorskip("fcntl")
    kept = tmp_path / "model.btn"
    arguments = command(short, "--checkpoint", str(kept), "--every", "1000")
    release = hold(kept)
    assert call(arguments) == 2
    error = capsys.readouterr().err
    assert error == f"budgetron: another run is using {kept}; wait for it, or name another file\n"
    assert not kept.exists()
    release()
    assert call(arguments) == 0
    assert call([*arguments, "--gamma", "0.5"]) == 2  # which lets go of it too
    assert call(arguments) == 0
    assert list(tmp_path.iterdir()) == [kept]


def test_a_run_holds_its_checkpoint_until_it_ends(
    short: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from budgetron.model_file import atomic as durable

    pytest.importorskip("fcntl")
    kept = tmp_path / "model.btn"
    write, busy = durable.write_whole, []

    def watched(path: Any, data: bytes) -> None:
        with pytest.raises(durable.BusyError):
            durable.hold(kept)
        busy.append(path)
        write(path, data)

    monkeypatch.setattr(durable, "write_whole", watched)
    assert call(command(short, "--checkpoint", str(kept), "--every", "1000")) == 0
    assert len(busy) == 3
    durable.hold(kept)()


def test_planted_files_are_no_traceback(
    short: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "ck.btn"
    (tmp_path / f".ck.btn.{'a' * 16}.unfinished").mkdir()
    assert call(command(short, "--checkpoint", str(kept))) == 0
    (tmp_path / ".ck.btn.lock").mkdir()
    capsys.readouterr()
    assert call(command(short, "--checkpoint", str(kept))) in (0, 2)  # 0 where there are no locks
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--save", "--checkpoint"])
def test_places_that_are_no_files(
    short: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    pipe, circle, long = tmp_path / "pipe", tmp_path / "circle", tmp_path / ("n" * 256)
    os.mkfifo(pipe)
    circle.symlink_to(circle)
    for path, says in ((pipe, "is a pipe"), (circle, "symbolic links"), (long, "name too long")):
        assert call(command(short, option, str(path))) == 2
        error = capsys.readouterr().err
        assert says in error
        assert error.count("\n") == 1
    assert pipe.is_fifo()
    for length in (229, 230, 255):
        path = tmp_path / ("n" * length)
        assert call(command(short, option, str(path))) == 0
        assert path.stat().st_size > 0
        path.unlink()
    assert sorted(tmp_path.iterdir()) == [circle, pipe]


def test_a_model_that_is_damaged_ends_the_run_and_leaves_the_last_checkpoint(
    short: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from budgetron.model_file import document as model_document

    kept, model = tmp_path / "kept.btn", tmp_path / "model.btn"
    model.write_bytes(b"what was there before")
    describe = model_document._described
    written: list[bytes] = []

    def damaged(learner: Any) -> Any:
        document, arrays = describe(learner)
        if document["learned"]["counters"]["seen"] > 2000:
            written.append(kept.read_bytes())
            arrays["learner/expansion/coefs"][0] = np.nan
        return document, arrays

    monkeypatch.setattr(model_document, "_described", damaged)
    arguments = command(short, "--every", "1000")
    assert call([*arguments, "--checkpoint", str(kept)]) == 2
    error = capsys.readouterr().err
    assert (
        error
        == f"budgetron: {kept}: the model is damaged (state: damaged coefs): nothing was written\n"
    )
    assert kept.read_bytes() == written[0]
    assert call([*arguments, "--save", str(model)]) == 2
    assert "the model is damaged" in capsys.readouterr().err
    assert model.read_bytes() == b"what was there before"
    monkeypatch.undo()
    resumed = result_of([*arguments, "--checkpoint", str(kept)], capsys)
    assert resumed["resumed_from"] == 2000


# ---- forged checkpoints --------------------------------------------------------------------------


def forge(path: Path, changed: dict[str, Any]) -> None:
    """Sign a checkpoint again, with another place in the source."""
    from safetensors.numpy import save

    from budgetron import model_file

    document, arrays = model_file._take_apart(path)[:2]
    document["extra"] = changed
    document["sha256"] = model_file._checksum(document, arrays)
    path.write_bytes(save(arrays, {"budgetron": json.dumps(document)}))


def near(value: Any) -> list[Any]:
    """Values that could replace this one."""
    others: list[Any] = [None, True, -1, 2**31, 2**63, 10**30, 0.5, "1", "", [], [1], {}]
    if isinstance(value, int | float):
        others += [value + 1, value - 1, float(value), str(value)]
    return others


@pytest.mark.parametrize("kind", ["libsvm", "csv", "regression", "data"])
def test_forged_checkpoints_are_one_line(
    kind: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = tmp_path / ("rows.csv" if kind in ("csv", "regression") else "rows.txt")
    if source.suffix == ".csv":
        rows = "".join(f"{i % 7},{i % 5},{i % 2}\n" for i in range(60))
        source.write_text("a,b,label\n" + rows)
    else:
        write_libsvm(source, 60)
    name = str(source)
    if kind == "data":  # two files, one after the other
        from budgetron.datasets import reading
        from budgetron.streams import opening
        from budgetron.streams.chain import ChainStream

        def both(name: str, options: Any, position: Any = 0) -> Any:
            if name != "data:both":
                return opened(name, options, position)
            link = partial(opened, str(source), replace(options, rows=None))
            return ChainStream(name, [link, link], options.chunk_rows, position=position)

        opened = opening._opened
        monkeypatch.setattr(opening, "_opened", both)
        monkeypatch.setattr(reading, "sources", lambda name: [(source, None)] * 2)
        name = "data:both"
    task = ["--task", "regression"] if kind == "regression" else []
    kept = tmp_path / "kept.btn"
    arguments = ["run", name, "--algorithm", "rbp", "--gamma", "0.5", *task, "--json"]
    arguments += ["--checkpoint", str(kept), "--rows", "50"]
    assert call(arguments) == 0
    whole = kept.read_bytes()
    from budgetron.model_file import read_header

    extra = read_header(kept)["extra"]
    missing = [{name: each for name, each in extra.items() if name != left} for left in extra]
    forged = [{**extra, name: each} for name in extra for each in near(extra[name])]
    for part in ("bookmark", "tally"):
        for field, value in extra[part].items():
            forged += [{**extra, part: {**extra[part], field: each}} for each in near(value)]
            others = {name: each for name, each in extra[part].items() if name != field}
            missing.append({**extra, part: others})
    random.Random(0).shuffle(forged)
    codes = set()
    for changed in [*missing, *forged[: EXAMPLES // 5]]:
        kept.write_bytes(whole)
        forge(kept, changed)
        capsys.readouterr()
        code = call(arguments)  # any other exception than SystemExit is a traceback
        error = capsys.readouterr().err
        assert code in (0, 2), changed
        assert code == 0 or error.splitlines()[-1].startswith((str(tmp_path), name, "budgetron:"))
        codes.add(code)
    assert 2 in codes
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


# ---- sources that grow ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["libsvm", "csv", "words"])
def test_a_source_that_grew_is_gone_on_with(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A log that grows again and again: the result is that of one run over all of it.

    If columns are inferred, the first run must have seen the rows that they are inferred from.
    """
    count = 1900 if kind == "words" else 900
    if kind == "libsvm":
        text = write_libsvm(tmp_path / "all.txt", 900).read_bytes()
    else:
        X, y = stream(count)
        words = np.array(["red", "green", "blue"])[np.arange(count) // 200 % 3]
        rows = [f"{a:.4g},{w if kind == 'words' else b:.5},{int(c)}" for (a, b, *_), w, c in
                zip(X, words, y, strict=True)]  # fmt: skip
        text = ("a,b,label\n" + "\n".join(rows) + "\n").encode()
    source = tmp_path / ("log.txt" if kind == "libsvm" else "log.csv")
    kept = tmp_path / "kept.btn"
    more = ["--categorical", "b"] if kind == "words" else []
    arguments = [*command(source, *more), "--every", "100"]
    lines = text.splitlines(keepends=True)
    before = count - 900
    for part in (before + 150, before + 151, before + 500, len(lines)):
        source.write_bytes(b"".join(lines[:part]))
        resumed = result_of([*arguments, "--checkpoint", str(kept)], capsys)
    whole = result_of(arguments, capsys)
    differs = {"seconds", "rows_per_second", "resumed_from", "memory_bytes"}
    assert {k: v for k, v in resumed.items() if k not in differs} == {
        k: v for k, v in whole.items() if k not in differs
    }
    assert resumed["resumed_from"] == before + (500 if kind == "libsvm" else 499)
    assert resumed["rows"] == count


def test_a_killed_run_goes_on_though_its_source_grew(
    short: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log may end in the middle of a line when the run starts; that line was not learned yet."""
    text = short.read_bytes()
    cut = len(text) * 2 // 3
    cut += 3 if text[cut - 1 : cut + 2].count(b"\n") else 0  # not where a line starts
    source = tmp_path / "log.txt"
    source.write_bytes(text[:cut])
    learn = Mistakes.learn

    def interrupted(self: Any, model: Any, place: Any, X: Any, y: Any, crew: Any) -> Any:
        if has_learned(model) and model.n_seen_ >= 500:
            raise KeyboardInterrupt
        return learn(self, model, place, X, y, crew)

    arguments = command(source, "--every", "500")
    with monkeypatch.context() as patch:
        patch.setattr(Mistakes, "learn", interrupted)
        assert call([*arguments, "--checkpoint", str(tmp_path / "kept.btn")]) == 130
    source.write_bytes(text)
    resumed = result_of([*arguments, "--checkpoint", str(tmp_path / "kept.btn")], capsys)
    whole = result_of(arguments, capsys)
    assert resumed["resumed_from"] == 500
    assert (resumed["rows"], resumed["mistakes"]) == (whole["rows"], whole["mistakes"])


def test_a_source_that_changed_is_refused_though_it_grew(
    short: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = short.read_bytes()
    half = text.index(b"\n", len(text) // 2) + 1
    table = b"a,label\n" + b"".join(b"%d,%d\n" % (i % 7, i % 2) for i in range(400))
    begun = {"rows.txt": text[:half], "rows.csv": table[:1000], "rows.txt.gz": b""}
    begun["rows.txt.gz"] = gzip.compress(begun["rows.txt"])
    begun["rows.csv"] = table[: table.index(b"\n", 1000)]  # the last line may become longer
    changed = {
        "rows.txt": [
            text[: half - 100],  # shorter
            b" " + text[1:],  # the first line
            text[: half - 2] + bytes([text[half - 2] ^ 1]) + text[half - 1 :],  # the last learned
            text[: half - 1] + b"5" + text[half:],  # went on without a new line
        ],
        "rows.csv": [table],
        "rows.txt.gz": [begun["rows.txt.gz"] + gzip.compress(text[half:])],
    }
    for name, before in begun.items():
        source, kept = tmp_path / name, tmp_path / f"{name}.btn"
        source.write_bytes(before)
        arguments = ["run", str(source), "-a", "rbp", "--gamma", "0.5", "--checkpoint", str(kept)]
        assert call(arguments) == 0
        for after in changed[name]:
            source.write_bytes(after)
            capsys.readouterr()
            assert call(arguments) == 2
            assert "(source is another file now)" in capsys.readouterr().err
    source, kept = tmp_path / "whole.txt", tmp_path / "whole.btn"
    source.write_bytes(text[: half - 1])  # its last line, which is learned, lacks the newline
    arguments = ["run", str(source), "-a", "rbp", "--gamma", "0.5", "--checkpoint", str(kept)]
    assert call(arguments) == 0
    source.write_bytes(text[: half - 1] + b"7\n")
    capsys.readouterr()
    assert call(arguments) == 2
    assert "no line starts at byte" in capsys.readouterr().err
