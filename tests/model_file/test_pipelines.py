"""Pipelines in model files: loading gives what was saved, as data, or a one-line error."""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save_file
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.feature_extraction import FeatureHasher
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

import budgetron
from budgetron import (
    BudgetronClassifier,
    BudgetronRegressor,
    ModelFileError,
    TableEncoder,
    model_file,
)
from budgetron.model_file import read_header, to_bytes

ROWS = 300


@pytest.fixture
def frame() -> pd.DataFrame:
    random = np.random.default_rng(0)
    numbers = random.normal(size=ROWS)
    return pd.DataFrame(
        {
            "age": np.where(random.random(ROWS) < 0.1, np.nan, 40 + 10 * numbers),
            "town": random.choice(["Rome", "Oslo", "Bern", "Ulm", None], ROWS),
            "kids": random.integers(0, 4, ROWS),
            "member": random.random(ROWS) < 0.5,
            "since": np.datetime64("2024-01-01") + random.integers(0, 300, ROWS),
        }
    )


@pytest.fixture
def y(frame: pd.DataFrame) -> np.ndarray:
    return np.where((frame["age"].fillna(40) > 40) ^ (frame["kids"] > 1), "buys", "leaves")


def columns() -> ColumnTransformer:
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    words = OneHotEncoder(min_frequency=60, handle_unknown="infrequent_if_exist")
    return ColumnTransformer(
        [("n", numbers, ["age"]), ("w", words, ["town", "kids"]), ("d", "drop", ["since"])],
        remainder="passthrough",
    )


ENCODERS = {
    "TableEncoder": TableEncoder(),
    "columns": columns(),
    "ordinal": ColumnTransformer(
        [("o", OrdinalEncoder(encoded_missing_value=-1), ["town", "member"])],
        remainder=SimpleImputer(strategy="median"),
    ),
    "slices and numbers": ColumnTransformer(
        [("a", StandardScaler(), slice("age", "age")), ("b", OneHotEncoder(drop="first"), [1, 2])]
    ),
    "in float32": OneHotEncoder(drop="if_binary", dtype=np.float32, sparse_output=False),
    "categories": OneHotEncoder(
        categories=[
            np.array([20.0, 60.0]),
            np.array(["Bern", "Oslo", "Rome"]),
            [0, 1, 2, 3],
            [False, True],
        ],
        handle_unknown="ignore",
    ),
    "two encoders": ColumnTransformer(
        [("t", TableEncoder(), ["town", "since"]), ("u", TableEncoder(), ["age", "kids"])],
        verbose_feature_names_out=False,
        transformer_weights={"t": 2.0},
    ),
    "most frequent": make_pipeline(
        ColumnTransformer([("m", SimpleImputer(strategy="most_frequent"), ["town", "kids"])]),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan),
        "passthrough",
    ),
}


@pytest.mark.parametrize("name", ENCODERS)
def test_a_loaded_pipeline_goes_on_to_the_bit(
    name: str, frame: pd.DataFrame, y: np.ndarray, tmp_path: Path
) -> None:
    if name in ("categories", "in float32", "ordinal"):
        frame = frame.drop(columns="since")
    if name == "slices and numbers":
        frame = frame.assign(age=frame["age"].fillna(0))
    pipeline = make_pipeline(ENCODERS[name], BudgetronClassifier(budget=40)).fit(frame, y)
    budgetron.save(pipeline, tmp_path / "model.btn")
    loaded = budgetron.load(tmp_path / "model.btn")
    assert type(loaded) is Pipeline
    assert to_bytes(loaded) == to_bytes(pipeline)
    assert [step for step, _ in loaded.steps] == [step for step, _ in pipeline.steps]
    for each in (pipeline, loaded):
        each[-1].partial_fit(each[:-1].transform(frame[:90]), y[:90])
    np.testing.assert_array_equal(
        loaded.decision_function(frame), pipeline.decision_function(frame)
    )
    np.testing.assert_array_equal(loaded.predict_proba(frame), pipeline.predict_proba(frame))
    assert to_bytes(loaded) == to_bytes(pipeline)
    assert loaded.classes_.tolist() == ["buys", "leaves"]
    assert loaded.feature_names_in_.tolist() == list(frame.columns)
    assert repr(loaded) == repr(pipeline)
    np.testing.assert_array_equal(
        loaded[:-1].get_feature_names_out(), pipeline[:-1].get_feature_names_out()
    )
    loaded.fit(frame, y)  # by its parameters alone


