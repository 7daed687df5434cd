"""`budgetron.explain`: which columns changed a decision, and the stored examples behind it."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import FeatureHasher
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import budgetron
from budgetron import BudgetronClassifier, BudgetronRegressor, TableEncoder
from tests.support.cases import BY_NAME

ROWS = 400


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    random = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": np.where(random.random(ROWS) < 0.1, np.nan, random.integers(18, 80, ROWS)),
            "town": random.choice(["Rome", "Oslo", "Bern", None], ROWS),
            "member": random.choice(["yes", "no"], ROWS),
            "visit": np.datetime64("2024-01-01T00:00") + random.integers(0, 500_000, ROWS),
        }
    )


@pytest.fixture(scope="module")
def y(frame: pd.DataFrame) -> np.ndarray:
    return np.where(frame["age"].fillna(40) > 45, "buys", "leaves")


def held(frame: pd.DataFrame, row: int) -> dict[str, Any]:
    """A row in the form in which its stored example should be shown."""
    age, town, member, visit = frame.iloc[row].tolist()
    return {
        "age": age,
        "town": town if isinstance(town, str) else None,
        "member": member == "yes",
        "visit": f"{visit:%Y-%m-%d %H:%M}",
    }


@pytest.mark.parametrize("kind", [lambda X: X, pl.from_pandas, pa.Table.from_pandas])
def test_frames_of_all_libraries_are_explained_alike(
    kind: Any, frame: pd.DataFrame, y: np.ndarray
) -> None:
    rows = kind(frame)
    model = make_pipeline(TableEncoder(), BudgetronClassifier(budget=200)).fit(rows, y)
    plain = make_pipeline(TableEncoder(), BudgetronClassifier(budget=200)).fit(frame, y)
    np.testing.assert_array_equal(model.predict_proba(rows), plain.predict_proba(frame))
    reasons = budgetron.explain(model, rows[:3])
    wanted = budgetron.explain(plain, frame[:3])
    for reason, other in zip(reasons, wanted, strict=True):
        assert [each.column for each in reason.moves] == [each.column for each in other.moves]
        assert [each.change for each in reason.moves] == [each.change for each in other.moves]
        assert reason.examples == other.examples
    assert [each.prediction for each in reasons] == model.predict(rows)[:3].tolist()


def test_the_column_that_decides_is_the_first(frame: pd.DataFrame, y: np.ndarray) -> None:
    model = make_pipeline(TableEncoder(), BudgetronClassifier(budget=200)).fit(frame, y)
    far = frame[(frame["age"] - 45).abs() > 15]
    first = [reason.moves[0].column for reason in budgetron.explain(model, far[:50])]
    assert first.count("age") >= 45


def test_a_change_is_that_of_f_with_the_column_at_its_mean() -> None:
    """All features of a column together; for a model with gaps, as if the column were missing."""
    random = np.random.default_rng(1)
    frame = {"a": random.normal(size=ROWS), "b": random.choice(["x", "y", "z"], ROWS)}
    y = (frame["a"] > 0) ^ (frame["b"] == "x")
    model = make_pipeline(TableEncoder(), BudgetronClassifier(budget=30)).fit(frame, y)
    X = model[0].transform({"a": frame["a"][:1], "b": frame["b"][:1]}).toarray()
    [reason] = budgetron.explain(model, {"a": frame["a"][:1], "b": frame["b"][:1]})
    without = np.repeat(X, 3, axis=0)
    without[1, 0] = np.nan
    without[2, 1:] = np.nan
    f = model[-1].decision_function(scipy.sparse.csr_array(without))
    sign = 1 if reason.prediction else -1
    changes = {each.column: each.change for each in reason.moves}
    assert reason.decision == pytest.approx(sign * f[0])
    assert changes["a"] == pytest.approx(sign * (f[0] - f[1]))
    assert changes["b"] == pytest.approx(sign * (f[0] - f[2]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_stored_examples_are_shown_in_the_units_of_the_rows(
    dtype: type, frame: pd.DataFrame, y: np.ndarray
) -> None:
    encoder = TableEncoder().fit(frame)
    X = encoder.transform(frame).astype(dtype)
    model = BudgetronClassifier(budget=60, missing="flag").partial_fit(X, y)
    pipeline = make_pipeline(encoder, model)
    compared = 0
    for reason in budgetron.explain(pipeline, frame[-20:], examples=5):
        assert len(reason.examples) == 5
        for example in reason.examples:
            wanted = held(frame, example.round)
            if np.isnan(wanted["age"]):
                wanted["age"] = None
            assert example.values == wanted
            compared += 1
        shares = [abs(each.share) for each in reason.examples]
        assert shares == sorted(shares, reverse=True)
    assert compared == 100


@pytest.mark.parametrize(("scale", "exact"), [("auto", True), (None, True), ("standard", False)])
def test_numbers_are_in_the_units_of_the_rows(scale: str | None, exact: bool) -> None:
    random = np.random.default_rng(2)
    X = random.normal(size=(ROWS, 3)) * [1, 100, 3] + [0, 500, 7]
    model = BY_NAME["ahpatron"].make(budget=20, scale=scale, gamma="median")
    model.partial_fit(X, X[:, 0] > 0)
    [reason] = budgetron.explain(model, X[5])
    for example in reason.examples:
        values = list(example.values.values())
        np.testing.assert_allclose(values, X[example.round], rtol=1e-9 if exact else 0.5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_zero_is_shown_as_zero(dtype: type) -> None:
    """Scaled and back it is not exact: (0 - c)/s s + c is off by rounding."""
    X = np.random.default_rng(2).normal(size=(ROWS, 2)) * [1, 20] + [3, 7]
    X[::2, 1] = 0
    X = X.astype(dtype)
    model = BudgetronClassifier(budget=50).partial_fit(X, X[:, 0] > 3)
    told = budgetron.explain(model, X[:20], examples=20)
    values = {
        each.values["x1"] for reason in told for each in reason.examples if each.round % 2 == 0
    }
    assert values == {0.0}


def test_means_where_rows_stay_as_they_come() -> None:
    """Only for stored examples: no others are kept."""
    X = np.random.default_rng(3).normal(size=(200, 2)) + 5
    model = BY_NAME["rbp"].make(budget=10, scale=None, gamma=1.0).fit(X, X[:, 0] > 5)
    [reason] = budgetron.explain(model, X[:1])
    other = X[:1].copy()
    other[0, 1] = model.support_vectors_[:, 1].mean()
    f = model.decision_function(np.vstack([X[:1], other]))
    change = {each.column: each.changes[0] for each in reason.moves}["x1"]
    assert change == pytest.approx(f[0] - f[1])


def test_several_classes_and_regression(frame: pd.DataFrame) -> None:
    age = frame["age"].fillna(50)
    three = np.where(age > 60, "old", np.where(age > 35, "middle", "young"))
    model = make_pipeline(TableEncoder(), BudgetronClassifier(budget=60)).fit(frame, three)
    for reason in budgetron.explain(model, frame[:5]):
        f = dict(zip(model.classes_, model.decision_function(frame[:5])[reason.row], strict=True))
        assert reason.decision == pytest.approx(f[reason.prediction] - f[reason.against])
        assert reason.against == sorted(f, key=f.__getitem__)[-2]
        assert all(len(each.changes) == 3 for each in reason.moves)
    model = make_pipeline(TableEncoder(), BudgetronRegressor(budget=60)).fit(frame, age)
    [reason] = budgetron.explain(model, frame[3:4])
    assert reason.prediction == reason.decision == pytest.approx(model.predict(frame[3:4])[0])
    assert (reason.probability, reason.against) == (None, None)
    changes = {each.column: each.change for each in reason.moves}
    assert changes == {each.column: each.changes[0] for each in reason.moves}
    assert str(reason).startswith(f"row 0: {reason.prediction:.6g}\n")


def columns() -> ColumnTransformer:
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    words = OneHotEncoder(min_frequency=10, handle_unknown="infrequent_if_exist")
    return ColumnTransformer(
        [("n", numbers, ["age"]), ("w", words, ["town", "member"]), ("d", "drop", ["visit"])]
    )


def test_columns_behind_transformers_of_scikit_learn(frame: pd.DataFrame, y: np.ndarray) -> None:
    encoder = columns().fit(frame)
    model = BudgetronClassifier(budget=60).partial_fit(encoder.transform(frame), y)
    for reason in budgetron.explain(make_pipeline(encoder, model), frame[:10]):
        assert {each.column for each in reason.moves} == {"age", "town", "member"}
        for example in reason.examples:
            row = frame.iloc[example.round]
            assert example.values["town"] == (row["town"] if isinstance(row["town"], str) else None)
            assert example.values["member"] == row["member"]
            age = example.values["age"]
            assert (age is None) if np.isnan(row["age"]) else age == pytest.approx(row["age"])


@pytest.mark.parametrize(
    ("encoder", "town"),
    [
        (OrdinalEncoder(encoded_missing_value=-1), None),
        (OneHotEncoder(drop="first"), None),
        (OneHotEncoder(min_frequency=0.3, handle_unknown="infrequent_if_exist"), "(rare)"),
        (make_pipeline(OneHotEncoder(), StandardScaler(with_mean=False), "passthrough"), None),
    ],
)
def test_categories_come_back(encoder: Any, town: Any, frame: pd.DataFrame, y: np.ndarray) -> None:
    words = frame[["town", "member"]]
    encoder.fit(words)
    model = BudgetronClassifier(budget=30).partial_fit(encoder.transform(words), y)
    for example in budgetron.explain(make_pipeline(encoder, model), words[:1], examples=9)[
        0
    ].examples:
        was = words.iloc[example.round]
        if town == "(rare)":
            assert example.values["town"] in ("(rare)", was["town"])
        elif isinstance(encoder, OneHotEncoder | OrdinalEncoder):
            assert example.values["town"] == (was["town"] if isinstance(was["town"], str) else None)
            assert example.values["member"] == was["member"]


def test_steps_that_are_not_known_and_hashes(frame: pd.DataFrame, y: np.ndarray) -> None:
    numbers = frame[["age"]].fillna(0).assign(more=1.0 * np.arange(ROWS) % 7)
    model = make_pipeline(StandardScaler(), PCA(2), BudgetronClassifier(budget=20)).fit(numbers, y)
    [reason] = budgetron.explain(model, numbers[:1])
    assert {each.column for each in reason.moves} == {"pca0", "pca1"}
    rows = [[f"w{i % 7}", f"v{i % 3}"] for i in range(60)]
    hashed = make_pipeline(
        FeatureHasher(16, input_type="string"), BudgetronClassifier(budget=10)
    ).fit(rows, [i % 7 > 2 for i in range(60)])
    [reason] = budgetron.explain(hashed, rows[:1])
    assert len(reason.moves) == 1


def test_names_of_features_rows_of_a_frame_and_sparse_rows(
    frame: pd.DataFrame, y: np.ndarray
) -> None:
    numbers = frame[["age"]].fillna(0).assign(other=1.0)
    model = BudgetronClassifier(budget=20).fit(numbers, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one, row, array = (
            budgetron.explain(model, each) for each in (numbers[3:4], numbers.iloc[3], numbers)
        )
    assert [each.column for each in one[0].moves] == ["age", "other"]
    assert one.to_dicts()[0]["examples"] == row.to_dicts()[0]["examples"]
    assert len(array) == ROWS
    wide = scipy.sparse.random_array((100, 5000), density=0.01, rng=np.random.default_rng(0))
    sparse = BudgetronClassifier(budget=20).fit(scipy.sparse.csr_array(wide), np.arange(100) % 2)
    [reason] = budgetron.explain(sparse, scipy.sparse.csr_array(wide)[[0]])
    assert {each.column for each in reason.moves} == {
        f"x{j}" for j in scipy.sparse.csr_array(wide)[[0]].indices
    }


def test_a_dict_of_values_is_a_row(frame: pd.DataFrame, y: np.ndarray) -> None:
    model = make_pipeline(TableEncoder(), BudgetronClassifier(budget=20)).fit(frame, y)
    one, several = (budgetron.explain(model, x) for x in (frame.iloc[3].to_dict(), frame[3:4]))
    assert one.to_dicts()[0]["examples"] == several.to_dicts()[0]["examples"]
    assert [each.change for each in one[0].moves] == [each.change for each in several[0].moves]


def test_a_learner_without_examples_and_models_that_are_none(y: np.ndarray) -> None:
    X = np.random.default_rng(0).normal(size=(ROWS, 2))
    [reason] = budgetron.explain(budgetron.make("fogd").fit(X, y), X[0])
    assert (reason.examples, reason.n_examples, len(reason.moves)) == ([], 0, 2)
    with pytest.raises(ValueError, match="LogisticRegression is not an estimator of budgetron"):
        budgetron.explain(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y), X)
    with pytest.raises(NotFittedError):
        budgetron.explain(BudgetronClassifier(), X)
    with pytest.raises(ValueError, match="features"):
        budgetron.explain(BudgetronClassifier(budget=5).fit(X, y), X[:, :1])


def test_one_class_and_one_row() -> None:
    model = BudgetronClassifier(budget=5).partial_fit([[1.0, 2.0]], ["only"])
    [reason] = budgetron.explain(model, [[1.0, 2.0]])
    assert (reason.prediction, reason.against) == ("only", None)
    assert np.isfinite([each.change for each in reason.moves]).all()


def test_the_table_fits_80_characters(frame: pd.DataFrame, y: np.ndarray) -> None:
    long = frame.rename(columns={"age": "a" * 60, "town": "how the town\x1b[2J is called"})
    long.iloc[0, 1] = "x" * 300
    many = {f"column number {j}": np.arange(ROWS) * 1e-300 * j for j in range(20)}
    long = pd.concat([long, pd.DataFrame(many)], axis=1)
    model = make_pipeline(TableEncoder(), BudgetronClassifier(budget=20)).fit(long, y)
    text = str(budgetron.explain(model, long[:3], examples=7))
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    assert "more columns moved it less" in text
    assert "more stored examples have smaller shares" in text
    with pytest.raises(ValueError, match="0 sample"):
        budgetron.explain(model, long[:0])
    model = BudgetronClassifier(budget=3).fit(np.eye(4) * 1e-30, ["a" * 99, "b" * 99] * 2)
    assert max(map(len, str(budgetron.explain(model, np.eye(4))).splitlines())) <= 80


def test_plain_data(frame: pd.DataFrame, y: np.ndarray) -> None:
    model = make_pipeline(TableEncoder(), BudgetronClassifier(budget=20)).fit(frame, y)
    [found] = json.loads(json.dumps(budgetron.explain(model, frame[7:8]).to_dicts()))
    assert found.keys() == {
        *("row", "prediction", "probability", "decision", "against", "columns", "examples"),
        "n_examples",
        "constant",
    }
    assert found["columns"][0].keys() == {"column", "value", "change", "changes", "share", "shares"}
    assert found["n_examples"] == 20


@pytest.mark.parametrize("missing", ["mean", "flag"])
@pytest.mark.parametrize("kind", ["two classes", "three classes", "regression", "no straight part"])
def test_all_shares_and_the_constant_sum_to_f(kind: str, missing: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4)) * [1.0, 100.0, 0.1, 1.0] + [0.0, 30.0, 0.0, 0.0]
    X[rng.random(X.shape) < 0.1] = np.nan
    score = np.nan_to_num(X) @ [1.0, 0.01, 3.0, 0.0]
    y = score + 1e3 if kind == "regression" else np.digitize(score, [0.0, 1.5])
    y = np.minimum(y, 1) if kind in ("two classes", "no straight part") else y
    task = "regression" if kind == "regression" else "classification"
    straight = "none" if kind == "no straight part" else "auto"
    made = {"budget": 20, "missing": missing, "straight": straight}
    model = budgetron.make("budgetron", task=task, **made).partial_fit(X, y)
    for reason in budgetron.explain(model, X[:40], examples=20):
        columns = sum(each.share for each in reason.moves)
        total = columns + sum(each.share for each in reason.examples) + reason.constant
        np.testing.assert_allclose(total, reason.decision, rtol=1e-9, atol=1e-9)
        assert (columns != 0) == (straight == "auto")
        assert ("straight part" in str(reason)) == (straight == "auto")
        outputs = np.sum([each.shares for each in reason.moves], axis=0)
        assert outputs.shape == (3 if kind == "three classes" else 1,)


@pytest.mark.parametrize("rows", ["one dict", "dicts", "frame"])
def test_models_of_river(frame: pd.DataFrame, y: np.ndarray, rows: str) -> None:
    from river import compose

    from budgetron import river

    table = frame.astype({"town": object}).to_dict("records")
    model = compose.Pipeline(river.TableEncoder(infer_rows=100), river.BudgetronClassifier())
    plain = river.BudgetronClassifier()
    for row, label in zip(table, y.tolist(), strict=True):
        model.learn_one(row, label)
        plain.learn_one({"a": row["visit"].hour, "b": 1.0}, label)
    asked: Any = {"one dict": table[3], "dicts": table[3:5], "frame": frame[3:5]}[rows]
    found = budgetron.explain(model, asked)
    for reason, row in zip(found, table[3:5], strict=False):
        assert reason.prediction == model.predict_one(row)
        assert {move.column for move in reason.moves} == {"age", "town", "member", "visit"}
        told = {move.column: move.value for move in reason.moves}
        assert told["town"] == (row["town"] if isinstance(row["town"], str) else None)
        assert reason.examples[0].values.keys() == told.keys()
    [reason] = budgetron.explain(plain, {"a": 3.0, "b": 1.0, "never": 7.0})
    assert {move.column for move in reason.moves} == {"a", "b"}
    with pytest.raises(NotFittedError):
        budgetron.explain(river.BudgetronClassifier(), {"a": 1.0})


def test_a_date_far_from_the_others_is_no_gap() -> None:
    random = np.random.default_rng(0)
    days = np.datetime64("2024-03-01") + random.integers(0, 20, 1500)
    late = np.arange(1500) % 50 == 0
    days[late] = np.datetime64("2024-09-01") + random.integers(0, 90, late.sum())
    gap = np.arange(1500) % 37 == 1
    x = random.normal(size=1500)
    frame = pd.DataFrame({"day": np.where(gap, None, days.astype(str)), "x": x})
    learner = BudgetronClassifier(budget=60, shuffle=False)
    model = make_pipeline(TableEncoder(), learner).fit(frame, (x > 0) ^ late)
    kept = {
        example.round: example.values["day"]
        for reason in budgetron.explain(model, frame[:5], examples=60)
        for example in reason.examples
    }
    assert any(late[at] for at in kept)
    assert [at for at, day in kept.items() if (day is None) != gap[at]] == []


def test_wide_characters_stand_in_line() -> None:
    from rich.cells import cell_len

    towns = ["\u6771\u4eac", "Oslo", "\u5317\u4eac\u5e02\u671d\u9633\u533a\u5efa\u56fd\u8def"] * 40
    frame = pd.DataFrame({"\u753a": towns, "n": np.arange(120.0)})
    model = make_pipeline(TableEncoder(), BudgetronClassifier()).fit(frame, np.arange(120) % 3 > 0)
    for row in (0, 2):
        _, *table = str(budgetron.explain(model, frame[row : row + 1])[0]).splitlines()
        ends = {cell_len(line) for line in table[:2]}
        assert len(ends) == 1, table
        assert max(ends) <= 80
