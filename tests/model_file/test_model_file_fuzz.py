"""A forged file with a valid checksum is still only data: refused in one line, or a usable model.

Documents and arrays of real files are changed at random and signed again, so that only the loader's
own checks protect the core. (The core's checks are also tested one by one and under sanitizers, in
core/tests/learners/learners_test.cpp.) BUDGETRON_FUZZ_EXAMPLES sets the number of examples.
"""

from __future__ import annotations

import copy
import json
import os
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import budgetron
from budgetron import ModelFileError, model_file
from budgetron.parts import Merge
from tests.support.cases import BY_NAME, REGRESSION, stream
from tests.support.native import engine_of, has_learned

EXAMPLES = int(os.environ.get("BUDGETRON_FUZZ_EXAMPLES", "100"))
ENDS = ("refused", "loaded", "damaged")  # all possible outcomes of a file: see `use`
Parts = tuple[dict[str, Any], dict[str, np.ndarray]]


class Originals(list[Parts]):
    """Real files, taken apart."""

    def __repr__(self) -> str:
        return f"{len(self)} files"


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Originals:
    X, y = stream(80, classes=3, sparse=True)
    sparse = scipy.sparse.csr_array(X.astype(np.float32))
    models = [BY_NAME[name].make().fit(X, y) for name in ("ahpatron", "fogd", "nogd", "pomdr")]
    models += [
        BY_NAME[name].make().partial_fit(sparse, np.array(["a", "b", "c"])[y])
        for name in ("rbp", "projectron", "bsgd-merge", "forgetron", "avm")
    ]
    named = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    models += [
        BY_NAME["rbp"].make().fit(named, y),
        BY_NAME["bogd"].make(gamma="median", scale="auto").partial_fit(X, y),
        budgetron.KernelClassifier(update="pegasos", budget=Merge(size=7)).fit(X, y == 1),
        REGRESSION[-1].make().fit(X, X[:, 0]),
        BY_NAME["pa"].make(),
        BY_NAME["rbp"].make(class_weight="balanced").partial_fit(X, y),
        BY_NAME["ahpatron"].make(class_weight={"a": 2.0}).fit(X, np.array(["a", "b", "c"])[y]),
    ]
    models += [  # all of their memory was taken for one width
        BY_NAME[name].make(budget="40KB").fit(X, y)
        for name in ("ahpatron", "rbp", "budgetron", "avm", "bsgd-merge")
    ]
    models += [
        BY_NAME["nogd"].make(budget="60KB", gamma="median", scale="auto").fit(sparse, y),
        BY_NAME["fogd"].make(n_components="60KB").fit(X, y),
        REGRESSION[0].make(budget="40KB").fit(X, X[:, 0]),
    ]
    models += pipelines()
    path = tmp_path_factory.mktemp("fuzz") / "model.btn"
    parts = Originals()
    for model in models:
        budgetron.save(model, path)
        parts.append(model_file._take_apart(path)[:2])
    return parts


