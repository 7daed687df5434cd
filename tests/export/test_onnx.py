"""ONNX graphs in onnxruntime: equal labels, scores within 1e-5, for every learner; Pipelines.

`make export-tests` runs them and installs what they need.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import budgetron
from tests.export.exported import APART, Setting, clear, off, rows, settings, truth

WANTED = "BUDGETRON_EXPORT" in os.environ
wanted = pytest.mark.skipif(not WANTED, reason="`make export-tests` runs it")


def asked(graph: Any, X: Any) -> dict[str, Any]:
    onnxruntime = pytest.importorskip("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    given = session.get_inputs()[0].name
    names = [each.name for each in session.get_outputs()]
    return dict(zip(names, session.run(names, {given: X}), strict=True))


@wanted
@pytest.mark.parametrize("setting", list(settings(1 if WANTED else 400)), ids=str)
def test_every_learner(setting: Setting) -> None:
    from budgetron.onnx import to_onnx

    model, X = setting.taught(), setting.unseen(1000)
    found = asked(to_onnx(model), X)
    expected = truth(model, X)
    if not setting.classes:
        assert off(found["variable"], expected) < APART
        return
    assert off(found["scores"].reshape(len(X), -1), expected) < APART
    assert np.array_equal(found["label"], model.predict(X))
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), atol=APART)


@wanted
@pytest.mark.parametrize("labels", [["b", "a", "c"], ["b", "a"], [True, False], [7, 3], [2.0, 0.0]])
def test_float32_and_labels_of_any_type(labels: list[Any]) -> None:
    from budgetron.onnx import to_onnx

    X, codes = rows(2000, 0, len(labels), gaps=True)
    X = X.astype(np.float32)
    model = budgetron.BudgetronClassifier(budget=50).fit(X, np.array(labels)[codes])
    found = asked(to_onnx(model), X)
    expected = truth(model, X)
    assert off(found["scores"].reshape(len(X), -1), expected) < APART
    sure = clear(expected)
    assert np.array_equal(found["label"][sure], model.predict(X)[sure])
    double = asked(to_onnx(model, dtype="float64"), X.astype(np.float64))
    assert off(double["scores"].reshape(len(X), -1), expected) < APART


@wanted
def test_one_class_and_sparse_examples() -> None:
    from budgetron.onnx import to_onnx

    X = np.ones((3, 2))
    found = asked(to_onnx(budgetron.BudgetronClassifier(budget=9).partial_fit(X, ["a"] * 3)), X)
    assert found["label"].tolist() == ["a"] * 3
    assert found["probabilities"].tolist() == [[1.0]] * 3


@wanted
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pipelines_convert(dtype: Any) -> None:
    skl2onnx = pytest.importorskip("skl2onnx")
    import budgetron.onnx

    X, y = rows(2000, 0, 3, gaps=False)
    X = (X * [1, 10, 0.1, 5] + [0, 3, 0, 50]).astype(dtype)
    for learner in (
        budgetron.BudgetronClassifier(budget=50),
        budgetron.FOGDClassifier(n_components=50),
        budgetron.KernelClassifier(update="perceptron", budget="remove-oldest"),
    ):
        pipeline = make_pipeline(StandardScaler(), learner).fit(X, np.array(list("abc"))[y])
        graph = skl2onnx.to_onnx(pipeline, X[:1], options={"zipmap": False})
        found = asked(graph, X)
        sure = clear(pipeline.decision_function(X))
        assert np.array_equal(found["label"][sure], pipeline.predict(X)[sure])
        shares = pipeline.predict_proba(X)[sure]
        np.testing.assert_allclose(found["probabilities"][sure], shares, atol=1e-3)
    regressor = make_pipeline(StandardScaler(), budgetron.BudgetronRegressor(budget=50))
    regressor.fit(X, X[:, 0])
    found = asked(skl2onnx.to_onnx(regressor, X[:1]), X)
    assert off(found["variable"][:, 0], regressor.predict(X)) < APART


@wanted
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import onnx

    from budgetron.cli._command import execute

    X, y = rows(400, 0, 2, gaps=False)
    budgetron.save(budgetron.BudgetronClassifier(budget=20).fit(X, y), tmp_path / "m.btn")
    out = str(tmp_path / "m.onnx")
    assert execute(["export", str(tmp_path / "m.btn"), "--to", "onnx", "--out", out]) == 0
    assert "one row: " in capsys.readouterr().out
    found = asked(onnx.load(out), X)
    assert (
        found["label"].tolist()
        == y.tolist()[:0] + budgetron.load(tmp_path / "m.btn").predict(X).tolist()
    )


def test_without_onnx_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from budgetron.cli._command import execute

    X, y = rows(300, 0, 2, gaps=False)
    budgetron.save(budgetron.BudgetronClassifier(budget=9).fit(X, y), tmp_path / "m.btn")
    monkeypatch.setitem(sys.modules, "onnx", None)
    out = str(tmp_path / "m.onnx")
    assert execute(["export", str(tmp_path / "m.btn"), "--to", "onnx", "--out", out]) == 2
    assert capsys.readouterr().err == (
        "budgetron: ONNX needs the package onnx: pip install 'budgetron[onnx]'\n"
    )
