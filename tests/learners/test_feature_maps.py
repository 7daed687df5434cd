"""FOGD and NOGD beyond the trace: frequencies by feature, eigenvalues that are rounding error."""

from __future__ import annotations

import pickle
from math import sqrt
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from budgetron.catalogue import as_printed
from papers.lsokl.fogd import draw_frequencies
from tests.support.cases import Case, same_state, stream
from tests.support.native import engine_of, native_of, state_of
from tests.support.tracing import find_field, run_trace

D = 37


def fogd(**more: Any) -> Any:
    params = {"n_components": D, "gamma": 0.3, "random_state": 5, "step": 0.1}
    return as_printed("fogd", **{**params, **more})


def z(x: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    angle = x @ frequencies
    return np.concatenate([np.cos(angle), np.sin(angle)]) / sqrt(D)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_a_feature_never_met_is_drawn_for_the_decision_and_not_kept(kernel: str) -> None:
    model = fogd(kernel=kernel)
    first = scipy.sparse.csr_array(np.array([[1.0, 0.0, 2.0, 0.0]]))
    model.partial_fit(first, [1], classes=[0, 1])
    before = state_of(model)
    probe = np.array([[0.5, -1.0, 0.0, 3.0]])
    frequencies = draw_frequencies(kernel, 0.3, 4, D, engine_of(model).seed)
    expected = 0.1 * z(first.toarray()[0], frequencies) @ z(probe[0], frequencies)
    assert model.decision_function(probe)[0] == pytest.approx(expected, rel=1e-9)
    after = state_of(model)
    for name in before:
        np.testing.assert_array_equal(before[name], after[name])
    assert find_field(after, "features").tolist() == [0, 2]


def test_the_order_in_which_features_appear_does_not_matter() -> None:
    rows = np.array([[1.0, 0.0, 0.5], [0.0, -2.0, 0.0], [0.0, 0.3, 1.0]])
    y = np.array([1, 0, 1])
    one = fogd().partial_fit(rows, y, classes=[0, 1])
    other = fogd().partial_fit(rows[::-1], y[::-1], classes=[0, 1])
    assert one.n_updates_ == other.n_updates_ == 3
    states = [state_of(model) for model in (one, other)]
    assert find_field(states[0], "features").tolist() != find_field(states[1], "features").tolist()
    np.testing.assert_allclose(*(find_field(state, "weights") for state in states), atol=1e-12)


def test_features_far_apart_cost_what_they_hold() -> None:
    rows = scipy.sparse.csr_array(
        (np.ones(4), np.array([3, 2**30, 3, 2**30 + 7]), np.array([0, 2, 4])), shape=(2, 2**31 - 1)
    )
    model = fogd(gamma=0.1).partial_fit(rows, [0, 1], classes=[0, 1])
    assert find_field(state_of(model), "features").size == 3
    assert model.memory_bytes_ < 20_000


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_saved_map_is_drawn_again_to_the_bit(dtype: type) -> None:
    X, y = stream(200, width=30, sparse=True)
    model = fogd().partial_fit(X[:100].astype(dtype), y[:100], classes=[0, 1])
    again = pickle.loads(pickle.dumps(model))
    native_of(again).check_invariants()
    assert again.memory_bytes_ >= 30 * D * np.dtype(dtype).itemsize
    for one in (model, again):
        one.partial_fit(X[100:].astype(dtype), y[100:])
    same_state(model, again)


def test_fogd_stores_no_example() -> None:
    X, y = stream(100, classes=3)
    model = fogd().fit(X, y)
    assert model.n_support_ == 0
    assert model.support_vectors_.shape == (0, 4)
    assert model.dual_coef_.shape == (3, 0)


def test_seeds_differ() -> None:
    X, y = stream(50)
    one, other = (fogd(random_state=seed).fit(X, y).decision_function(X) for seed in (1, 2))
    assert np.abs(one - other).max() > 0.01


@pytest.mark.parametrize(("kernel", "rank"), [("linear", 4), ("rbf", None)])
def test_eigenvalues_that_are_rounding_error_are_left_out(kernel: str, rank: int | None) -> None:
    """A linear kernel on four features has four eigenvalues; repeated rows have fewer than B."""
    case = Case("nogd", {"budget": 16, "rank": 16, "step": 0.1, "loss": "hinge", "tau": 0.5})
    X, y = stream(200)
    X[1::2] = X[::2]  # every row twice, so that the landmarks repeat
    model = run_trace(case, kernel, X, y, 2, "dense")
    kept = find_field(state_of(model), "rank")[0]
    assert kept == rank if rank else 4 < kept < 16
    assert np.isfinite(model.dual_coef_).all()


def test_changing_over_keeps_f() -> None:
    """At the landmarks, with all eigenvalues kept, f changes only by the learned row."""
    X, y = stream(100)
    model = as_printed("nogd", budget=12, rank=12, step=0.4, gamma=0.5, random_state=0)
    model.partial_fit(X[:1], y[:1], classes=[0, 1])
    for x, label in zip(X[1:], y[1:], strict=True):
        before = model.decision_function(model.support_vectors_)
        model.partial_fit(x[None, :], [label])
        if find_field(state_of(model), "rank")[0] > 0:
            break
    landmarks = model.support_vectors_
    moved = 0.4 * (2 * label - 1) * np.exp(-0.5 * ((landmarks - x) ** 2).sum(axis=1))
    after = model.decision_function(landmarks)
    np.testing.assert_allclose(after, before + moved, rtol=1e-8, atol=1e-9)


def test_the_rank_is_a_fifth_of_the_budget_and_at_most_the_budget() -> None:
    X, y = stream(200)
    for budget, rank in [(20, 4), (14, 2), (3, 1)]:
        model = as_printed("nogd", budget=budget, gamma=0.5).fit(X, y)
        assert find_field(state_of(model), "rank")[0] == rank
    with pytest.raises(ValueError, match=r"rank=21 is more than the budget=20.*at most budget"):
        as_printed("nogd", budget=20, rank=21).fit(X, y)


@pytest.mark.parametrize(
    ("name", "parameter", "value"),
    [
        ("fogd", "n_components", 0),
        ("fogd", "step", -1.0),
        ("fogd", "loss", "square"),
        ("nogd", "budget", 0),
        ("nogd", "rank", 0),
        ("nogd", "step", 0.0),
        ("nogd", "tau", -1.0),
    ],
)
def test_bad_parameters(name: str, parameter: str, value: object) -> None:
    X, y = stream(20)
    with pytest.raises(ValueError, match=f"'{parameter}' parameter.*{value}"):
        as_printed(name, **{parameter: value}).fit(X, y)
