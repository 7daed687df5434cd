"""The River interface: River's own checks, and the same bits as the scikit-learn interface."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import river.checks
import scipy.sparse
from river import compose, datasets, evaluate, metrics, preprocessing

import budgetron
import budgetron.river
from budgetron import parts
from budgetron.catalogue import CATALOGUE
from budgetron.river.factory import DROPPED
from budgetron.river.feature_names import LARGEST, Names, hashed
from tests.support.cases import (
    CASES,
    KINDS,
    REGRESSION,
    REGRESSION_KINDS,
    Case,
    numeric_stream,
    same_state,
    stream,
)
from tests.support.native import native_of

NAMES = [name for name in budgetron.river.__all__ if name not in ("make", "TableEncoder")]
each_class = pytest.mark.parametrize("name", NAMES)
# Detectors of strange rows have no labels: tests/learners/test_novelty.py.
LABELLED = [name for name in NAMES if not name.endswith("Anomaly")]
each_labelled = pytest.mark.parametrize("name", LABELLED)
each_case = pytest.mark.parametrize("case", CASES + REGRESSION, ids=str)
each_kind = pytest.mark.parametrize("case", KINDS + REGRESSION_KINDS, ids=str)
WIDTH = 4
FEATURES = [f"x{j}" for j in range(WIDTH)]


def twin(estimator: Any, **more: Any) -> Any:
    """The River model of an estimator's parameters."""
    params = estimator.get_params(deep=False)
    seed = params["random_state"]
    kept = {name: value for name, value in params.items() if name not in DROPPED}
    return getattr(budgetron.river, type(estimator).__name__)(**{**kept, "seed": seed, **more})


def a_stream(case: Case, rows: int, classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    if case.task == "regression":
        return numeric_stream(rows, WIDTH)
    return stream(rows, WIDTH, classes)


def as_dict(x: np.ndarray) -> dict[str, float]:
    return dict(zip(FEATURES, x.tolist(), strict=True))


def as_rows(model: Any, X: np.ndarray) -> Any:
    """The array that makes the estimator store what the River model stores."""
    rows = scipy.sparse.csr_array(X)
    if not model._names.hashed:
        return rows
    columns = np.array([hashed(name) for name in FEATURES], dtype=np.int32)[rows.indices]
    return scipy.sparse.csr_array((rows.data, columns, rows.indptr), shape=(len(X), LARGEST))


def learn(model: Any, X: np.ndarray, y: np.ndarray) -> Any:
    for x, target in zip(X, y.tolist(), strict=True):
        model.learn_one(as_dict(x), target)
    return model


def frame(X: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X, columns=FEATURES)


# ---- River's own checks -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def _checks_read_once() -> Iterator[None]:
    """River's checks read their data sets from disk for every check: read them once."""
    read, kept = river.checks._yield_datasets, {}

    def rows(model: Any, scale: int = 1) -> Iterator[Any]:
        key = isinstance(model, river.base.Classifier), scale
        if key not in kept:
            kept[key] = [list(dataset) for dataset in read(model, scale)]
        yield from (iter(dataset) for dataset in kept[key])

    river.checks._yield_datasets = rows
    gc.collect()
    gc.freeze()  # otherwise each collection traverses all that pytest has imported
    yield
    gc.unfreeze()
    river.checks._yield_datasets = read


@each_labelled
@pytest.mark.usefixtures("_checks_read_once")
def test_rivers_checks(name: str) -> None:
    river.checks.check_estimator(getattr(budgetron.river, name)())


def test_rivers_checks_skip_nothing() -> None:
    for name in NAMES:
        assert getattr(budgetron.river, name)()._unit_test_skips() == set()


# ---- the classes --------------------------------------------------------------------------------


def test_every_learner_of_the_catalogue_is_there() -> None:
    for name, entry in CATALOGUE.items():
        for task in entry.tasks:
            model = budgetron.river.make(name, task, seed=3)
            assert type(model.estimator) is entry.estimator(task)
            assert model.estimator.random_state == 3
            for parameter, value in entry.fixed.items():
                assert getattr(model.estimator, parameter) == value
    with pytest.raises(ValueError, match="did you mean 'ahpatron'"):
        budgetron.river.make("ahpatorn")


@each_class
def test_parameters_are_the_estimators(name: str) -> None:
    river_class = getattr(budgetron.river, name)
    theirs = {
        p.name: p.default
        for p in inspect.signature(getattr(budgetron, name)).parameters.values()
        if p.name not in DROPPED
    }
    ours = {p.name: p.default for p in inspect.signature(river_class).parameters.values()}
    added = {"seed": None, "max_features": None}
    if name.endswith("Classifier"):
        added["classes"] = None
    assert ours == theirs | added
    documented = river_class.__doc__
    told = [p for p in theirs if p in getattr(budgetron, name).__doc__]
    assert all(parameter in documented for parameter in [*told, *added])
    assert not any(parameter in documented for parameter in DROPPED)


def test_a_bad_parameter_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match=r"'budget' parameter .* Got 0"):
        budgetron.river.AhpatronClassifier(budget=0)
    with pytest.raises(ValueError, match="seed='a' must be an integer or None"):
        budgetron.river.FOGDRegressor(seed="a")
    with pytest.raises(ValueError, match="max_features=0 must be"):
        budgetron.river.FOGDRegressor(max_features=0)
    with pytest.raises(ValueError, match=r"classes=.* must name two"):
        budgetron.river.FOGDClassifier(classes=["a"])


