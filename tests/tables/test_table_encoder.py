"""The encoder as a whole: order, chunks and libraries make no difference; with scikit-learn."""

from __future__ import annotations

import datetime
import json
import pickle
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from budgetron import BudgetronClassifier, BudgetronError, TableEncoder

# ---- tables of any kind ----------------------------------------------------------------------

WORD = st.text("abcXYZ éß,.'#=?-0123", max_size=6)
DAYS = st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1))
CELLS = st.sampled_from(
    [
        st.integers(-5, 5),
        st.integers(-(2**40), 2**40),
        st.floats(allow_nan=True, allow_infinity=True),
        st.booleans(),
        st.sampled_from(["yes", "no", "?", "TRUE"]),
        st.sampled_from(["red", "green", " red", "NA"]),
        WORD,
        st.lists(WORD, max_size=5).map(" ".join),
        st.floats(-1e6, 1e6).map(lambda x: f"{x:,.2f}"),
        st.floats(-1e6, 1e6).map(lambda x: f"{x:.2f}".replace(".", ",")),
        DAYS.map(lambda day: day.isoformat(" ", "seconds")),
        DAYS.map(lambda day: day.strftime("%d.%m.%Y")),
        DAYS.map(lambda day: day.replace(microsecond=0)),
    ]
)


@st.composite
def tables(draw: st.DrawFn) -> dict[str, list[Any]]:
    """Columns of one sort of cell each, with gaps."""
    rows = draw(st.integers(1, 30))
    columns = draw(st.lists(CELLS, min_size=1, max_size=4))
    made = {
        f"c{j}": draw(st.lists(st.none() | cells, min_size=rows, max_size=rows))
        for j, cells in enumerate(columns)
    }
    return made | {"n": [float(i % 4) for i in range(rows)]}


def arrow(table: dict[str, list[Any]]) -> pa.Table:
    return pa.table({name: pa.array(cells) for name, cells in table.items()})


def rows_of(table: dict[str, list[Any]], order: Any) -> dict[str, list[Any]]:
    return {name: [cells[i] for i in order] for name, cells in table.items()}


def fitted(table: Any, **params: Any) -> TableEncoder:
    say = {"n": "number"}
    return TableEncoder(types=say, max_categories=4, hash_width=16, **params).fit(table)


def assert_same(first: Any, second: Any) -> None:
    assert first.shape == second.shape
    np.testing.assert_array_equal(first.toarray(), second.toarray())


@settings(max_examples=60, deadline=None)
@given(tables(), st.booleans(), st.data())
def test_order_and_chunks_make_no_difference(
    table: dict[str, list[Any]], fill: bool, data: Any
) -> None:
    rows = len(table["n"])
    order = data.draw(st.permutations(range(rows)))
    cut = data.draw(st.integers(0, rows))
    encoder = fitted(arrow(table), fill_gaps=fill)
    other = fitted(arrow(rows_of(table, order)), fill_gaps=fill)
    assert other.to_dict() == encoder.to_dict()
    X = encoder.transform(arrow(table))
    assert X.has_canonical_format
    assert X.has_sorted_indices
    assert X.dtype == np.float64
    assert not (fill and np.isnan(X.data).any())
    assert_same(other.transform(arrow(rows_of(table, order))), X[list(order)])
    whole = arrow(table)
    for part, expected in ((whole.slice(0, cut), X[:cut]), (whole.slice(cut), X[cut:])):
        assert_same(encoder.transform(part), expected)
    pieces = pa.concat_tables([whole.slice(0, cut), whole.slice(cut)])
    assert_same(encoder.transform(pieces), X)


@settings(max_examples=60, deadline=None)
@given(tables(), st.integers(1, 40), st.integers(1, 7))
def test_chunks_of_partial_fit_make_no_difference(
    table: dict[str, list[Any]], infer: int, step: int
) -> None:
    rows = len(table["n"])
    infer = min(infer, rows)
    say = {"n": "number"}
    first = TableEncoder(types=say, infer_rows=infer, hash_width=16).partial_fit(arrow(table))
    parts = TableEncoder(types=say, infer_rows=infer, hash_width=16)
    for start in range(0, rows, step):
        parts.partial_fit(arrow(table).slice(start, step))
    assert parts.to_dict() == first.to_dict()
    fewer = TableEncoder(types=say, hash_width=16).fit(arrow(table).slice(0, infer))
    for mine, other in zip(first.columns_, fewer.columns_, strict=True):
        # a column that is constant in the first rows may vary later; `fit` has seen them all
        assert mine == other or (mine.kind, other.coding) == ("constant", None)
        assert mine.coding is not None or mine.kind == "id"


