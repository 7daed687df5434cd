"""One reader of tables for all verbs: the same flags, kinds, task and errors everywhere."""

from __future__ import annotations

import io
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import budgetron
from budgetron import TableEncoder
from budgetron.cli import main
from budgetron.streams import open_stream

OLDER = Path(__file__).with_name("older_tables")
N = 1200
RANDOM = np.random.default_rng(5)
AGE = RANDOM.integers(18, 80, N)
TOWN = RANDOM.choice(["Rome", "Oslo", "Bern"], N)
FRAME = pd.DataFrame(
    {
        "id": np.arange(N),
        "age": np.where(RANDOM.random(N) < 0.1, "", AGE.astype(str)),
        "town": TOWN,
        "note": [f"word{i % 97} of {t} nr{i}" for i, t in enumerate(TOWN)],
        "pay": [f"{x:.1f}".replace(".", ",") for x in RANDOM.normal(100, 20, N)],
        "buys": np.where((AGE > 45) ^ (TOWN == "Oslo"), "yes", "no"),
    }
)


class Said:
    def __init__(self, code: Any, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err
        self.last = err.splitlines()[-1] if err else ""

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)

    def call(*words: Any) -> Said:
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit:
            main([str(each) for each in words])
        return Said(exit.value.code, *capsys.readouterr())

    return call


def write(frame: Any, name: str = "people.csv") -> str:
    if name.endswith(".jsonl"):
        frame.to_json(name, orient="records", lines=True)
    elif name.endswith(".parquet"):
        frame.to_parquet(name)
    else:
        frame.to_csv(name, index=False)
    return name


SAID = {
    "nothing": ([], "2 number, 1 category, 1 text; left out: id (id)"),
    "text and category": (
        ["--text", "town", "--categorical", "age"],
        "1 category, 2 text, 1 number; left out: id (id)",
    ),
    "ignore": (["--ignore", "note,town"], "2 number; left out: id (id), town (ignore), note"),
    "types": (["--types", "note=hash,age=category"], "3 category, 1 number; left out: id (id)"),
    "columns": (["--columns", "town,age"], "1 category, 1 number"),
    "hash": (["--hash", "town", "--columns", "town,age"], "1 category, 1 number"),
    "decimal": (["--decimal", ".", "--ignore", "note"], "1 number, 2 category; left out"),
}


def columns_in(said: Said) -> str:
    (line,) = [each for each in said.err.splitlines() if ": columns: " in each]
    return line


@pytest.mark.parametrize(
    "flags",
    [pytest.param(each, marks=[] if each == "types" else pytest.mark.long) for each in SAID],
)
def test_flags_mean_the_same_in_run_compare_and_tune(cli: Any, flags: str) -> None:
    words, expected = SAID[flags]
    path = write(FRAME)
    read = [path, "--label", "buys", *words]
    ran = cli("run", *read, "-a", "rbp", "-b", "10", "--save", "m.btn", "--json")
    assert f": columns: {expected}" in columns_in(ran)
    few = ["--repeats", "1", "--processes", "1", "--rows", "300"]
    compared = cli("compare", *read, "--algorithm", "rbp", "--budget", "10", *few)
    assert compared.code == 0, compared.err
    tuned = cli(
        "tune", *read, "-b", "10", "-a", "rbp", "--rows", "300", "--grid", "gamma=median", "--json"
    )
    assert columns_in(ran) == columns_in(compared) == columns_in(tuned)
    command = tuned.json["command"]
    for word in words[::2]:
        assert word in command
    predicted = cli("predict", "m.btn", path, *words)
    assert predicted.code == 0, predicted.err
    assert predicted.out.count("\n") == N + 1


def test_inspect_takes_them_too(cli: Any) -> None:
    path = write(FRAME)
    found = cli("inspect", path, "--json", "--text", "town", "--numeric", "id", "--ignore", "note")
    kinds = {each["name"]: each["kind"] for each in found.json["columns"]}
    assert kinds["town"] == "text"
    assert kinds["id"] == "number"
    assert kinds["note"] == "ignore"
    assert "--text=town" in cli("inspect", path, "--text", "town").out


