"""Users' mistakes are BudgetronError, wherever they are detected; bugs are not."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import budgetron
from budgetron import BudgetronError, _core, parts
from budgetron.cli import main
from budgetron.datasets import DataError
from budgetron.errors import as_budgetron_error
from budgetron.streams import StreamError, open_stream
from tests.support.native import native_of
from tests.support.repository import ROOT

X = np.random.default_rng(0).normal(size=(6, 2))
Y = np.array([0, 1, 0, 1, 1, 0])


def fitted(**params: Any) -> Any:
    return budgetron.make("rbp", budget=4, **params).fit(X, Y)


def spec(**changes: Any) -> Any:
    return {**parts.Round(parts.Gaussian(1.0), parts.AvpUpdate()).spec(), **changes}


# By where they are detected: the core, scikit-learn's checks, NumPy's, our own.
MISTAKES: dict[str, Callable[[], Any]] = {
    "a spec with a name too many": lambda: _core.Model64(spec(more=1), "classification", 2, 0),
    "a learner that does not exist": lambda: _core.Model64({"kind": "x"}, "classification", 2, 0),
    "a damaged state": lambda: native_of(fitted()).load({}),
    "a value of a parameter": lambda: fitted(gamma=-1.0),
    "a value of a part": lambda: budgetron.KernelClassifier(
        kernel=parts.Gaussian(-1.0), update=parts.PerceptronUpdate()
    ).fit(X, Y),
    "a parameter that does not exist": lambda: fitted().set_params(bugdet=3),
    "NaN": lambda: fitted(scale=None).predict([[np.nan, 0.0]]),
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
    with pytest.raises(BudgetronError, match="feature 'a' is inf: values must be finite numbers"):
        river.make("rbp").learn_one({"a": float("inf")}, True)
    with pytest.raises(BudgetronError, match="feature 'a' is nan; scale=\"auto\" treats it as"):
        river.make("rbp", scale=None).learn_one({"a": float("nan")}, True)


def test_other_errors_stay_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        budgetron.make("rbp").predict(X)
    with pytest.raises(FileNotFoundError):
        budgetron.load(tmp_path / "nothing.btn")
    with pytest.raises(TypeError):
        fitted().learn_one(X[0].astype(np.float32), 0)


def test_a_bug_is_no_mistake_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors of our own code behind the checks pass through unchanged."""

    def broken(*_: Any, **__: Any) -> None:
        raise ValueError("a bug")

    model = fitted()
    monkeypatch.setattr(type(model), "_learn_rows", broken)
    with pytest.raises(ValueError, match="a bug") as caught:
        model.partial_fit(X, Y)
    assert type(caught.value) is ValueError


# Caught again in the function that raises it.
LOCAL = {
    "src/budgetron/cli/_checkpoint.py",
    "src/budgetron/model_file/__init__.py",
    "src/budgetron/sources/kafka.py",
}


def test_the_package_raises_no_other_value_error() -> None:
    files = (ROOT / "src/budgetron").rglob("*.py")
    found = {
        file.relative_to(ROOT).as_posix()
        for file in files
        if "raise ValueError" in file.read_text(encoding="utf-8")
    }
    assert found == LOCAL


# ---- the command line ----------------------------------------------------------------------------

SEA = "synthetic:sea,rows=60"
ANSWERING = "budgetron.estimators._base.estimator:OnlineEstimator._answer"
LEARNING = "budgetron.estimators._base.classifier:OnlineClassifier._learn_rows"
# A verb, and the function that breaks in it: one of ours that raises its own ValueError.
VERBS: dict[str, tuple[list[str], str]] = {
    "run": (["run", SEA, "-a", "rbp"], LEARNING),
    "make": (["run", SEA, "-a", "rbp"], "budgetron.catalogue:Entry.estimator"),
    "stream": (["run", SEA, "-a", "rbp"], "budgetron.streams.synthetic:SyntheticStream._take"),
    "predict": (
        ["predict", "model.btn", SEA],
        "budgetron.estimators._base.estimator:OnlineEstimator._answer",
    ),
    "tune": (
        ["tune", SEA, "-a", "rbp", "--rows", "60", "--processes", "1"],
        LEARNING,
    ),
    "compare": (
        ["compare", SEA, "-a", "rbp", "-b", "5", "--repeats", "1", "--processes", "1"],
        LEARNING,
    ),
    "table": (
        ["compare", SEA, "-a", "rbp", "-b", "5", "--repeats", "1", "--processes", "1"],
        "budgetron.lab.store:Store.add",
    ),
    "algorithms": (["algorithms", "rbp"], "budgetron.catalogue:Entry.estimator"),
}
PLANTED = """
import sys
from importlib import import_module

def broken(*_, **__):
    raise ValueError("a planted bug")

module, _, path = sys.argv.pop(1).partition(":")
kind, _, name = path.partition(".")
setattr(getattr(import_module(module), kind), name, broken)
from budgetron.cli import main
main()
"""


