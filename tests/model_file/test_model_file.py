"""Model files: exact, complete or absent, and refused in one line if they are invalid.

test_model_file_fuzz.py has forged files, test_golden.py files of earlier versions.
"""

from __future__ import annotations

import json
import os
import pickle
import struct
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import budgetron
from budgetron import ModelFileError, model_file
from budgetron.model_file import atomic as durable
from budgetron.model_file import to_bytes
from budgetron.parts import Merge, SmoothHinge
from tests.support.cases import (
    BY_NAME,
    CASES,
    KINDS,
    REGRESSION,
    REGRESSION_KINDS,
    Case,
    numeric_stream,
    same_state,
    stream,
)
from tests.support.native import StandIn, engine_of, has_learned, native_of, state_of

each_case = pytest.mark.parametrize("case", CASES + REGRESSION, ids=str)
each_kind = pytest.mark.parametrize("case", KINDS + REGRESSION_KINDS, ids=str)


def rows_for(case: Case, rows: int = 200, classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    return numeric_stream(rows) if case.task == "regression" else stream(rows, classes=classes)


def again(model: Any, folder: Path) -> Any:
    budgetron.save(model, folder / "model.btn")
    return budgetron.load(folder / "model.btn")


own_file = pytest.mark.thread_unsafe(reason="threads would share the file that it overwrites")


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    X, y = stream(100)
    budgetron.save(BY_NAME["ahpatron"].make().fit(X, y), tmp_path / "model.btn")
    return tmp_path / "model.btn"


# ---- exactness -----------------------------------------------------------------------------------


@each_case
def test_a_loaded_model_goes_on_to_the_bit(case: Case, tmp_path: Path) -> None:
    X, y = rows_for(case)
    whole = case.make().partial_fit(X, y)
    half = case.make().partial_fit(X[:90], y[:90])
    loaded = again(half, tmp_path)
    assert to_bytes(loaded) == to_bytes(half)
    loaded.partial_fit(X[90:], y[90:])
    same_state(loaded, whole)
    assert to_bytes(loaded) == to_bytes(whole)
    np.testing.assert_array_equal(loaded.predict(X), whole.predict(X))


@each_kind
def test_every_attribute_is_in_the_file(case: Case) -> None:
    """Learning sets nothing that `_fitted` does not list: it would be lost."""
    X, y = rows_for(case, 50)
    model = case.make().partial_fit(X, y)
    model.predict(X)
    known = {*model.get_params(deep=False), *model._fitted, "_engine", "_origin", "_codes"}
    known.add("_class_weights")  # made of a parameter and of _class_counts
    known.add("_turn_lock")  # each model has its own
    assert vars(model).keys() <= known


@pytest.mark.parametrize("cut", [1, 60, 199, 250])
def test_in_the_warm_up_and_after_it(cut: int, tmp_path: Path) -> None:
    X, y = stream(400, classes=3)
    X = scipy.sparse.csr_array(X * [1, 10, 100, 1000])
    make = BY_NAME["rbp"].make
    whole = make(gamma="median", scale="auto").partial_fit(X, y)
    loaded = again(make(gamma="median", scale="auto").partial_fit(X[:cut], y[:cut]), tmp_path)
    same_state(loaded.partial_fit(X[cut:], y[cut:]), whole)
    assert (loaded.scaling_, loaded.gamma_) == (whole.scaling_, whole.gamma_)


@pytest.mark.parametrize("name", ["rbp", "forgetron", "budgetron", "avm", "bogd"])
def test_a_loaded_model_soon_holds_as_much_memory(name: str, tmp_path: Path) -> None:
    """Dense rows and a budget: nothing of the warm-up is left, and the next rows make the rest."""
    X, y = stream(700, 6, 2)
    X = X * np.array([1.0, 10.0, 100.0, 0.1, 1.0, 5.0])
    model = budgetron.make(name, budget=20).partial_fit(X[:400], y[:400], classes=[0, 1])
    budgetron.save(model, tmp_path / "model.btn")
    twin = budgetron.load(tmp_path / "model.btn")
    parts = {key.split("/")[0] for key in state_of(model)}
    learners = 1 + sum(key.startswith("contender") and "_row" not in key for key in parts)
    assert 0 <= model.memory_bytes_ - twin.memory_bytes_ < 1000 * learners
    for each in (model, twin):
        each.partial_fit(X[400:], y[400:])
    # Contenders of a race (core/model/race.hpp) also have scratch of earlier rows.
    assert abs(twin.memory_bytes_ - model.memory_bytes_) <= 1000 * (learners - 1)


def test_parts_combined_by_hand_and_infinities(tmp_path: Path) -> None:
    X, y = stream(150)
    model = budgetron.KernelClassifier(
        update="gradient", loss=SmoothHinge(tau=0.3), budget=Merge(size=9), radius=float("inf")
    ).partial_fit(X, y)
    loaded = again(model, tmp_path)
    assert loaded.get_params() == model.get_params()
    same_state(loaded.partial_fit(X, y), model.partial_fit(X, y))


def test_parameters_set_after_learning_are_kept_and_the_engine_stays(tmp_path: Path) -> None:
    X, y = stream(150)
    model = BY_NAME["ahpatron"].make(budget=8).fit(X, y).set_params(budget=30, gamma=2.0)
    loaded = again(model, tmp_path)
    assert (loaded.budget, loaded.gamma, loaded.gamma_) == (30, 2.0, 0.5)
    same_state(loaded, model)
    for each in (model, loaded):
        with pytest.raises(ValueError, match=r"gamma=2\.0 was set"):
            each.partial_fit(X, y)
        each.set_params(gamma=0.5, budget=8)
    same_state(loaded.partial_fit(X, y), model.partial_fit(X, y))


def test_a_model_that_has_learned_nothing(tmp_path: Path) -> None:
    loaded = again(BY_NAME["rbp"].make(budget=7), tmp_path)
    assert loaded.get_params() == BY_NAME["rbp"].make(budget=7).get_params()
    assert not has_learned(loaded)


def test_feature_names_and_declared_classes(tmp_path: Path) -> None:
    import pandas

    X, y = stream(80)
    frame = pandas.DataFrame(X, columns=["a", "b", "ä", "d"])
    loaded = again(BY_NAME["rbp"].make().partial_fit(frame, y, classes=[0, 1, 5]), tmp_path)
    assert loaded.feature_names_in_.tolist() == ["a", "b", "ä", "d"]
    with pytest.raises(ValueError, match="label 2 is not among"):
        loaded.partial_fit(frame, y + 1)
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame.rename(columns={"a": "z"}))


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes", "ja"]),
        np.array(["no", "yes", "ja"], dtype=object),
        np.array([False, True, True]),
        np.array([-3, 0, 2**62]),
        np.array([1, 2, 250], dtype=np.uint8),
        np.array([-1.0, 0.0, 1e9]),
        np.array([1, 2, 3], dtype=np.float32),
    ],
    ids=lambda labels: f"{labels.dtype}",
)
def test_labels_keep_their_type(labels: np.ndarray, tmp_path: Path) -> None:
    X, y = stream(100, classes=3)
    model = BY_NAME["rbp"].make().fit(X, labels[y])
    loaded = again(model, tmp_path)
    np.testing.assert_array_equal(loaded.classes_, model.classes_)
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.predict(X).tolist() == model.predict(X).tolist()