@settings(max_examples=60, deadline=None)
@given(tables())
def test_pandas_polars_arrow_and_dicts_agree(table: dict[str, list[Any]]) -> None:
    whole = arrow(table)
    encoder = fitted(whole)
    X = encoder.transform(whole)
    frames = [
        whole.to_pandas(),
        pandas.DataFrame(table),
        pandas.DataFrame({name: pandas.Series(c, dtype=object) for name, c in table.items()}),
        polars.from_arrow(whole),
        table,
        {name: np.array(cells, dtype=object) for name, cells in table.items()},
        whole.combine_chunks().to_batches()[0],
        np.array([table[name] for name in table], dtype=object).T,
    ]
    for frame in frames:
        assert_same(encoder.transform(frame), X)


@settings(max_examples=30, deadline=None)
@given(tables())
def test_as_data_and_back(table: dict[str, list[Any]]) -> None:
    encoder = fitted(arrow(table))
    for other in (
        TableEncoder.from_dict(json.loads(json.dumps(encoder.to_dict()))),
        pickle.loads(pickle.dumps(encoder)),
    ):
        assert other.to_dict() == encoder.to_dict()
        assert_same(other.transform(table), encoder.transform(table))
        assert other.get_params() == encoder.get_params()


@settings(max_examples=60, deadline=None)
@given(tables(), tables())
def test_any_rows_fit_any_encoder(
    first: dict[str, list[Any]], second: dict[str, list[Any]]
) -> None:
    """For any later cells the number of features stays, and one-hot features are 0 or 1."""
    encoder = fitted(arrow(first))
    rows = {name: second.get(name, [None] * len(second["n"])) for name in first}
    X = encoder.transform(rows)
    assert X.shape == (len(second["n"]), len(encoder.get_feature_names_out()))
    assert not np.isinf(X.data).any()
    assert sum(encoder.unparsed_.values()) <= len(first) * len(second["n"])


@pytest.mark.parametrize(
    "damage",
    [
        {"columns": None},
        {"columns": [{}]},
        {"columns": []},
        {"params": {"no_such": 1}},
        {"params": {"hash_width": -3}},
        {"params": None},
    ],
)
def test_damaged_data_is_refused(damage: Any) -> None:
    found = TableEncoder().fit({"town": ["Rome", "Oslo"]}).to_dict()
    with pytest.raises(BudgetronError):
        TableEncoder.from_dict(found | damage)
    del found["columns"][0]["coding"]["kind"]
    with pytest.raises(BudgetronError, match="is not valid"):
        TableEncoder.from_dict(found)


# ---- streams ---------------------------------------------------------------------------------


def test_before_enough_rows_it_says_how_many_there_are() -> None:
    encoder = TableEncoder(infer_rows=5).partial_fit({"n": [1, 2, 3]})
    with pytest.raises(NotFittedError, match="seen 3 of the 5 rows"):
        encoder.transform({"n": [1]})
    encoder.partial_fit({"n": [4, 5, 6]})
    assert encoder.transform({"n": [1]}).toarray().tolist() == [[1]]
    assert encoder.columns_[0].rows == 5
    encoder.partial_fit({"n": ["word"]})
    assert encoder.kinds_ == {"n": "number"}
    with pytest.raises(NotFittedError, match="not fitted yet"):
        TableEncoder().transform({"n": [1]})


def test_fit_starts_again() -> None:
    encoder = TableEncoder().fit({"n": [1, 2]})
    encoder.transform({"n": ["x"]})
    encoder.fit({"m": ["a", "b"]})
    assert encoder.kinds_ == {"m": "category"}
    assert encoder.unparsed_ == {}
    encoder.fit(np.ones((2, 2)) * [[1, 2], [3, 4]])
    assert not hasattr(encoder, "feature_names_in_")