# ---- equal to the scikit-learn face -------------------------------------------------------------


@each_case
def test_same_bits_as_the_estimator(case: Case) -> None:
    for classes in (2, 3) if case.task == "classification" else (1,):
        X, y = a_stream(case, 150, classes)
        estimator = case.make()
        model = learn(twin(estimator), X, y)
        rows = as_rows(model, X)
        estimator.partial_fit(rows, y)  # classes join in both
        same_state(estimator, model.estimator)
        said = [model.predict_one(as_dict(x)) for x in X]
        assert said == estimator.predict(rows).tolist()
        if not model._names.hashed:  # dense rows give the same bits too
            dense = case.make().partial_fit(X, y)
            method = "decision_function" if hasattr(dense, "decision_function") else "predict"
            np.testing.assert_array_equal(
                getattr(dense, method)(X), getattr(model.estimator, method)(rows)
            )


@each_kind
def test_learn_many_is_the_loop(case: Case) -> None:
    X, y = a_stream(case, 120, 3)
    one = learn(twin(case.make(gamma="median", scale="standard")), X, y)
    many = one.clone()
    for start, end in ((0, 50), (50, 51), (51, 51), (51, 120)):
        many.learn_many(frame(X[start:end]), pd.Series(y[start:end]))
    same_state(one.estimator, many.estimator)
    assert one._names == many._names
    assert many.predict_many(frame(X)).tolist() == [one.predict_one(as_dict(x)) for x in X]


@each_kind
def test_absent_is_zero_and_order_does_not_matter(case: Case) -> None:
    X, y = a_stream(case, 120, 3)
    X[:, 3] = np.where(np.arange(120) < 40, 0.0, X[:, 3])  # appears late
    X[:, 0] = np.where(np.arange(120) > 80, 0.0, X[:, 0])  # disappears
    full = learn(twin(case.make()), X, y)
    part = full.clone()
    for i, (x, target) in enumerate(zip(X, y.tolist(), strict=True)):
        row = {name: value for name, value in as_dict(x).items() if value != 0.0 or i == 0}
        part.learn_one(dict(reversed(row.items())), target)
    same_state(full.estimator, part.estimator)


def test_new_features_join_in_the_middle_of_the_stream() -> None:
    X, y = stream(200, WIDTH)
    model = budgetron.river.AhpatronClassifier(gamma=0.5, budget=20)
    for i, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        names = FEATURES[: 2 if i < 100 else 4]
        model.learn_one({name: as_dict(x)[name] for name in names}, label)
    X[:100, 2:] = 0.0
    estimator = budgetron.AhpatronClassifier(gamma=0.5, budget=20).partial_fit(X, y)
    np.testing.assert_array_equal(estimator.dual_coef_, model.estimator.dual_coef_)


def test_a_feature_only_predicted_counts_and_is_not_kept() -> None:
    model = budgetron.river.PerceptronClassifier(gamma=0.5)
    model.learn_one({"a": 1.0}, "yes")
    model.learn_one({"a": -1.0}, "no")
    before = pickle.dumps(model)
    near, far = ({"a": 1.0, "new": v, "newer": v} for v in (0.0, 2.0))
    native = native_of(model.estimator)
    assert native.predict_named(model._names, far) < native.predict_named(model._names, near)
    model.predict_proba_one(far)
    model.predict_many(pd.DataFrame([far]))
    assert pickle.dumps(model) == before


