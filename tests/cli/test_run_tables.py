"""`budgetron run FILE --label NAME` without other options, on real-world tables."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import budgetron
from budgetron.cli import main

N = 1600
RANDOM = np.random.default_rng(1)
AGE = RANDOM.integers(18, 80, N)
TOWN = RANDOM.choice(["Rome", "Oslo", "Bern", "?"], N)
FRAME = pd.DataFrame(
    {
        "id": np.arange(N),
        "age": np.where(RANDOM.random(N) < 0.1, "", AGE.astype(str)),
        "town": TOWN,
        "since": (pd.Timestamp("2024-01-01") + pd.to_timedelta(AGE, unit="D")).astype(str),
        "land": "CH",
        "price": 1000 + AGE * 10 + RANDOM.integers(0, 50, N),
        "buys": np.where((AGE > 45) ^ (TOWN == "Oslo"), "yes", "no"),
    }
)


class Said:
    def __init__(self, code: Any, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


@pytest.fixture
def budgetron_says(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*arguments: Any) -> Said:
        with pytest.raises(SystemExit) as exit:
            main([str(each) for each in arguments])
        return Said(exit.value.code, *capsys.readouterr())

    return call


def written(folder: Path, frame: pd.DataFrame, name: str = "people.csv") -> Path:
    path = folder / name
    if name.endswith(".csv"):
        frame.to_csv(path, index=False)
    elif name.endswith(".parquet"):
        frame.to_parquet(path)
    elif name.endswith(".feather"):
        frame.to_feather(path)
    else:
        frame.to_json(path, orient="records", lines=True)
    return path


@pytest.mark.parametrize("name", ["p.csv", "p.parquet", "p.feather", "p.jsonl"])
def test_a_file_and_a_label_suffice(tmp_path: Path, budgetron_says: Any, name: str) -> None:
    path = written(tmp_path, FRAME.drop(columns="price"), name)
    said = budgetron_says("run", path, "--label", "buys", "--json")
    result = said.json
    assert (result["algorithm"], result["rows"]) == ("budgetron", N)
    assert result["classes"] == ["no", "yes"]
    assert result["mistake_rate"] < 0.3
    assert "columns: 1 number, 1 category, 1 date" in said.err
    assert "constant so far: land; left out: id (id)" in said.err


def test_many_numbers_are_a_target(tmp_path: Path, budgetron_says: Any) -> None:
    path = written(tmp_path, FRAME.drop(columns="buys"))
    said = budgetron_says("run", path, "--label", "price", "--json")
    distinct = FRAME["price"][:1000].nunique()
    expected = f"label 'price': {distinct} distinct numbers in 1,000 rows: regression; "
    assert expected + "--task classification to change" in said.err
    assert said.json["rmse"] < FRAME["price"].std()
    few = FRAME.assign(price=FRAME["price"] % 3).drop(columns="buys")
    said = budgetron_says("run", written(tmp_path, few), "--label", "price", "--json")
    assert len(said.json["classes"]) == 3
    assert "label 'price': 3 distinct numbers in 1,000 rows: classification; " in said.err
    fractions = few.assign(price=few["price"] / 4)
    said = budgetron_says("run", written(tmp_path, fractions), "--label", "price")
    assert "distinct numbers with fractions" in said.err


def test_labels_are_counted_as_numbers(tmp_path: Path, budgetron_says: Any) -> None:
    frame = FRAME[["age"]]
    forms = np.where(RANDOM.random(N) < 0.5, "1", "1.0")
    two = np.where(AGE > 45, forms, np.char.replace(forms, "1", "0"))
    said = budgetron_says("run", written(tmp_path, frame.assign(y=two)), "--label", "y", "--json")
    assert said.json["classes"] == [0, 1]
    assert "distinct" not in said.err
    three = np.where(AGE > 60, "2", two)
    said = budgetron_says("run", written(tmp_path, frame.assign(y=three)), "--label", "y")
    assert "label 'y': 3 distinct numbers in 1,000 rows: classification; " in said.err
    said = budgetron_says("run", written(tmp_path, frame.assign(y=7.5)), "--label", "y")
    assert "label 'y': 1 distinct number with a fraction in 1,000 rows: regression; " in said.err


def test_targets_that_are_too_large_or_too_small_are_reported(
    tmp_path: Path, budgetron_says: Any
) -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(3000, 3)), columns=list("abc"))
    for size in (1e100, 1e300):
        path = written(tmp_path, frame.assign(y=frame["a"] * size))
        keep = tmp_path / f"{size:g}.checkpoint"
        said = budgetron_says("run", path, "--label", "y", "--json", "--checkpoint", keep)
        largest = f"{np.abs(frame['a'][:2048]).max() * size:.3g}"
        expected = f"targets reach {largest}, but only targets up to 1e+60 are learned: divide them"
        assert said.err.count(expected) == 1
        assert said.err.count("warning") == 1
        assert (said.json["rmse"] is None) == (size == 1e300)
        assert said.json["mae"] > 0
        again = budgetron_says("run", path, "--label", "y", "--json", "--checkpoint", keep).json
        assert again["resumed_from"] == 3000
        assert [again[name] for name in ("rmse", "mae", "r2")] == [
            said.json[name] for name in ("rmse", "mae", "r2")
        ]
    path = written(tmp_path, frame.assign(y=frame["a"] * 1e-300))
    said = budgetron_says("run", path, "--label", "y", "--json")
    assert "R2 and RMSE are wrong: multiply the targets by a constant" in said.err
    assert 0 < said.json["mae"] < 0.1 * said.json["mean_mae"]
    path = written(tmp_path, frame.assign(y=frame["a"] * 1e-100))
    said = budgetron_says("run", path, "--label", "y", "--json")
    assert "warning" not in said.err
    assert said.json["r2"] > 0.9


def test_numbers_outside_the_range_of_float32_are_reported(
    tmp_path: Path, budgetron_says: Any
) -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(1500, 3)), columns=list("abc"))
    frame["y"] = (frame["a"] > 0).astype(int)

    def says(*more: str, **sizes: float) -> str:
        path = written(tmp_path, frame.assign(**{n: frame[n] * s for n, s in sizes.items()}))
        return str(budgetron_says("run", path, "--label", "y", *more).err)

    path = tmp_path / "people.csv"
    small = f"warning: {path}: too small for float32, as 0: a (1,500), c (1,500): multiply them"
    assert small in says(a=1e-100, c=1e-300)
    assert "too" not in says("--dtype", "float64", a=1e-100)
    assert "too small for float64, as 0: c (1,500)" in says("--dtype", "float64", c=1e-300)
    large = f"warning: {path}: too large for float32, cut to 3.4e+38: b (1,500): add --dtype"
    assert large in says(b=1e100)
    assert "too" not in says("--dtype", "float64", b=1e100)
    assert "too" not in says(a=1e-35, b=1e30, c=0.0)
    frame.loc[3:5, "c"] = 1e-300  # three among many are as good as 0
    assert "too" not in says()


def test_values_that_cannot_be_read_are_named_at_the_end(
    tmp_path: Path, budgetron_says: Any
) -> None:
    frame = FRAME.copy()
    frame.loc[1100:1109, "since"] = "soon"
    frame.loc[1100:1299, "age"] = "many"
    path = written(tmp_path, frame)
    arguments = ("run", path, "--label", "buys", "--ignore", "price")
    said = budgetron_says(*arguments, "--json")
    assert said.json["unparsed"] == {"age": 200, "since": 10}
    assert "read as gaps: age (200 not a number), since (10 not a date)" in said.err
    assert "column 'age': 12 % of its values are not a number" in said.err
    assert "--categorical age" in said.err
    assert "since'" not in said.err.partition("warning:")[2]
    strict = budgetron_says(*arguments, "--strict")
    assert strict.code == 2
    assert "column 'age' holds 'many', not a number" in strict.err.splitlines()[-1]


def test_what_is_said_of_columns_counts(tmp_path: Path, budgetron_says: Any) -> None:
    path = written(tmp_path, FRAME)
    arguments = ("run", path, "--label", "buys", "--rows", "1200", "--json")
    said = budgetron_says(*arguments, "--categorical", "age", "--ignore", "town,price")
    assert "1 category, 1 date; constant so far: land; left out: id (id), town (ignore)" in said.err
    said = budgetron_says(*arguments, "--types", "since=text,price=category", "--numeric", "id")
    assert "2 number, 2 category, 1 text" in said.err
    for wrong, message in (
        (("--types", "since"), "--types takes NAME=KIND"),
        (("--types", "since=day"), "'since' is 'day', not one of"),
        (("--ignore", "twon"), "did you mean 'town'"),
        (("--columns", "age", "--numeric", "town"), "'town' is to be a number but is not among"),
        (("--categorical", "age", "--numeric", "age"), "cannot be number and category at once"),
        (("--text", "age", "--numeric", "age"), "cannot be number and text at once"),
        (("--numeric", "buys", "--ignore", "buys"), "cannot be number and ignore at once"),
        (("--ignore", "buys"), "'buys' is the label"),
        (("--decimal", ";"), "decimal must be"),
    ):
        said = budgetron_says(*arguments, *wrong)
        assert said.code == 2
        assert message in said.err
        assert said.err.count("\n") == 1


def test_a_model_keeps_how_its_columns_were_read(tmp_path: Path, budgetron_says: Any) -> None:
    path, model = written(tmp_path, FRAME.drop(columns="price")), tmp_path / "m.btn"
    checkpoint = ("--checkpoint", tmp_path / "c.btn", "--every", 500)
    assert budgetron_says("run", path, "--label", "buys", "--save", model, *checkpoint).code == 0
    new = FRAME[["town", "land", "since", "age"]].iloc[:50]
    said = budgetron_says("predict", model, written(tmp_path, new, "new.parquet"))
    labels = [line.partition(",")[2] for line in said.out.split()[1:]]
    assert len(labels) == 50
    assert np.mean(np.array(labels) == FRAME["buys"][:50]) > 0.7
    assert budgetron.load(model).n_seen_ == N
    said = budgetron_says("predict", model, written(tmp_path, new.drop(columns="town"), "new.csv"))
    assert said.code == 2
    assert "there is no column 'town'" in said.err
    said = budgetron_says("run", path, "--label", "buys", *checkpoint, "--json")
    assert said.json["resumed_from"] == N


def test_a_resumed_run_is_the_same_run(tmp_path: Path, budgetron_says: Any) -> None:
    path = written(tmp_path, FRAME.drop(columns="price"))
    whole, parts = tmp_path / "whole.btn", tmp_path / "parts.btn"
    assert budgetron_says("run", path, "--label", "buys", "--save", whole).code == 0
    part = written(tmp_path, FRAME.drop(columns="price")[:1300], "people.csv")
    checkpoint = ("--checkpoint", tmp_path / "c.btn")
    assert budgetron_says("run", part, "--label", "buys", *checkpoint).code == 0
    written(tmp_path, FRAME.drop(columns="price"))
    said = budgetron_says("run", path, "--label", "buys", *checkpoint, "--save", parts)
    assert said.code == 0, said.err
    first, second = budgetron.load(whole), budgetron.load(parts)
    assert first.n_mistakes_ == second.n_mistakes_
    assert first.n_seen_ == second.n_seen_ == N


def test_a_short_log_that_grew_keeps_its_encoding(tmp_path: Path, budgetron_says: Any) -> None:
    """Fewer rows than columns are inferred from, and a category that comes later."""
    frame = FRAME.drop(columns="price")
    path = written(tmp_path, frame[:100])
    arguments = ("run", path, "--label", "buys", "--checkpoint", tmp_path / "c.btn", "--json")
    for algorithm in ("budgetron", "rbp"):  # rbp needs the width for gamma
        (tmp_path / "c.btn").unlink(missing_ok=True)
        written(tmp_path, frame[:100])
        how = ("-a", algorithm, "--gamma", "auto" if algorithm == "rbp" else "median")
        first = budgetron_says(*arguments, *how).json
        written(tmp_path, frame.assign(town=frame["town"].where(frame.index < 100, "Paris")))
        second = budgetron_says(*arguments, *how).json
        assert second["resumed_from"] == 100
        assert second["rows"] == N
        assert second["n_features"] == first["n_features"]
        if algorithm == "rbp":
            assert second["gamma"] == first["gamma"] == 1 / first["n_features"]


@pytest.mark.parametrize("more", [[], ["--task", "classification"]])
def test_standard_input_has_the_width_of_its_table(
    tmp_path: Path, budgetron_says: Any, monkeypatch: pytest.MonkeyPatch, more: list[str]
) -> None:
    path = written(tmp_path, FRAME)
    learn = ["--format", "csv", "--label", "buys", "--gamma", "auto", "--json", *more]
    wanted = budgetron_says("run", path, *learn).json
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    found = budgetron_says("run", "-", *learn).json
    assert found["gamma"] == wanted["gamma"] == 1 / wanted["n_features"]
    assert found["mistakes"] == wanted["mistakes"]


def test_kinds_are_shown_in_a_short_table(tmp_path: Path, budgetron_says: Any) -> None:
    wide = FRAME.assign(**{f"a rather long name {i}": AGE + i for i in range(9)})
    out = budgetron_says("run", written(tmp_path, wide), "--label", "buys").out
    cells = [[each.strip() for each in line.split("│")[1:-1]] for line in out.splitlines()]
    kinds = {line[0]: line[1:] for line in cells if len(line) == 3}
    assert kinds["id, left out"] == ["1", "id"]
    assert kinds["category"] == ["1", "town"]
    assert kinds["number"][0] == "11"
    assert kinds["number"][1].endswith(", ...")
    assert max(map(len, out.splitlines())) <= 80
    numbers = written(tmp_path, FRAME[["price", "buys"]])
    assert "┃ kind" not in budgetron_says("run", numbers, "--label", "buys").out


def test_strict_refuses_a_gap_where_the_model_takes_none(
    tmp_path: Path, budgetron_says: Any
) -> None:
    said = budgetron_says(
        "run", written(tmp_path, FRAME), "--label", "buys", "--strict", "--scale", "none"
    )
    assert said.code == 2
    assert "column 'age' has no value" in said.err