# ---- refused at save -----------------------------------------------------------------------------


def test_what_cannot_be_written_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    X, y = stream(60)
    path = tmp_path / "model.btn"
    days = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")
    dated = BY_NAME["rbp"].make().fit(X, days[y])
    with pytest.raises(ModelFileError, match=r"labels are datetime64.* str, bool, int and float"):
        budgetron.save(dated, path)
    generator = BY_NAME["rbp"].make(random_state=np.random.RandomState(0)).fit(X, y)
    with pytest.raises(ModelFileError, match=r"random_state: RandomState.*use an int or None"):
        budgetron.save(generator, path)
    with pytest.raises(ValueError, match="'gamma' parameter"):
        budgetron.save(BY_NAME["rbp"].make().fit(X, y).set_params(gamma=-1.0), path)
    with pytest.raises(ModelFileError, match=r"^dict is not an estimator of budgetron"):
        budgetron.save({}, path)
    assert list(tmp_path.iterdir()) == []


class Stranger(budgetron.PerceptronClassifier):
    """Not from the package, so a file could not name it."""


def test_a_class_of_somebody_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="Stranger is not an estimator"):
        budgetron.save(Stranger(), tmp_path / "model.btn")


@pytest.mark.parametrize("case", [*CASES[::4], *REGRESSION[::6]], ids=str)
def test_what_load_would_refuse_is_not_written(case: Case, tmp_path: Path) -> None:
    """If load would find a NaN or too few numbers, saving fails and the old file stays."""
    X, y = rows_for(case, 60)
    model = case.make().partial_fit(X, y)
    path = tmp_path / "model.btn"
    budgetron.save(model, path)
    before = path.read_bytes()
    native = native_of(model)
    counters = ("seen", "mistakes", "updates")  # which the document has too
    arrays = {name: each for name, each in native.save().items() if name not in counters}
    lines = []
    for name, array in arrays.items():
        damage = [array[:0] if array.size else np.ones(3)]
        if array.dtype.kind == "f" and array.size:
            damage.append(np.where(np.arange(array.size) == array.size // 2, np.nan, array))
        for each in damage:
            damaged = {**native.save(), name: each.astype(array.dtype)}
            engine_of(model).native = StandIn(native, save=partial(dict, damaged))
            try:
                budgetron.save(model, path)
            except ModelFileError as error:
                lines.append(str(error))
                continue
            budgetron.load(path)  # what is written can be read
            path.write_bytes(before)
    assert len(lines) >= len(arrays)  # sizes are always checked
    for line in lines:
        assert line.startswith("the model is damaged (")
        assert line.endswith("): nothing was written")
        assert "\n" not in line
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


# ---- refused at load -----------------------------------------------------------------------------


def refuse(path: Path, match: str) -> None:
    with pytest.raises(ModelFileError, match=match) as raised:
        budgetron.load(path)
    assert "\n" not in str(raised.value)
    assert str(path) in str(raised.value)


@own_file
def test_every_truncation_is_noticed(saved: Path) -> None:
    whole = saved.read_bytes()
    for length in [*range(0, 64), *range(64, len(whole), 97), len(whole) - 1]:
        saved.write_bytes(whole[:length])
        refuse(saved, "not a model file, or cut short")
    saved.write_bytes(whole + b"x")
    refuse(saved, "not a model file, or cut short")


@own_file
def test_every_flipped_bit_is_noticed(saved: Path) -> None:
    whole = saved.read_bytes()
    dice = np.random.default_rng(0)
    for at in dice.integers(len(whole), size=300):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << int(dice.integers(8))
        saved.write_bytes(damaged)
        refuse(saved, ".")


def test_foreign_files(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    path = tmp_path / "foreign"
    path.write_bytes(pickle.dumps(BY_NAME["rbp"].make()))
    refuse(path, "not a model file")
    path.write_text("1 1:0.5\n" * 100)
    refuse(path, "not a model file")
    save_file({"weights": np.zeros(3)}, path)
    refuse(path, "a safetensors file, but not of a budgetron model")
    save_file({"weights": np.zeros(3)}, path, {"budgetron": "[" * 100_000})
    refuse(path, "its header cannot be read")
    with pytest.raises(FileNotFoundError):
        budgetron.load(tmp_path / "nowhere")
    with pytest.raises(IsADirectoryError):
        budgetron.load(tmp_path)


def test_pipes_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    refuse(tmp_path / "pipe", "not a model file: it is not a regular file")
    with pytest.raises(ModelFileError, match="not a regular file"):
        model_file.read_header(tmp_path / "pipe")


@own_file
def test_a_file_written_to_meanwhile_does_no_harm(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read before it is parsed, never mapped: a mapped file that is cut short crashes."""
    import safetensors.numpy

    whole, parse = saved.read_bytes(), safetensors.numpy.load

    def cut_short(data: bytes) -> Any:
        saved.write_bytes(whole[:100])
        return parse(data)

    with monkeypatch.context() as patch:
        patch.setattr(safetensors.numpy, "load", cut_short)
        patch.delattr(safetensors, "safe_open")  # which maps
        patch.delattr(safetensors.numpy, "safe_open")
        assert budgetron.load(saved).n_seen_ == 100
    refuse(saved, "cut short")


def huge(folder: Path, size: int) -> Path:
    """A model file with a hole of this size."""
    document = model_file.read_header(_golden_like(folder))
    return _with_a_hole(folder / "huge.btn", document, size)


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    refuse(huge(tmp_path, 1 << 43), "the file has 8,796,093,[0-9,]+ bytes, more than the")
    path = huge(tmp_path, 3 << 30)
    with pytest.raises(ModelFileError, match=r"more than the 2,000,000,000 it may have"):
        budgetron.load(path, max_bytes="2GB")
    path.write_bytes(struct.pack("<Q", 1 << 40))
    refuse(path, "longer than the file")


@own_file
def test_a_file_of_another_format_says_who_wrote_it(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = model_file.READ[-1]
    least = model_file.READ[0]
    for number, version in ((ours + 1, "9.1.0"), (least - 1, "0.0.1")):
        with monkeypatch.context() as patch:
            patch.setattr(model_file, "FORMAT", number)
            patch.setattr(budgetron, "__version__", version)
            budgetron.save(BY_NAME["rbp"].make(), saved)
        wrote = f"written by budgetron {version} in format {number}"
        refuse(saved, f"{wrote}; .* reads formats {least} to {ours}")


# ---- written in one step -------------------------------------------------------------------------


@own_file
def test_a_failed_save_leaves_the_old_file(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved.read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(durable.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        budgetron.save(BY_NAME["rbp"].make(), saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_synced_before_it_is_renamed_and_the_folder_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    sync, replace = os.fsync, os.replace

    def synced(handle: int) -> None:
        events.append("folder" if Path(f"/proc/self/fd/{handle}").is_dir() else "file")
        sync(handle)

    def replaced(a: Any, b: Any) -> None:
        events.append("rename")
        assert Path(a).parent == Path(b).parent
        replace(a, b)

    monkeypatch.setattr(durable.os, "fsync", synced)
    monkeypatch.setattr(durable.os, "replace", replaced)
    budgetron.save(BY_NAME["rbp"].make(), tmp_path / "model.btn")
    assert events == ["file", "rename", "folder"]


def test_the_file_can_be_read_by_whom_the_umask_lets_and_links_stay(tmp_path: Path) -> None:
    link = tmp_path / "link.btn"
    link.symlink_to(tmp_path / "model.btn")
    before = os.umask(0o027)
    try:
        budgetron.save(BY_NAME["rbp"].make(), link)
    finally:
        os.umask(before)
    assert link.is_symlink()
    assert (tmp_path / "model.btn").stat().st_mode & 0o777 == 0o640
    (tmp_path / "model.btn").chmod(0o600)
    budgetron.save(BY_NAME["rbp"].make(), link)  # what was private stays so
    assert (tmp_path / "model.btn").stat().st_mode & 0o777 == 0o600


# ---- the header ----------------------------------------------------------------------------------


def test_the_header_is_read_without_the_arrays(tmp_path: Path) -> None:
    """A file of a terabyte, all of it a hole: only its header can have been read."""
    document = model_file.read_header(_golden_like(tmp_path))
    path = _with_a_hole(tmp_path / "huge.btn", document, 1 << 40)
    assert model_file.read_header(path) == document


def _with_a_hole(path: Path, document: dict[str, Any], size: int) -> Path:
    tensor = {"dtype": "F64", "shape": [size // 8], "data_offsets": [0, size]}
    metadata = {"budgetron": json.dumps(document)}
    header = json.dumps({"__metadata__": metadata, "huge": tensor}).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(8 + len(header) + size)
    return path


def _golden_like(folder: Path) -> Path:
    X, y = stream(60)
    budgetron.save(BY_NAME["rbp"].make().fit(X, y), folder / "small.btn")
    return folder / "small.btn"


def test_the_header_says_what_is_inside(tmp_path: Path) -> None:
    X, y = stream(60)
    model = BY_NAME["bogd++"].make(random_state=7).fit(X, y)
    budgetron.save(model, tmp_path / "model.btn")
    document = model_file.read_header(tmp_path / "model.btn")
    assert (document["algorithm"], document["estimator"]) == ("bogd++", "BOGDClassifier")
    assert document["budgetron"] == budgetron.__version__
    assert document["versions"]["numpy"] == np.__version__
    learned = document["learned"]
    assert learned["counters"] == {
        "seen": 60,
        "mistakes": model.n_mistakes_,
        "updates": model.n_updates_,
    }
    assert learned["stored"] == model.n_support_
    assert learned["attributes"]["classes_"]["values"] == [0, 1]


@pytest.mark.parametrize("extra", ['{"a": NaN}', "[" * 990 + "]" * 990])
def test_what_json_may_not_hold_is_damage(extra: str, tmp_path: Path) -> None:
    from safetensors.numpy import save as to_safetensors

    path = tmp_path / "model.btn"
    document = (
        f'{{"format": {model_file.FORMAT}, "budgetron": "0.1", "sha256": "", "extra": {extra}}}'
    )
    path.write_bytes(to_safetensors({}, {model_file.KEY: document}))
    with pytest.raises(budgetron.ModelFileError, match=r"damaged"):
        budgetron.load(path)