@pytest.mark.parametrize("verb", VERBS)
def test_a_bug_keeps_its_traceback_on_the_command_line(verb: str, tmp_path: Path) -> None:
    arguments, place = VERBS[verb]
    budgetron.save(budgetron.make("rbp").fit(np.c_[X, X[:, :1]], Y), tmp_path / "model.btn")
    command = [sys.executable, "-c", PLANTED, place, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode not in (0, 2)
    assert "Traceback (most recent call last)" in done.stderr
    assert done.stderr.rstrip().splitlines()[-1] == "ValueError: a planted bug"
    assert "in broken" in done.stderr


def test_a_bug_in_a_worker_process_is_shown_with_its_place(tmp_path: Path) -> None:
    """The traceback of the other process comes as a note."""
    code = (
        "from budgetron.lab.workers import Workers\n"
        "if __name__ == '__main__':\n"
        "    with Workers(2) as pool:\n"
        "        for _, result in pool.unordered(int, ['1', 'x']):\n"
        "            if isinstance(result, Exception):\n"
        "                raise result\n"
    )
    script = tmp_path / "work.py"
    script.write_text(code, encoding="utf-8")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert done.returncode == 1
    assert "ValueError: invalid literal for int()" in done.stderr
    assert "in _result" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["run", SEA, "-a", "rbp", "--gamma", "-1"],
            "gamma must be a number, above 0, or one of median",
        ),
        (
            ["run", SEA, "-a", "rbp", "--set", "scale=3"],
            "scale must be one of standard, auto, or none, not 3$",
        ),
        (["run", "synthetic:see", "-a", "rbp"], "no synthetic stream is called 'see'"),
        (["run", SEA, "-a", "rbp", "--classes", "a,b"], "is not among --classes"),
        (["predict", "model.btn", SEA], ": has 3 features, but the model has 2$"),
        (["tune", SEA, "-a", "rbp", "--budget", "0", "--rows", "60"], "budget must be a whole num"),
        (["compare", SEA, "-a", "rbp", "-b", "0", "--repeats", "1"], "or a size as 256KB, not 0$"),
        (["run", SEA, "--seed", "-1"], "at most 4294967295, or none, not -1$"),
        (
            ["run", SEA, "--set", "class_weight=x"],
            "class_weight must be balanced, or none, not 'x'$",
        ),
        (["run", SEA, "-a", "alma", "--set", "alpha=0"], "above 0 and at most 1, not 0$"),
        (["compare", SEA], "Add -a budgetron,forgetron"),
        (["algorithms", "rpb"], "unknown algorithm 'rpb'"),
    ],
)
def test_a_mistake_is_one_line_on_the_command_line(
    arguments: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    budgetron.save(fitted(), tmp_path / "model.btn")
    with pytest.raises(SystemExit) as exit:
        main(arguments)
    assert exit.value.code == 2
    [line] = capsys.readouterr().err.splitlines()
    assert re.search(says, line), line


def test_a_mistake_that_no_verb_expects_is_one_line_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: Any) -> None:
        raise BudgetronError("the card is wrong")

    monkeypatch.setattr("budgetron.cli.algorithms.jsonable", refuse)
    with pytest.raises(SystemExit) as exit:
        main(["algorithms", "--json"])
    assert exit.value.code == 2
    assert capsys.readouterr().err == "budgetron: the card is wrong\n"


# ---- the public interface ------------------------------------------------------------------------


def test_the_conversion_keeps_text_and_traceback() -> None:
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