def test_predict_reads_columns_as_they_were_learned(cli: Any) -> None:
    path = write(FRAME)
    assert cli("run", path, "--label", "buys", "-b", "10", "--save", "m.btn").code == 0
    said = cli("predict", "m.btn", path, "--categorical", "age")
    assert said.code == 2
    assert said.last.startswith(
        "budgetron: m.btn: column 'age' was learned as number, not as category"
    )
    # a table with a decimal point, where the first had a comma
    other = FRAME.assign(pay=FRAME["pay"].str.replace(",", "."))
    first = cli("predict", "m.btn", path, "--output", "decisions")
    again = cli("predict", "m.btn", write(other, "other.csv"), "--output", "decisions")
    assert again.out != first.out
    again = cli("predict", "m.btn", "other.csv", "--output", "decisions", "--decimal", ".")
    assert again.out == first.out
    # other names: --columns lists the replacements of the learned columns, in their order
    renamed = write(FRAME.rename(columns=str.upper), "renamed.csv")
    assert "there is no column 'age'" in cli("predict", "m.btn", renamed).last
    names = ("--columns", "AGE,TOWN,NOTE,PAY")
    assert cli("predict", "m.btn", renamed, *names, "--output", "decisions").out == first.out
    assert (
        "4 columns were learned, but 1 are given"
        in cli("predict", "m.btn", renamed, "--columns", "AGE").last
    )


def test_flags_of_tables_do_not_go_with_other_files(cli: Any) -> None:
    Path("rows").write_text("1 1:1\n0 1:2\n")
    for flags in (["--numeric", "a"], ["--text", "a"], ["--strict"], ["--decimal", ","]):
        for verb in (["run"], ["tune"], ["compare", "-a", "rbp"]):
            said = cli(*verb, "rows", *flags)
            assert said.code == 2
            assert said.last.endswith(
                "rows: is read as LIBSVM; add --format csv, or the format it has"
            )
            said = cli(*verb, "rows", "--format", "libsvm", *flags)
            assert said.code == 2
            assert "does not work with LIBSVM text" in said.last


# ---- gaps ----------------------------------------------------------------------------------------


def test_tune_tries_what_gaps_allow(cli: Any) -> None:
    read = ["tune", write(FRAME), "--label", "buys", "-b", "10", "--rows", "600", "--json"]
    said = cli(*read, "--set", "gamma=median")
    assert {each["params"]["scale"] for each in said.json["candidates"]} == {"auto"}
    assert not any(each["failed"] for each in said.json["candidates"])
    assert "people.csv: has missing values, which need scale=auto" in said.err
    said = cli(*read, "--set", "gamma=median", "--ignore", "age")
    assert {each["params"]["scale"] for each in said.json["candidates"]} == {
        "auto",
        "standard",
        None,
    }


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_infinity_is_a_gap_in_a_table_in_every_verb(cli: Any, ending: str) -> None:
    frame = pd.DataFrame({"a": RANDOM.normal(size=400), "b": 1.0, "y": np.arange(400) % 2})
    frame["b"] = frame["y"] + RANDOM.normal(size=400)
    frame.loc[7, "a"] = np.inf
    frame.loc[9, "a"] = -np.inf
    path = write(frame, f"rows.{ending}")
    note = f"{path}: read as gaps: a (2 not a number)"
    few = ["--processes", "1"]
    for words in (
        ["run", path, "--save", "m.btn"],
        ["compare", path, "-a", "rbp", "-b", "10", "--repeats", "1", *few],
        ["tune", path, "-a", "rbp", "-b", "10", "--grid", "gamma=median", *few],
    ):
        said = cli(*words)
        assert said.code == 0, said.err
        assert note in said.err
        said = cli(*words, "--strict")
        assert said.code == 2
        assert "row 8, column 'a' holds 'inf', not a number" in said.last
    said = cli("predict", "m.btn", path)
    assert said.out.count("\n") == 401
    assert note in said.err
    assert "holds 'inf'" in cli("predict", "m.btn", path, "--strict").last