def test_parts_by_hand() -> None:
    """KernelClassifier takes parts and names of parts here too, and passes them to its clones."""
    X, y = stream(150, WIDTH, 3)
    settings = {
        "kernel": "laplacian",
        "gamma": 0.5,
        "scale": None,
        "update": parts.GradientUpdate(step=0.4),
        "loss": "smooth-hinge",
        "budget": parts.RemoveSmallest(size=9),
        "radius": 2.0,
    }
    model = budgetron.river.KernelClassifier(**settings, seed=0)
    estimator = budgetron.KernelClassifier(**settings, random_state=0)
    estimator.partial_fit(scipy.sparse.csr_array(X), y)
    for each in (model, model.clone(), pickle.loads(pickle.dumps(model))):
        same_state(estimator, learn(each, X, y).estimator)
    assert model.n_support_ == 9
    smaller = model.clone({"budget": parts.RemoveSmallest(size=4)})
    assert learn(smaller, X, y).n_support_ == 4
    with pytest.raises(ValueError, match="budget='nonsense' is not one of"):
        budgetron.river.KernelClassifier(budget="nonsense")


@each_kind
def test_counts_of_rows_and_of_mistakes(case: Case) -> None:
    X, y = a_stream(case, 120)
    model = twin(case.make())
    assert model.n_seen_ == 0
    classifies = case.task == "classification"
    assert getattr(model, "n_mistakes_", None) == (0 if classifies else None)
    wrong = 0
    for x, label in zip(X, y.tolist(), strict=True):
        row = dict(zip(FEATURES, x.tolist(), strict=True))
        wrong += model.n_seen_ > 0 and model.predict_one(row) != label
        model.learn_one(row, label)
    assert model.n_seen_ == 120
    assert not classifies or model.n_mistakes_ in (wrong, wrong + 1)  # of the first row


def test_auto_gamma_means_median() -> None:
    X, y = stream(250, WIDTH)
    model = learn(budgetron.river.AhpatronClassifier(budget=20, gamma="auto"), X, y)
    estimator = budgetron.AhpatronClassifier(budget=20, gamma="median").partial_fit(X, y)
    assert model.gamma == "auto"
    assert model.estimator.gamma_ == estimator.gamma_
    np.testing.assert_array_equal(estimator.dual_coef_, model.estimator.dual_coef_)


def test_frequencies_do_not_depend_on_when_a_feature_appears() -> None:
    rows = [{"a": 1.0}, {"b": 0.5}, {"c": -2.0}]
    probe = {"a": 0.3, "b": 0.7, "c": -0.2}
    answers = []
    for order in ([0, 1, 2], [2, 1, 0]):
        model = budgetron.river.FOGDRegressor(gamma=0.5, seed=1, n_components=50)
        for i in order:
            model.learn_one(rows[i], 0.0)  # f is 0: draws frequencies, moves no weight
        for i in range(3):
            model.learn_one(rows[i], float(i))
        answers.append(model.predict_one(probe))
    assert answers[0] == pytest.approx(answers[1], rel=1e-12)
    assert hashed("a") == hashed("a") != hashed("b")
    assert hashed(1) == hashed(1.0) == hashed(True) != hashed("1")


def test_two_names_of_one_hash_are_one_feature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("budgetron.river.feature_names.hashed", lambda name: 7)
    model = budgetron.river.FOGDRegressor(gamma=0.5, scale=None, seed=1)
    same = model.clone()
    model.learn_one({"a": 1.0, "b": 2.0}, 1.0)
    same.learn_one({"a": 3.0}, 1.0)
    same_state(model.estimator, same.estimator)
    many = model.clone()
    many.learn_many(pd.DataFrame([{"a": 1.0, "b": 2.0}]), pd.Series([1.0]))
    same_state(model.estimator, many.estimator)


# ---- rows of all kinds --------------------------------------------------------------------------


def test_names_and_values_of_any_type() -> None:
    model = budgetron.river.PerceptronClassifier(gamma=0.5, seed=0)
    plain = model.clone()
    model.learn_one({1: True, "one": 2, ("a", "b"): np.float32(0.5), None: np.int64(3)}, 1)
    plain.learn_one({1: 1.0, "one": 2.0, ("a", "b"): 0.5, None: 3.0}, 1)
    same_state(model.estimator, plain.estimator)
    assert model._names == plain._names
    assert sorted(model._names.values()) == [0, 1, 2, 3]


