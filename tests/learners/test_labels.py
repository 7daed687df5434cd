"""Choosing which labels to request: at most the share, better than random, saved, in `run`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import budgetron
from budgetron import BudgetronClassifier, BudgetronError
from budgetron.cli import main
from budgetron.estimators._base.asking import EVEN, FIRST, Asking
from budgetron.evaluate.adapters import face


def rows(count: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 4))
    return X, (X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0).astype(int)


def learned(X: Any, y: Any, share: float) -> tuple[float, Any]:
    model = BudgetronClassifier(budget=40)
    learner = face(model, "classification", np.unique(y), growing=False, ask=share)
    return float((learner.test_then_train(X, y).values != y).mean()), model


def test_better_than_chance_within_the_share() -> None:
    X, y = rows(6000)
    wrong, model = learned(X, y, 0.1)
    assert 0.09 * 6000 < model.labels_asked_ <= 0.1 * 6000 + FIRST
    assert model.n_seen_ == model.labels_asked_
    weights = (np.random.default_rng(1).random(6000) < model.labels_asked_ / 6000).astype(float)
    weights[0] = 1.0
    f = BudgetronClassifier(budget=40).prequential(X, y, classes=[0, 1], sample_weight=weights)
    assert wrong < 0.9 * ((f >= 0) != y).mean()


def test_row_by_row_is_the_same() -> None:
    X, y = rows(700)
    _, ahead = learned(X, y, 0.2)
    model = BudgetronClassifier(budget=40)
    for i in range(700):
        if model.should_label(X[i : i + 1], share=0.2)[0]:
            model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])
    assert model._asks == ahead._asks
    assert np.array_equal(model.decision_function(X), ahead.decision_function(X))


def test_small_margins_are_asked_for() -> None:
    asking = Asking(threshold=0.5, rows=10 * FIRST, asked=0)
    assert asking.choose(np.array([0.1, 2.0, 0.4, 0.9]), 0.1).tolist() == [True, False, True, False]
    sure = Asking(rows=FIRST, asked=0)
    even = sure.choose(np.full(1000, 1e9), 0.2)
    assert abs(even.sum() - EVEN * 0.2 * 1000) <= 1


def test_more_than_two_classes_and_sparse_rows() -> None:
    import scipy.sparse

    X, y = rows(1200)
    y = y + 2 * (X[:, 3] > 0)
    model = BudgetronClassifier(budget=40).partial_fit(X[:300], y[:300])
    twin = BudgetronClassifier(budget=40).partial_fit(X[:300], y[:300])
    ask = model.should_label(X[300:])
    assert np.array_equal(ask, twin.should_label(scipy.sparse.csr_array(X[300:])))
    assert FIRST <= ask.sum() < 400


def test_saved_and_started_again(tmp_path: Path) -> None:
    X, y = rows(900)
    _, model = learned(X, y, 0.1)
    budgetron.save(model, tmp_path / "m.btn")
    again = budgetron.load(tmp_path / "m.btn")
    assert again.labels_asked_ == model.labels_asked_ > 0
    assert np.array_equal(again.should_label(X), model.should_label(X))
    assert model.fit(X, y).labels_asked_ == 0


def test_refusals() -> None:
    X, y = rows(50)
    for share in (0, -0.1, 1.1, "10%", True, np.nan):
        with pytest.raises(BudgetronError, match="share="):
            BudgetronClassifier().fit(X, y).should_label(X, share=share)


def test_run_asks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = rows(1500)
    path = tmp_path / "s.csv"
    np.savetxt(path, np.column_stack([X, y]), "%g", ",", header="a,b,c,d,y", comments="")

    def call(*more: str) -> tuple[Any, str]:
        with pytest.raises(SystemExit) as ended:
            main(["run", str(path), "--label", "y", "--json", *more])
        out, err = capsys.readouterr()
        return (json.loads(out) if ended.value.code == 0 else None), err

    said, _ = call("--ask", "0.2")
    assert said["rows"] == 1500
    assert 0.15 * 1500 < said["labels_asked"] <= 0.2 * 1500 + FIRST
    assert call("--labels", "0.2")[0]["mistakes"] == said["mistakes"]
    assert "at most 1" in call("--ask", "2")[1]
    assert "do not work together" in call("--ask", "0.2", "--coverage", "0.9")[1]
    assert call("--ask", "1")[0]["labels_asked"] == 1500
    kept = ["--ask", "0.2", "--checkpoint", str(tmp_path / "k.btn")]
    assert call(*kept)[0]["mistakes"] == said["mistakes"]
    assert call(*kept)[0]["mistakes"] == said["mistakes"]  # resumed at the end
    assert "of another run (ask" in call("--ask", "0.3", *kept[2:])[1]


def test_rows_are_checked_before_there_are_classes() -> None:
    for bad in ("abc", np.zeros(4), [[np.inf]], None):
        with pytest.raises(BudgetronError):
            BudgetronClassifier().should_label(bad)
