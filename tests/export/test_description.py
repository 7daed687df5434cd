"""The description decides like the model; models without one are refused in one line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import budgetron
from budgetron.export import ExportError, describe
from budgetron.export import reading as reader
from tests.export.exported import Setting, off, rows, settings, truth


def same(setting: Setting) -> None:
    model = setting.taught()
    X = setting.unseen(1000)
    found, decisions = describe(model), truth(model, X)
    assert off(found.decide(X), decisions) < 1e-7
    if setting.classes:
        assert found.link is not None
        ours = [found.link.probabilities(setting.classes, f) for f in decisions]
        np.testing.assert_allclose(ours, model.predict_proba(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("setting", list(settings(40)), ids=str)
def test_some_learners(setting: Setting) -> None:
    same(setting)


@pytest.mark.long
@pytest.mark.parametrize("setting", list(settings()), ids=str)
def test_every_learner(setting: Setting) -> None:
    same(setting)


def test_a_metric_a_race_and_a_change_of_units() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 6)) * [1, 1000, 0.01, 5, 1, 1] + [0, 500, 0, 10_000, 0, 0]
    y = (X[:, 0] + (X[:, 1] > 900) > 0.5).astype(int) + (X[:, 3] > 10_006)
    X[1500:, 1] *= 1000
    model = budgetron.BudgetronClassifier(budget=60, gamma="race").partial_fit(X, y)
    assert model.unit_changes_ > 0
    assert off(describe(model).decide(X), truth(model, X)) < 1e-9


@pytest.mark.parametrize("labels", [["no", "yes", "perhaps"], [True, False], [3, 70], [0.0, 2.0]])
def test_labels_of_any_type(labels: list[Any]) -> None:
    X, y = rows(300, 0, len(labels), gaps=False)
    model = budgetron.BudgetronClassifier(budget=10).fit(X, np.array(labels)[y])
    assert describe(model).classes == sorted(labels)


def test_one_class_one_row_and_constants() -> None:
    X = np.ones((1, 3))
    found = describe(budgetron.BudgetronClassifier(budget=10).partial_fit(X, ["only"]))
    assert found.link is not None
    assert found.link.probabilities(1, found.decide(X)[0]).tolist() == [1.0]
    model = budgetron.make("rbp", budget=5).fit(np.ones((20, 2)), np.arange(20) % 2)
    assert np.isfinite(describe(model).decide(np.ones((2, 2)))).all()


def test_probabilities_near_the_boundary() -> None:
    """Log odds start at 0 with f and rise steeply: rows on a line from one class to the other."""
    X, y = rows(2000, 0, 2, gaps=False)
    model = budgetron.BudgetronClassifier(budget=40).fit(X, y)
    found = describe(model)
    assert found.link is not None
    decisions = model.decision_function(X)
    ends = X[[decisions.argmin(), decisions.argmax()]]
    line = ends[0] + np.linspace(0, 1, 20_000)[:, None] * (ends[1] - ends[0])
    f, shares = truth(model, line), model.predict_proba(line)
    slope, offset, steep = found.link.above[0]
    ramp = (f[:, 0] > 0) & (steep * f[:, 0] < slope * f[:, 0] + offset)
    assert np.count_nonzero(ramp) > 3
    ours = [found.link.probabilities(2, each) for each in f]
    np.testing.assert_allclose(ours, shares, rtol=1e-9)


@pytest.mark.parametrize("average", ["mean", "suffix"])
def test_averaged_feature_maps(average: str) -> None:
    X, y = rows(400, 0, 3, gaps=True)
    model = budgetron.FOGDClassifier(n_components=20, average=average).partial_fit(X, y)
    assert off(describe(model).decide(X), truth(model, X)) < 1e-9


def test_sparse_rows_of_growing_width() -> None:
    random = np.random.default_rng(0)
    X = scipy.sparse.random_array((400, 300), density=0.02, rng=random, format="csr")
    y = np.asarray(X[:, :150].sum(axis=1)).ravel() > np.asarray(X[:, 150:].sum(axis=1)).ravel()
    model = budgetron.BudgetronClassifier(budget=40).partial_fit(X, y)
    found = describe(model)
    assert found.sparse
    assert off(found.decide(X), truth(model, X.toarray())) < 1e-9


def test_models_of_river() -> None:
    pytest.importorskip("river")
    from budgetron.river import BudgetronClassifier, FOGDClassifier

    X, y = rows(400, 0, 2, gaps=False)
    for model in (BudgetronClassifier(budget=20), FOGDClassifier(n_components=30)):
        for x, label in zip(X.tolist(), y.tolist(), strict=True):
            model.learn_one(dict(zip("dabc", x, strict=True)), bool(label))
        found = describe(model)
        assert sorted(found.features) == list("abcd")
        order = ["dabc".index(name) for name in found.features]
        for x in X[:50]:
            chance = model.predict_proba_one(dict(zip("dabc", x.tolist(), strict=True)))[True]
            assert found.link is not None
            f = found.decide(x[None, order])[0]
            assert found.link.probabilities(2, f)[1] == pytest.approx(chance, abs=1e-9)


def test_what_cannot_be_exported_says_so_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rows(300, 0, 2, gaps=False)
    scaled = make_pipeline(StandardScaler(), budgetron.BudgetronClassifier(budget=9)).fit(X, y)
    with pytest.raises(ExportError, match=r"^a pipeline with StandardScaler cannot be .*skl2onnx"):
        describe(scaled)
    with pytest.raises(
        ExportError, match=r"^StandardScaler cannot be exported: it is not a learner"
    ):
        describe(StandardScaler().fit(X))
    with pytest.raises(NotFittedError):
        describe(budgetron.BudgetronClassifier())
    model = budgetron.BudgetronClassifier(budget=9).fit(X, y)
    monkeypatch.setattr(reader, "KINDS", reader.KINDS - {"budgetron"})
    with pytest.raises(ExportError, match="does not know how a 'budgetron' answers") as caught:
        describe(model)
    assert "\n" not in str(caught.value)
    monkeypatch.undo()
    monkeypatch.setattr(reader, "MOST", 10)
    with pytest.raises(ExportError, match="the most that are exported"):
        describe(model)


def test_a_learner_that_answers_otherwise_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rows(300, 0, 2, gaps=False)
    model = budgetron.BudgetronClassifier(budget=9).fit(X, y)
    monkeypatch.setattr(reader, "_straight", lambda *_: None)
    with pytest.raises(ExportError, match="does not answer as an expansion"):
        describe(model)