def test_refused_rows_leave_it_as_it_was() -> None:
    encoder = TableEncoder(infer_rows=4).partial_fit({"n": [1, 2]})
    with pytest.raises(BudgetronError, match="column 'n' is missing"):
        encoder.partial_fit({"m": [1, 2]})
    encoder.partial_fit({"n": [1, 5]})
    assert encoder.columns_[0].distinct == 3


def test_columns_of_several_types_in_several_chunks() -> None:
    encoder = TableEncoder(infer_rows=4).partial_fit({"c": [1, 2]}).partial_fit({"c": ["a", "b"]})
    assert encoder.kinds_ == {"c": "category"}
    encoder = TableEncoder(infer_rows=4).partial_fit({"c": [None]}).partial_fit({"c": [1.5, 2, 3]})
    assert encoder.kinds_ == {"c": "number"}


# ---- scikit-learn ----------------------------------------------------------------------------


def people(rows: int = 300) -> tuple[pandas.DataFrame, Any]:
    random = np.random.default_rng(0)
    town = random.choice(["Rome", "Oslo", "Bern"], rows)
    age = random.integers(18, 80, rows)
    frame = pandas.DataFrame(
        {
            "age": age,
            "town": town,
            "member": random.choice(["yes", "no"], rows),
            "since": pandas.Timestamp("2024-01-01")
            + pandas.to_timedelta(random.integers(0, 700, rows), unit="D"),
        }
    )
    return frame, np.where((age > 40) ^ (town == "Oslo"), "buys", "leaves")


def test_a_raw_frame_goes_into_a_pipeline() -> None:
    frame, y = people()
    model = make_pipeline(TableEncoder(), BudgetronClassifier(budget=200, scale="auto"))
    assert model.fit(frame, y).score(frame, y) > 0.9
    expected = model.predict(frame)
    for other in (polars.from_pandas(frame), pa.Table.from_pandas(frame)):
        np.testing.assert_array_equal(model.predict(other), expected)
    assert cross_val_score(model, frame, y, cv=3).mean() > 0.75
    assert model[:-1].get_feature_names_out()[0] == "age"


@pytest.mark.parametrize("kind", [polars.Categorical, polars.Enum(["Oslo", "Rome", "Bern"])])
def test_categories_of_polars_are_words(kind: Any) -> None:
    words = polars.DataFrame({"town": ["Rome", None, "Oslo", "Rome"] * 20, "n": [1, 2, 3, 4] * 20})
    frame = words.with_columns(polars.col("town").cast(kind))
    encoder = fitted(frame)
    assert encoder.kinds_ == {"town": "category", "n": "number"}
    assert_same(encoder.transform(frame), fitted(words).transform(words))
    assert_same(fitted(words).transform(frame), fitted(words).transform(words))


def test_in_a_column_transformer() -> None:
    frame, _ = people()
    mixed = ColumnTransformer(
        [("scaled", StandardScaler(), ["age"]), ("coded", TableEncoder(), ["town", "since"])]
    )
    X = mixed.fit_transform(frame)
    assert X.shape == (300, len(mixed.get_feature_names_out()))
    assert "coded__town=Oslo" in mixed.get_feature_names_out()


def test_clone_keeps_parameters_alone() -> None:
    encoder = TableEncoder(types={"n": "category"}, categorical=["m"], decimal=",")
    copy = clone(encoder.fit({"n": [1, 2], "m": [1, 2]}))
    assert copy.get_params() == encoder.get_params()
    assert not hasattr(copy, "_encoding")
    assert "decimal=','" in repr(encoder)


def test_frames_are_not_changed() -> None:
    frame, _ = people(20)
    before = frame.copy()
    TableEncoder().fit_transform(frame)
    pandas.testing.assert_frame_equal(frame, before)


@parametrize_with_checks([TableEncoder()])
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def test_output_as_a_frame() -> None:
    words = {"n": [1, 2, 3, 4] * 20, "text": [f"some words {i} here" for i in range(80)]}
    plain = TableEncoder().fit(words)
    for library in ("pandas", "polars"):
        encoder = TableEncoder().set_output(transform=library)
        found = encoder.fit_transform(words)
        assert list(found.columns) == plain.get_feature_names_out().tolist()
        np.testing.assert_array_equal(found.to_numpy(), plain.transform(words).toarray())
