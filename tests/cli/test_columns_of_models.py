"""`predict --explain`, pipelines in `predict`, and columns and steps in `info`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import budgetron
from budgetron import BudgetronClassifier, TableEncoder
from budgetron.cli import main
from budgetron.model_file import to_bytes


def call(*arguments: object) -> int:
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    return int(end.value.code or 0)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    random = np.random.default_rng(0)
    rows = 300
    age = random.integers(18, 80, rows)
    return pd.DataFrame(
        {
            "age": age,
            "town": random.choice(["Rome", "Oslo", "Bern", "?"], rows),
            "since": (np.datetime64("2024-01-01") + random.integers(0, 300, rows)).astype(str),
            "code": [f"k{i}" for i in range(rows)],
            "buys": np.where(age > 45, "yes", "no"),
        }
    )


@pytest.fixture
def table(frame: pd.DataFrame, tmp_path: Path) -> Path:
    frame.to_csv(tmp_path / "table.csv", index=False)
    return tmp_path / "table.csv"


@pytest.fixture
def pipeline(frame: pd.DataFrame) -> Any:
    model = make_pipeline(TableEncoder(), BudgetronClassifier(budget=40))
    return model.fit(frame.drop(columns="buys"), frame["buys"])


def test_predict_explains_by_the_columns_of_run(
    table: Path, frame: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    model = table.with_suffix(".btn")
    assert call("run", table, "--label", "buys", "--save", model) == 0
    capsys.readouterr()
    assert call("predict", model, table, "--explain", "--json") == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["row"] for each in found] == list(range(1, 301))
    for each in found[:20]:
        assert {move["column"] for move in each["columns"]} == {"age", "town", "since"}
        for example in each["examples"]:
            row = frame.iloc[example["round"]]
            town = None if row["town"] == "?" else row["town"]
            assert example["values"] == {"age": row["age"], "town": town, "since": row["since"]}
    assert call("predict", model, table) == 0
    labels = [line.split(",")[1] for line in capsys.readouterr().out.splitlines()[1:]]
    assert [each["prediction"] for each in found] == labels
    assert call("predict", model, table, "--explain") == 0
    text = capsys.readouterr().out
    assert text.startswith(f"row 1: {labels[0]}, not ")
    assert max(map(len, text.splitlines())) <= 80


def test_a_model_of_run_takes_frames_in_python(
    table: Path, frame: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    """From pandas, polars and Arrow, columns in any order; it continues to learn like `run`."""
    first, whole = table.with_name("first.csv"), table.with_name("whole.btn")
    half = table.with_name("half.btn")
    frame = pd.concat([frame.drop(columns="code")] * 5, ignore_index=True)
    frame.to_csv(table, index=False)
    frame[:1200].to_csv(first, index=False)  # kinds are those of the first 1,000 rows
    assert call("run", first, "--label", "buys", "--save", half) == 0
    model: Any = budgetron.load(half)
    capsys.readouterr()
    assert call("predict", half, table) == 0
    told = [line.split(",")[1] for line in capsys.readouterr().out.splitlines()[1:]]
    polars, arrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    chances = model.predict_proba(frame)
    for rows in (
        frame[frame.columns[::-1]],
        polars.from_pandas(frame),
        arrow.Table.from_pandas(frame),
        frame.to_dict("list"),
    ):
        assert model.predict(rows).tolist() == told
        assert np.array_equal(model.predict_proba(rows), chances)
    assert model.table_encoder_.kinds_["since"] == "date"
    for row in (frame[:1], polars.from_pandas(frame[:1]), frame.iloc[0], dict(frame.iloc[0])):
        [reason] = budgetron.explain(model, row)
        assert {move.column for move in reason.moves} == {"age", "town", "since"}
        assert reason.examples[0].values.keys() == {"age", "town", "since"}
    with pytest.raises(ValueError, match="there is no column 'town'"):
        model.predict(frame[["age", "since"]])
    with pytest.raises(TypeError, match=r"\.collect\(\)"):
        model.predict(polars.from_pandas(frame).lazy())
    model.partial_fit(frame[1200:], frame["buys"][1200:])
    assert call("run", table, "--label", "buys", "--save", whole) == 0
    assert np.array_equal(model.predict_proba(frame), budgetron.load(whole).predict_proba(frame))
    again = table.with_name("again.btn")
    budgetron.save(model, again)
    twin = budgetron.load(again)
    assert to_bytes(twin) == to_bytes(model) == again.read_bytes()
    assert to_bytes(budgetron.load(half)) == half.read_bytes()  # label and all
    X = model.table_encoder_.transform(frame)
    model.fit(frame, frame["buys"])
    assert model.predict(frame).tolist() == model.predict(X).tolist()
    model.fit(X[:, :2], frame["buys"])
    with pytest.raises(AttributeError, match="was not learned from a table"):
        model.table_encoder_  # noqa: B018 (the columns are others now)


def test_predict_explains_features_that_have_no_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rows.txt").write_text("".join(f"{i % 2} 1:{i} 3:{-i}\n" for i in range(1, 50)))
    model = tmp_path / "model.btn"
    assert call("run", tmp_path / "rows.txt", "--save", model) == 0
    capsys.readouterr()
    assert call("predict", model, tmp_path / "rows.txt", "--explain", "--json") == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert {move["column"] for move in first["columns"]} == {"x0", "x1", "x2"}


def test_predict_takes_a_pipeline_of_a_table_encoder(
    pipeline: Any, table: Path, frame: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    model = table.with_suffix(".btn")
    budgetron.save(pipeline, model)
    assert call("predict", model, table) == 0
    told = [line.split(",")[1] for line in capsys.readouterr().out.splitlines()[1:]]
    assert told == pipeline.predict(frame).tolist()
    assert call("predict", model, table, "--explain", "--json") == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    [reason] = budgetron.explain(pipeline, frame[:1])
    assert first["examples"] == reason.to_dict()["examples"]
    assert [each["change"] for each in first["columns"]] == [each.change for each in reason.moves]


def test_predict_refuses_other_pipelines_in_a_line(
    table: Path, frame: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    model = table.with_suffix(".btn")
    numbers = make_pipeline(StandardScaler(), BudgetronClassifier(budget=9))
    budgetron.save(numbers.fit(frame[["age"]], frame["buys"]), model)
    assert call("predict", model, table) == 2
    said = capsys.readouterr().err
    assert "a pipeline of StandardScaler before BudgetronClassifier: files need a" in said
    assert said.count("\n") == 1
    budgetron.save(make_pipeline(TableEncoder(), BudgetronClassifier()), model)
    assert call("predict", model, table) == 2
    assert "has not learned anything yet" in capsys.readouterr().err


def shown(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    os.environ["COLUMNS"] = "200"
    try:
        assert call("info", path) == 0
    finally:
        del os.environ["COLUMNS"]
    return capsys.readouterr().out


def test_info_shows_columns_kinds_categories_and_steps(
    pipeline: Any, table: Path, frame: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    path = table.with_suffix(".btn")
    budgetron.save(pipeline, path)
    text = " ".join(shown(path, capsys).replace("│", " ").split())
    assert "steps tableencoder: TableEncoder, budgetronclassifier: BudgetronClassifier" in text
    assert "age number town category 3: Bern, Oslo, Rome since date elapsed, weekday" in text
    assert "code id left out: each value is another one" in text
    encoders = ColumnTransformer(
        [("n", make_pipeline(StandardScaler()), ["age"]), ("w", OneHotEncoder(), ["town", "age"])]
    )
    other = make_pipeline(encoders, BudgetronClassifier(budget=9)).fit(frame, frame["buys"])
    budgetron.save(other, path)
    text = " ".join(shown(path, capsys).replace("│", " ").split())
    assert "(age: (standardscaler: StandardScaler); town, age: OneHotEncoder)" in text
    assert "town category 4: ?, Bern, Oslo, Rome age category numbers" in text


def test_info_shows_the_label_and_the_columns_of_run(
    pipeline: Any, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = table.with_suffix(".btn")
    label = {"name": "buys\x1b", "numeric": False, "decimal": "."}
    learned = {"encoding": pipeline[0].to_dict(), "label": label}
    path.write_bytes(to_bytes(pipeline[-1], {"table": learned}))
    text = " ".join(shown(path, capsys).replace("│", " ").split())
    assert "label buys\\x1b" in text
    assert "town category 3: Bern, Oslo, Rome" in text


def test_info_shows_the_label_of_run(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = table.with_suffix(".btn")
    assert call("run", table, "--label", "buys", "--save", model) == 0
    text = " ".join(shown(model, capsys).replace("│", " ").split())
    assert " label buys " in text
    assert "town category 3: Bern, Oslo, Rome since date" in text


def test_models_of_older_tables_are_explained() -> None:
    """Their features lie in the order in which categories first appeared, some nowhere."""
    from budgetron.explaining.columns import of_encoding
    from budgetron.tables.older import of_older

    lists = {"numbers": ["age"], "hashed": [], "hash_width": 1, "categorical": ["town"]}
    age, town = of_encoding(of_older({**lists, "categories": [{"Ulm": 1, "Bonn": 2}]}))
    assert (age.features.tolist(), sorted(town.features.tolist())) == ([0], [1, 2])
    row = np.array([50.0, 1.0, 0.0])
    assert (age.decode(row[age.features]), town.decode(row[town.features])) == (50.0, "Ulm")


@pytest.mark.parametrize(
    "encoding", [{}, {"columns": [3]}, {"columns": [{"name": 3}]}, [], {"columns": {}}]
)
def test_info_of_columns_that_make_no_sense(
    encoding: Any, pipeline: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.btn"
    path.write_bytes(to_bytes(pipeline[-1], {"table": {"encoding": encoding}}))
    assert call("info", path) == 2
    said = capsys.readouterr().err
    assert "damaged" in said
    assert said.count("\n") == 1


def test_info_counts_gaps_of_columns_and_not_of_features(
    frame: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gaps = frame.assign(since=frame["since"].where(frame.index % 10 > 0))
    gaps.loc[:4, "age"] = np.nan
    gaps.to_csv(tmp_path / "t.csv", index=False)
    model = tmp_path / "m.btn"
    assert call("run", tmp_path / "t.csv", "--label", "buys", "--save", model) == 0
    pipeline = make_pipeline(TableEncoder(), BudgetronClassifier(n_epochs=1))
    rows = gaps.drop(columns="buys")
    budgetron.save(pipeline.fit(rows, gaps["buys"]), tmp_path / "p.btn")
    for path in (model, tmp_path / "p.btn"):
        capsys.readouterr()
        assert call("info", path) == 0
        assert "35 (since 30, age 5)" in capsys.readouterr().out
    assert to_bytes(budgetron.load(model)) == model.read_bytes()
