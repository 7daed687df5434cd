"""Frames with named columns: pandas, polars and Arrow, with columns in any order."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

import budgetron
from budgetron.estimators._base.frames import in_order
from tests.support.cases import BY_NAME, REGRESSION, Case, numeric_stream, same_state, stream
from tests.support.native import engine_of

NAMES = ["a", "b", "ä", "select"]  # the last is also a method of polars and Arrow
TURNED = ["ä", "select", "b", "a"]
FRAMES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "arrow": pa.Table.from_pandas,
    "sparse": lambda frame: frame.astype(pd.SparseDtype(float, 0.0)),
}
CASES = [BY_NAME["forgetron"], REGRESSION[0]]  # one classifier and one regressor
each_task = pytest.mark.parametrize("case", CASES, ids=lambda case: case.task)
each_frame = pytest.mark.parametrize("form", FRAMES.values(), ids=FRAMES)

pytestmark = pytest.mark.filterwarnings("error")


def rows(case: Case) -> tuple[pd.DataFrame, np.ndarray]:
    X, y = numeric_stream(90) if case.task == "regression" else stream(90, classes=3)
    return pd.DataFrame(X, columns=NAMES), y


def answers(model: Any, X: Any, y: np.ndarray) -> dict[str, Any]:
    """The answer of each method that takes rows."""
    names = ["predict", "decision_function", "predict_proba", "predict_log_proba"]
    said = {name: getattr(model, name)(X) for name in names if hasattr(model, name)}
    return said | {"score": model.score(X, y)}


@each_frame
@each_task
def test_columns_are_put_in_order(case: Case, form: Callable[[pd.DataFrame], Any]) -> None:
    frame, y = rows(case)
    model, turned = case.make().fit(form(frame), y), case.make().fit(form(frame), y)
    assert model.feature_names_in_.tolist() == NAMES
    if form is not FRAMES["sparse"]:
        same_state(model, case.make().fit(frame.to_numpy(), y))
    said = answers(model, form(frame), y)
    for name, value in answers(model, form(frame[TURNED]), y).items():
        np.testing.assert_array_equal(said[name], value, err_msg=name)
    same_state(
        model.partial_fit(form(frame), y),
        turned.partial_fit(form(frame[TURNED]), y),
    )
    np.testing.assert_array_equal(
        model.prequential(form(frame), y), turned.prequential(form(frame[TURNED]), y)
    )
    same_state(model, turned)
    assert turned.feature_names_in_.tolist() == NAMES


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_float32_stays_float32(kind: str) -> None:
    (frame, y), form = rows(CASES[0]), FRAMES[kind]
    for given, kept in (("float32", "float32"), ("float64", "float64"), ("int64", "float64")):
        model = CASES[0].make().fit(form((10 * frame).astype(given)), y)
        assert engine_of(model).dtype == kept
    mixed = form(frame.astype("float32").astype({"b": "float64"}))
    assert engine_of(CASES[0].make().fit(mixed, y)).dtype == "float64"


@each_task
def test_a_row_is_explained_by_its_names(case: Case) -> None:
    frame, y = rows(case)
    model = case.make().fit(frame, y)
    shares = model.explain(frame.iloc[[7]]).shares
    for row in (frame.iloc[7], frame.iloc[7][TURNED], frame[TURNED].iloc[[7]]):
        np.testing.assert_array_equal(model.explain(row).shares, shares)
    with pytest.raises(ValueError, match="missing 'a'"):
        model.explain(frame.iloc[7].drop("a"))


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        (["a", "b", "select"], "missing 'ä'"),
        ([*NAMES, "e\nf"], r"unknown 'e\\nf'"),
        (["a", "b", "ä", "Select"], "missing 'select'; unknown 'Select'"),
        ([f"x{j}" for j in range(7)], r"unknown 'x0', 'x1', 'x2', 'x3', 'x4' and 2 more$"),
    ],
)
@each_task
def test_other_columns_are_an_error_of_one_line(
    case: Case, columns: list[str], says: str, tmp_path: Path
) -> None:
    frame, y = rows(case)
    model = case.make().fit(frame, y)
    before = _bytes(model, tmp_path)
    other = pd.DataFrame(np.ones((90, len(columns))), columns=columns)
    calls = [model.predict, lambda X: model.score(X, y), lambda X: model.explain(X[:1])]
    calls += [lambda X: model.partial_fit(X, y), lambda X: model.prequential(X, y)]
    for call in calls:
        with pytest.raises(ValueError, match=says) as refused:
            call(other)
        assert type(model).__name__ in str(refused.value)
        assert "\n" not in str(refused.value)
    assert _bytes(model, tmp_path) == before


DAYS = pd.date_range("2020-01-31", periods=3)
WORDS = ", not a number: TableEncoder turns words and dates into numbers"


@pytest.mark.parametrize(
    ("column", "says"),
    [
        (["1", "Rome", "Oslo"], f"X has 'Rome' in row 1, column 'when'{WORDS}"),
        (pd.Categorical(["1", "2", "Rome"]), f"X has 'Rome' in row 2, column 'when'{WORDS}"),
        (DAYS, f"X has 2020-01-31 00:00:00 in row 0, column 'when'{WORDS}"),
        (
            DAYS.tz_localize("UTC"),
            f"X has 2020-01-31 00:00:00+00:00 in row 0, column 'when'{WORDS}",
        ),
        ([pd.NaT, *DAYS[1:]], f"X has 2020-02-01 00:00:00 in row 1, column 'when'{WORDS}"),
        (DAYS - DAYS[0], f"X has 0:00:00 in row 0, column 'when'{WORDS}"),
        ([1.0, np.nan, -np.inf], "X has infinity in row 2, column 'when': numbers must be finite"),
    ],
)
@each_task
def test_what_is_not_a_number_is_named_with_row_and_column(
    case: Case, column: Any, says: str
) -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "when": column})
    learned = case.make().fit(pd.DataFrame(np.eye(3)[:, :2], columns=list(frame)), [0, 1, 1])
    for model in (case.make(), learned):
        for call in (model.fit, model.partial_fit):
            with pytest.raises(budgetron.BudgetronError) as refused:
                call(frame, [0, 1, 1])
            assert str(refused.value) == says
    with pytest.raises(budgetron.BudgetronError) as refused:
        learned.predict(frame)
    assert str(refused.value) == says


@pytest.mark.parametrize("form", ["polars", "arrow"])
def test_words_and_infinity_are_named_in_every_frame(form: str) -> None:
    for value, says in (("x", f"'x' in row 1, column 'b'{WORDS}"), (np.inf, "infinity in row 1")):
        column = pd.Series(["1", value, "2"] if value == "x" else [1.0, value, 2.0])
        frame = FRAMES[form](pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": column}))
        with pytest.raises(budgetron.BudgetronError, match=f"^X has {says}"):
            CASES[0].make().fit(frame, [0, 1, 1])
    dated = pa.table({"a": [1.0, 2.0, 3.0], "b": pa.array(DAYS)})
    with pytest.raises(budgetron.BudgetronError, match="in row 0, column 'b', not a number"):
        CASES[0].make().fit(dated, [0, 1, 1])


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array, np.ndarray.tolist])
def test_infinity_is_named_in_every_form_of_rows(form: Callable[[np.ndarray], Any]) -> None:
    X = np.ones((3, 4))
    model = CASES[0].make().fit(X.astype(np.float32), [0, 1, 1])
    X[2, 1] = 1e39
    what = r"^X has 1e\+39 in row 2, column 1 \(from 0\), which is too large for float32: scale"
    with pytest.raises(budgetron.BudgetronError, match=what):
        model.predict(form(X))
    X[2, 1] = np.inf
    what = r"^X has infinity in row 2, column 1 \(from 0\): numbers must be finite$"
    for call in (model.partial_fit, CASES[0].make().fit):
        with pytest.raises(budgetron.BudgetronError, match=what):
            call(form(X), [0, 1, 1])


def test_columns_of_one_name_are_refused() -> None:
    frame = pd.DataFrame(np.eye(3), columns=["a", "b", "c"])
    model = budgetron.PerceptronClassifier().fit(frame, [0, 1, 2])
    for columns in (["a", "b", "a"], ["c", "b", "b"]):
        with pytest.raises(ValueError, match=r"'[ab]'"):
            model.predict(frame.set_axis(columns, axis=1))


@each_task
def test_only_one_of_frame_and_model_named_is_a_warning(case: Case) -> None:
    frame, y = rows(case)
    X = frame.to_numpy()
    named, plain = case.make().fit(frame, y), case.make().fit(X, y)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        said = named.predict(X)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        named.predict(pd.DataFrame(X))  # whose columns are numbers
    with pytest.warns(UserWarning, match="X has feature names, but"):
        np.testing.assert_array_equal(plain.predict(frame), said)
    assert not hasattr(plain, "feature_names_in_")
    assert not hasattr(named.fit(X, y), "feature_names_in_")  # learned again


@each_task
def test_a_file_keeps_the_names(case: Case, tmp_path: Path) -> None:
    frame, y = rows(case)
    model = case.make().partial_fit(frame, y)
    budgetron.save(model, tmp_path / "model.btn")
    loaded = budgetron.load(tmp_path / "model.btn")
    same_state(loaded.partial_fit(frame[TURNED], y), model.partial_fit(frame, y))
    with pytest.raises(ValueError, match="missing 'a'"):
        loaded.predict(frame.drop(columns="a"))
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        loaded.predict(frame.to_numpy())


def test_a_model_whose_names_are_no_names_is_not_saved(tmp_path: Path) -> None:
    frame, y = rows(CASES[0])
    model = CASES[0].make().fit(frame, y)
    for names in ([1, 2, 3, 4], ["a", "b", "c"]):
        model.feature_names_in_ = np.array(names, dtype=object)
        with pytest.raises(budgetron.ModelFileError, match="feature_names_in_"):
            budgetron.save(model, tmp_path / "model.btn")
        assert not list(tmp_path.iterdir())


@each_task
def test_named_columns_do_not_grow(case: Case) -> None:
    """A stream whose width grows has no names; a model that has them keeps its width."""
    frame, y = rows(case)
    model = case.make()
    model._prequential_growing(frame, y)
    with pytest.raises(ValueError, match="unknown 'e'"):
        model._prequential_growing(frame.assign(e=1.0), y)
    with (
        pytest.warns(UserWarning, match="X does not have valid feature names"),
        pytest.raises(ValueError, match="X has 5 features"),
    ):
        model._prequential_growing(np.ones((90, 5)), y)


def test_arrays_are_not_looked_at() -> None:
    X = np.ones((2, 2))
    assert in_order(X, np.array(["a", "b"], dtype=object), "a model") is X
    frame = pd.DataFrame(X, columns=["a", "b"])
    assert in_order(frame, None, "a model") is frame
    assert in_order(frame, np.array(["a", "b"], dtype=object), "a model") is frame


def _bytes(model: Any, folder: Path) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        budgetron.save(model, folder / "model.btn")
    return (folder / "model.btn").read_bytes()


def test_two_columns_of_one_name_are_an_error_of_one_line() -> None:
    frame = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=["a", "b"])
    model = budgetron.make("rbp").fit(frame, [0, 1])
    twice = pd.DataFrame([[1.0, 2.0]], columns=["a", "a"])
    for call in (model.predict, lambda rows: budgetron.make("rbp").fit(rows, [0])):
        with pytest.raises(ValueError, match=r"^X: .*unique column names.*'a'[^\n]*$"):
            call(twice)


def test_a_lazy_frame_is_one_line() -> None:
    lazy = pl.DataFrame({"a": [0.0, 1.0, 2.0]}).lazy()
    model = budgetron.BudgetronClassifier()
    for ask in (
        lambda: model.fit(lazy, [0, 1, 1]),
        lambda: model.partial_fit(lazy, [0, 1, 1]),
        lambda: model.fit(lazy.collect(), [0, 1, 1]).predict(lazy),
    ):
        with pytest.raises(TypeError, match=r"^a LazyFrame has no rows yet: .*\.collect\(\)"):
            ask()