class Unkind:
    def __float__(self) -> float:
        raise RuntimeError("no")


BAD = [float("nan"), float("-inf"), "1.0", None, 10**400, 1j, [1.0], Unkind()]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: f"{bad!r:.12}")
@pytest.mark.parametrize("name", ["AhpatronClassifier", "OGDRegressor", "FOGDClassifier"])
def test_a_bad_value_is_refused_and_changes_nothing(name: str, bad: Any) -> None:
    plain = getattr(budgetron.river, name)(seed=0, scale=None)
    params = {"class_weight": "balanced"} if name.endswith("Classifier") else {}
    for model in (plain, plain.clone(params)):
        for learned in range(4):
            before = pickle.dumps(model)
            row = {"a": 1.0, "fresh": 2.0, "b": bad}
            calls = [
                lambda row=row, model=model: model.learn_one(row, 1),
                lambda row=row, model=model: model.predict_one(row),
            ]
            columns = pd.DataFrame([{"a": 1.0}, row])
            calls.append(lambda X=columns, model=model: model.learn_many(X, pd.Series([1, 0])))
            for call in calls:
                with pytest.raises(ValueError, match=r"feature '(b|fresh)' is"):
                    call()
                assert pickle.dumps(model) == before
            model.learn_one({"a": float(learned), "b": 1.0}, learned % 3)


def test_a_bad_target_or_weight_is_refused_and_changes_nothing() -> None:
    row = {"a": 1.0, "fresh": 2.0}
    model = budgetron.river.AhpatronClassifier()
    model.learn_one({"a": 1.0}, "yes")
    numbers = budgetron.river.OGDRegressor()
    for _ in range(2):  # the first row of the regressor, and the second
        before = pickle.dumps((model, numbers))
        for label, weight, says in [
            (None, 1.0, "None"),
            (3, 1.0, "cannot join"),
            ("yes", -1.0, "w=-1.0"),
            ("yes", float("nan"), "w=nan"),
        ]:
            with pytest.raises(ValueError, match=says):
                model.learn_one(row, label, w=weight)
        for target, weight in [(float("nan"), 1.0), (None, 1.0), (1.0, -1.0)]:
            with pytest.raises(ValueError, match=r"target|w=|[Nn]egative"):
                numbers.learn_one(row, target, w=weight)
        with pytest.raises(TypeError, match=r"a row is a dict of features, not \[1.0\]"):
            model.learn_one([1.0], "yes")
        assert pickle.dumps((model, numbers)) == before
        numbers.learn_one({"a": 1.0}, 1.0)


def test_an_empty_row_is_a_row() -> None:
    for first in ({}, {"a": 0.0}):
        model = budgetron.river.PerceptronClassifier(gamma=0.5)
        model.learn_one(first, "yes")
        model.learn_one({"a": 2.0}, "no")
        assert (model.predict_one({}), model.predict_one({"a": 2.0})) == ("yes", "no")
        assert model.estimator.n_seen_ == 2


def test_frames_with_two_columns_of_one_name_are_refused() -> None:
    X = pd.DataFrame([[1.0, 2.0]], columns=["a", "a"])
    with pytest.raises(ValueError, match="two columns"):
        budgetron.river.OGDRegressor().learn_many(X, pd.Series([1.0]))


def test_no_more_features_than_allowed() -> None:
    for name in ("PerceptronClassifier", "FOGDClassifier"):
        model = getattr(budgetron.river, name)(max_features=2)
        model.learn_one({"a": 1.0}, "yes")
        model.learn_one({"b": 1.0}, "no")
        before = pickle.dumps(model)
        for label in ("yes", "a new one"):
            with pytest.raises(ValueError, match="feature 'c' is one more than max_features=2"):
                model.learn_one({"a": 1.0, "c": 1.0}, label)
        with pytest.raises(ValueError, match="max_features=2"):
            model.learn_many(pd.DataFrame([{"c": 1.0}]), pd.Series(["no"]))
        assert model.predict_one({"a": 1.0, "c": 0.1}) == "yes"
        assert pickle.dumps(model) == before


IN_BYTES = {
    "BudgetPerceptronClassifier": {"budget": "40KB"},
    "BudgetronRegressor": {"budget": "40KB"},
    "KernelClassifier": {"budget": parts.RemoveSmallest(size="40KB")},
    "FOGDClassifier": {"n_components": "40KB"},
    "FOGDRegressor": {"n_components": "40KB"},
}


