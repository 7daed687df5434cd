"""scikit-learn's own checks, for every estimator of the catalogue."""

from __future__ import annotations

import contextlib
import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.utils import get_tags, shuffle
from sklearn.utils.estimator_checks import (
    _check_name,
    _regression_dataset,
    estimator_checks_generator,
    parametrize_with_checks,
)

import budgetron
from budgetron.catalogue import CATALOGUE
from tests.support.cases import KINDS, REGRESSION_KINDS, Case, same_state, stream
from tests.support.expected_failures import POOR, hold


def every_estimator() -> list[Any]:
    return [
        entry.estimator(task)(**entry.fixed) for entry in CATALOGUE.values() for task in entry.tasks
    ]


# Checks that can fail in a single class: its parameters, and its learner's answers.
OWN_CHECKS = (
    "check_estimators_dtypes",
    "check_estimators_pickle",
    "check_fit_idempotent",
    "check_get_params_invariance",
    "check_parameters_default_constructible",
    "check_param_validation",
    "check_set_params",
    "check_class_weight_classifiers",
    "check_classifiers_train",
    "check_classifiers_regression_target",
    "check_regressors_train",
)


def of_one_kind() -> list[Any]:
    """One estimator per compiled learner and task."""
    return [
        CATALOGUE[case.name].estimator(case.task)(**CATALOGUE[case.name].fixed)
        for case in KINDS + REGRESSION_KINDS
    ]


def of_one_class() -> list[Any]:
    """One estimator per class."""
    return list({type(estimator): estimator for estimator in every_estimator()}.values())


@parametrize_with_checks(of_one_kind())
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    hold(estimator, check)


@pytest.mark.parametrize("estimator", of_one_class(), ids=str)
def test_own_scikit_learn_checks(estimator: Any) -> None:
    """The checks that a class can fail alone, in one test per class."""
    checks = [
        check
        for _, check in estimator_checks_generator(estimator)
        if _check_name(check) in OWN_CHECKS
    ]
    assert len(checks) > 6
    for check in checks:
        with contextlib.suppress(pytest.xfail.Exception):
            hold(clone(estimator), check)


@pytest.mark.parametrize("estimator", every_estimator(), ids=str)
def test_scores_of_weak_baselines(estimator: Any) -> None:
    """Exactly the learners of the table miss the score that scikit-learn requires."""
    tags, model = get_tags(estimator), clone(estimator).set_params(random_state=0)
    if is_classifier(estimator):
        X, y = make_blobs(n_samples=300, random_state=0)
        X, y = shuffle(X, y, random_state=7)
        X, enough, poor = StandardScaler().fit_transform(X), 0.83, tags.classifier_tags.poor_score
        two = y != 2
        score = min(model.fit(X[two], y[two]).score(X[two], y[two]), model.fit(X, y).score(X, y))
    else:
        X, y = _regression_dataset()
        y, enough, poor = scale(y), 0.5, tags.regressor_tags.poor_score
        score = model.fit(X, y).score(X, y)
    assert poor == (str(estimator) in POOR) == (score <= enough)
    if poor:
        assert score == pytest.approx(POOR[str(estimator)][0], abs=0.005, rel=0.005)


@pytest.mark.parametrize(
    ("name", "classes"),
    [*((name, 2) for name in CATALOGUE), *((case.name, 3) for case in KINDS)],
)
def test_class_weights_decide(name: str, classes: int) -> None:
    """scikit-learn's check_class_weight_classifiers, with a kernel as wide as its data."""
    X, y = make_blobs(centers=classes, random_state=0, cluster_std=20)
    weights = dict.fromkeys(range(classes), 1e-4) | {0: 1000.0}
    model = budgetron.make(name, class_weight=weights, gamma=1e-3, n_epochs=1, random_state=0)
    assert np.mean(model.fit(X[:50], y[:50]).predict(X[50:]) == 0) > 0.87


@pytest.mark.parametrize("case", KINDS, ids=str)
def test_pipeline_grid_and_cross_validation(case: Case) -> None:
    X, y = stream(200)
    labels = np.array(["no", "yes"])[y]
    room = {} if case.budget is None else {"budget": 60}  # a dozen examples need not suffice
    pipeline = make_pipeline(StandardScaler(), case.make(**room))
    assert cross_val_score(pipeline, X, labels, cv=3).mean() > 0.5
    search = GridSearchCV(case.make(), {"gamma": [0.1, 1.0]}, cv=2).fit(X, labels)
    assert set(search.predict(X)) <= {"no", "yes"}


@pytest.mark.parametrize("case", KINDS, ids=str)
def test_pickle_resumes_to_the_bit(case: Case) -> None:
    X, y = stream(300, classes=3)
    model = case.make(random_state=3).partial_fit(X[:150], y[:150])
    again = pickle.loads(pickle.dumps(model))
    same_state(model, again)
    model.partial_fit(X[150:], y[150:])
    again.partial_fit(X[150:], y[150:])
    same_state(model, again)


@pytest.mark.parametrize("case", KINDS, ids=str)
def test_clone_starts_empty(case: Case) -> None:
    X, y = stream(50)
    model = case.make().fit(X, y)
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert not hasattr(fresh, "n_support_")


def test_make_and_algorithms_agree() -> None:
    for task in ("classification", "regression"):
        for algorithm in budgetron.algorithms(task):
            assert task in algorithm.tasks
            parameters = budgetron.make(algorithm.name, task=task).get_params()
            assert algorithm.parameters.items() <= parameters.items()
            assert algorithm.citation
            assert algorithm.summary
    with pytest.raises(ValueError, match="task='ranking'"):
        budgetron.algorithms("ranking")


TOLERANCE = "Not equal to tolerance rtol=1e-07, atol=1e-09"


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (ValueError(TOLERANCE), TOLERANCE),
        (AssertionError("1 is not 2"), "another failure than expected: 1 is not 2"),
        (AssertionError(f"\n{TOLERANCE}\n"), "another statement than expected"),
    ],
)
def test_only_the_expected_failure_is_excused(failure: Exception, said: str) -> None:
    def check_sample_weight_equivalence_on_dense_data(estimator: Any) -> None:
        raise failure

    try:
        with pytest.raises(type(failure), match=said):
            hold(budgetron.make("perceptron"), check_sample_weight_equivalence_on_dense_data)
    except pytest.xfail.Exception as excused:  # which would excuse this test too
        pytest.fail(f"excused: {excused}")
