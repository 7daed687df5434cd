"""The theorems of the Forgetron's paper: its mistake bound, its budget of damage, its limits.

Dekel, Shalev-Shwartz and Singer, "The Forgetron", SIAM Journal on Computing 37 (2008).
"""

from __future__ import annotations

from math import log, sqrt
from typing import Any

import numpy as np
import pytest

import budgetron
from budgetron.catalogue import paper_settings
from tests.support.cases import BUDGETED, Case
from tests.support.native import state_of
from tests.support.tracing import find_field

VARIANTS = ("basic", "self-tuned", "greedy")
SHARE = 15 / 32


def largest_norm(budget: int) -> float:
    """U of eq. (26): the competitors may have this norm."""
    return sqrt((budget + 1) / log(budget + 1)) / 4


def noisy_blobs(
    rows: int, flipped: float, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Two tight blobs with flipped labels: X, y, g(x) of a good competitor, and ||g||.

    g = c (k(z_1, .) - k(z_0, .)) with the blobs' centres z; the Gaussian kernel has gamma 0.5.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=rows)
    centres = np.array([[-2.0, 0.0], [2.0, 0.0]])
    X = centres[y] + 0.1 * rng.normal(size=(rows, 2))
    y = np.where(rng.random(rows) < flipped, 1 - y, y)
    K = np.exp(-0.5 * ((X[:, None, :] - centres) ** 2).sum(axis=2))
    c = 1.05
    return X, y, c * (K[:, 1] - K[:, 0]), c * sqrt(2 - 2 * np.exp(-8.0))


def noisy_direction(
    rows: int, flipped: float, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Unit vectors around +-e_0 with flipped labels, for the linear kernel: g(x) = c x_0."""
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1.0, 1.0], size=rows)
    X = np.hstack([np.ones((rows, 1)), 0.1 * rng.normal(size=(rows, 8))]) * signs[:, None]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = (np.where(rng.random(rows) < flipped, -signs, signs) > 0).astype(int)
    return X, y, 1.06 * X[:, 0], 1.06


STREAMS = {
    "blobs": (noisy_blobs, {"kernel": "rbf", "gamma": 0.5}, 200),
    "direction": (noisy_direction, {"kernel": "linear"}, 83),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_theorems_2_and_3(variant: str, stream: str, seed: int) -> None:
    """M <= 2 ||g||^2 + 4 sum of g's losses, for B >= 83 and ||g|| <= U; section 7 for greedy.

    The noise makes more mistakes than fit into the budget: without removals the theorems would say
    no more than the Perceptron's.
    """
    make_stream, kernel, budget = STREAMS[stream]
    rows = 16_000
    X, y, g, norm = make_stream(rows, 0.02, seed)
    losses = np.maximum(0.0, 1.0 - (2 * y - 1) * g)
    bound = 2 * norm**2 + 4 * losses.sum()
    assert budget >= 83
    assert norm <= largest_norm(budget)
    assert bound < rows / 4, "a vacuous bound proves nothing"

    model = budgetron.ForgetronClassifier(
        variant=variant, budget=budget, **paper_settings() | kernel
    )
    decisions = model.prequential(X, y, classes=[0, 1])
    mistakes = ((2 * y - 1) * decisions <= 0).sum()  # ties count
    assert mistakes == model.n_updates_
    assert mistakes <= bound
    assert mistakes > budget + 50
    state = state_of(model)
    assert find_field(state, "removals")[0] > 50


@pytest.mark.parametrize("budget", [2, 20, 100])
@pytest.mark.parametrize("variant", ["self-tuned", "greedy"])
def test_removals_never_cost_more_than_the_mistakes_pay_for(variant: str, budget: int) -> None:
    """The sum of Psi stays within (15/32) M at any budget, eq. (41), by shrinking."""
    rng = np.random.default_rng(budget)
    X = rng.normal(size=(3000, 3))
    y = (rng.random(3000) < 0.5).astype(int)
    how = paper_settings() | {"gamma": 0.5}
    model = budgetron.ForgetronClassifier(variant=variant, budget=budget, **how)
    for start in range(0, len(y), 50):
        model.partial_fit(X[start : start + 50], y[start : start + 50], classes=[0, 1])
        state = state_of(model)
        assert find_field(state, "spent")[0] <= SHARE * find_field(state, "errors")[0] + 1e-9
    assert find_field(state, "spent")[0] > 0.5 * SHARE * find_field(state, "errors")[0]
    assert find_field(state, "shrinks")[0] > 10
    assert find_field(state, "errors")[0] == model.n_updates_


@pytest.mark.parametrize("variant", VARIANTS)
def test_shrinking_never_grows_the_hypothesis(variant: str) -> None:
    """The factor is at most 1: with coefs that start at 1, none is ever larger."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(2000, 2))
    y = (X[:, 0] > 0).astype(int)
    how = paper_settings() | {"gamma": 2.0}
    model = budgetron.ForgetronClassifier(variant=variant, budget=15, **how)
    for start in range(0, len(y), 20):
        model.partial_fit(X[start : start + 20], y[start : start + 20], classes=[0, 1])
        assert np.abs(model.dual_coef_).max() <= 1.0


# An averaged answer combines more examples than are stored at any one time, and a straight part
# answers where no example is stored.
ONE_HYPOTHESIS = [
    case
    for case in BUDGETED
    if case.within_budget
    and case.params.get("average", "last") == "last"
    and case.params.get("straight", "none") == "none"
]


def orthogonal_points(case: Case) -> tuple[Any, np.ndarray]:
    """A learner of this case and B + 1 points that are orthogonal for its kernel."""
    units = np.eye(case.budget + 1)
    if "linear" in case.kernels:
        return case.make("linear"), units
    return case.make("rbf"), 1e4 * units  # exp(-1e8) is 0


@pytest.mark.parametrize("case", ONE_HYPOTHESIS, ids=str)
def test_no_budget_can_hold_one_example_more(case: Case) -> None:
    """Section 2: of B + 1 orthogonal points one always has f = 0, and there every learner errs.

    Our ties go to the positive class, so the labels are negative. That g = -sum of all has no loss
    shows that without a bound on ||g|| no budgeted learner can have a mistake bound.
    """
    model, X = orthogonal_points(case)
    model.partial_fit(X[:1], [0], classes=[0, 1])
    rounds = 6 * case.budget
    for _ in range(rounds):
        untouched = np.flatnonzero(model.decision_function(X) == 0.0)
        assert untouched.size > 0
        x = X[untouched[:1]]
        assert model.predict(x)[0] == 1
        model.partial_fit(x, [0])
    assert model.n_mistakes_ == rounds + 1