@pytest.mark.parametrize("name", IN_BYTES)
def test_a_budget_in_bytes_needs_the_most_features_and_all_classes(name: str) -> None:
    """Then it keeps to them; there is no other way to know what will fit."""
    X, y = stream(120, WIDTH)
    river_class = getattr(budgetron.river, name)
    closed = {"classes": [0, 1]} if name.endswith("Classifier") else {}
    asked = [({}, "features: .* max_features="), ({"max_features": WIDTH}, "classes=")]
    for given, says in [(closed, asked[0][1]), *(asked if closed else asked[:1])]:
        model = river_class(**IN_BYTES[name], **given)
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match=rf"(budget|n_components) in bytes needs .*{says}"):
            model.learn_one(as_dict(X[0]), 1)
        assert pickle.dumps(model) == before
    model = river_class(**IN_BYTES[name], **closed, max_features=WIDTH, seed=0)
    learn(model, X[:5], y[:5])
    taken = model.estimator.memory_bytes_
    learn(model, X, y)
    assert 20_000 < taken <= 40_000
    assert model.estimator.memory_bytes_ <= taken
    assert model.estimator.budget_ > 10


# ---- classes, weights, probabilities ------------------------------------------------------------


def test_an_answer_before_the_first_row() -> None:
    X = frame(np.ones((2, WIDTH)))
    assert budgetron.river.OGDRegressor().predict_one({"a": 1.0}) == 0.0
    assert budgetron.river.OGDRegressor().predict_many(X).tolist() == [0.0, 0.0]
    model = budgetron.river.PerceptronClassifier()
    assert model.predict_one({"a": 1.0}) is None
    assert model.predict_proba_one({"a": 1.0}) == {}
    assert model.predict_many(X).tolist() == [None, None]
    assert model.predict_proba_many(X).shape == (2, 0)
    model.learn_one({"a": 1.0}, "yes")
    assert model.predict_one({"a": 1.0}) == "yes"
    assert model.predict_proba_one({"a": 1.0}) == {"yes": 1.0}
    closed = budgetron.river.PerceptronClassifier(classes=["yes", "no"])
    assert closed.predict_one({"a": 1.0}) == "yes"  # f = 0 predicts the second
    assert closed.predict_proba_one({"a": 1.0}) == {"no": 0.5, "yes": np.nextafter(0.5, 1)}


def test_named_classes_are_closed() -> None:
    X, y = stream(60, WIDTH, 3)
    model = learn(budgetron.river.AhpatronClassifier(gamma=0.5, classes=[0, 1, 2]), X, y)
    estimator = budgetron.AhpatronClassifier(gamma=0.5).partial_fit(X, y, classes=[0, 1, 2])
    np.testing.assert_array_equal(estimator.dual_coef_, model.estimator.dual_coef_)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="label 3 is not among the classes"):
        model.learn_one(as_dict(X[0]), 3)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("labels", [[False, True], ["no", "yes"], [3, 7], ["a", "bb", "ccc"]])
def test_labels_come_back_as_they_went_in(labels: list[Any]) -> None:
    X, y = stream(60, WIDTH, len(labels))
    model = budgetron.river.PassiveAggressiveClassifier(gamma=0.5)
    for x, code in zip(X, y, strict=True):
        model.learn_one(as_dict(x), labels[code])
        said = model.predict_one(as_dict(x))
        assert said in labels
        assert type(said) is type(labels[0])
    assert list(model.predict_proba_one(as_dict(X[0]))) == labels


def test_weights_are_the_estimators() -> None:
    X, y = stream(150, WIDTH, 3)
    w = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.0], size=150)
    w[:20] = 1.0  # in which all classes join
    for rule in (None, "balanced", {0: 0.3, 2: 2.0}):
        settings = {"gamma": 0.5, "scale": None, "budget": 20, "class_weight": rule}
        one = budgetron.river.BudgetPassiveAggressiveClassifier(**settings, seed=0)
        many = one.clone()
        for x, label, weight in zip(X, y.tolist(), w.tolist(), strict=True):
            one.learn_one(as_dict(x), label, w=weight)
        many.learn_many(frame(X), pd.Series(y), w=w)
        estimator = budgetron.BudgetPassiveAggressiveClassifier(**settings, random_state=0)
        estimator.partial_fit(scipy.sparse.csr_array(X), y, sample_weight=w)
        same_state(estimator, one.estimator)
        same_state(estimator, many.estimator)