def test_regression_names_of_steps_and_parameters(frame: pd.DataFrame, tmp_path: Path) -> None:
    pipeline = Pipeline(
        [("table", TableEncoder(max_categories=2)), ("learn", BudgetronRegressor(budget=30))],
        verbose=True,
    ).fit(frame, frame["kids"])
    budgetron.save(pipeline, tmp_path / "model.btn")
    loaded = budgetron.load(tmp_path / "model.btn")
    assert (loaded.verbose, loaded.get_params()["table__max_categories"]) == (True, 2)
    assert loaded["table"].kinds_ == pipeline["table"].kinds_
    np.testing.assert_array_equal(loaded.predict(frame), pipeline.predict(frame))


@pytest.mark.parametrize(
    ("values", "more"),
    [
        (np.array(["b", "a", "c", "a"]), {}),
        (np.array(["b", None, "a", np.nan], dtype=object), {}),
        (np.array([3, 1, 2, 1]), {}),
        (np.array([3, 1, 2, 1], dtype=np.uint8), {}),
        (np.array([0.5, np.nan, -np.inf, 0.5]), {"force": False}),
        (np.array([True, False, True, True]), {}),
        (np.array([True, None, False, True], dtype=object), {}),
        (np.array([1, 2.5, None, 1], dtype=object), {}),
    ],
)
def test_categories_of_any_plain_type(values: np.ndarray, more: Any, tmp_path: Path) -> None:
    if values.dtype.kind == "f":  # scikit-learn refuses infinities
        values = np.nan_to_num(values, nan=np.nan, neginf=-1.0)
    X = np.tile(values, 10)[:, None]
    pipeline = make_pipeline(
        OneHotEncoder(handle_unknown="ignore"), BudgetronClassifier(budget=10, scale=None)
    ).fit(X, np.tile([0, 1, 1, 0], 10))
    budgetron.save(pipeline, tmp_path / "model.btn")
    loaded = budgetron.load(tmp_path / "model.btn")
    [was], [now] = pipeline[0].categories_, loaded[0].categories_
    assert was.dtype.kind == now.dtype.kind
    assert list(map(type, was.tolist())) == list(map(type, now.tolist()))
    assert repr(was.tolist()) == repr(now.tolist())
    np.testing.assert_array_equal(loaded.predict_proba(X), pipeline.predict_proba(X))


def test_frames_between_the_steps(frame: pd.DataFrame, y: np.ndarray, tmp_path: Path) -> None:
    words = ("w", OneHotEncoder(sparse_output=False), ["town", "kids"])
    encoder = ColumnTransformer([words, ("n", StandardScaler(), ["age"])])
    pipeline = make_pipeline(encoder, BudgetronClassifier(budget=20)).set_output(transform="pandas")
    budgetron.save(pipeline.fit(frame, y), tmp_path / "model.btn")
    loaded = budgetron.load(tmp_path / "model.btn")
    assert to_bytes(loaded) == to_bytes(pipeline)
    assert loaded[-1].feature_names_in_.tolist() == pipeline[-1].feature_names_in_.tolist()
    pd.testing.assert_frame_equal(loaded[:-1].transform(frame), pipeline[:-1].transform(frame))
    np.testing.assert_array_equal(loaded.predict(frame), pipeline.predict(frame))
    [reason] = budgetron.explain(loaded, frame[:1])
    assert {each.column for each in reason.moves} == {"town", "kids", "age"}


def test_texts_that_are_hashed(tmp_path: Path) -> None:
    rows = [[f"w{i % 7}", f"v{i % 3}"] for i in range(60)]
    pipeline = make_pipeline(
        FeatureHasher(16, input_type="string"), BudgetronClassifier(budget=10)
    ).fit(rows, [i % 7 > 2 for i in range(60)])
    budgetron.save(pipeline, tmp_path / "model.btn")
    loaded = budgetron.load(tmp_path / "model.btn")
    np.testing.assert_array_equal(loaded.predict_proba(rows), pipeline.predict_proba(rows))


