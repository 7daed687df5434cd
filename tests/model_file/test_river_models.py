"""River models in model files: a loaded one continues to the bit, row by row."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import river.compose
import river.preprocessing
from safetensors.numpy import save_file

import budgetron
import budgetron.river
from budgetron import ModelFileError, model_file
from budgetron.model_file import to_bytes
from tests.support.cases import KINDS, REGRESSION_KINDS, Case

ROWS = 240


def rows(words: bool = True) -> list[dict[Any, Any]]:
    random = np.random.default_rng(0)
    found = []
    for i in range(ROWS):
        row: dict[Any, Any] = {"heat": float(random.normal()), 7: float(i % 5), "late": i % 3 == 0}
        if words:
            row["town"] = ["Rome", "Oslo", None][int(random.integers(3))]
        if i % 11 == 0:
            del row[7]
        found.append(row)
    return found


def labels(case: str = "classification") -> list[Any]:
    heat = [row["heat"] for row in rows()]
    return heat if case == "regression" else ["hot" if each > 0 else "cold" for each in heat]


def again(model: Any, path: Path) -> Any:
    budgetron.save(model, path)
    return budgetron.load(path)


def goes_on(model: Any, X: list[Any], y: list[Any], cut: int, path: Path) -> None:
    """Learn some rows, save and load, learn the rest: equal to no save at all."""
    for x, label in zip(X[:cut], y[:cut], strict=True):
        model.learn_one(x, label)
    loaded = again(model, path)
    assert to_bytes(loaded) == to_bytes(model)
    for x, label in zip(X[cut:], y[cut:], strict=True):
        assert loaded.predict_one(x) == model.predict_one(x)
        model.learn_one(x, label)
        loaded.learn_one(x, label)
    assert to_bytes(loaded) == to_bytes(model)
    assert repr(loaded) == repr(model)


@pytest.mark.parametrize("case", KINDS + REGRESSION_KINDS, ids=str)
def test_a_learner_goes_on_to_the_bit(case: Case, tmp_path: Path) -> None:
    params = case.make().get_params(deep=False)
    kind = getattr(budgetron.river, type(case.make()).__name__)
    model = kind(**{name: params[name] for name in kind._shared()}, seed=3)
    goes_on(model, rows(words=False), labels(case.task), 90, tmp_path / "model.btn")


@pytest.mark.parametrize("cut", [0, 1, 37, 64, 100, 180])
def test_a_pipeline_with_a_table_encoder(cut: int, tmp_path: Path) -> None:
    """Also while the encoding is provisional: the rows for which it waits are kept."""
    model = budgetron.river.TableEncoder(infer_rows=100) | budgetron.river.BudgetronClassifier(
        budget=30, seed=1
    )
    goes_on(model, rows(), labels(), cut, tmp_path / "model.btn")
    kinds = {"heat": "number", "7": "number", "late": "boolean", "town": "category"}
    assert budgetron.load(tmp_path / "model.btn") is not None
    assert again(model, tmp_path / "model.btn")["TableEncoder"].kinds_ == kinds


def test_declared_classes_features_and_names_of_steps(tmp_path: Path) -> None:
    learner = budgetron.river.BudgetPerceptronClassifier(
        budget=5, classes=["hot", "cold"], max_features=9, class_weight={"hot": 2.0}
    )
    model = river.compose.Pipeline(("table", budgetron.river.TableEncoder()), ("learn", learner))
    loaded = again(model, tmp_path / "model.btn")
    assert list(loaded.steps) == ["table", "learn"]
    assert loaded["learn"].classes == ["hot", "cold"]
    assert (loaded["learn"].max_features, loaded["learn"].class_weight) == (9, {"hot": 2.0})


def test_what_cannot_be_kept_is_named(tmp_path: Path) -> None:
    learner = budgetron.river.BudgetronClassifier(budget=5)
    for model, says in (
        (river.preprocessing.StandardScaler() | learner, "StandardScaler of River cannot be kept"),
        (
            budgetron.river.TableEncoder() | river.preprocessing.StandardScaler(),
            "is not a learner of budgetron.river",
        ),
    ):
        with pytest.raises(ModelFileError, match=says) as refused:
            budgetron.save(model, tmp_path / "model.btn")
        assert "\n" not in str(refused.value)
    waiting = budgetron.river.TableEncoder() | learner
    waiting.learn_one({"day": np.datetime64("2024-01-01"), "a": 1.0}, "a")
    with pytest.raises(ModelFileError, match=r"has seen 1 of 1,000 rows.*save it when"):
        budgetron.save(waiting, tmp_path / "model.btn")
    learner = budgetron.river.BudgetronClassifier(budget=5)
    learner.learn_one({(1, object()): 1.0}, "a")
    with pytest.raises(ModelFileError, match="object cannot be kept as data"):
        budgetron.save(learner, tmp_path / "model.btn")


@pytest.mark.parametrize(
    ("way", "value"),
    [
        (["learner", 1, "names", 0, 1], 5),
        (["learner", 1, "names", 0, 1], -1),
        (["learner", 1, "names"], [["a", i] for i in range(500)]),
        (["learner", 1, "params", "budget"], 0),
        (["learner", 1, "classes"], {"list": ["hot"]}),
        (["encoders", 0, 1, "fixed"], False),
        (["encoders", 0, 1, "encoding"], None),
        (["encoders", 0, 1, "rows"], [{"dict": []}]),
        (["encoders", 0, 0], 7),
        (["pipeline"], False),
    ],
    ids=str,
)
def test_a_forged_river_model_is_refused(way: list[Any], value: Any, tmp_path: Path) -> None:
    path = tmp_path / "model.btn"
    model = budgetron.river.TableEncoder(infer_rows=20) | budgetron.river.BudgetronClassifier()
    for x, label in zip(rows(), labels(), strict=True):
        model.learn_one(x, label)
    budgetron.save(model, path)
    document, arrays = model_file._take_apart(path)[:2]
    inner = forged = copy.deepcopy(document)
    for step in ["river", *way][:-1]:
        inner = inner[step]
    inner[way[-1]] = value
    if way == ["encoders", 0, 1, "fixed"]:  # with more rows than it may wait on
        inner["rows"] = [{"dict": [["a", 1]]}] * 20
    forged["sha256"] = model_file._checksum(forged, arrays)
    save_file(arrays, path, {"budgetron": json.dumps(forged)})
    with pytest.raises(ModelFileError, match="unreadable"):
        budgetron.load(path)


def test_info_and_predict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from budgetron.cli import main

    path = tmp_path / "model.btn"
    model = budgetron.river.TableEncoder(infer_rows=20) | budgetron.river.BudgetronClassifier()
    for x, label in zip(rows(), labels(), strict=True):
        model.learn_one(x, label)
    budgetron.save(model, path)
    with pytest.raises(SystemExit):
        main(["info", str(path)])
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "River: TableEncoder: TableEncoder, BudgetronClassifier:" in text
    assert "town category 2: Oslo, Rome" in text
    with pytest.raises(SystemExit) as end:
        main(["predict", str(path), "x.csv"])
    assert end.value.code == 2
    assert "a River model, whose rows are dicts" in capsys.readouterr().err
