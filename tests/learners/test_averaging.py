"""`average`: predict answers with the mean of the hypotheses, over the stored examples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from budgetron.catalogue import as_printed
from tests.support.cases import (
    BY_NAME,
    KINDS,
    REGRESSION,
    Case,
    numeric_stream,
    same_state,
    stream,
)
from tests.support.native import native_of

# Learners that never drop an example.
KEEPING = ["perceptron", "shrinking-perceptron", "pa", "ogd", "pegasos", "avp", "alma", "avm"]
KEEPING += ["fogd", "nogd"]


def first_of_half(t: int) -> int:
    """The first round of about the last half of t: the power of two before the last."""
    return 1 << max(0, t.bit_length() - 2)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", KEEPING)
def test_means_are_of_the_hypotheses_before_each_round(name: str, classes: int) -> None:
    X, y = stream(100, classes=classes)
    models = {a: BY_NAME[name].make(average=a) for a in ("last", "mean", "suffix")}
    before: list[Any] = []  # f_1 .. f_T at all rows
    for t in range(1, 71):
        still = np.zeros((len(X), classes)) if classes > 2 else np.zeros(len(X))
        before.append(models["last"].decision_function(X) if t > 1 else still)
        for model in models.values():
            model.partial_fit(X[t : t + 1], y[t : t + 1], classes=np.arange(classes))
        half = before[first_of_half(t) - 1 :]
        assert t / 2 <= len(half) <= max(1, 0.76 * t + 1)
        for average, rounds in {"mean": before, "suffix": half}.items():
            np.testing.assert_allclose(
                models[average].decision_function(X), np.mean(rounds, axis=0), atol=1e-9
            )
    assert np.abs(models["mean"].decision_function(X) - before[-1]).max() > 1e-3


@pytest.mark.parametrize("average", ["mean", "suffix"])
@pytest.mark.parametrize(
    "name", ["rbp", "remove-oldest", "forgetron", "bpas", "bogd", "ahpatron", "bsgd-remove"]
)
def test_what_leaves_takes_its_share_along(name: str, average: str) -> None:
    X, y = stream(300, classes=3)
    model = BY_NAME[name].make(average=average)
    coefs: dict[int, list[np.ndarray]] = {}  # of the stored examples, by id: in each round so far
    left = 0
    for t in range(len(y)):
        for past in coefs.values():
            past.append(np.zeros(3))
        if t > 0:
            native = native_of(model)
            for i, coef in zip(native.ids().tolist(), native.coefs(), strict=True):
                coefs[i][-1] = coef
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=[0, 1, 2])
        stored = set(native_of(model).ids().tolist())
        left += len(coefs.keys() - stored)
        coefs = {i: coefs.get(i, [np.zeros(3)] * (t + 1)) for i in stored}
        coefs = {i: list(past) for i, past in coefs.items()}
        if t % 37:
            continue
        first = first_of_half(t + 1) - 1 if average == "suffix" else 0
        ids = native_of(model).ids().tolist()
        means = np.array([np.mean(coefs[i][first:], axis=0) for i in ids])
        kernel = np.exp(-0.5 * ((X[:, None] - model.support_vectors_) ** 2).sum(axis=2))
        np.testing.assert_allclose(model.decision_function(X), kernel @ means, atol=1e-9)
    assert left > 20


@pytest.mark.parametrize("case", KINDS, ids=str)
def test_rounds_are_not_averaged_and_a_pickle_goes_on(case: Case) -> None:
    import pickle

    X, y = stream(200)
    last, mean = (case.make(average=a, gamma="median") for a in ("last", "mean"))
    np.testing.assert_array_equal(last.prequential(X, y), mean.prequential(X, y))
    half = case.make(average="mean", gamma="median").partial_fit(X[:90], y[:90])
    half = pickle.loads(pickle.dumps(half)).partial_fit(X[90:], y[90:])
    same_state(half, mean)
    np.testing.assert_array_equal(half.decision_function(X), mean.decision_function(X))


@pytest.mark.parametrize("case", REGRESSION, ids=str)
def test_regressors_average_too(case: Case) -> None:
    X, y = numeric_stream(200)
    last, mean = (case.make(average=a).fit(X, y).predict(X) for a in ("last", "mean"))
    assert not np.array_equal(last, mean)


def test_a_class_that_joins_joins_the_mean() -> None:
    X, y = stream(200, classes=3)
    y[:80] = y[:80] % 2
    model = as_printed("perceptron", gamma=0.5, average="mean").partial_fit(X[:80], y[:80])
    two = model.decision_function(X)
    late = 80 + int(np.argmax(y[80:] == 2))
    model.partial_fit(X[80:late], y[80:late])
    two = model.decision_function(X)
    model.partial_fit(X[late : late + 1], y[late : late + 1])
    three = model.decision_function(X)
    # One round more in the mean, in which f had not changed yet among the two.
    rounds = model.n_seen_
    last = as_printed("perceptron", gamma=0.5).partial_fit(X[:late], y[:late])
    expected = (two * (rounds - 1) + last.decision_function(X)) / rounds
    np.testing.assert_allclose(three[:, 1] - three[:, 0], expected, atol=1e-9)
