"""Users' mistakes are BudgetronError, wherever they are found; bugs are not."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import budgetron
from budgetron import BudgetronError, _core, parts
from budgetron.datasets import DataError
from budgetron.errors import as_budgetron_error
from budgetron.streams import StreamError, open_stream

X = np.random.default_rng(0).normal(size=(6, 2))
Y = np.array([0, 1, 0, 1, 1, 0])


def fitted(**params: Any) -> Any:
    return budgetron.make("rbp", budget=4, **params).fit(X, Y)


def spec(**changes: Any) -> Any:
    return {**parts.Round(parts.Gaussian(1.0), parts.AvpUpdate()).spec(), **changes}


# By where they are found: the core, scikit-learn's checks, NumPy's, our own.
MISTAKES: dict[str, Callable[[], Any]] = {
    "a spec with a name too many": lambda: _core.Model64(spec(more=1), "classification", 2, 0),
    "a learner that does not exist": lambda: _core.Model64({"kind": "x"}, "classification", 2, 0),
    "a damaged state": lambda: fitted()._engine.native.load({}),
    "a value of a parameter": lambda: fitted(gamma=-1.0),
    "a value of a part": lambda: budgetron.KernelClassifier(
        kernel=parts.Gaussian(-1.0), update=parts.PerceptronUpdate()
    ).fit(X, Y),
    "a parameter that does not exist": lambda: fitted().set_params(bugdet=3),
    "NaN": lambda: fitted().predict([[np.nan, 0.0]]),
    "text": lambda: fitted().predict([["a", "b"]]),
    "another width": lambda: fitted().predict(X[:, :1]),
    "one dimension": lambda: fitted().predict(X[0]),
    "more labels than rows": lambda: fitted().partial_fit(X, Y[:-1]),
    "fractions as labels": lambda: fitted().partial_fit(X, Y + 0.5),
    "labels with two axes": lambda: fitted().partial_fit(X, np.c_[Y, Y]),
    "ragged labels": lambda: fitted().partial_fit(X[:2], [[1], [1, 2]]),
    "text as weights": lambda: fitted().fit(X, Y, sample_weight=["a"] * len(Y)),
    "rows to measure": lambda: budgetron.suggest_delta(X[:1]),
    "an algorithm that does not exist": lambda: budgetron.make("rpb"),
    "a task that does not exist": lambda: budgetron.algorithms("ranking"),
    "a file that is no model": lambda: budgetron.load(__file__),
    "a stream that does not exist": lambda: open_stream("synthetic:see"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_of_the_user_is_a_budgetron_error(mistake: str) -> None:
    with pytest.raises(BudgetronError):
        MISTAKES[mistake]()


def test_it_is_a_value_error_and_so_are_its_kinds() -> None:
    assert issubclass(BudgetronError, ValueError)
    for kind in (budgetron.ModelFileError, StreamError, DataError):
        assert issubclass(kind, BudgetronError)
    assert not issubclass(NotFittedError, BudgetronError)


def test_it_is_shown_and_pickled_by_its_public_name() -> None:
    error = pickle.loads(pickle.dumps(BudgetronError("gamma is -1")))
    assert type(error) is BudgetronError
    assert (BudgetronError.__module__, str(error)) == ("budgetron", "gamma is -1")


def test_a_row_of_river_is_refused_alike() -> None:
    river = pytest.importorskip("budgetron.river")
    with pytest.raises(BudgetronError, match="feature 'a' is nan: values must be finite numbers"):
        river.make("rbp").learn_one({"a": float("nan")}, True)


def test_other_errors_stay_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        budgetron.make("rbp").predict(X)
    with pytest.raises(FileNotFoundError):
        budgetron.load(tmp_path / "nothing.btn")
    with pytest.raises(TypeError):
        fitted().learn_one(X[0].astype(np.float32), 0)


def test_a_bug_is_no_mistake_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """What our own code raises behind the checks goes through unchanged."""

    def broken(*_: Any, **__: Any) -> None:
        raise ValueError("a bug")

    model = fitted()
    monkeypatch.setattr(type(model._engine), "learn", broken)
    with pytest.raises(ValueError, match="a bug") as caught:
        model.partial_fit(X, Y)
    assert type(caught.value) is ValueError


def test_the_door_keeps_text_and_traceback() -> None:
    def check() -> None:
        raise ValueError("X is wrong")

    with pytest.raises(BudgetronError, match=r"^X is wrong$") as caught, as_budgetron_error():
        check()
    assert [entry.name for entry in caught.traceback][-1] == "check"
    assert caught.value.__suppress_context__
    own = StreamError("file", 3, "what")
    with pytest.raises(StreamError) as same, as_budgetron_error():
        raise own
    assert same.value is own
    with pytest.raises(TypeError), as_budgetron_error():
        raise TypeError("another")