def table(rows: int) -> pd.DataFrame:
    """Numbers with gaps, words, a rare word, integers, yes and no."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "a": np.where(random.random(rows) < 0.2, np.nan, random.normal(size=rows)),
            "b": random.choice(["x", "y", "z"], rows, p=[0.5, 0.4, 0.1]),
            "c": random.integers(0, 4, rows),
            "d": random.random(rows) < 0.5,
        }
    )
    return frame.assign(b=frame["b"].where(random.random(rows) < 0.9, None))


def pipelines() -> list[Any]:
    frame = table(80)
    y = np.where(frame["c"] > 1, "yes", "no")
    rare = OneHotEncoder(min_frequency=12, handle_unknown="infrequent_if_exist")
    ordinal = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    parts = [("n", numbers, ["a"]), ("o", ordinal, ["c", "b"]), ("d", "drop", [3])]
    first = ColumnTransformer([*parts[:1], ("w", rare, ["b", "c"])], remainder="passthrough")
    second = ColumnTransformer(parts, remainder="drop")
    model = partial(BY_NAME["rbp"].make, scale="auto")
    return [
        make_pipeline(each, model()).fit(frame, y)
        for each in (budgetron.TableEncoder(), first, second, OneHotEncoder(drop="if_binary"))
    ]


@pytest.fixture(autouse=True)
def limited_memory() -> Iterator[None]:
    """A file may describe a model larger than memory: that must be an error, not a crash."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    if "asan" not in os.environ.get("LD_PRELOAD", ""):  # asan reserves terabytes for itself
        resource.setrlimit(resource.RLIMIT_AS, (used + (3 << 30), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def sign(document: Any, arrays: dict[str, np.ndarray], path: Path) -> None:
    from safetensors.numpy import save_file

    if isinstance(document, dict):
        document["sha256"] = model_file._checksum(document, arrays)
    save_file(arrays, path, {"budgetron": json.dumps(document)})


def use(path: Path) -> str:
    """Load, predict, learn, save and load again; returns whether it was refused, and when."""
    try:
        model = budgetron.load(path)
    except ModelFileError as error:
        return "refused" if "\n" not in str(error) else "refused in several lines"
    if isinstance(model, Pipeline):
        return use_pipeline(model, path)
    if not has_learned(model):
        return "loaded"
    width = model.n_features_in_
    columns = np.minimum([0, 1, width - 1], width - 1)
    X = scipy.sparse.csr_array(
        (np.ones(3), (np.arange(3), columns)), shape=(3, width), dtype=engine_of(model).dtype
    )
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        batches = [X] * 5
        if width < 1000:  # rows that need all of what was taken for them
            dense = np.random.default_rng(0).normal(size=(40, width))
            batches.append(dense.astype(engine_of(model).dtype))
        for batch in batches:
            rows = batch.shape[0]
            assert len(model.predict(batch)) == rows
            targets = np.ones(rows)
            if hasattr(model, "classes_"):
                assert model.predict_proba(batch).shape == (rows, len(model.classes_))
                targets = np.resize(model.classes_, rows)
            try:
                model.partial_fit(batch, targets)
            except ValueError as error:  # the file has other parameters than those it learned with
                if not model._changed or "\n" in str(error):
                    raise
                model.set_params(**model._origin.params)
                model.partial_fit(batch, targets)
        model.predict(X)
        if width < 1000 and model._stores_examples:
            repr(model.explain(X[:1]))
    try:
        budgetron.save(model, path)
    except ModelFileError as error:
        return "damaged" if "the model is damaged" in str(error) else str(error)
    budgetron.load(path)
    return "loaded"


def use_pipeline(pipeline: Any, path: Path) -> str:
    """The same for a pipeline; steps that do not fit each other, or the table, refuse its rows."""
    frame = table(30)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            assert len(pipeline.predict(frame)) == 30
            rows = pipeline[:-1].transform(frame) if len(pipeline) > 1 else frame
            pipeline[-1].partial_fit(rows, np.resize(pipeline[-1].classes_, 30))
        except ValueError:
            return "loaded"
    try:
        budgetron.save(pipeline, path)
    except ModelFileError as error:
        return "damaged" if "the model is damaged" in str(error) else str(error)
    budgetron.load(path)
    return "loaded"


junk: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 40),
    st.sampled_from([2**31 - 1, 2**31, 2**62, 2**63, 2**64, -(2**63), 10**30]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
    st.sampled_from(
        ["auto", "median", "linear", "poly", "rbf", "str", "int64", "PerceptronUpdate"]
    ),
    st.lists(st.integers(-1, 3), max_size=3),
    st.builds(lambda: {"float": "inf"}),
    st.builds(lambda: {"part": "Halve", "params": {"size": 1}}),
)


def places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to everything in a JSON document."""
    found = [path] if path else []
    if isinstance(tree, dict | list):
        for key, inner in tree.items() if isinstance(tree, dict) else enumerate(tree):
            found += places(inner, (*path, key))
    return found


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_made_up_documents(data: st.DataObject, originals: Originals, tmp_path: Path) -> None:
    original, arrays = originals[data.draw(st.integers(0, len(originals) - 1), label="model")]
    document = copy.deepcopy(original)
    for _ in range(data.draw(st.integers(1, 3), label="changes")):
        *way, key = data.draw(st.sampled_from(places(document)), label="place")
        inner = document
        for step in way:
            inner = inner[step]
        if data.draw(st.integers(0, 5), label="deleted") == 0:
            del inner[key]
        else:
            inner[key] = data.draw(junk, label="value")
    sign(document, arrays, tmp_path / "model.btn")
    assert use(tmp_path / "model.btn") in ENDS


def near(value: Any) -> st.SearchStrategy[Any]:
    """Values that could replace this one: of its type, of another, next to it, of its size."""
    others: list[Any] = [None, True, False, 0, 1, -1, 2**31, 2**62, 2**63, 0.5, "", "1", [], {}]
    if isinstance(value, bool):
        others += [not value] * 10
    elif isinstance(value, int | float):
        others += [value + 1, value - 1, -value, 2 * value, 100 * value, float(value), str(value)]
    elif isinstance(value, str):
        others += [value + "x", value[:-1], value.upper(), [value], "\ud800", "\x1b[2J"]
    elif isinstance(value, list):
        others += [value + value[-1:], value[:-1], value[::-1], value * 2, [None] * len(value)]
    elif isinstance(value, dict):
        others += [{**value, "more": 1}, dict(list(value.items())[1:]), list(value)]
    return st.sampled_from(others)


def forge(data: st.DataObject, document: Any, chosen: list[Any]) -> None:
    """Change one of these places a little, or remove it."""
    *way, key = data.draw(st.sampled_from(chosen), label="place")
    inner = document
    for step in way:
        inner = inner[step]
    if data.draw(st.integers(0, 9), label="deleted") == 0:
        del inner[key]
    else:
        inner[key] = data.draw(near(inner[key]), label="value")


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_forged_fields(data: st.DataObject, originals: Originals, tmp_path: Path) -> None:
    """Change one field of the learned state a little, remove it, or add one.

    Half of the time it is a field that the core relies on: widths, classes, rooms, seeds.
    """
    original, arrays = originals[data.draw(st.integers(0, len(originals) - 1), label="model")]
    document = copy.deepcopy(original)
    found = [place for place in places(document) if place[0] != "sha256"]
    inside = [place for place in found if "attributes" in place or "origin" in place]
    chosen = inside if inside and data.draw(st.booleans(), label="inside") else found
    forge(data, document, chosen)
    sign(document, arrays, tmp_path / "model.btn")
    assert use(tmp_path / "model.btn") in ENDS


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_forged_steps(data: st.DataObject, originals: Originals, tmp_path: Path) -> None:
    """Change one value of a pipeline a little, or remove it."""
    forged = [parts for parts in originals if "pipeline" in parts[0]]
    original, arrays = forged[data.draw(st.integers(0, len(forged) - 1), label="pipeline")]
    document, arrays = copy.deepcopy(original), dict(arrays)
    own = [name for name in sorted(arrays) if name.startswith("pipeline/")]
    if own and data.draw(st.integers(0, 4), label="in an array") == 0:
        name = data.draw(st.sampled_from(own), label="array")
        arrays[name] = damaged(data, arrays[name])
    else:
        inside = [place for place in places(document) if place[0] == "pipeline"]
        forge(data, document, inside)
    sign(document, arrays, tmp_path / "model.btn")
    assert use(tmp_path / "model.btn") in ENDS


@pytest.mark.parametrize("name", ["ahpatron", "rbp", "budgetron", "avm", "bsgd-merge", "bogd"])
def test_a_room_keeps_its_width_and_its_classes(name: str, tmp_path: Path) -> None:
    """A model with a byte limit has memory for rows of one width: others would overflow it."""
    X, y = stream(60)
    path = tmp_path / "model.btn"
    budgetron.save(BY_NAME[name].make(budget="40KB").fit(X, y), path)
    original, arrays = model_file._take_apart(path)[:2]
    for width in (1, 3, 5, 8, 100, 5000, 2**31 - 1):
        document = copy.deepcopy(original)
        document["learned"]["attributes"]["n_features_in_"] = width
        sign(document, arrays, path)
        with pytest.raises(ModelFileError, match="n_features_in_ is not the width"):
            budgetron.load(path)
    for place, key, value in (
        ("origin", "growing", True),
        ("attributes", "_closed", False),
        ("attributes", "_seed", -1),
        ("attributes", "_seed", 2**31),
        ("counters", "seen", 59),
    ):
        document = copy.deepcopy(original)
        document["learned"][place][key] = value
        sign(document, arrays, path)
        with pytest.raises(ModelFileError, match="unreadable"):
            budgetron.load(path)


@pytest.mark.parametrize("counts", [[2**62, 2**62], [-1, 1], [1], [0.5, 1]])
def test_rows_of_classes_that_nobody_can_have_counted(counts: list[Any], tmp_path: Path) -> None:
    X, y = stream(60)
    path = tmp_path / "model.btn"
    budgetron.save(BY_NAME["rbp"].make(class_weight="balanced").partial_fit(X, y), path)
    document, arrays = model_file._take_apart(path)[:2]
    document["learned"]["attributes"]["_class_counts"]["values"] = counts
    sign(document, arrays, path)
    with pytest.raises(ModelFileError, match="unreadable"):
        budgetron.load(path)


@pytest.mark.parametrize(
    "pairs", [[["c", 1.0]], [["a", -1.0]], [["a", "1"]], [["a", 1e101]], [[["a"], 1.0]], [["a"]]]
)
def test_weights_of_classes_that_cannot_be(pairs: list[Any], tmp_path: Path) -> None:
    X, y = stream(60)
    path = tmp_path / "model.btn"
    model = BY_NAME["rbp"].make(class_weight={"a": 2.0})
    budgetron.save(model.fit(X, np.array(["a", "b"])[y]), path)
    document, arrays = model_file._take_apart(path)[:2]
    document["learned"]["origin"]["params"]["class_weight"] = {"dict": pairs}
    sign(document, arrays, path)
    with pytest.raises(ModelFileError, match="unreadable"):
        budgetron.load(path)


def test_a_model_in_bytes_refuses_wider_rows_of_a_stream(tmp_path: Path) -> None:
    """What a forged file may not do, a growing stream may not do either."""
    X, y = stream(60)
    model = BY_NAME["ahpatron"].make(budget="20KB").fit(X, y)
    before = model_file.to_bytes(model)
    with pytest.raises(ValueError, match="X has 104 features; a model with a budget in bytes"):
        model._prequential_growing(np.hstack([X, np.ones((60, 100))]), y)
    assert model_file.to_bytes(model) == before


def damaged(data: st.DataObject, array: np.ndarray) -> np.ndarray:
    array = array.ravel()
    kind = data.draw(st.sampled_from(["value", "value", "shorter", "longer", "type", "shape"]))
    if kind == "shorter" and array.size:
        return array[: data.draw(st.integers(0, array.size - 1))].copy()
    if kind == "longer":
        return np.concatenate([array, np.ones(data.draw(st.integers(1, 20)), array.dtype)])
    if kind == "type":
        with np.errstate(all="ignore"):
            return array.astype(data.draw(st.sampled_from(["<f8", "<f4", "<i8", "<i4", "<u8"])))
    if kind == "shape":
        return array.reshape(1, -1)
    if not array.size:
        return array
    changed = array.copy()
    if array.dtype.kind == "f":
        values = st.sampled_from([np.nan, np.inf, -np.inf, 0.0, -1.0, 1e-300, 1e30, 0.5])
    elif array.dtype.kind == "b":
        values = st.booleans()
    else:
        limits = np.iinfo(array.dtype)
        values = st.one_of(
            st.integers(max(-3, int(limits.min)), 50),
            st.sampled_from([int(limits.min), int(limits.max), int(limits.max) // 2]),
        )
    with np.errstate(all="ignore"):
        changed[data.draw(st.integers(0, array.size - 1))] = data.draw(values)
    return changed


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_made_up_arrays(data: st.DataObject, originals: Originals, tmp_path: Path) -> None:
    document, originally = originals[data.draw(st.integers(0, len(originals) - 1), label="model")]
    arrays = dict(originally)
    for _ in range(data.draw(st.integers(1, 3), label="changes")):
        name = data.draw(st.sampled_from([*sorted(arrays), "made/up"]), label="array")
        if name not in arrays:
            arrays[name] = np.ones(2)
        elif data.draw(st.integers(0, 9), label="deleted") == 0:
            del arrays[name]
        else:
            arrays[name] = damaged(data, arrays[name])
    sign(dict(document), arrays, tmp_path / "model.btn")
    assert use(tmp_path / "model.btn") in ENDS


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("rbp", {"budget": 2**31 - 1}),
        ("ahpatron", {"budget": 10**9}),
        ("budgetron", {"budget": 2**30}),
        ("budgetron", {"budget": 40_000}),  # of whose covariances 12.8 GB are taken
        ("projectron", {"budget": 40_000}),
        ("ahpatron", {"budget": 40_000}),
        ("forgetron-greedy", {"budget": 40_000}),
        ("nogd", {"budget": 10**6, "rank": 10**5}),
        ("nogd", {"budget": 10**6, "rank": None}),  # a fifth of it
        ("fogd", {"n_components": 2**31 - 1}),
        ("pomdr", {"budget": 2**30}),
    ],
)
def test_a_small_file_cannot_ask_for_the_memory_of_all(
    name: str, changes: dict[str, int | None], tmp_path: Path
) -> None:
    """Refused before the allocation, or memory follows the stored examples, which are few."""
    X, y = stream(60)
    path = tmp_path / "model.btn"
    budgetron.save(BY_NAME[name].make().fit(X, y), path)
    document, arrays = model_file._take_apart(path)[:2]
    document["learned"]["origin"]["params"].update(changes)
    sign(document, arrays, path)
    if name in ("fogd", "nogd"):  # whose frequencies, and the rank that was forged, are there
        with pytest.raises(ModelFileError, match=r"needs [0-9,]+ bytes|damaged rank"):
            budgetron.load(path)
        return
    model = budgetron.load(path)
    assert model.memory_bytes_ < 2e6
    assert model.partial_fit(X, y).memory_bytes_ < 2e6


def test_a_budget_that_is_taken_as_a_whole_is_counted(tmp_path: Path) -> None:
    X, y = stream(60)
    path = tmp_path / "model.btn"
    budgetron.save(BY_NAME["budgetron"].make().fit(X, y), path)
    document, arrays = model_file._take_apart(path)[:2]
    document["learned"]["origin"]["params"]["budget"] = 4096
    sign(document, arrays, path)
    with pytest.raises(ModelFileError, match=r"needs [0-9,]+ bytes, far more than its file"):
        budgetron.load(path, max_bytes="100MB")


def test_a_room_in_a_file_counts(tmp_path: Path) -> None:
    X, y = stream(60)
    path = tmp_path / "model.btn"
    budgetron.save(BY_NAME["rbp"].make(budget="20KB").fit(X, y), path)
    document, arrays = model_file._take_apart(path)[:2]
    document["learned"]["origin"]["room"]["limit"] = 2**40
    sign(document, arrays, path)
    with pytest.raises(ModelFileError, match="needs 1,099,511,627,776 bytes"):
        budgetron.load(path)


def test_the_caller_may_allow_more_or_less(tmp_path: Path) -> None:
    X, y = stream(60)
    path = tmp_path / "model.btn"
    model = BY_NAME["nogd"].make(budget=2000, rank=400).partial_fit(X[:50], y[:50])  # 6.4 MB
    budgetron.save(model, path)
    assert path.stat().st_size < 200_000
    assert budgetron.load(path).predict(X).tolist() == model.predict(X).tolist()
    with pytest.raises(ModelFileError, match=r"needs 6,496,000 bytes.*max_bytes=6496000"):
        budgetron.load(path, max_bytes="5MB")
    assert budgetron.load(path, max_bytes=6496000).n_seen_ == 50


def test_signing_again_is_enough_to_be_read(originals: Originals, tmp_path: Path) -> None:
    """Otherwise the tests above would only test the checksum."""
    for document, arrays in originals:
        sign(dict(document), arrays, tmp_path / "model.btn")
        assert use(tmp_path / "model.btn") == "loaded"
