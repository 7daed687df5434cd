"""`budgetron run --save`, `predict` and `info`."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils._param_validation import Interval, StrOptions, generate_valid_param

import budgetron
from budgetron.catalogue import CATALOGUE
from budgetron.cli import main
from budgetron.cli.info import _lines, as_text
from budgetron.model_file.document import describe
from budgetron.model_file.values import PARTS
from budgetron.parts import Part
from budgetron.streams import open_stream
from tests.support.cases import BY_NAME, REGRESSION, numeric_stream, stream


def call(*arguments: object) -> int:
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    return int(end.value.code or 0)


def libsvm(path: Path, X: np.ndarray, y: np.ndarray) -> Path:
    lines = [
        f"{label} " + " ".join(f"{j}:{float(v)!r}" for j, v in enumerate(row, 1) if v)
        for row, label in zip(X, y, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    X, y = stream(300, width=5)
    libsvm(folder / "two.txt", X, 2 * y - 1)
    libsvm(folder / "wider.txt", np.hstack([X, X]), 2 * y - 1)
    X, y = stream(300, width=5, classes=3)
    libsvm(folder / "three.txt", X, y)
    for name in ("two", "three"):
        source, model = folder / f"{name}.txt", folder / f"{name}.btn"
        arguments = ("--budget", 30, "--gamma", 0.5, "--dtype", "float64", "--save", model)
        assert call("run", source, "-a", "ahpatron", *arguments) == 0
    return folder


def lines(text: str) -> list[list[str]]:
    """The cells of an answer behind the rows' numbers, which are all there."""
    (first, *header), *rows = csv.reader(io.StringIO(text))
    assert first == "row"
    assert [number for number, *_ in rows] == [str(i) for i in range(1, len(rows) + 1)]
    return [header, *(cells for _, *cells in rows)]


