"""The River transformer gives the features of the scikit-learn transformer, row by row."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import river.checks
from hypothesis import given, settings
from hypothesis import strategies as st
from river import compose

from budgetron import BudgetronError
from budgetron import TableEncoder as BatchEncoder
from budgetron.river import BudgetronClassifier, TableEncoder
from tests.tables.test_table_encoder import arrow, people, tables


def dicts(table: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def as_dict(names: Any, row: Any) -> dict[str, float]:
    """The features of a dense row that are not 0."""
    return {name: value for name, value in zip(names, row, strict=True) if value != 0}


@settings(max_examples=30, deadline=None)
@given(tables(), st.integers(1, 30))
def test_features_are_those_of_the_batch(table: dict[str, list[Any]], infer: int) -> None:
    infer = min(infer, len(table["n"]))
    params: dict[str, Any] = {"types": {"n": "number"}, "infer_rows": infer, "hash_width": 16}
    batch = BatchEncoder(**params).partial_fit(arrow(table))
    X = batch.transform(arrow(table)).toarray()
    names = batch.get_feature_names_out()
    encoder = TableEncoder(**params)
    for row in dicts(table):
        encoder.learn_one(row)
    assert encoder.kinds_ == batch.kinds_
    for _ in range(2):  # the second time looked up
        for row, expected in zip(dicts(table), X, strict=True):
            found = encoder.transform_one(row)
            want = as_dict(names, expected)
            assert list(found) == list(want)
            np.testing.assert_array_equal([*found.values()], [*want.values()])
    assert encoder.unparsed_ == {name: 2 * n for name, n in batch.unparsed_.items()}


def test_there_are_features_from_the_first_row_on() -> None:
    encoder = TableEncoder(infer_rows=4)
    assert encoder.transform_one({"a": 1}) == {}
    for i, town in enumerate(["Rome", "Oslo", "Rome", "Bern"]):
        encoder.learn_one({"age": i, "town": town})
        assert encoder.transform_one({"age": 7, "town": town})["age"] == 7
    assert encoder.transform_one({"town": "Bern"}).keys() == {"age", "town=Bern"}
    assert np.isnan(encoder.transform_one({})["age"])
    encoder.learn_one({"age": "x", "town": "x", "new": 1})
    assert encoder.kinds_ == {"age": "number", "town": "category"}


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("budgetron.tables.cells.KEPT", 100)
    encoder = TableEncoder(infer_rows=10)
    for i in range(10):
        encoder.learn_one({"c": f"word {i % 3}", "n": i % 4})
    for i in range(1000):
        encoder.transform_one({"c": f"word {i}"})
    assert encoder._cells is not None
    assert 0 < len(encoder._cells) <= 101
    assert encoder._rows == []


def test_bad_rows() -> None:
    strict = TableEncoder(infer_rows=2, strict=True)
    for n in ("1", "2"):
        strict.learn_one({"n": n})
    with pytest.raises(BudgetronError, match="column 'n' holds 'x', not a number"):
        strict.transform_one({"n": "x"})
    same = TableEncoder(infer_rows=2)
    same.learn_one({"n": 1})
    same.learn_one({"n": 1})
    assert same.kinds_ == {"n": "constant"}
    assert same.transform_one({"n": 7}) == {"n": 7.0}  # it may vary later
    with pytest.raises(BudgetronError, match="no column is left"):
        TableEncoder(infer_rows=1, ignore=["n"]).learn_one({"n": 1})
    with pytest.raises(BudgetronError, match="decimal"):
        TableEncoder(decimal=";")


def test_names_that_are_no_text() -> None:
    encoder = TableEncoder(infer_rows=2)
    encoder.learn_one({1: 5.0})
    encoder.learn_one({1: 6.0})
    assert encoder.transform_one({1: 7.0}) == {"1": 7.0}


def test_in_a_pipeline() -> None:
    frame, y = people(600)
    model = compose.Pipeline(
        TableEncoder(infer_rows=100), BudgetronClassifier(budget=100, scale="auto")
    )
    right = []
    for row, label in zip(frame.to_dict("records"), y, strict=True):
        right.append(model.predict_one(row) == label)
        model.learn_one(row, label)
    assert np.mean(right[300:]) > 0.75
    copy = pickle.loads(pickle.dumps(model))
    row = frame.iloc[0].to_dict()
    assert copy.predict_proba_one(row) == model.predict_proba_one(row)


def test_rivers_checks() -> None:
    river.checks.check_estimator(TableEncoder())
