"""The fleet for scikit-learn, for River, in `compare` and on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import budgetron
from budgetron.cli import main
from budgetron.fleet.classifier import FleetClassifier
from tests.support.keyed import keyed


def test_scikit_learn_has_the_key_in_a_column() -> None:
    keys, X, y = keyed(1500)
    fleet = budgetron.Fleet(memory="4MB", classes=[0, 1], shared=20).learn(keys, X, y)
    model = clone(FleetClassifier(key=1, memory="4MB", shared=20))
    table = np.insert(X, 1, keys, axis=1)
    model.fit(table, y)
    np.testing.assert_array_equal(model.decision_function(table), fleet.decision_function(keys, X))
    np.testing.assert_array_equal(model.predict(table), fleet.predict(keys, X))
    np.testing.assert_array_equal(model.predict_proba(table), fleet.predict_proba(keys, X))
    assert model.n_features_in_ == 5
    # The same from a frame, by the name of its column, in two calls.
    frame = pandas.DataFrame(X, columns=list("abcd")).assign(user=keys)
    named = FleetClassifier(key="user", memory="4MB", shared=20)
    named.partial_fit(frame[:700], y[:700], classes=[0, 1]).partial_fit(frame[700:], y[700:])
    np.testing.assert_array_equal(named.predict(frame), model.predict(table))


def test_scikit_learn_says_what_is_wrong() -> None:
    _, X, y = keyed(30)
    with pytest.raises(NotFittedError):
        FleetClassifier().predict(X)
    with pytest.raises(budgetron.BudgetronError, match="pass all classes"):
        FleetClassifier().partial_fit(X, y)
    for key in (4, -5, "user"):
        with pytest.raises(budgetron.BudgetronError, match="pass the key column"):
            FleetClassifier(key=key).fit(X, y)


def test_river_has_the_key_among_the_features() -> None:
    from budgetron.fleet.river import FleetClassifier as RiverFleet

    keys, X, y = keyed(400)
    fleet = budgetron.Fleet(memory="4MB", classes=[0, 1], shared=20)
    model = RiverFleet(key="user", classes=[0, 1], memory="4MB", shared=20)
    assert model.predict_proba_one({"user": 1, "a": 0.0}) == {0: 0.5, 1: 0.5}
    for key, row, label in zip(keys.tolist(), X.tolist(), y.tolist(), strict=True):
        model.learn_one({"user": key, **dict(zip("abcd", row, strict=True))}, label)
    fleet.learn(keys, X, y)
    for key, row in zip(keys[:20].tolist(), X[:20].tolist(), strict=True):
        x = {"user": key, **dict(zip("abcd", row, strict=True))}
        assert model.predict_one(x) == fleet.predict([key], np.array([row]))[0]
    with pytest.raises(budgetron.BudgetronError, match="must hold its key"):
        model.learn_one({"a": 1.0}, 0)
    with pytest.raises(budgetron.BudgetronError, match="feature 'z' is new"):
        model.learn_one({"user": 1, "z": 1.0}, 0)
    model.learn_one({"user": 1, "a": 1.0}, 0)  # the others are missing


@pytest.mark.long
def test_compare_takes_the_scikit_learn_face(tmp_path: Path) -> None:
    from budgetron.compare import Settings, compare

    keys, X, y = keyed(700, 5)
    table = np.insert(X, 0, keys, axis=1)
    found = compare(
        [("keyed", table, y)],
        ["budgetron", "fleet=budgetron.fleet.classifier:FleetClassifier"],
        tmp_path / "out",
        budgets=[10],
        own={"fleet": {"memory": "4MB", "shared": 10}},
        settings=Settings(repeats=1),
        processes=1,
    )
    assert not found.failures
    assert {line.algorithm for line in found.summary["keyed"]} >= {"budgetron", "fleet"}


# ---- run --key -----------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path: Path) -> Path:
    keys, X, y = keyed(1200, 20)
    frame = pandas.DataFrame(X, columns=list("abcd"))
    frame.insert(2, "user", [f"0{key}" for key in keys])
    frame["label"] = np.where(y > 0, "yes", "no")
    frame["row"] = [f"row {at}" for at in range(1200)]
    frame.to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path / "rows.csv"


def run(*words: Any) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["run", *map(str, words)])
    return int(ended.value.code or 0)


def test_run_learns_a_model_per_key(table: Path, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    saved = table.with_name("fleet.btf")
    words = (table, "--label", "label", "--key", "user", "--memory", "4MB")
    assert run(*words, "--json", "--save", saved) == 0
    told = json.loads(capsys.readouterr().out)
    frame = pandas.read_csv(table, dtype={"user": str})
    fleet = budgetron.Fleet(memory="4MB", classes=["no", "yes"])
    X = frame[list("abcd")].to_numpy().astype(np.float32)
    fleet.learn(frame["user"], X, frame["label"].to_numpy().astype(str))
    assert told["rows"] == 1200
    assert told["mistakes"] == fleet.n_mistakes_
    assert told["shared_mistakes"] == fleet.shared_.n_mistakes_
    assert told["keys"] == len(fleet) == len(budgetron.Fleet.load(saved)) == 20
    with pytest.raises(SystemExit):
        main(["info", str(saved)])
    assert "keys with a model" in capsys.readouterr().out
    assert run(*words) == 0
    shown = capsys.readouterr().out
    assert "keys with a model" in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--key", "nobody"), "there is no column 'nobody'"),
        (("--key", "user", "--memory", "1KB"), "give it at least"),
        (("--key", "user", "--algorithm", "avm"), "a fleet cannot use 'avm'"),
        (("--key", "user", "--checkpoint", "x.btn"), "--checkpoint does not work with --key"),
        (("--key", "user", "--workers", "2"), "--workers does not work with --key"),
        (("--key", "user", "--merge-every", "1000"), "--merge-every does not work with --key"),
        (("--key", "user", "--coverage", "0.9"), "--coverage does not work with --key"),
        (("--key", "user", "--ask", "0.1"), "--ask does not work with --key"),
        (("--key", "user", "--positive", "yes"), "--positive does not work with --key"),
        (("--memory", "4MB"), "--memory is for --key"),
        (
            ("--key", "user", "--label", "a"),
            "a number to predict, not a class: add --task regression",
        ),
        (("--key", "user", "--label", "row"), "the label has 1,200 values"),
        (("--key", "user", "--task", "regression"), "targets must be finite numbers"),
        (
            ("--key", "user", "--task", "regression", "--algorithm", "forgetron"),
            "does not do regression: use bogd, budgetron",
        ),
    ],
)
def test_run_says_what_is_wrong(
    table: Path, words: tuple[str, ...], says: str, capsys: Any
) -> None:
    assert run(table, "--label", "label", *words) == 2
    told = capsys.readouterr()
    assert says in " ".join(told.err.split())
    assert "Traceback" not in told.err


# ---- predict -------------------------------------------------------------------------------------


def predict(*words: Any) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["predict", *map(str, words)])
    return int(ended.value.code or 0)


def test_predict_finds_the_key_in_its_column(table: Path, capsys: Any) -> None:
    saved = table.with_name("fleet.btf")
    assert run(table, "--label", "label", "--key", "user", "--memory", "4MB", "--save", saved) == 0
    fleet = budgetron.Fleet.load(saved)
    frame = pandas.read_csv(table, dtype={"user": str})
    X = frame[list("abcd")].to_numpy().astype(np.float32)
    frame.loc[3, "user"] = "nobody"
    frame[["user", "d", "c", "b", "a", "label"]].to_csv(table.with_name("new.csv"), index=False)
    capsys.readouterr()
    new = table.with_name("new.csv")
    assert predict(saved, new, "--id", "user", "--label", "label") == 0
    told = capsys.readouterr()
    said = [line.split(",") for line in told.out.splitlines()[1:]]
    assert [user for user, _ in said] == frame["user"].tolist()
    np.testing.assert_array_equal([label for _, label in said], fleet.predict(frame["user"], X))
    wrong = (fleet.predict(frame["user"], X) != frame["label"].to_numpy()).mean()
    assert f"{wrong:.2%} mistakes" in told.err
    assert predict(saved, new, "--output", "decisions") == 0
    said = [line.split(",") for line in capsys.readouterr().out.splitlines()[1:]]
    expected = fleet.decision_function(frame["user"], X)
    np.testing.assert_allclose([float(number) for _, number in said], expected, rtol=1e-6)


def test_predict_says_what_is_wrong_with_a_fleet(table: Path, capsys: Any) -> None:
    saved = table.with_name("fleet.btf")
    assert run(table, "--label", "label", "--key", "user", "--memory", "4MB", "--save", saved) == 0
    assert run(table, "--label", "label", "--save", table.with_name("one.btn")) == 0
    frame = pandas.read_csv(table, dtype={"user": str})
    frame.drop(columns="user").to_csv(table.with_name("without.csv"), index=False)
    frame.loc[7, "user"] = None
    frame.to_csv(table.with_name("gap.csv"), index=False)
    strange = budgetron.Fleet(memory="4MB", classes=[0, 1]).learn([1, 2], np.ones((2, 4)), [0, 1])
    strange.save(table.with_name("python.btf"))
    capsys.readouterr()
    for words, says in (
        ((saved, table.with_name("without.csv")), "user"),
        ((saved, table.with_name("gap.csv")), "row 8 has no key in column 'user'"),
        ((saved, table, "--explain"), "--explain does not work with a fleet"),
        ((table.with_name("one.btn"), table, "--key", "user"), "--key is for a fleet"),
        ((table.with_name("python.btf"), table), "pass the key column, --key"),
    ):
        assert predict(*words) == 2, words
        told = capsys.readouterr()
        assert says in " ".join(told.err.split())
        assert "Traceback" not in told.err


def test_run_and_predict_a_number_per_key(tmp_path: Path, capsys: Any) -> None:
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.normal(size=(3000, 3)), columns=list("abc")).astype(np.float32)
    user = rng.integers(0, 10, 3000)
    frame["user"] = [f"u{each}" for each in user]
    frame["y"] = 50 + 10 * user + frame["a"] * (user - 4.5)
    place, saved = tmp_path / "rows.csv", tmp_path / "fleet.btf"
    frame.to_csv(place, index=False)
    words = (place, "--label", "y", "--key", "user", "--memory", "8MB", "--task", "regression")
    assert run(*words, "--json", "--save", saved) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["rmse"] < 0.5 * frame["y"].std()  # the rows of the warm-up count too
    assert told["keys"] == 10
    assert run(*words) == 0
    assert "RMSE" in capsys.readouterr().out
    assert predict(saved, place, "--label", "y") == 0
    assert "RMSE" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["info", str(saved)])
    assert "regression" in capsys.readouterr().out


def test_a_first_row_that_is_refused_leaves_the_faces_as_they_were() -> None:
    from budgetron.fleet.regressor import FleetRegressor
    from budgetron.fleet.river import FleetClassifier as RiverFleet

    keys, X, y = keyed(300)
    table = np.insert(X, 0, keys, axis=1)
    strange = np.full((3, 9), np.inf)
    for model, more in ((FleetClassifier(shared=20), ([0, 1],)), (FleetRegressor(shared=20), ())):
        with pytest.raises(ValueError, match="infinity"):
            model.partial_fit(strange, [0, 1, 0], *more)
        assert not hasattr(model, "fleet_")
        assert not hasattr(model, "n_features_in_")
        model.partial_fit(table[:0], y[:0], *more)
        assert not hasattr(model, "n_features_in_")
        expected = model.fit(table, y).predict(table)
        with pytest.raises(ValueError, match="infinity"):
            model.fit(strange, [0, 1, 0])
        np.testing.assert_array_equal(model.predict(table), expected)
        assert model.n_features_in_ == 5
    river = RiverFleet(key="user", classes=[0, 1], memory="4MB", shared=20)
    with pytest.raises(ValueError, match="word"):
        river.learn_one({"user": 1, "a": "word", "z": 3}, 0)
    with pytest.raises(budgetron.BudgetronError, match="label 5"):
        river.learn_one({"user": 1, "a": 1.0, "z": 3}, 5)
    river.learn_one({"user": 1, "b": 1.0}, 0)
    assert river.fleet.n_features_in_ == 1