def test_predict_says_what_the_saved_model_says(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    X, _ = stream(300, width=5)
    model = budgetron.load(folder / "two.btn")
    capsys.readouterr()
    assert call("predict", folder / "two.btn", folder / "two.txt") == 0
    header, *rows = lines(capsys.readouterr().out)
    assert header == ["label"]
    assert [int(label) for (label,) in rows] == model.predict(X).astype(int).tolist()
    assert call("predict", folder / "two.btn", folder / "two.txt", "--output", "decisions") == 0
    header, *rows = lines(capsys.readouterr().out)
    assert header == ["decision"]
    assert [float(f) for (f,) in rows] == model.decision_function(X).tolist()


def test_three_classes_as_json_lines(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X, _ = stream(300, width=5, classes=3)
    model = budgetron.load(folder / "three.btn")
    options = ("--output", "decisions", "--json")
    capsys.readouterr()
    assert call("predict", folder / "three.btn", folder / "three.txt", *options) == 0
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert list(said[0]) == ["row", "0", "1", "2"]
    assert [each.pop("row") for each in said] == list(range(1, 301))
    assert [list(each.values()) for each in said] == model.decision_function(X).tolist()


def test_probabilities_by_class(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, classes, header in (("two", 2, ["-1", "1"]), ("three", 3, ["0", "1", "2"])):
        X, _ = stream(300, width=5, classes=classes)
        model, source = folder / f"{name}.btn", folder / f"{name}.txt"
        capsys.readouterr()
        assert call("predict", model, source, "--output", "probabilities") == 0
        told, *rows = lines(capsys.readouterr().out)
        assert told == header
        said = np.array(rows, dtype=float)
        expected = budgetron.load(model).predict_proba(X)
        np.testing.assert_allclose(said, expected, rtol=5e-6)
        assert max(len(cell.partition("e")[0].strip("0.")) for row in rows for cell in row) == 6


def test_text_labels_and_regression(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    X, y = stream(300, width=5)
    words = np.array(["no, never", "yes"])[y]
    model = BY_NAME["rbp"].make().fit(X, words)
    budgetron.save(model, tmp_path / "words.btn")
    assert call("predict", tmp_path / "words.btn", folder / "two.txt") == 0
    _, *rows = lines(capsys.readouterr().out)
    assert [label for (label,) in rows] == model.predict(X).tolist()
    Z, targets = numeric_stream(100)
    regressor = REGRESSION[0].make().fit(Z, targets)
    budgetron.save(regressor, tmp_path / "number.btn")
    libsvm(tmp_path / "rows.txt", Z, np.zeros(100, int))
    assert call("predict", tmp_path / "number.btn", tmp_path / "rows.txt") == 0
    header, *rows = lines(capsys.readouterr().out)
    assert header == ["prediction"]
    assert [float(value) for (value,) in rows] == regressor.predict(Z).tolist()


def test_rows_wider_than_the_model(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As in a run, a new feature counts: the distance to all stored examples grows."""
    X, _ = stream(300, width=5)
    model = budgetron.load(folder / "two.btn")
    options = ("--output", "decisions")
    capsys.readouterr()
    assert call("predict", folder / "two.btn", folder / "wider.txt", *options) == 0
    said = [float(f) for (f,) in lines(capsys.readouterr().out)[1:]]
    support = np.hstack([model.support_vectors_.toarray(), np.zeros((model.n_support_, 5))])
    distances = ((np.hstack([X, X])[:, None, :] - support) ** 2).sum(axis=2)
    expected = np.exp(-0.5 * distances) @ model.dual_coef_[0]
    np.testing.assert_allclose(said, expected, rtol=1e-9, atol=1e-12)


def test_standard_input_is_answered_as_it_comes(folder: Path) -> None:
    command = "from budgetron.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", command, "predict", str(folder / "two.btn"), "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        for row in (folder / "two.txt").read_text().splitlines(keepends=True)[:3]:
            process.stdin.write(row)
            process.stdin.flush()
            answer = process.stdout.readline()
            if answer == "row,label\n":
                answer = process.stdout.readline()
            assert answer.partition(",")[2] in ("-1\n", "1\n")
        process.stdin.close()
        assert process.stdout.read() == ""
        assert process.wait() == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("number.btn", "two.txt", "--output", "probabilities"), "has no probabilities"),
        (("two.txt", "two.txt"), "not a model file"),
        (("nowhere.btn", "two.txt"), "nowhere.btn: no such file"),
        (("two.btn", "nowhere.txt"), "nowhere.txt: no such file"),
        (("two.btn", "two.btn"), "two.btn:1:"),
        (("empty.btn", "two.txt"), "has not learned anything yet"),
    ],
)
def test_mistakes_are_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], says: str
) -> None:
    budgetron.save(BY_NAME["rbp"].make(), folder / "empty.btn")
    budgetron.save(REGRESSION[0].make().fit(*numeric_stream(20)), folder / "number.btn")
    capsys.readouterr()
    paths = [folder / each if "." in each else each for each in arguments]
    assert call("predict", *paths) == 2
    said = capsys.readouterr()
    assert says in said.err
    assert said.err.count("\n") == 1


def test_info_shows_the_contents(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert call("info", folder / "three.btn") == 0
    text = capsys.readouterr().out
    for part in ("ahpatron", "budgetron 0.1.0", "300, float64", "budget=30", "3: 0.0, 1.0, 2.0"):
        assert part in text
    assert call("info", folder / "three.btn", "--json") == 0
    assert json.loads(capsys.readouterr().out)["learned"]["counters"]["seen"] == 300
    assert call("info", folder / "two.txt") == 2
    assert "not a model file" in capsys.readouterr().err
    by_hand = budgetron.KernelClassifier(radius=float("inf"))
    budgetron.save(by_hand, folder / "by-hand.btn")
    assert call("info", folder / "by-hand.btn") == 0
    text = capsys.readouterr().out
    assert "none yet" in text
    assert "radius=inf" in text


def test_a_model_that_does_not_learn_warns_once(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """As one line on standard error, in the JSON, and by info; without a place in our code."""
    X = np.random.default_rng(0).normal(size=(2500, 2))
    source = libsvm(tmp_path / "rows.txt", X, (X[:, 0] > 0).astype(int))
    saved = tmp_path / "model.btn"
    arguments = ("--gamma", 1e9, "--scale", "none", "--save", saved, "--json")
    assert call("run", source, "-a", "rbp", *arguments) == 0
    found = capfd.readouterr()
    told = [line for line in found.err.splitlines() if "kernel values" in line]
    assert len(told) == 1
    assert told[0].startswith("budgetron: warning: the model says nothing")
    assert ".py" not in found.err
    assert "kernel values" in json.loads(found.out)["warning"]
    assert call("info", saved) == 0
    assert "the model says nothing" in " ".join(capfd.readouterr().out.split())
    assert call("info", saved, "--json") == 0
    assert "kernel values" in json.loads(capfd.readouterr().out)["learned"]["not_learning"]


TOWNS = "age,town,sex,label\n1,Ulm,f,a\n2,Bonn,m,b\n3,Ulm,m,a\n4,Jena,f,b\n2.5,Bonn,f,b\n"


@pytest.fixture
def towns(tmp_path: Path) -> Path:
    (tmp_path / "towns.csv").write_text(TOWNS)
    arguments = ("-a", "rbp", "--budget", 4, "--gamma", 0.5, "--dtype", "float64")
    words = ("--categorical", "town,sex", "--save", tmp_path / "m.btn")
    words += ("--checkpoint", tmp_path / "c.btn")
    assert call("run", tmp_path / "towns.csv", *arguments, *words) == 0
    return tmp_path


@pytest.mark.parametrize("model", ["m.btn", "c.btn"])
def test_predict_reads_a_table_as_it_was_learned(
    towns: Path, capsys: pytest.CaptureFixture[str], model: str
) -> None:
    """Another order of columns and of categories, no label, an unknown town."""
    rows = [("m", "Jena", 1.5), ("f", "Köln", 2.0), ("f", "Ulm", 3.0)]
    text = "sex,note,town,age\n" + "".join(f"{s},x,{t},{a}\n" for s, t, a in rows)
    (towns / "new.csv").write_text(text)
    options = {"categorical": ["town", "sex"], "dtype": "float64"}
    with open_stream(towns / "towns.csv", **options) as learned:
        layout = learned.layout
    frame = pd.DataFrame(rows, columns=["sex", "town", "age"])
    [(X, _)] = open_stream(frame, label=False, dtype="float64", layout=layout)
    capsys.readouterr()
    assert call("predict", towns / model, towns / "new.csv", "--output", "decisions") == 0
    said = [float(f) for (f,) in lines(capsys.readouterr().out)[1:]]
    assert said == budgetron.load(towns / model).decision_function(X).tolist()
    assert call("info", towns / model) == 0


def test_a_column_the_model_learned_is_missing(
    towns: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (towns / "new.csv").write_text("age,town\n1,Ulm\n")
    capsys.readouterr()
    assert call("predict", towns / "m.btn", towns / "new.csv") == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "there is no column 'sex'" in said.err


def test_a_model_of_a_frame_finds_its_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pd.DataFrame({"age": [1.0, 5.0, 9.0], "heat": [0.5, 0.1, 0.9]})
    model = budgetron.make("rbp", gamma=0.1, scale=None).fit(frame, ["a", "b", "c"])
    budgetron.save(model, tmp_path / "m.btn")
    frame.assign(note="x")[["heat", "note", "age"]].to_csv(tmp_path / "new.csv", index=False)
    assert call("predict", tmp_path / "m.btn", tmp_path / "new.csv") == 0
    assert [label for (label,) in lines(capsys.readouterr().out)[1:]] == ["a", "b", "c"]
    frame.to_csv(tmp_path / "bare.csv", index=False, header=False)
    arguments = ["predict", tmp_path / "m.btn", tmp_path / "bare.csv", "--no-header"]
    assert call(*arguments, "--label", "none") == 0
    assert call("predict", tmp_path / "m.btn", tmp_path / "bare.csv") == 2
    assert "there is no column 'age'" in capsys.readouterr().err


@pytest.mark.parametrize("kept", [True, False])
def test_predict_without_a_label_column(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kept: bool
) -> None:
    """Whether or not the model file says how its table was read."""
    X, y = stream(60, width=3)
    text = [",".join(map(repr, map(float, row))) for row in X]
    labelled = [f"{label},{row}" for label, row in zip(y, text, strict=True)]
    (tmp_path / "train.csv").write_text("label,u,v,w\n" + "\n".join(labelled) + "\n")
    (tmp_path / "new.csv").write_text("u,v,w\n" + "\n".join(text) + "\n")
    (tmp_path / "bare.csv").write_text("\n".join(text) + "\n")
    path = tmp_path / "m.btn"
    arguments = ("-a", "forgetron", "--budget", 9, "--gamma", 0.5, "--dtype", "float64")
    arguments += ("--save", path)
    assert call("run", tmp_path / "train.csv", *arguments) == 0
    if not kept:
        model = budgetron.load(path)
        del model._table
        budgetron.save(model, path)
    expected = [[str(int(each))] for each in budgetron.load(path).predict(X)]
    capsys.readouterr()
    assert call("predict", path, tmp_path / "new.csv") == 0
    assert lines(capsys.readouterr().out) == [["label"], *expected]
    assert call("predict", path, tmp_path / "train.csv") == 0
    assert lines(capsys.readouterr().out) == [["label"], *expected]
    if kept:  # columns without names: counted without the label's
        (tmp_path / "train.csv").write_text("\n".join(labelled) + "\n")
        assert call("run", tmp_path / "train.csv", "--label", 0, *arguments) == 0
        capsys.readouterr()
    assert call("predict", path, tmp_path / "bare.csv", "--label", "none") == 0
    assert lines(capsys.readouterr().out) == [["label"], *expected]


def test_a_failed_prediction_prints_nothing(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "narrow.csv").write_text("a,b\n1,2\n")
    capsys.readouterr()
    assert call("predict", folder / "two.btn", tmp_path / "narrow.csv") == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    (tmp_path / "empty.csv").write_text("a,b,c,d,e\n")
    assert call("predict", folder / "two.btn", tmp_path / "empty.csv") == 0
    assert capsys.readouterr().out == "row,label\n"


@pytest.mark.parametrize("option", ["--save", "--checkpoint"])
def test_the_file_to_learn_from_is_not_written_over(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "rows.svm"
    source.write_text("1 1:0.5\n-1 1:-0.5\n")
    assert call("run", source, "-a", "rbp", option, source) != 0
    assert "is the source, and would be overwritten" in capsys.readouterr().err
    assert source.read_text() == "1 1:0.5\n-1 1:-0.5\n"
    place = tmp_path / "model.btn"
    assert call("run", source, "-a", "rbp", "--save", place, "--checkpoint", place) != 0
    assert "is the checkpoint" in capsys.readouterr().err


# ---- info of any model ---------------------------------------------------------------------------

ODD = ["\ud800", "\x1b[2Jy", "a\nb", "", "\u202e", "字", 0, -1, 2**62, True, 0.5, 1e300, -0.0]


def values(estimator: type, name: str, constraints: list[Any]) -> list[Any]:
    """Values that a parameter may have: one or more of each kind that its constraints name."""
    found: list[Any] = [getattr(estimator(), name)]
    for constraint in constraints:
        if constraint is None or isinstance(constraint, str):
            found += {"boolean": [True, False], "random_state": [7, None]}.get(constraint, [None])
        elif isinstance(constraint, StrOptions):
            found += sorted(constraint.options)
        elif constraint is dict:
            found += [{label: 1.0, "more": 2} for label in ODD] + [{}]
        elif isinstance(constraint, type) and issubclass(constraint, Part):
            found += [part() for part in PARTS.values() if issubclass(part, constraint)]
        elif isinstance(constraint, Interval):
            found.append(generate_valid_param(constraint))
            edges = (constraint.left, constraint.right)
            found += [edge for edge in edges if edge is not None]
    found += ["64KB"] if "budget" in name or name == "n_components" else []
    return [value for value in found if constraints_hold(estimator, name, value)]


def constraints_hold(estimator: type, name: str, value: Any) -> bool:
    try:
        estimator(**{name: value})._validate_params()
    except ValueError:
        return False
    return True


def test_info_of_every_parameter_that_a_learner_takes(tmp_path: Path) -> None:
    """The text of a header has every value in it, in characters that a terminal can show."""
    made = {
        entry.estimator(task) for entry in CATALOGUE.values() for task in entry.tasks
    } | {budgetron.KernelClassifier}  # fmt: skip
    path = tmp_path / "model.btn"
    seen = 0
    for estimator in made:
        for name, constraints in estimator._parameter_constraints.items():
            for value in values(estimator, name, constraints):
                document, _ = describe(estimator(**{name: value}))
                document |= {"format": 3, "budgetron": "0", "extra": None}
                shown = _lines(json.loads(json.dumps(document)), 100)["parameters"]
                assert f"{name}=" in shown
                assert shown.isprintable()
                seen += 1
    assert seen > 1000
    model = budgetron.make("rbp", class_weight={0: 1.0, 1: 2.0}).fit([[0.0], [1.0]], [0, 1])
    budgetron.save(model, path)
    assert call("info", path) == 0


@pytest.mark.parametrize("label", ODD[:5])
def test_info_of_labels_that_cannot_be_shown(
    label: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "odd.btn"
    weights = {label: 2.0}
    model = budgetron.make("rbp", class_weight=weights).fit([[0.0], [1.0]], [label, "b"])
    budgetron.save(model, path)
    assert budgetron.load(path).classes_.tolist() == model.classes_.tolist()
    assert call("info", path) == 0
    shown = capsys.readouterr().out
    shown.encode()
    assert all(line.isprintable() for line in shown.splitlines())


@settings(max_examples=100, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["part", "params", "float", "dict", "x"]), inner, max_size=3
            )
        ),
        max_leaves=10,
    )
)
def test_anything_in_a_header_has_a_text(value: Any) -> None:
    assert as_text(value).isprintable()