def test_a_pipeline_that_has_learned_nothing(tmp_path: Path) -> None:
    pipeline = make_pipeline(columns(), TableEncoder(ignore=["x"]), BudgetronClassifier(budget=7))
    budgetron.save(pipeline, tmp_path / "model.btn")
    loaded = budgetron.load(tmp_path / "model.btn")
    assert repr(loaded) == repr(pipeline)
    assert not hasattr(loaded[-1], "classes_")


def double(X: Any) -> Any:
    return 2 * X


@pytest.mark.parametrize(
    ("step", "says"),
    [
        (MinMaxScaler(), "step first: MinMaxScaler cannot be kept as data"),
        (FunctionTransformer(double), "step first: FunctionTransformer cannot be kept"),
        (
            OneHotEncoder(feature_name_combiner=double),
            "first, parameter feature_name_combiner: the ",
        ),
        (SimpleImputer(strategy=double), "step first, parameter strategy: the function double"),
        (
            ColumnTransformer([("in", make_pipeline(MinMaxScaler()), ["age"])]),
            "step first/in/minmaxscaler: MinMaxScaler cannot",
        ),
        (
            ColumnTransformer([("in", StandardScaler(), double)]),
            "the columns of 'in' are chosen by the function double, which is not data: list",
        ),
        (
            ColumnTransformer([("in", StandardScaler(), make_column_selector("a"))]),
            "chosen by make_column_selector, which is not data",
        ),
    ],
)
def test_what_cannot_be_kept_is_named(step: Any, says: str, tmp_path: Path) -> None:
    pipeline = Pipeline([("first", step), ("learn", BudgetronClassifier())])
    with pytest.raises(ModelFileError) as refused:
        budgetron.save(pipeline, tmp_path / "model.btn")
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "list their names" in str(refused.value) or "StandardScaler" in str(refused.value)
    assert not (tmp_path / "model.btn").exists()


def test_what_is_no_pipeline_of_ours(tmp_path: Path) -> None:
    class Own(Pipeline):
        pass

    for model in (make_pipeline(StandardScaler()), Own([("a", BudgetronClassifier())])):
        with pytest.raises(ModelFileError, match="is not an estimator of budgetron"):
            budgetron.save(model, tmp_path / "model.btn")
    cached = make_pipeline(BudgetronClassifier(), memory=str(tmp_path))
    with pytest.raises(ModelFileError, match="with memory cannot be kept"):
        budgetron.save(cached, tmp_path / "model.btn")
    waiting = TableEncoder().partial_fit({"a": [1.0]})
    with pytest.raises(ModelFileError, match="not seen all the rows"):
        budgetron.save(make_pipeline(waiting, BudgetronClassifier()), tmp_path / "model.btn")


def test_nothing_is_pickled(frame: pd.DataFrame, y: np.ndarray, monkeypatch: Any) -> None:
    pipeline = make_pipeline(columns(), BudgetronClassifier(budget=9)).fit(frame, y)

    def refuse(*args: Any) -> None:
        raise AssertionError("pickled")

    for name in ("dumps", "dump", "loads", "load"):
        monkeypatch.setattr(pickle, name, refuse)
    content = to_bytes(pipeline)
    assert b"sklearn." not in content  # no module is named


def test_the_header_has_versions_and_steps(
    frame: pd.DataFrame, y: np.ndarray, tmp_path: Path
) -> None:
    """Another version of scikit-learn is recorded and not refused."""
    import sklearn

    path = tmp_path / "model.btn"
    pipeline = make_pipeline(columns(), BudgetronClassifier(budget=9)).fit(frame, y)
    before = sklearn.__version__
    sklearn.__version__ = "9.9.9"
    try:
        budgetron.save(pipeline, path)
    finally:
        sklearn.__version__ = before
    header = read_header(path)
    assert (header["versions"]["scikit-learn"], header["format"]) == ("9.9.9", 5)
    assert [name for name, _ in header["pipeline"]["steps"]] == [
        "columntransformer",
        "budgetronclassifier",
    ]
    np.testing.assert_array_equal(budgetron.load(path).predict(frame), pipeline.predict(frame))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_file_cut_short(share: float, frame: pd.DataFrame, y: np.ndarray, tmp_path: Path) -> None:
    content = to_bytes(make_pipeline(columns(), BudgetronClassifier(budget=9)).fit(frame, y))
    (tmp_path / "model.btn").write_bytes(content[: int(share * len(content))])
    with pytest.raises(ModelFileError) as refused:
        budgetron.load(tmp_path / "model.btn")
    assert "\n" not in str(refused.value)


