"""The `budgetron` command: results, options, and one line with exit code 2 for every mistake."""

from __future__ import annotations

import io
import json
import lzma
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import budgetron
from budgetron._text import bytes_text
from budgetron.cli import main
from budgetron.cli.algorithms import jsonable, parse_value
from budgetron.streams import two_gaussians

COMMAND = [sys.executable, "-c", "from budgetron.cli import main; main()"]
X, Y = two_gaussians(600, seed=5)
X = X.astype(np.float32)


def text_of(X: Any, y: Any) -> str:
    rows = zip(X.tolist(), y, strict=True)
    return "".join(f"{label} 1:{row[0]!r} 2:{row[1]!r}\n" for row, label in rows)


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "stream.libsvm"
    path.write_text(text_of(X, Y))
    return str(path)


class Cli:
    """Runs the command in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._capsys, self._monkeypatch = capsys, monkeypatch

    def reading(self, text: bytes) -> Cli:
        """With this as standard input."""
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        return self

    def __call__(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        """Standard output and standard error."""
        with pytest.raises(SystemExit) as exit:
            main(list(arguments))
        out, err = self._capsys.readouterr()
        assert exit.value.code == code, err
        assert "Traceback" not in err
        return out, err

    def json(self, *arguments: str) -> dict[str, Any]:
        out, _ = self(*arguments, "--json")
        assert out.count("\n") == 1
        result: dict[str, Any] = json.loads(out)
        return result

    def mistake(self, *arguments: str) -> str:
        """The one line of complaint."""
        out, err = self(*arguments, code=2)
        assert out == ""
        assert err.count("\n") == 1
        assert err.endswith("\n")
        assert err.startswith("budgetron: ")  # the one rule of all lines
        return err.strip()


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(capsys, monkeypatch)


# ---- results -----------------------------------------------------------------------------------


def test_json_is_what_the_estimator_says(cli: Cli, file: str) -> None:
    result = cli.json("run", file, "--algorithm", "ahpatron", "--budget", "30", "--gamma", "0.5")
    model = budgetron.make("ahpatron", budget=30, gamma=0.5)
    model.prequential(X, Y)
    assert result["algorithm"] == "ahpatron"
    assert result["source"] == file
    assert result["rows"] == len(Y)
    assert result["mistakes"] == model.n_mistakes_
    assert result["mistake_rate"] == model.n_mistakes_ / len(Y)
    assert result["n_support"] == model.n_support_
    assert result["n_updates"] == model.n_updates_
    assert result["memory_bytes"] > 0
    assert result["seconds"] > 0
    assert result["rows_per_second"] == pytest.approx(len(Y) / result["seconds"])
    assert result["bad_lines"] == 0
    assert result["classes"] == [-1, 1]
    assert (result["params"]["budget"], result["params"]["gamma"]) == (30, 0.5)
    assert 0 < model.n_mistakes_ < len(Y) / 2


def test_the_table_has_the_numbers(cli: Cli, file: str) -> None:
    arguments = ["run", file, "-a", "ahpatron", "--budget", "30", "--gamma", "0.5"]
    result = cli.json(*arguments)
    out, err = cli(*arguments)
    assert err == ""
    shown = {
        cells[1].strip(): cells[2].strip()
        for cells in (line.split("│") for line in out.splitlines())
        if len(cells) == 4
    }
    assert shown["rows"] == f"{len(Y):,}"
    assert shown["mistakes"] == f"{result['mistakes']:,}"
    assert shown["mistake rate"] == f"{result['mistake_rate']:.2%}"
    assert shown["stored examples"] == str(result["n_support"])
    assert shown["model memory"] == bytes_text(result["memory_bytes"])
    assert {"seconds", "rows per second", "updates"} <= set(shown)


def test_every_parameter_can_be_set(cli: Cli, file: str) -> None:
    options = ["--budget", "20", "--kernel", "poly", "--gamma", "0.1", "--degree", "2"]
    options += ["--coef0", "1.5", "--seed", "7", "--set", "epsilon=0.7", "--set", "norm=0.6"]
    params = cli.json("run", file, "-a", "ahpatron", *options)["params"]
    expected = {"budget": 20, "kernel": "poly", "gamma": 0.1, "degree": 2, "coef0": 1.5}
    expected |= {"random_state": 7, "epsilon": 0.7, "norm": 0.6}
    assert {name: params[name] for name in expected} == expected


def test_dtype(cli: Cli, tmp_path: Path, file: str) -> None:
    arguments = ["-a", "perceptron", "--gamma", "1"]
    single = cli.json("run", file, *arguments)
    double = cli.json("run", file, *arguments, "--dtype", "float64")
    assert double["n_support"] == single["n_support"]
    assert double["memory_bytes"] > single["memory_bytes"]
    path = tmp_path / "large"
    path.write_text("1 1:1e39\n")
    error = cli.mistake("run", str(path), *arguments)
    assert error == f"budgetron: {path}:1: value '1e39' of feature 1 is out of range"
    assert cli.json("run", str(path), *arguments, "--dtype", "float64")["rows"] == 1


def test_set_reads_numbers_and_words() -> None:
    texts = ["3", "-0.5", "1e-3", "inf", "none", "true", "False", "keep", "256KB"]
    values = [3, -0.5, 1e-3, float("inf"), None, True, False, "keep", "256KB"]
    assert [parse_value(text) for text in texts] == values
    assert isinstance(parse_value("3"), int)


def test_infinite_parameters_are_valid_json() -> None:
    value = {"radius": float("inf"), "step": np.float64("nan"), "list": (1, None, "x")}
    assert jsonable(value) == {"radius": "inf", "step": "nan", "list": [1, None, "x"]}


def test_classes_can_be_given(cli: Cli, file: str) -> None:
    arguments = ["run", file, "-a", "perceptron", "--gamma", "0.5", "--classes"]
    assert cli.json(*arguments, "-1,1")["classes"] == [-1, 1]
    row = 1 + int(np.argmax(Y == 1))
    error = cli.mistake(*arguments, "-1,2")
    assert error == f"budgetron: {file}: label 1 of row {row} is not among --classes -1,2"
    error = cli.mistake(*arguments, "a,b")
    assert error == f"budgetron: {file}: label {Y[0]} of row 1 is not among --classes a,b"


def test_more_than_two_classes_join(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "three"
    path.write_text("1 1:1\n2 2:1\n7 3:1\n" * 30)
    result = cli.json("run", str(path), "-a", "perceptron", "--gamma", "1")
    assert result["classes"] == [1, 2, 7]
    assert result["mistakes"] <= 6


# ---- gamma="auto" and the width ----------------------------------------------------------------


def test_gamma_auto_is_one_over_the_largest_index(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "wide.xz"
    path.write_bytes(lzma.compress(b"1 1:1\n" * 5000 + b"-1 40:1\n"))
    automatic = ["-a", "perceptron", "--gamma", "auto"]
    result = cli.json("run", str(path), *automatic)
    assert result["params"]["gamma"] == 1 / 40
    assert (result["rows"], result["n_features"]) == (5001, 40)
    result = cli.json("run", str(path), *automatic, "--n-features", "50")
    assert result["params"]["gamma"] == 1 / 50
    linear = cli.json("run", str(path), *automatic, "--kernel", "linear")
    assert linear["params"]["gamma"] == "auto"


def test_an_index_beyond_n_features(cli: Cli, file: str) -> None:
    error = cli.mistake("run", file, "-a", "perceptron", "--n-features", "1")
    assert error == f"budgetron: {file}:1: feature index '2' is above 1"


def test_gamma_auto_on_standard_input_is_the_median(cli: Cli, file: str) -> None:
    expected = cli.json("run", file, "-a", "perceptron", "--gamma", "median")
    assert expected["params"]["gamma"] == "median"
    assert expected["gamma"] != 1 / 2
    arguments = ["run", "-", "-a", "perceptron", "--gamma", "auto"]
    result = cli.reading(Path(file).read_bytes()).json(*arguments)
    for name in ("gamma", "mistakes", "n_support"):
        assert result[name] == expected[name]


def test_scale(cli: Cli, file: str) -> None:
    arguments = ["run", file, "-a", "perceptron", "--gamma", "1", "--scale"]
    follows = budgetron.make("perceptron", gamma=1, scale="auto").partial_fit(X, Y)
    for scale, used in [
        ("standard", "standard"),
        ("auto", follows.scaling_ or "none"),
        ("none", "none"),
    ]:
        result = cli.json(*arguments, scale)
        assert result["scale"] == used
        assert result["gamma"] == 1
    model = budgetron.make("perceptron", gamma=1, scale="standard")
    model.prequential(X, Y)
    assert cli.json(*arguments, "standard")["mistakes"] == model.n_mistakes_
    assert "scale" in cli.mistake(*arguments, "wide")


# ---- bad data ----------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [[], ["--gamma", "0.5"]])
def test_a_malformed_line_stops_the_run(cli: Cli, tmp_path: Path, gamma: list[str]) -> None:
    path = tmp_path / "bad"
    path.write_text(text_of(X, Y) + "1 1:nan\n" + text_of(X, Y))
    error = cli.mistake("run", str(path), "-a", "perceptron", "--scale", "none", *gamma)
    what = "value 'nan' of feature 1 is not finite; scale=\"auto\" treats it as a missing value"
    assert error == f"budgetron: {path}:{len(Y) + 1}: {what}"


TABLE = "age,pay,town,label\n" + "31,2.5,Ulm,1\n,3.1,Bonn,0\n45,NA,Ulm,1\n22,1.0,Jena,0\n" * 9


def test_empty_cells_are_missing_values_with_units(cli: Cli, tmp_path: Path) -> None:
    path, model = tmp_path / "rows.csv", str(tmp_path / "m.btn")
    path.write_text(TABLE)
    learn = ["run", str(path), "-a", "rbp", "--categorical", "town", "--scale"]
    for more in ([], ["--set", "missing=flag"], ["--budget", "100KB"], ["--skip-bad"]):
        result = cli.json(*learn, "auto", "--gamma", "0.5", *more)
        assert (result["rows"], result["bad_lines"], result["missing"]) == (36, 0, 18)
        assert result["missing_by_column"] == {"age": 9, "pay": 9}
    out, _ = cli(*learn, "auto", "--save", model)
    assert "missing values" in out
    assert "18 (age 9, pay 9)" in out
    assert "18" in next(line for line in cli("info", model)[0].splitlines() if "missing v" in line)
    assert cli("predict", model, str(path))[0].count("\n") == 37
    for scale in ("none", "standard"):
        error = cli(*learn, scale, code=2)[1].splitlines()[-1]
        assert error.startswith(
            f"budgetron: {path}:3: row 2, column 'age' has no value: scale=\"auto\" (--scale"
        )
        assert cli.json(*learn, scale, "--skip-bad")["bad_lines"] == 18
    cli(*learn, "none", "--skip-bad", "--save", model)
    strict = cli("predict", model, str(path), "--strict", code=2)[1]
    assert "row 2, column 'age' has no value" in strict
    out, err = cli("predict", model, str(path))
    assert (out.splitlines()[2], out.count("\n")) == ("2,", 37)
    assert err.startswith("budgetron: 18 bad rows without a prediction; the first: ")


def test_a_date_without_a_value_is_one_missing_value(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    rows = "31,2024-05-01,1\n,2023-01-31,0\n45,,1\n22,2024-11-12,0\n"
    path.write_text("age,day,label\n" + rows * 9)
    result = cli.json("run", str(path), "--label", "label")
    assert (result["missing"], result["missing_by_column"]) == (18, {"age": 9, "day": 9})


def test_nan_in_libsvm_text_is_a_missing_value_with_units(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "rows"
    path.write_text("1 1:nan 2:3\n0 1:2\n1 2:NaN 5:1\n" * 5)
    result = cli.json("run", str(path), "-a", "rbp", "--scale", "auto")
    assert (result["missing"], result["missing_by_column"]) == (10, {"0": 5, "1": 5})
    assert 'scale="auto"' in cli.mistake("run", str(path), "-a", "rbp", "--scale", "none")
    assert "label 'nan' is not finite" in cli.reading(b"nan 1:1\n").mistake(
        "run", "-", "-a", "rbp", "--scale", "auto", "--gamma", "1"
    )


def test_skip_bad_counts_and_reports(cli: Cli, tmp_path: Path, file: str) -> None:
    path = tmp_path / "bad"
    lines = text_of(X, Y).splitlines(keepends=True)
    path.write_text("".join([*lines[:10], "x\n", *lines[10:], "1 0:1\n"]))
    arguments = ["-a", "perceptron", "--gamma", "0.5"]
    out, err = cli("run", str(path), *arguments, "--skip-bad", "--json")
    result = json.loads(out)
    assert result["bad_lines"] == 2
    assert result["bad_messages"][1].startswith(f"{path}:{len(Y) + 2}: feature index 0")
    assert (
        err == f"budgetron: 2 bad rows skipped; the first: {path}:11: label 'x' is not a number\n"
    )
    clean = cli.json("run", file, *arguments)
    assert (result["rows"], result["mistakes"]) == (clean["rows"], clean["mistakes"])
    assert "bad rows skipped" in cli("run", str(path), *arguments, "--skip-bad")[0]


def test_files_that_cannot_be_read(cli: Cli, tmp_path: Path) -> None:
    for gamma in ([], ["--gamma", "1"]):
        arguments = ["-a", "perceptron", *gamma]
        missing = str(tmp_path / "missing")
        error = cli.mistake("run", missing, *arguments)
        assert error == f"budgetron: {missing}: no such file or directory"
        assert (
            cli.mistake("run", str(tmp_path), *arguments)
            == f"budgetron: {tmp_path}: is a directory"
        )
        empty = tmp_path / "empty"
        empty.write_text("")
        assert (
            cli.mistake("run", str(empty), *arguments)
            == f"budgetron: {empty}: no rows to learn from"
        )


# ---- mistakes in the command -------------------------------------------------------------------


def test_the_nearest_name_is_suggested(cli: Cli, file: str) -> None:
    error = cli.mistake("run", file, "-a", "ahptron")
    assert error == "budgetron: unknown algorithm 'ahptron'; did you mean 'ahpatron'?"
    error = cli.mistake("run", file, "-a", "ahpatron", "--set", "epsilom=1")
    assert error == "budgetron: ahpatron has no parameter 'epsilom'; did you mean 'epsilon'?"
    assert "perceptron" in cli.mistake("run", file, "-a", "zzz")
    assert "no parameter 'budget'" in cli.mistake("run", file, "-a", "perceptron", "--budget", "9")


@pytest.mark.parametrize(
    "options",
    [
        ["--budget", "0"],
        ["--budget", "many"],
        ["--gamma", "-1"],
        ["--gamma", "wide"],
        ["--kernel", "cubic"],
        ["--set", "epsilon=7"],
        ["--set", "epsilon"],
        ["--set", "=3"],
        ["--dtype", "int8"],
        ["--n-features", "0"],
        ["--degree", "two"],
        ["--budgte", "3"],
    ],
)
def test_a_bad_option_is_one_line(cli: Cli, file: str, options: list[str]) -> None:
    gamma = [] if "--gamma" in options else ["--gamma", "1"]
    error = cli.mistake("run", file, "-a", "ahpatron", *gamma, *options)
    assert error.startswith("budgetron: ")


def test_missing_arguments_and_commands(cli: Cli, file: str) -> None:
    assert cli.json("run", file, "--rows", "50")["algorithm"] == "budgetron"
    assert "FILE" in cli.mistake("run", "-a", "perceptron")
    assert "rum" in cli.mistake("rum", file)


# ---- the other commands ------------------------------------------------------------------------


def test_algorithms_lists_all(cli: Cli) -> None:
    out, _ = cli("algorithms")
    listed = json.loads(cli("algorithms", "--json")[0])
    every = [*budgetron.algorithms(), *budgetron.algorithms("novelty")]
    assert [each["name"] for each in listed] == [each.name for each in every]
    for each in listed:
        assert each["name"] in out
    ahpatron = next(each for each in listed if each["name"] == "ahpatron")
    assert ahpatron["parameters"]["budget"] == 100
    one, _ = cli("algorithms", "ahpatron")
    assert "try: budgetron run FILE --algorithm ahpatron\n" in one
    assert ahpatron["citation"].split(",")[0] in one
    assert "epsilon" in one
    assert "ridge" in one
    assert "did you mean 'ahpatron'" in cli.mistake("algorithms", "ahpatorn")


def test_version_and_help(cli: Cli) -> None:
    assert cli("--version")[0] == f"budgetron {budgetron.__version__}\n"
    assert "algorithms" in cli("--help")[0]
    assert "algorithms" in cli()[0]
    assert "--skip-bad" in cli("run", "--help")[0]


def test_help_does_not_load_the_learners() -> None:
    script = (
        "import sys; from budgetron.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "late = {'numpy', 'sklearn', 'scipy', 'joblib', 'jinja2', 'pooch'}\n"
        "assert not late & set(sys.modules), 'not lazy'"
    )
    subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.DEVNULL)


# ---- as a process ------------------------------------------------------------------------------


def test_standard_input_plain_and_compressed(cli: Cli, file: str) -> None:
    expected = cli.json("run", file, "-a", "perceptron", "--gamma", "0.5")
    text = Path(file).read_bytes()
    arguments = ["run", "-", "-a", "perceptron", "--gamma", "0.5", "--json"]
    done = subprocess.run([*COMMAND, *arguments], input=text, capture_output=True, check=True)
    told = cli.reading(lzma.compress(text)).json(*arguments[:-1])
    for result in (json.loads(done.stdout), told):
        assert (result["source"], result["mistakes"]) == ("<stdin>", expected["mistakes"])
    wrong = cli.reading(b"1 1:1\n?\n").mistake(*arguments)
    assert wrong == "budgetron: <stdin>:2: label '?' is not a number"


def test_progress_only_on_a_terminal(file: str) -> None:
    master, slave = pty.openpty()
    arguments = ["run", file, "-a", "ahpatron", "--json"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "160"}
    process = subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=slave, env=environment
    )
    os.close(slave)
    shown = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # Linux's way to say the terminal is gone
            break
        if not part:
            break
        shown += part
    out, _ = process.communicate()
    os.close(master)
    assert process.returncode == 0
    assert json.loads(out)["rows"] == len(Y)
    text = shown.decode()
    for word in ("rows", "mistakes", "rows/s", "stored", "kB"):
        assert word in text


def test_interrupted(file: str) -> None:
    process = subprocess.Popen(
        [*COMMAND, "run", "-", "-a", "perceptron", "--gamma", "0.5"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin
    assert process.stdout
    assert process.stderr
    # more than a pipe holds: once written, the command is reading
    text = Path(file).read_bytes()
    process.stdin.write(text * (200_000 // len(text) + 1))
    process.stdin.flush()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 130
    error = process.stderr.read().decode()
    assert error.startswith("budgetron: interrupted: ")
    assert error.count("\n") == 1
    assert process.stdout.read() == b""
    process.stdin.close()
    process.stdout.close()
    process.stderr.close()


@pytest.mark.parametrize("arguments", [["about", "rbp"], ["--json"], []])
def test_a_reader_that_goes_away(file: str, arguments: list[str]) -> None:
    if "about" not in arguments:
        arguments = ["run", file, "-a", "perceptron", "--gamma", "0.5", *arguments]
    process = subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout
    assert process.stderr
    process.stdout.close()
    assert process.wait(timeout=60) == 141  # as if by SIGPIPE
    assert process.stderr.read() == b""
    process.stderr.close()


# ---- every source ------------------------------------------------------------------------------


def test_the_same_rows_from_every_source(cli: Cli, tmp_path: Path, file: str) -> None:
    import pandas as pd

    frame = pd.DataFrame({"x0": X[:, 0], "x1": X[:, 1], "label": Y})
    arguments = ["-a", "ahpatron", "--budget", "30", "--gamma", "0.5"]
    expected = cli.json("run", file, *arguments)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_csv(tmp_path / "bare.csv", index=False, header=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    np.savez(tmp_path / "rows.npz", X=X, y=Y)
    for source, options in [
        ("rows.csv", []),
        ("bare.csv", ["--label", "-1", "--no-header"]),
        ("rows.csv", ["--label", "2", "--columns", "0-1", "--delimiter", ","]),
        ("rows.parquet", ["--label", "label", "--columns", "x0,x1"]),
        ("rows.npz", []),
    ]:
        result = cli.json("run", str(tmp_path / source), *arguments, *options)
        for name in ("rows", "mistakes", "n_support", "classes", "n_features"):
            assert result[name] == expected[name], (source, name)
    done = subprocess.run(
        [*COMMAND, "run", "-", "--format", "csv", *arguments, "--json"],
        input=(tmp_path / "rows.csv").read_bytes(),
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout)["mistakes"] == expected["mistakes"]
    assert cli.json("run", file, *arguments, "--rows", "100")["rows"] == 100


def test_words_as_labels_and_categories(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "words.csv"
    path.write_text("colour,size,class\n" + "red,1,yes\nblue,2,no\ngreen,3,yes\n" * 40)
    arguments = ["run", str(path), "-a", "perceptron"]
    result = cli.json(*arguments, "--gamma", "auto", "--categorical", "colour")
    assert result["classes"] == ["no", "yes"]
    assert result["n_features"] == 3 + 1 + 8 + 1  # colours, gaps, others; size
    assert result["params"]["gamma"] == 1 / 13
    assert result["mistakes"] < 10
    assert cli.json(*arguments, "--hash", "colour")["n_features"] == 1024 + 1 + 1
    assert cli.json(*arguments, "--columns", "size", "--classes", "yes,no")["rows"] == 120
    assert cli.json(*arguments)["n_features"] == 13
    assert cli.json(*arguments, "--columns", "size,colour")["n_features"] == 13
    error = cli(*arguments, "--numeric", "colour", "--strict", code=2)[1]
    assert f"{path}:2: row 1, column 'colour' holds 'red', not a number" in error
    error = cli.mistake(*arguments, "--columns", "size", "--classes", "yes,maybe")
    assert error == f"budgetron: {path}: label no of row 2 is not among --classes yes,maybe"
    assert "--label none" in cli.mistake(*arguments, "--label", "none")
    assert "--delimiter" in cli.mistake(*arguments, "--delimiter", "::")
    assert "format must be" in cli.mistake(*arguments, "--format", "xml")


def test_synthetic_streams_by_name(cli: Cli) -> None:
    arguments = ["-a", "ahpatron", "--budget", "30", "--rows", "2000"]
    result = cli.json("run", "synthetic:sea,seed=4", *arguments)
    assert (result["rows"], result["n_features"]) == (2000, 3)
    assert result["mistake_rate"] < 0.3
    drifting = "synthetic:checkerboard,drift=abrupt,at=1000"
    assert cli.json("run", drifting, *arguments)["source"] == drifting
    assert "did you mean 'sea'" in cli.mistake("run", "synthetic:see", *arguments)


def test_regression(cli: Cli, tmp_path: Path, file: str) -> None:
    arguments = ["run", file, "-a", "nogd", "--task", "regression", "--gamma", "0.5", "--seed", "1"]
    result = cli.json(*arguments)
    model = budgetron.make("nogd", task="regression", gamma=0.5, random_state=1)
    error = (model.prequential(X, Y.astype(float)) - Y)[1:]  # no target comes before the first
    assert result["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)))
    assert result["mae"] == pytest.approx(np.mean(np.abs(error)))
    assert "classes" not in result
    shown = cli(*arguments)[0]
    assert f"{result['rmse']:.4g}" in shown
    assert "mistake" not in shown
    assert "--classes" in cli.mistake(*arguments, "--classes", "-1,1")
    error_line = cli.mistake("run", file, "-a", "ahpatron", "--task", "regression")
    assert error_line.startswith("budgetron: ahpatron does not do regression; these do: rbp")
    assert "'ranking'" in cli.mistake("run", file, "-a", "ahpatron", "--task", "ranking")
    path = tmp_path / "words.csv"
    path.write_text("a,y\n1,yes\n")
    words = cli.mistake("run", str(path), "-a", "nogd", "--task", "regression")
    assert words == f"budgetron: {path}: label yes is not a number: regression takes numbers"


def test_data(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from budgetron.datasets import DataSet, File
    from budgetron.datasets import registry as catalogue

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("BUDGETRON_DATA", raising=False)
    (tmp_path / "origin").write_text("1 1:1\n-1 2:1\n")
    file = File("all", "toy", (tmp_path / "origin").as_uri(), 2)
    toy = DataSet("toy", "a toy", "classification", 2, "http://page", {"us": "raw"}, (file,), 2)
    lost = DataSet(
        "lost", "gone", "regression", 2, "http://page", {}, (File("all", "no", "file:///no", 2),)
    )
    monkeypatch.setattr(catalogue, "data_sets", lambda: {"toy": toy, "lost": lost})
    assert "toy is not here; fetch it: budgetron data get toy" in cli.mistake("data", "path", "toy")
    kept = tmp_path / "budgetron" / "data" / "toy"
    assert cli("data", "get", "toy")[0] == f"{kept}  (fetched, verified)\n"
    again = cli("data", "get", "toy")[0]
    assert again == f"{kept}  (was here; the hash pinned at the first download holds)\n"
    assert cli("data", "path", "toy")[0] == f"{kept}\n"
    assert cli.json("run", "data:toy", "-a", "perceptron")["rows"] == 2
    error = cli.mistake("data", "get", "lost")
    assert error.startswith("budgetron: lost: could not fetch file:///no (")
    assert cli("data", "get", "lost", "toy", code=2)[0] == again  # the others are got all the same
    assert "did you mean 'toy'" in cli.mistake("data", "get", "toi")
    assert "raw" in cli("data", "list", "toy")[0]
    assert "get" in cli("data")[0]


def test_data_list(cli: Cli) -> None:
    out = cli("data", "list")[0]
    listed = json.loads(cli("data", "list", "--json")[0])
    assert {"a9a", "casp", "census-income"} <= {each["name"] for each in listed}
    for each in listed:
        assert each["name"] in out
        assert f"{each['rows']:,}" in out
