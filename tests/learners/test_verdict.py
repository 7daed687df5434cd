"""A model that does not learn warns, once; on noise there is no warning."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import budgetron
import budgetron.river
from budgetron import NotLearningWarning
from budgetron.catalogue import CATALOGUE
from budgetron.compare import Settings, compare
from papers.verdict import Verdict
from tests.support.cases import as_format, same_state
from tests.support.native import native_of, state_of

BOTH = [(name, task) for name, entry in CATALOGUE.items() for task in entry.tasks]
# Learners whose mistakes on noise are many times those of a random guess, so that the warning is
# right there too: CKS drops the example that is classified best, Stoptron stops when it is full.
RUINED_BY_NOISE = {"cks", "stoptron"}
WITHOUT_BUDGET = {"perceptron", "pa", "ogd", "alma", "pegasos", "avp"}

each_learner = pytest.mark.parametrize(("name", "task"), BOTH)


def make(name: str, task: str = "classification", **params: Any) -> Any:
    found = {"gamma": 1e6, "scale": None, "random_state": 0, **params}
    if name == "avm":
        found = {"delta": 0.5, **found}
    if name == "budgetron":  # a straight part answers where no example is near
        found = {"straight": "none", **found}
    return budgetron.make(name, task=task, **found)


def rows(count: int, task: str = "classification", seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 3))
    return X, X[:, 0] + 0.5 if task == "regression" else (X[:, 0] > 0).astype(int)


def warned(model: Any, X: Any, y: Any, **more: Any) -> list[str]:
    """The warnings while it learned in chunks."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for start in range(0, len(y), 250):
            model.partial_fit(X[start : start + 250], y[start : start + 250], **more)
    assert all(each.filename == __file__ for each in caught)
    return [str(each.message) for each in caught if each.category is NotLearningWarning]


# ---- the page ------------------------------------------------------------------------------------


def disappointing(kind: str) -> tuple[Any, Any, Any]:
    """Rows that can be learned, followed by rows that make decisions worse than a guess."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(6000, 3))
    weight = rng.integers(1, 4, size=len(X)) / 2.0
    weight[::97] = 0.0
    late = np.arange(len(X)) > 3000
    if kind == "regression":
        y = np.where(late, -20.0 * X[:, 0], X[:, 0])
        X[late] *= -1.0
    else:
        y = (X[:, 0] > 1.0).astype(int) + (2 * (X[:, 1] > 1.3) if kind == "several" else 0)
        y[late] = np.where(rng.random(late.sum()) < 0.9, 0, 1)
        X[late, 0] += 3.0
    return X, y, weight


@pytest.mark.parametrize("kind", ["two", "several", "regression"])
@pytest.mark.parametrize("name", ["stoptron", "rbp", "budgetron", "fogd"])
def test_follows_its_page(name: str, kind: str) -> None:
    """Verdict and losses after every row, with weights, and with classes that join."""
    task = "regression" if kind == "regression" else "classification"
    if task not in CATALOGUE[name].tasks:
        pytest.skip("it has no regressor")
    X, y, weight = disappointing(kind)
    model, page = make(name, task, gamma=0.3), Verdict()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for x, target, w in zip(X, y, weight, strict=True):
            known = len(getattr(model, "classes_", ())) if hasattr(model, "_engine") else 0
            stored = model.n_support_ if hasattr(model, "_engine") else 0
            before = model.n_mistakes_ if known else 0
            answer = model.prequential(x[None, :], [target], sample_weight=[w])[0]
            silent = stored > 0 and not np.any(answer)
            if w > 0 and task == "regression":
                page.count_target(target, float(answer), w, silent)
            elif w > 0:
                page.count_class(target, model.n_mistakes_ > before, w, silent)
            found = native_of(model).verdict
            assert (found is not None) == (page.kind != "none")
            if found is not None:
                assert found[0] == page.kind
                assert found[1:] == pytest.approx(page.losses, rel=1e-9)
                break
    if name == "stoptron":
        assert page.kind == "worse"


# ---- the text ------------------------------------------------------------------------------------


@each_learner
def test_decisions_that_died_out(name: str, task: str) -> None:
    X, y = rows(2500, task)
    said = warned(make(name, task), X, y)
    if name == "fogd":  # it has no kernel values
        assert not any("kernel values" in each for each in said)
        return
    assert len(said) == 1
    assert "all kernel values of the last 1,000 rows with stored examples were 0" in said[0]
    assert 'Set scale="auto" and gamma="median"' in said[0]


@pytest.mark.parametrize("name", ["rbp", "forgetron", "budgetron", "nogd"])
def test_worse_than_the_majority_class(name: str) -> None:
    """Output 0 means the rare class, and hardly a row has a neighbour."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 60, size=(4000, 2)).astype(float)
    y = (rng.random(4000) < 0.1).astype(int)
    said = warned(make(name), X, y)
    assert len(said) == 1
    assert "mistakes; the majority class alone has" in said[0]