def sign(document: dict[str, Any], arrays: dict[str, np.ndarray], path: Path) -> None:
    document["sha256"] = model_file._checksum(document, arrays)
    save_file(arrays, path, {"budgetron": json.dumps(document)})


FORGED: list[tuple[str, list[Any], Any]] = [
    ("columns", ["w", "fitted", "_n_features_outs"], {"list": [1, 2]}),
    ("columns", ["w", "fitted", "categories_"], {"list": []}),
    ("columns", ["w", "fitted", "transform"], 3),
    ("columns", ["w", "params", "dtype"], {"python": "type"}),
    ("columns", ["w", "step"], "Popen"),
    ("columns", ["n", "steps", 1, 1, "fitted", "mean_"], {"float": "nan"}),
    ("columns", ["n", "steps", 1, 1, "fitted", "mean_"], {"array": "pipeline/99"}),
    ("columns", ["n", "steps", 1, 1, "fitted", "mean_"], {"array": "pipeline/0"}),  # twice
    ("columns", ["w", "fitted", "_infrequent_indices"], {"list": [None]}),
    ("columns", ["n", "steps", 0, 1, "fitted", "indicator_"], None),
]


@pytest.mark.parametrize(("name", "way", "value"), FORGED, ids=lambda each: str(each)[:30])
def test_a_forged_step_is_refused(
    name: str, way: list[Any], value: Any, frame: pd.DataFrame, y: np.ndarray, tmp_path: Path
) -> None:
    path = tmp_path / "model.btn"
    budgetron.save(make_pipeline(ENCODERS[name], BudgetronClassifier(budget=9)).fit(frame, y), path)
    document, arrays = model_file._take_apart(path)[:2]
    [inner] = [
        each["tuple"][1]
        for each in document["pipeline"]["steps"][0][1]["fitted"]["transformers_"]["list"]
        if each["tuple"][0] == way[0]
    ]
    for step in way[1:-1]:
        inner = inner[step]
    inner[way[-1]] = value
    sign(document, arrays, path)
    with pytest.raises(ModelFileError, match="unreadable") as refused:
        budgetron.load(path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_jobs", 10**6), ("n_jobs", -(10**6)), ("remainder", 3), ("transformers", {"list": [3]})],
)
def test_parameters_that_scikit_learn_does_not_look_at(
    name: str, value: Any, frame: pd.DataFrame, y: np.ndarray, tmp_path: Path
) -> None:
    """A file cannot start a million processes."""
    path = tmp_path / "model.btn"
    budgetron.save(make_pipeline(columns(), BudgetronClassifier(budget=9)).fit(frame, y), path)
    document, arrays = model_file._take_apart(path)[:2]
    document["pipeline"]["steps"][0][1]["params"][name] = value
    sign(document, arrays, path)
    with pytest.raises(ModelFileError, match="unreadable"):
        budgetron.load(path)


def test_numbers_that_are_searched_must_be_sorted(tmp_path: Path) -> None:
    """scikit-learn finds categories by binary search: unsorted ones give places behind the last."""
    path = tmp_path / "model.btn"
    X = np.repeat([[1.0], [2.0], [3.0]], 5, axis=0)
    pipeline = make_pipeline(OneHotEncoder(), BudgetronClassifier(budget=9))
    budgetron.save(pipeline.fit(X, X[:, 0] > 1), path)
    document, arrays = model_file._take_apart(path)[:2]
    arrays["pipeline/0"] = arrays["pipeline/0"][::-1].copy()
    sign(document, arrays, path)
    with pytest.raises(ModelFileError, match="categories are not valid"):
        budgetron.load(path)


def test_a_text_cannot_ask_for_the_memory_of_all(tmp_path: Path) -> None:
    """An array of text has items of one width: a long text among many short ones is large."""
    from budgetron.model_file.plain import Reader

    texts = ["x" * 10_000_000, *[""] * 100_000]
    with pytest.raises(ValueError, match="out of all proportion"):
        Reader({}, sys.exit).read({"texts": texts})
