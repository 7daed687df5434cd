"""The text form in Node: the same decisions, labels and probabilities as in Python."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import budgetron
from budgetron.export import to_json
from budgetron.export.json_text import javascript
from tests.export.exported import Setting, in_node, listed, needs_node, off, rows, settings, truth

pytestmark = needs_node


def same(setting: Setting, folder: Path) -> None:
    model, X = setting.taught(), setting.unseen(300)
    answers = in_node(model, listed(X), folder)
    assert off(np.array([each["f"] for each in answers]), truth(model, X)) < 1e-7
    said = np.array([each["said"] for each in answers])
    if not setting.classes:
        np.testing.assert_allclose(said, model.predict(X), rtol=1e-6, atol=1e-9)
        return
    assert np.array_equal(said, model.predict(X))
    shares = np.array([each["p"] for each in answers])
    np.testing.assert_allclose(shares, model.predict_proba(X), atol=1e-6)
    assert np.array_equal(model.classes_[shares.argmax(axis=1)], said)


@pytest.mark.parametrize("setting", list(settings(50)), ids=str)
def test_some_learners(setting: Setting, tmp_path: Path) -> None:
    same(setting, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("setting", list(settings()), ids=str)
def test_every_learner(setting: Setting, tmp_path: Path) -> None:
    same(setting, tmp_path)


def test_rows_by_name_and_wrong_rows(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    X, y = rows(300, 0, 2, gaps=False)
    named = pandas.DataFrame(X, columns=list("abcd"))
    model = budgetron.BudgetronClassifier(budget=9).fit(named, np.array(["no", "yes"])[y])
    answers = in_node(model, named[:20].to_dict("records"), tmp_path)
    assert [each["said"] for each in answers] == model.predict(named[:20]).tolist()
    with pytest.raises(AssertionError, match="a row has 4 numbers, not 3"):
        in_node(model, [[1, 2, 3]], tmp_path)


def test_sparse_examples(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    X = (random.random((500, 60)) < 0.05) * random.normal(size=(500, 60))
    y = X[:, :30].sum(axis=1) > 0
    for kernel in ("rbf", "laplacian", "poly"):
        model = budgetron.BudgetPerceptronClassifier(budget=20, kernel=kernel).partial_fit(X, y)
        assert "places" in json.loads(to_json(model))["examples"]
        answers = in_node(model, listed(X[:50]), tmp_path)
        assert off(np.array([each["f"] for each in answers]), truth(model, X[:50])) < 1e-9


def test_the_form_is_stable() -> None:
    """Readers of version 1 rely on these names: another format needs another version."""
    X, y = rows(300, 0, 3, gaps=True)
    found = json.loads(to_json(budgetron.BudgetronClassifier(budget=9).fit(X, y)))
    assert (found["format"], found["version"]) == ("budgetron-predict", 1)
    assert sorted(found) == [
        "classes", "coefs", "examples", "features", "format", "frequencies", "intercept", "kernel",
        "learner", "link", "straight", "table", "units", "version",
    ]  # fmt: skip
    assert sorted(found["units"]) == ["center", "clip", "flagged", "inverse", "missing", "stretch"]
    assert sorted(found["kernel"]) == ["coef0", "degree", "gamma", "kind"]
    assert sorted(found["link"]) == ["above", "below"]
    assert np.shape(found["examples"]["values"]) == (9, 4)


def test_the_reader_is_short() -> None:
    lines = javascript().splitlines()
    assert len([each for each in lines if each.strip() and not each.startswith("//")]) < 70