# ---- text ----------------------------------------------------------------------------------------


def test_text_is_learned_by_its_words(cli: Any) -> None:
    good = RANDOM.random(N) < 0.5
    filler = [" ".join(RANDOM.choice(list("abcdefgh"), 4)) for _ in range(N)]
    frame = pd.DataFrame(
        {
            "note": [f"{f} {'fine' if g else 'poor'}" for f, g in zip(filler, good, strict=True)],
            "y": np.where(good, "yes", "no"),
        }
    )
    said = cli("run", write(frame), "--text", "note", "--label", "y", "-b", "100", "--json")
    assert said.json["n_features"] == 1024
    assert said.json["mistake_rate"] < 0.25
    with open_stream("people.csv", types={"note": "text"}, label="y") as stream:
        before = stream.layout.encoding.memory_bytes
        for _ in stream:
            pass
        assert stream.layout.encoding.memory_bytes == before < 10_000


# ---- the task ------------------------------------------------------------------------------------

PRICES = pd.DataFrame({"area": AGE, "town": TOWN, "price": AGE * 1000 + RANDOM.integers(0, 999, N)})
SENTENCE = "distinct numbers in 1,000 rows: regression; --task classification to change"


@pytest.mark.parametrize("name", ["p.csv", "p.jsonl", "p.parquet"])
def test_every_verb_shows_the_task(cli: Any, name: str) -> None:
    path = write(PRICES, name)
    read = [path, "--label", "price"]
    said = cli("run", *read, "--json")
    assert said.json["rmse"] < PRICES["price"].std()
    few = ["--processes", "1", "--rows", "1100"]
    compared = cli("compare", *read, "-a", "bogd", "-b", "10", "--repeats", "1", *few)
    tuned = cli("tune", *read, "-a", "bogd", "-b", "10", "--grid", "gamma=median", *few)
    for each in (said, compared, tuned):
        assert each.code == 0, each.err
        assert "label 'price': " in each.err
        assert SENTENCE in each.err


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_the_task_of_standard_input(cli: Any, format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = Path(write(PRICES, f"p.{format}")).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    said = cli("run", "-", "--format", format, "--label", "price", "--json")
    assert "rmse" in said.json
    assert said.json["rows"] == N
    assert SENTENCE in said.err


def test_a_target_with_a_decimal_comma(cli: Any) -> None:
    frame = PRICES.assign(price=[f"{p / 1000:.1f}".replace(".", ",") for p in PRICES["price"]])
    said = cli("run", write(frame), "--label", "price", "--json")
    assert said.json["rmse"] < PRICES["price"].std() / 1000
    assert "numbers with fractions" in said.err


@pytest.mark.parametrize("algorithm", ["budgetron", "rbp"])
def test_too_many_classes_end_the_command(cli: Any, algorithm: str) -> None:
    read = ["run", write(PRICES), "--label", "price", "-a", algorithm]
    said = cli(*read, "--task", "classification")
    assert said.code == 2
    assert "label 'price': " in said.last
    assert "at most 200 are learned: --task regression predicts numbers" in said.last
    late = PRICES.assign(price=np.where(np.arange(N) < 1100, np.arange(N) % 5, np.arange(N)))
    longer = pd.concat([late[:1100]] * 4 + [late[1100:]] * 3 + [PRICES])
    said = cli("run", write(longer, "late.csv"), "--label", "price", "-a", algorithm)
    assert said.code == 2
    assert "label 'price': 5 distinct numbers in 1,000 rows: classification" in said.err
    assert "--task regression" in said.last
    names = PRICES.assign(price=[f"name{i}" for i in range(N)])
    said = cli("run", write(names, "names.csv"), "--label", "price", "-a", algorithm)
    assert "every row has its own: is it an id?" in said.last
    for verb in (["tune"], ["compare"]):
        said = cli(*verb, "names.csv", "--label", "price", "-a", algorithm, "-b", "10")
        assert said.code == 2
        assert "at most 200 are learned" in said.last


# ---- columns that begin late ---------------------------------------------------------------------


def late(rows: int, before: Any, values: Any) -> pd.DataFrame:
    """A column that is `before` for so many rows and then decides."""
    y = RANDOM.integers(0, 2, rows + 4000)
    column = [before] * rows + [values[each] for each in y[rows:]]
    noise = RANDOM.normal(size=len(y))
    return pd.DataFrame({"noise": noise, "late": column, "y": np.where(y, "yes", "no")})


@pytest.mark.parametrize(
    ("before", "values"), [(7, (6, 9)), ("", (1.5, 2.5)), ("same", ("same", "other"))]
)
def test_a_column_that_was_constant_decides_later(cli: Any, before: Any, values: Any) -> None:
    rows = 10_000
    frame = late(rows, before, values)
    said = cli("run", write(frame), "--label", "y", "-b", "50", "--json")
    assert "constant so far: late" in said.err
    chance = cli("run", "people.csv", "--label", "y", "-b", "50", "--ignore", "late", "--json")
    # about half of the first rows are mistakes in both; almost none of the later ones
    assert said.json["mistakes"] < chance.json["mistakes"] - 1500


def test_fit_has_seen_all_rows() -> None:
    table = {"a": [1, 2, 3], "same": [4, 4, 4], "none": [None, None, None]}
    assert TableEncoder().fit(table).left_out_.keys() == {"same", "none"}
    kept = TableEncoder(infer_rows=3).partial_fit(table)
    assert kept.left_out_ == {}
    X = kept.transform({"a": [1], "same": [9], "none": [5.0]}).toarray()
    np.testing.assert_array_equal(X, [[1, 9, 5]])


# ---- a label that is not there -------------------------------------------------------------------


def test_the_label_that_is_missing_comes_before_what_is_ragged(cli: Any) -> None:
    Path("rows.csv").write_text("age,town,buys\n1,a,yes\n2,b\n3,c,no,5\n4,a,no\n")
    for verb in (["run"], ["tune"], ["compare", "-a", "rbp"]):
        said = cli(*verb, "rows.csv", "--label", "outcome")
        assert said.code == 2
        end = "there is no column 'outcome'; the columns are buys, age, town"
        assert said.last == f"budgetron: rows.csv: {end}"
        assert (
            "did you mean 'buys'? the columns are buys, age, town"
            in cli(*verb, "rows.csv", "--label", "bys").last
        )
    assert "which column is the label?" in cli("run", "rows.csv").last
    assert "the columns are buys, age, town" in cli("run", "rows.csv").last


# ---- files of older versions ---------------------------------------------------------------------


def test_models_of_the_older_reader_predict_as_they_did(cli: Any) -> None:
    """Categories in the order of their coming, words hashed by their checksum; and numbers."""
    for model, answers in (("words.btn", "words.csv"), ("numbers.checkpoint", "numbers.csv")):
        read = ("predict", OLDER / model, OLDER / "people.csv", "--output", "decisions")
        said = cli(*read, "--out", "all_digits.parquet")
        assert said.code == 0, said.err
        expected = np.loadtxt(OLDER / answers, skiprows=1)
        found = pd.read_parquet("all_digits.parquet")["decision"].to_numpy()
        np.testing.assert_allclose(found[: len(expected)], expected, rtol=1e-9)


def test_checkpoints_of_the_older_reader(cli: Any) -> None:
    shutil.copy(OLDER / "people.csv", "people.csv")
    shutil.copy(OLDER / "numbers.checkpoint", "numbers")
    shutil.copy(OLDER / "words.checkpoint", "words")
    read = ("run", "people.csv", "--label", "buys", "-b", "20", "--json", "--checkpoint")
    said = cli(*read, "numbers", "--columns", "pay,age")
    assert said.json["resumed_from"] == 400
    assert said.json["rows"] == 400 + sum(each["rows"] for each in said.json["per_class"])
    assert "only the mistakes are counted from the start" in said.err
    said = cli(*read, "words", "--columns", "age,town", "--categorical", "town")
    assert said.code == 2
    assert "remove it and start again" in said.last
    assert budgetron.load("words").n_seen_ == 400