def test_worse_than_a_guess_among_many_even_classes() -> None:
    """A learner that repeats the last label is always wrong; the bound stays below 1."""
    X = np.ones((4000, 2)) + np.arange(4000)[:, None] * 1e-9
    y = np.arange(4000) % 4
    with pytest.warns(NotLearningWarning, match="the majority class alone has 7"):
        model = budgetron.make("pa", gamma=1.0, scale=None, C=1e6).partial_fit(X, y)
    assert model.n_mistakes_ > 3900


def test_worse_than_the_mean() -> None:
    X, y, _ = disappointing("regression")
    said = warned(make("fogd", "regression", gamma=0.3, target_scale=None, step=2.5), X, y)
    assert len(said) == 1
    assert "root mean squared error" in said[0]
    assert "the mean of the targets alone has" in said[0]


def test_the_cure_is_one_that_is_not_in_force() -> None:
    X, y = rows(2500)
    assert 'Set gamma="median", or' in warned(make("rbp", scale="standard"), X, y)[0]
    linear = make("rbp", kernel="linear", scale="auto")
    X, y, _ = disappointing("two")
    said = warned(make("stoptron", gamma="median", scale="auto", budget=5), X, y)
    assert said
    assert "Set" not in said[0]
    assert "larger budget" in said[0]
    assert "gamma" not in "".join(warned(linear, X, y))


# ---- once ----------------------------------------------------------------------------------------


def test_once_also_after_loading(tmp_path: Any) -> None:
    X, y = rows(4000)
    model = make("rbp")
    assert len(warned(model, X[:2000], y[:2000])) == 1
    budgetron.save(model, tmp_path / "model.btn")
    for twin in (model, budgetron.load(tmp_path / "model.btn"), pickle.loads(pickle.dumps(model))):
        assert twin.not_learning_ == model.not_learning_ is not None
        assert warned(twin, X[2000:], y[2000:]) == []