def test_a_row_of_weight_0_is_as_if_it_had_not_come() -> None:
    for model in (budgetron.river.PerceptronClassifier(), budgetron.river.OGDRegressor()):
        for y in (1, 0, 1):
            before = pickle.dumps(model)
            model.learn_one({"a": 1.0, "fresh": 1.0}, 2, w=0.0)
            model.learn_many(pd.DataFrame([{"fresh": 1.0}] * 2), pd.Series([2, 2]), w=[0.0, 0.0])
            assert pickle.dumps(model) == before
            with pytest.raises(ValueError, match="feature 'a' is inf"):
                model.learn_one({"a": float("inf")}, 2, w=0.0)
            model.learn_one({"a": float(y)}, y)
        loop = model.clone({"seed": 0})
        many = loop.clone()
        y, w = [1, 0, 2, 1], [0.0, 0.5, 0.0, 2.0]
        for label, weight in zip(y, w, strict=True):
            loop.learn_one({"a": float(label)}, label, w=weight)
        many.learn_many(pd.DataFrame({"a": y}), pd.Series(y), w=w)
        same_state(loop.estimator, many.estimator)


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_follow_the_decision(classes: int) -> None:
    X, y = stream(200, WIDTH, classes)
    model = learn(budgetron.river.AhpatronClassifier(gamma=0.5, budget=50), X, y)
    decisions = model.estimator.decision_function(X)
    shares = model.predict_proba_many(frame(X))
    assert shares.columns.tolist() == list(range(classes))
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    for x, share in zip(X[:20], shares.to_numpy(), strict=False):
        assert list(model.predict_proba_one(as_dict(x)).values()) == pytest.approx(share.tolist())
    if classes == 2:  # the surer, the likelier
        order = np.argsort(decisions)
        assert (np.diff(shares[1].to_numpy()[order]) >= 0).all()


# ---- in River's company -------------------------------------------------------------------------


def test_pipelines_and_progressive_validation() -> None:
    model = preprocessing.StandardScaler() | budgetron.river.BudgetronClassifier(budget=50)
    accuracy = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    assert accuracy.get() > 0.88  # 0.8983 with a budget of 100
    auc = evaluate.progressive_val_score(datasets.Phishing(), model.clone(), metrics.ROCAUC())
    assert auc.get() > 0.93
    error = evaluate.progressive_val_score(
        datasets.TrumpApproval(),
        preprocessing.StandardScaler() | budgetron.river.BudgetronRegressor(budget=50),
        metrics.MAE(),
    )
    assert error.get() < 3.0  # targets are about 40, the first answer is 0


def test_pipelines_of_batches() -> None:
    rows, labels = zip(*datasets.Phishing().take(200), strict=True)
    X, y = pd.DataFrame(rows), pd.Series(labels)
    model = compose.Pipeline(
        preprocessing.StandardScaler(), budgetron.river.AhpatronClassifier(budget=50)
    )
    for start in range(0, 200, 50):
        model.learn_many(X[start : start + 50], y[start : start + 50])
    said = model.predict_many(X)
    assert said.index.equals(X.index)
    assert (said == y).mean() > 0.85


def test_learners_are_found_by_the_evaluation() -> None:
    from budgetron.evaluate.adapters import face, task_of

    X, y = stream(120, WIDTH)
    model = budgetron.river.AhpatronClassifier(gamma=0.5, budget=20)
    assert task_of(model) == "classification"
    assert task_of(budgetron.river.OGDRegressor()) == "regression"
    eye = face(model, "classification", None, False)
    eye.test_then_train(X, y)
    assert eye.stored == model.estimator.n_support_ > 0
    assert eye.bytes == model._raw_memory_usage


@each_labelled
def test_copies_go_on_alike(name: str) -> None:
    X, y = numeric_stream(120) if name.endswith("Regressor") else stream(120, WIDTH, 3)
    model = learn(getattr(budgetron.river, name)(seed=1), X[:60], y[:60])
    copies = [
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        model.clone(include_attributes=True),
    ]
    learn(model, X[60:], y[60:])
    for other in copies:
        learn(other, X[60:], y[60:])
        assert type(other) is type(model)
        assert other._names == model._names
        same_state(model.estimator, other.estimator)


