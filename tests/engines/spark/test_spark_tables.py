"""Tables on Spark: scored, learned in partitions, and fleets that start with a saved state."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from sklearn.pipeline import make_pipeline

import budgetron
from budgetron import BudgetronClassifier, TableEncoder
from budgetron.errors import BudgetronError
from budgetron.scoring import Scorer
from budgetron.spark import fleets, learn_fleet, score, train
from tests.engines.spark.session import session

N = 6000
RNG = np.random.default_rng(0)
FRAME = pandas.DataFrame(
    {
        "id": np.arange(N),
        "age": RNG.integers(18, 80, N),
        "pay": RNG.normal(size=N),
        "town": RNG.choice(["Rome", "Oslo", "Bern"], N),
        "user": [f"user {each}" for each in RNG.integers(0, 40, N)],
    }
)
FRAME["y"] = np.where((FRAME["age"] > 45) ^ (FRAME["pay"] > 0), "buys", "leaves")
FRAME["x"] = FRAME[["age", "pay"]].to_numpy(np.float64).tolist()
NUMERIC = ["age", "pay"]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    found = session(tmp_path_factory.mktemp("spark"))
    yield found
    found.stop()


@pytest.fixture(scope="module")
def table(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The rows, in three files that are read in their order."""
    folder = tmp_path_factory.mktemp("rows")
    for part in range(3):
        some = FRAME[part * 2000 : (part + 1) * 2000]
        some.to_parquet(folder / f"{part}.parquet", index=False)
    files = [spark.read.parquet(str(folder / f"{part}.parquet")) for part in range(3)]
    return files[0].union(files[1]).union(files[2])


def collected(frame: Any) -> pandas.DataFrame:
    return frame.toPandas().sort_values("id").reset_index(drop=True)


def test_a_table_is_scored_as_the_model_does(table: Any, tmp_path: Path) -> None:
    model = make_pipeline(TableEncoder(), BudgetronClassifier(budget=30))
    model.fit(FRAME[["age", "pay", "town"]][:2000], FRAME["y"][:2000])
    budgetron.save(model, tmp_path / "model.btn")
    scorer = Scorer(tmp_path / "model.btn", keep=["id", "user"], probabilities=True)
    found = collected(score(table, scorer))
    assert list(found) == ["id", "user", "prediction", "probability_buys", "probability_leaves"]
    assert (found["user"] == FRAME["user"]).all()
    assert (found["prediction"] == model.predict(FRAME)).all()
    assert (found["probability_leaves"] == model.predict_proba(FRAME)[:, 1]).all()
    with pytest.raises(BudgetronError, match="the table has no column 'town'; it has id, age"):
        score(table.drop("town"), scorer)


def test_one_model_learns_in_partitions(table: Any) -> None:
    """The same bits as the same pieces, learned and merged here."""
    model = budgetron.make("budgetron", budget=30)
    found = train(model, table, "y", features=NUMERIC, rounds=2, first=500)
    assert found.n_seen_ == N
    assert not hasattr(model, "classes_")  # it stays as it is
    X, y = FRAME[NUMERIC].astype(float), FRAME["y"].to_numpy(str)
    here: Any = pickle.loads(pickle.dumps(model)).partial_fit(X[:500], y[:500])
    for number in range(2):
        base = here.base()
        deltas = []
        for part, start in ((0, 500), (1, 2000), (2, 4000)):
            end = 2000 * (part + 1)
            low, high = (start + (end - start) * each // 2 for each in (number, number + 1))
            worker = base.snapshot().partial_fit(X[low:high], y[low:high])
            deltas.append(worker.delta(base, f"partition {part:06}"))
        here = budgetron.merge(base, deltas)
    assert (found.decision_function(X) == here.decision_function(X)).all()
    assert found.score(X, y) > 0.9


def test_training_says_what_is_wrong(table: Any) -> None:
    model = budgetron.make("budgetron", budget=30)
    with pytest.raises(BudgetronError, match="no column 'why'"):
        train(model, table, "why")
    with pytest.raises(BudgetronError, match="POMDR"):
        train(budgetron.make("pomdr", budget=30), table, "y", features="x")


def test_a_fleet_goes_on_with_what_it_has_learned(spark: Any, table: Any, tmp_path: Path) -> None:
    """Each bucket starts with its keys of a local fleet, and reports each row."""
    X, y = FRAME[NUMERIC].to_numpy(np.float64), FRAME["y"].to_numpy(str)
    fleet = budgetron.Fleet("forgetron", memory="2MB", classes=["buys", "leaves"], shared=20)
    fleet.learn(FRAME["user"][:2000], X[:2000], y[:2000])
    table.filter("id >= 2000").coalesce(1).write.parquet(str(tmp_path / "rows"))
    stream = spark.readStream.schema(table.schema).parquet(str(tmp_path / "rows"))
    names = {"key": "user", "sequence": "id", "label": "y", "features": "x"}
    told = learn_fleet(stream, fleet, buckets=3, output="rows", **names)
    frames = []
    query = told.writeStream.outputMode("update").trigger(availableNow=True)
    query = query.option("checkpointLocation", str(tmp_path / "checkpoint"))
    query.foreachBatch(
        lambda frame, number: frames.append(frame.toPandas())
    ).start().awaitTermination()
    found = pandas.concat(frames).sort_values("id")
    assert found["id"].tolist() == list(range(2000, N))
    learned = fleets(spark, tmp_path / "checkpoint")
    where = fleet.bucket_of(FRAME["user"], 3)
    for bucket in fleet.buckets(3):
        rows = np.flatnonzero((where == bucket.number) & (np.arange(N) >= 2000))
        mine = budgetron.Fleet.from_bytes(fleet.to_bytes(bucket))
        decisions = mine.prequential(FRAME["user"][rows], X[rows], y[rows])
        predicted = np.where(decisions >= 0, "leaves", "buys")
        assert (found.set_index("id")["prediction"][rows] == predicted).all()
        assert learned[bucket.number].to_bytes() == mine.to_bytes()