def test_goes_on_counting_after_loading(tmp_path: Any) -> None:
    X, y = rows(2000)
    model = make("rbp").partial_fit(X[:700], y[:700])
    budgetron.save(model, tmp_path / "model.btn")
    twin = budgetron.load(tmp_path / "model.btn")
    assert twin.not_learning_ is None
    assert len(warned(twin, X[700:1100], y[700:1100])) == 1
    assert warned(model, X[700:1100], y[700:1100]) == [twin.not_learning_]
    same_state(model, twin)


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_the_same_however_rows_come(layout: str) -> None:
    X, y = rows(1500)
    whole, parts = make("rbp"), make("rbp")
    with pytest.warns(NotLearningWarning):
        whole.partial_fit(as_format(X, layout), y)
    assert len(warned(parts, X, y)) == 1
    assert whole.not_learning_ == parts.not_learning_
    one, other = (
        {name: each.tobytes() for name, each in state_of(model).items() if "verdict/" in name}
        for model in (whole, parts)
    )
    assert one == other


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_one_row_at_a_time(task: str) -> None:
    X, y = rows(1500, task)
    model = make("rbp", task)
    model.partial_fit(X[:2], [0, 1] if task == "classification" else y[:2])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for x, target in zip(X, y.tolist(), strict=True):
            model.learn_one(x, target)
    assert [each.category for each in caught] == [NotLearningWarning]
    assert caught[0].filename == __file__


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("many", [False, True])
def test_river(task: str, many: bool) -> None:
    import pandas as pd

    X, y = rows(1500, task)
    model = budgetron.river.make("rbp", task, gamma=1e6, scale=None, seed=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if many:
            model.learn_many(pd.DataFrame(X, columns=list("abc")), pd.Series(y))
        else:
            for x, target in zip(X.tolist(), y.tolist(), strict=True):
                model.learn_one(dict(zip("abc", x, strict=True)), target)
    said = [each for each in caught if each.category is NotLearningWarning]
    assert len(said) == 1
    assert said[0].filename == __file__


@pytest.mark.parametrize("river", [False, True])
def test_an_error_if_the_user_wants_one(river: bool) -> None:
    """The row is learned, and counted where classes are balanced."""
    X, y = rows(1500)
    how: dict[str, Any] = {"gamma": 1e6, "scale": None, "class_weight": "balanced"}
    errors = 0
    if river:
        one = budgetron.river.make("rbp", seed=0, **how)
    else:
        one = make("rbp", **how).partial_fit(X[:2], [0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x, target in zip(X, y.tolist(), strict=True):
            try:
                one.learn_one(dict(enumerate(x.tolist())) if river else x, target)
            except NotLearningWarning:
                errors += 1
    model = one.estimator if river else one
    assert errors == 1
    assert model.n_seen_ == sum(model._class_counts) == (1500 if river else 1502)


# ---- silence -------------------------------------------------------------------------------------


def noise(kind: str, count: int, seed: int) -> tuple[str, Any, Any]:
    """Targets that are independent of the rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 4))
    several = [0.6, 0.2, 0.1, 0.05, 0.05]
    targets = {
        "two": lambda: rng.integers(2, size=count),
        "two, 90/10": lambda: (rng.random(count) < 0.1).astype(int),
        "two, 97/3": lambda: (rng.random(count) < 0.03).astype(int),
        "five": lambda: rng.integers(5, size=count),
        "five, uneven": lambda: rng.choice(5, p=several, size=count),
        "normal": lambda: rng.normal(size=count),
        "Cauchy": lambda: rng.standard_cauchy(size=count),
    }
    task = "regression" if kind in ("normal", "Cauchy") else "classification"
    return task, X, targets[kind]()


@pytest.mark.parametrize(
    "kind", ["two", "two, 90/10", "two, 97/3", "five", "five, uneven", "normal", "Cauchy"]
)
@each_learner
def test_silent_on_noise(name: str, task: str, kind: str) -> None:
    """studies/noise.py uses 200,000 rows."""
    of_noise, X, y = noise(kind, 3000 if name in WITHOUT_BUDGET else 12_000, 0)
    if of_noise != task or name in RUINED_BY_NOISE:
        return
    assert warned(make(name, task, gamma="median", scale="auto"), X, y) == []


def test_cks_is_worse_than_a_guess_on_uneven_noise() -> None:
    _, X, y = noise("two, 90/10", 12_000, 0)
    assert len(warned(make("cks", gamma="median", scale="auto"), X, y)) == 1


def test_silent_in_the_laboratory(tmp_path: Any) -> None:
    X, y = rows(1500)
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotLearningWarning)
        found = compare(
            [("rows", X, y)],
            ["rbp"],
            tmp_path / "out",
            budgets=[20],
            settings=Settings(repeats=1),
            common={"gamma": 1e6, "scale": None},
            processes=1,
        )
    assert not any("kernel values" in each for each in found.warnings)