def test_memory_counts_the_compiled_model_and_the_names() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 50)), rng.integers(2, size=400).tolist()
    model = budgetron.river.BudgetPerceptronClassifier(budget=100, gamma=0.1)
    empty = model._raw_memory_usage
    sizes = []
    for x, label in zip(X, y, strict=True):
        model.learn_one({f"a feature with a long name {j}": v for j, v in enumerate(x)}, label)
        sizes.append(model._raw_memory_usage)
    names = sum(sys.getsizeof(name) for name in model._names)
    assert model.n_support_ == 100
    counted = empty + model.estimator.memory_bytes_ + names
    assert counted < sizes[-1] < counted + 10_000  # a dict of 50 names, the estimator's attributes
    assert model.estimator.memory_bytes_ > 100 * 50 * 8
    assert sizes[-1] == sizes[300]  # full: nothing grows any more


def test_names_survive_pickling() -> None:
    names = Names(hashed=True, most=5)
    names["a"] = 3
    again = pickle.loads(pickle.dumps(names))
    assert (again, again.hashed, again.most) == ({"a": 3}, True, 5)


def test_without_river_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['river'] = None; import budgetron.river"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode != 0
    assert "pip install 'budgetron[river]'" in done.stderr


@pytest.mark.parametrize("name", ["rbp", "budgetron", "fogd"])
def test_a_model_of_many_names_is_saved_and_loaded(name: str, tmp_path: Path) -> None:
    model = budgetron.river.make(name, seed=1)
    for step, feature in enumerate("abcdefgh"):
        model.learn_one({feature: 1.0, "z": float(step)}, "uv"[step % 2])
    budgetron.save(model.estimator, tmp_path / "model.btn")
    again = budgetron.load(tmp_path / "model.btn")
    width = 2**31 - 1 if name == "fogd" else model.estimator.n_features_in_
    assert name == "fogd" or width == 9
    if name != "fogd":
        row = np.ones((1, width))
        np.testing.assert_array_equal(
            again.decision_function(row), model.estimator.decision_function(row)
        )


@pytest.mark.parametrize("label", [float("nan"), float("inf"), b"p", ("p",)])
def test_what_is_no_label_is_refused(label: Any) -> None:
    model = budgetron.river.make("rbp", seed=1)
    model.learn_one({"a": 1.0}, "u")
    with pytest.raises(ValueError, match=r"y=|y contains NaN"):
        budgetron.river.make("rbp").learn_one({"a": 1.0}, label)
    with pytest.raises(ValueError, match="y"):
        model.learn_many(pd.DataFrame({"a": [1.0, 2.0]}), pd.Series(["u", label]))
    with pytest.raises(ValueError, match="number from 0"):
        model.learn_one({"a": 1.0}, "u", w=1e200)
    assert model.estimator.n_seen_ == 1


def test_hashed_features_have_no_width_to_take_memory_for() -> None:
    """Their numbers are above the width of the first row, for which memory would be allocated."""
    model = budgetron.river.make("fogd", n_components=200, gamma=0.5, seed=0)
    for i in range(20):
        model.learn_one({"a": float(i), f"x{i}": 1.0}, i % 2)
    with pytest.raises(ValueError, match="in bytes needs a fixed number of features"):
        model.estimator.lower_budget("20KB")
    model.estimator.lower_budget(20)
    assert model.predict_one({"a": 1.0}) in (0, 1)


class Lazy:
    """A feature that another model computes when it is read."""

    def __init__(self, model: Any, row: dict[str, float]) -> None:
        self.model, self.row = model, row

    def __float__(self) -> float:
        self.model.predict_one(self.row)
        return self.row["b"]


def test_a_feature_may_be_computed_by_asking_another_model() -> None:
    X, y = stream(200)
    rows = [dict(zip("abcd", row, strict=True)) for row in X.tolist()]
    other = budgetron.river.ForgetronClassifier(seed=0)
    other.learn_one({"e": 1.0, "f": 2.0, "b": 3.0}, 1)
    plain, lazy = (budgetron.river.ForgetronClassifier(budget=20, seed=0) for _ in range(2))
    for row, label in zip(rows, y.tolist(), strict=True):
        plain.learn_one(row, label)
        lazy.learn_one({**row, "b": Lazy(other, row)}, label)
    assert pickle.dumps(plain) == pickle.dumps(lazy)
