"""The effect of the first rows on learners made of parts, computed by hand."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest

from budgetron.catalogue import as_printed
from tests.support.cases import stream


def first_coef(name: str, **params: Any) -> float:
    """The coef of the first row, a tie with k(x, x) = 4 and label +1."""
    model = as_printed(name, kernel="linear", **params).partial_fit(
        [[2.0, 0.0]], [1], classes=[-1, 1]
    )
    assert (model.n_support_, model.n_updates_) == (1, 1)
    return float(model.dual_coef_[0, 0])


@pytest.mark.parametrize(
    ("name", "params", "coef"),
    [
        ("perceptron", {}, 1.0),
        ("remove-oldest", {}, 1.0),
        ("shrinking-perceptron", {"shrink": 0.75}, 0.75),
        ("avp", {"step": 0.3, "radius": 5.0}, 0.3),
        ("avp", {"step": "adaptive", "radius": 5.0}, 5 / sqrt(26)),  # counts its own mistake
        ("avp", {"step": 2.0, "radius": 0.5}, 0.25),  # ||f|| = 2 coef
        ("alma", {"C": 0.4}, 0.2),  # by the length 2 of k(x, .)
        ("alma", {"C": 8.0}, 0.5),  # back to norm 1
        ("pa", {"C": 1.0}, 0.25),
        ("pa", {"C": 0.1}, 0.1),
        ("pa", {"C": 0.5, "variant": "II"}, 0.2),
        ("bpas", {"C": 0.1}, 0.1),
        ("ogd", {"step": 0.3}, 0.3),
        ("ogd", {"step": 0.3, "loss": "logistic"}, 0.15),
        ("bogd", {"step": 0.3, "max_coef": 0.5}, 0.15),
        ("pegasos", {"regularization": 0.1}, 10.0),
        ("bsgd-remove", {"regularization": 0.1, "loss": "smooth-hinge", "tau": 2.0}, 5.0),
    ],
)
def test_first_coef(name: str, params: dict[str, Any], coef: float) -> None:
    assert first_coef(name, **params) == pytest.approx(coef, rel=1e-15)


def test_refused_examples_are_no_updates() -> None:
    X, y = stream(300)
    stoptron = as_printed("stoptron", gamma=0.5, budget=12).fit(X, y)
    assert stoptron.n_support_ == stoptron.n_updates_ == 12
    cks = as_printed("cks", gamma=0.5, budget=12)
    changes = 0
    for x, label in zip(X, y, strict=True):
        before = None if changes == 0 else (cks.support_vectors_, cks.dual_coef_)
        cks.partial_fit(x[None, :], [label], classes=[0, 1])
        after = (cks.support_vectors_, cks.dual_coef_)
        changes += before is None or not all(map(np.array_equal, before, after))
    assert cks.n_updates_ == changes < cks.n_mistakes_


def test_pegasos_learns_nothing_from_a_row_of_zeros() -> None:
    """k(x, x) = 0: the row is predicted, and t does not count it."""
    X = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    model = as_printed("pegasos", kernel="linear", regularization=0.1)
    model.partial_fit(X, [1, 1, -1], classes=[-1, 1])
    np.testing.assert_allclose(model.dual_coef_, [[5.0, -5.0]])


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("ogd", {"step": 2.0, "regularization": 0.5}, "step=2.0 and regularization=0.5"),
        ("bogd", {"step": 2.0, "regularization": 0.5}, "step=2.0 and regularization=0.5"),
        ("pegasos", {"regularization": 0.0}, "'regularization' parameter of PegasosClassifier"),
        ("bsgd-remove", {"regularization": 0.0}, "'regularization' parameter of BSGDClassifier"),
        ("avp", {"step": "adaptive"}, "step='adaptive' needs a finite radius, got radius=inf"),
        ("avp", {"step": -1.0}, "'step' parameter of AVPClassifier"),
        ("rbp", {"budget": 0}, "'budget' parameter of BudgetPerceptronClassifier"),
        ("shrinking-perceptron", {"shrink": 1.5}, "'shrink' parameter"),
        ("alma", {"alpha": 0.0}, "'alpha' parameter of ALMAClassifier"),
        ("pa", {"C": 0.0}, "'C' parameter of PassiveAggressiveClassifier"),
        ("ogd", {"loss": "squared"}, "'loss' parameter of OGDClassifier"),
        ("alma", {"kernel": "sigmoid"}, "not positive definite"),
        ("bpas", {"kernel": "sigmoid"}, "not positive definite"),
        ("bogd++", {"kernel": "sigmoid"}, "not positive definite"),
        ("bsgd-remove", {"kernel": "sigmoid"}, "not positive definite"),
        ("avp", {"kernel": "sigmoid", "radius": 2.0}, "not positive definite"),
    ],
)
def test_bad_parameters(name: str, params: dict[str, Any], message: str) -> None:
    X, y = stream(20)
    with pytest.raises(ValueError, match=message):
        as_printed(name, **params).fit(X, y)
