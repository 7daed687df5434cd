"""`Scorer` gives the model's own answers, for every kind of batch, also from a pickle."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import budgetron
from budgetron import BudgetronClassifier, BudgetronRegressor, TableEncoder
from budgetron.cli import main
from budgetron.errors import BudgetronError
from budgetron.scoring import Scorer

RNG = np.random.default_rng(0)
N = 400
FRAME = pandas.DataFrame(
    {
        "id": np.arange(N),
        "age": RNG.integers(18, 80, N),
        "pay": RNG.normal(size=N),
        "town": RNG.choice(["Rome", "Oslo", "Bern"], N),
        "user": RNG.integers(0, 9, N),
    }
)
TWO = np.where(FRAME["age"] > 40, "old", "young")
THREE = FRAME["town"].to_numpy(str)
NUMERIC = ["age", "pay"]
X = FRAME[NUMERIC].to_numpy(np.float64)
# As a batch of each kind, with columns in another order than they were learned in.
MIXED = FRAME[["town", "pay", "user", "age", "id"]]
BATCHES: dict[str, Any] = {
    "pandas": MIXED,
    "table": pa.Table.from_pandas(MIXED, preserve_index=False),
    "record batch": pa.RecordBatch.from_pandas(MIXED, preserve_index=False),
    "dict": {name: MIXED[name].to_numpy() for name in MIXED},
}


def columns_of(answer: Any) -> dict[str, np.ndarray]:
    if isinstance(answer, pa.Table | pa.RecordBatch):
        answer = answer.to_pydict()
    return {name: np.asarray(answer[name]) for name in answer}


@pytest.mark.parametrize("kind", BATCHES)
def test_the_answers_are_the_models_for_every_kind_of_batch(kind: str) -> None:
    model = make_pipeline(TableEncoder(), BudgetronClassifier(budget=20))
    model.fit(FRAME[["age", "town"]], TWO)
    scorer = Scorer(model, probabilities=True, decisions=True, keep=["id"])
    scorer = pickle.loads(pickle.dumps(scorer))
    answer = scorer(BATCHES[kind])
    assert type(answer) is type(BATCHES[kind])
    found = columns_of(answer)
    assert list(found) == ["id", "prediction", "probability_old", "probability_young", "decision"]
    assert list(found)[1:] == [field.name for field in scorer.fields]
    assert (found["id"] == FRAME["id"]).all()
    assert (found["prediction"] == model.predict(FRAME)).all()
    assert (found["probability_young"] == model.predict_proba(FRAME)[:, 1]).all()
    assert (found["decision"] == model.decision_function(FRAME)).all()


def test_a_pandas_index_stays() -> None:
    model = BudgetronClassifier(budget=20).fit(FRAME[NUMERIC], TWO)
    assert (Scorer(model)(FRAME[5:9]).index == [5, 6, 7, 8]).all()


def test_a_model_fitted_on_a_frame_finds_its_columns() -> None:
    model = BudgetronClassifier(budget=20).fit(FRAME[NUMERIC], THREE)
    found = columns_of(Scorer(model, decisions=True)(BATCHES["table"]))
    assert list(found)[1:] == ["decision_Bern", "decision_Oslo", "decision_Rome"]
    decided = model.decision_function(FRAME[NUMERIC])
    assert all((found[name] == decided[:, j]).all() for j, name in enumerate(list(found)[1:]))


def test_columns_are_named_for_a_model_of_arrays() -> None:
    model = BudgetronRegressor(budget=20).fit(X, FRAME["pay"])
    with pytest.raises(BudgetronError, match="knows no column names: pass columns="):
        Scorer(model)
    scorer = Scorer(model, columns=NUMERIC)
    assert scorer.fields == [("prediction", "number")]
    assert (columns_of(scorer(BATCHES["dict"]))["prediction"] == model.predict(X)).all()


@pytest.mark.parametrize(
    "vectors", [list(X), X, pa.FixedSizeListArray.from_arrays(X.ravel(), 2), pa.array(list(X))]
)
def test_a_column_may_hold_an_array_per_row(vectors: Any) -> None:
    model = BudgetronClassifier(budget=20).fit(X, TWO)
    scorer = Scorer(model, columns="features")
    assert (scorer({"features": vectors})["prediction"] == model.predict(X)).all()
    with pytest.raises(BudgetronError, match="all of one length"):
        scorer({"features": [[1.0, 2.0], [1.0], [2.0, 3.0, 4.0]]})
    with pytest.raises(BudgetronError, match="array of numbers per row"):
        scorer({"features": [1.0, 2.0]})


def test_gaps_are_gaps() -> None:
    model = BudgetronClassifier(budget=20, scale="auto").fit(X, TWO)
    holes = X.copy()
    holes[::3, 0] = np.nan
    table = pa.table({"age": pa.array(holes[:, 0], from_pandas=True), "pay": holes[:, 1]})
    assert table.column("age").null_count > 100
    found = Scorer(model, columns=NUMERIC, decisions=True)(table)
    assert (found["decision"].to_numpy() == model.decision_function(holes)).all()


@pytest.mark.parametrize("end", ["estimator", "run"])
def test_a_path_is_read_once(end: str, tmp_path: Path) -> None:
    path = tmp_path / "model.btn"
    if end == "run":  # a learner that carries its encoder
        FRAME.assign(label=TWO).drop(columns="id").to_csv(tmp_path / "rows.csv", index=False)
        command = ["run", str(tmp_path / "rows.csv"), "--label", "label", "--save", str(path)]
        with pytest.raises(SystemExit) as done:
            main(command)
        assert not done.value.code
    else:
        budgetron.save(BudgetronClassifier(budget=20).fit(FRAME[NUMERIC], TWO), path)
    model = budgetron.load(path)
    scorer = Scorer(path)
    path.unlink()
    asked = FRAME.drop(columns="id") if end == "run" else FRAME[NUMERIC]
    found = pickle.loads(pickle.dumps(scorer))(BATCHES["table"])
    assert found["prediction"].to_pylist() == model.predict(asked).tolist()


def test_a_fleet_answers_by_key(tmp_path: Path) -> None:
    fleet = budgetron.Fleet("forgetron", memory="5MB", classes=[False, True])
    fleet.learn(FRAME["user"], X, TWO == "old")
    fleet.save(tmp_path / "users.btf")
    with pytest.raises(BudgetronError, match="predicts by key: pass the column, key="):
        Scorer(tmp_path / "users.btf", columns=NUMERIC)
    scorer = Scorer(tmp_path / "users.btf", columns=NUMERIC, key="user", probabilities=True)
    assert scorer.fields[0].kind == "boolean"
    for batch in BATCHES.values():
        found = columns_of(scorer(batch))
        assert (found["prediction"] == fleet.predict(FRAME["user"], X)).all()
        assert (found["probability_True"] == fleet.predict_proba(FRAME["user"], X)[:, 1]).all()


def test_an_estimator_of_scikit_learn_scores_too() -> None:
    model = LogisticRegression().fit(FRAME[NUMERIC], TWO)
    found = Scorer(model, probabilities=True)(BATCHES["record batch"])
    assert found.column("prediction").to_pylist() == model.predict(FRAME[NUMERIC]).tolist()


@pytest.mark.parametrize("kind", BATCHES)
def test_a_batch_without_rows_has_the_columns(kind: str) -> None:
    model = BudgetronClassifier(budget=20).fit(FRAME[NUMERIC], THREE)
    scorer = Scorer(model, probabilities=True, keep=["id"])
    batch = BATCHES[kind]
    none = {name: each[:0] for name, each in batch.items()} if kind == "dict" else batch[:0]
    empty, full = columns_of(scorer(none)), columns_of(scorer(batch))
    assert list(empty) == list(full)
    assert all(len(each) == 0 for each in empty.values())
    if kind in ("table", "record batch"):
        assert scorer(none).schema == scorer(batch).schema


@pytest.mark.parametrize(
    ("arguments", "batch", "message"),
    [
        ({}, {"age": [1.0]}, "the table has no column 'pay'"),
        ({"keep": ["id"]}, {"age": [1.0], "pay": [1.0]}, "the table has no column 'id'"),
        ({}, {"age": ["x"], "pay": [1.0]}, "column 'age' holds string, not numbers"),
    ],
)
def test_a_wrong_batch_is_a_line(arguments: dict, batch: dict, message: str) -> None:
    model = BudgetronClassifier(budget=20).fit(FRAME[NUMERIC], TWO)
    with pytest.raises(BudgetronError, match=message) as raised:
        Scorer(model, **arguments)(batch)
    assert "\n" not in str(raised.value)


def test_what_a_model_does_not_have_is_a_line() -> None:
    with pytest.raises(BudgetronError, match="has no predict proba: leave it out"):
        Scorer(BudgetronRegressor(budget=20).fit(FRAME[NUMERIC], FRAME["pay"]), probabilities=True)
    with pytest.raises(BudgetronError, match="has no predict: pass an estimator"):
        Scorer(object())
    with pytest.raises(BudgetronError, match="takes no key"):
        Scorer(BudgetronClassifier(budget=20).fit(FRAME[NUMERIC], TWO), key="user")
