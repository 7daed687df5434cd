"""The reflex of Budgetron: a second mean that never stops learning, and its share in the answer."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score

import budgetron
from papers.budgetron.budgetron import HEAD_START
from papers.kernels import make_kernel
from tests.support.cases import same_state, stream
from tests.support.native import native_of, state_of
from tests.support.tracing import find_field

RAW: dict[str, Any] = {"scale": None, "gamma": 0.5, "random_state": 0}


def turning(rows: int, every: int) -> tuple[np.ndarray, np.ndarray]:
    """Two blobs whose labels swap every so many rows."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=rows)
    X = rng.normal(scale=0.4, size=(rows, 2)) + 3.0 * y[:, None]
    return X, y ^ (np.arange(rows) // every % 2)


def test_a_stream_that_keeps_changing_is_followed() -> None:
    X, y = turning(6000, 300)
    made = {
        reflex: budgetron.make("budgetron", budget=20, reflex=reflex) for reflex in (True, False)
    }
    mistakes = {reflex: model.partial_fit(X, y).n_mistakes_ for reflex, model in made.items()}
    assert mistakes[True] < 0.5 * mistakes[False]
    state = state_of(made[True])
    belief, reflex = (find_field(state, f"{of}_mistakes")[0] for of in ("belief", "reflex"))
    assert belief > reflex + HEAD_START


def test_the_oldest_leaves_while_it_leads() -> None:
    X, y = turning(3000, 150)
    model = budgetron.make("budgetron", budget=20, straight="none", **RAW)
    model.partial_fit(X[:1500], y[:1500], classes=[0, 1])
    led = 0
    for i in range(1500, 3000):
        state = state_of(model)
        belief, reflex = (find_field(state, f"{of}_mistakes")[0] for of in ("belief", "reflex"))
        leads = belief > reflex + HEAD_START
        drift, before = find_field(state, "window")[0], np.sort(native_of(model).ids())
        model.partial_fit(X[i : i + 1], y[i : i + 1])
        gone = np.setdiff1d(before, native_of(model).ids())
        if gone.size and leads and not drift:
            assert gone.tolist() == [before[0]]
            led += 1
    assert led > 5


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly"])
def test_its_attributes_make_its_answer(classes: int, kernel: str) -> None:
    X, y = stream(100, classes=classes)
    made = {"kernel": kernel, "gamma": 0.3, "degree": 2, "coef0": 1.0, "scale": None}
    model = budgetron.make("budgetron", budget=15, **made).fit(X, y)
    k = make_kernel(kernel, 0.3, 2, 1.0)(X, model.support_vectors_)
    f = X @ model.coef_.T + model.intercept_ + k @ model.dual_coef_.T
    answer = model.decision_function(X).reshape(len(X), -1)
    np.testing.assert_allclose(f, answer, rtol=1e-7, atol=1e-7)
    own = native_of(model).coefs(own=True).T
    assert not np.array_equal(own, model.dual_coef_)
    np.testing.assert_allclose(model.explain(X[3]).decision, answer[3], rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_dense_is_csr_and_a_batch_a_loop_and_a_resumed_run(dtype: Any) -> None:
    X, y = turning(900, 200)
    X = X.astype(dtype)
    whole, sparse, loop = (budgetron.make("budgetron", budget=12, **RAW) for _ in range(3))
    whole.partial_fit(X, y, classes=[0, 1])
    sparse.partial_fit(scipy.sparse.csr_array(X), y, classes=[0, 1])
    for i in range(0, 900, 50):
        loop.partial_fit(X[i : i + 50], y[i : i + 50], classes=[0, 1])
        loop = pickle.loads(pickle.dumps(loop))
    same_state(whole, sparse, but="learner/expansion/support")
    same_state(whole, loop)


def test_a_class_that_joins_finds_both() -> None:
    X, y = stream(400, classes=3)
    model = budgetron.make("budgetron", budget=15, **RAW)
    two = y < 2
    model.partial_fit(X[two][:100], y[two][:100])
    before = model.decision_function(X)
    model.partial_fit(X[100:], y[100:])
    assert before.ndim == 1
    assert model.decision_function(X).shape == (400, 3)
    native_of(model).check_invariants()


def test_it_does_not_undo_the_weights_of_classes() -> None:
    """Its share uses weighted mistakes: with plain ones, answering the frequent class wins."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    y = ((X**2).sum(axis=1) + rng.normal(size=4000) > 8.5).astype(int)
    recall = {}
    for weight in (None, "balanced"):
        model = budgetron.make("budgetron", budget=50, class_weight=weight, random_state=0)
        decided = model.prequential(X, y, classes=[0, 1])
        recall[weight] = (np.ravel(decided)[y == 1] >= 0).mean()
    assert recall["balanced"] > recall[None] + 0.2


@pytest.mark.parametrize("weight", [None, "balanced"])
def test_a_rare_class_is_ranked_as_without_it(weight: str | None) -> None:
    """Few rows separate the two: the belief, which has a head start, answers. Means of five."""
    found: dict[bool, list[float]] = {False: [], True: []}
    for seed in range(5):
        X, y = make_classification(20_000, weights=[0.99], flip_y=0.0, random_state=seed)
        for reflex, precisions in found.items():
            made = {"budget": 100, "class_weight": weight, "reflex": reflex}
            model = budgetron.make("budgetron", **made).partial_fit(X[:15_000], y[:15_000])
            scores = model.decision_function(X[15_000:])
            precisions.append(average_precision_score(y[15_000:], scores))
    assert np.mean(found[True]) >= np.mean(found[False]) - 0.03


def test_off_it_leaves_nothing() -> None:
    X, y = stream(200)
    for off in ({"reflex": False}, {"average": "mean"}):
        for task, targets in (("classification", y), ("regression", X[:, 0])):
            model = budgetron.make("budgetron", task=task, budget=10, **off).fit(X, targets)
            assert not any("reflex" in name for name in state_of(model))


# ---- of regression -------------------------------------------------------------------------------


def walking(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers on a plane whose weights walk."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 4))
    weights = rng.normal(size=4) + np.cumsum(0.03 * rng.normal(size=(rows, 4)), axis=0)
    return X, (X * weights).sum(axis=1) + 0.3 * rng.normal(size=rows)


def regressor(**params: Any) -> Any:
    return budgetron.make(
        "budgetron", task="regression", **{"budget": 30, "reflex": True, **params}
    )


def test_a_plane_that_walks_is_followed() -> None:
    X, y = walking(6000)
    errors = {
        reflex: np.sqrt(np.mean((regressor(reflex=reflex).prequential(X, y) - y) ** 2))
        for reflex in (True, False)
    }
    assert errors[True] < 0.5 * errors[False]


def test_where_nothing_changes_it_costs_nothing() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 4))
    y = X[:, 0] * X[:, 1] + rng.standard_t(3, size=6000)
    errors = {
        reflex: np.sqrt(np.mean((regressor(reflex=reflex).prequential(X, y) - y) ** 2))
        for reflex in (True, False)
    }
    assert errors[True] < 1.01 * errors[False]


@pytest.mark.parametrize("rows", [600, 1501])
def test_its_share_would_have_had_the_least_squares(rows: int) -> None:
    """The sums that determine it, from the answers of the two parts."""
    X, y = walking(rows)
    model = regressor(scale=None, gamma=0.5, target_scale=None, replace="never", straight="none")
    gains = squares = 0.0
    for x, target in zip(X, y, strict=True):
        if hasattr(model, "_engine") and model.n_support_ > 0:
            k = make_kernel("rbf", 0.5, 2, 1.0)(x[None, :], model.support_vectors_)[0]
            order = np.argsort(native_of(model).ids())
            reflex = k[order] @ find_field(state_of(model), "reflex")
            belief = float((k @ native_of(model).coefs(own=True))[0])
            apart = reflex - belief
            gains += (target - belief) * apart - gains / 500
            squares += apart**2 - squares / 500
        model.partial_fit(x[None, :], [target])
    state = state_of(model)
    assert find_field(state, "reflex_gains")[0] == pytest.approx(gains, rel=1e-6, abs=1e-9)
    assert find_field(state, "reflex_squares")[0] == pytest.approx(squares, rel=1e-6, abs=1e-9)
    share = np.clip(gains / squares, 0.0, 1.0)
    own, both = native_of(model).coefs(own=True).T[0], model.dual_coef_[0]
    order = np.argsort(native_of(model).ids())
    reflex = np.empty_like(own)
    reflex[order] = find_field(state, "reflex")
    np.testing.assert_allclose(both, (1 - share) * own + share * reflex, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly"])
def test_attributes_of_a_regressor_make_its_answer(kernel: str) -> None:
    X, y = walking(900)
    made = {"kernel": kernel, "gamma": 0.3, "degree": 2, "coef0": 1.0, "scale": None}
    model = regressor(budget=15, **made).partial_fit(X, 50.0 + 7.0 * y)
    k = make_kernel(kernel, 0.3, 2, 1.0)(X, model.support_vectors_)
    f = X @ model.coef_[0] + model.intercept_[0] + k @ model.dual_coef_[0]
    np.testing.assert_allclose(f, model.predict(X), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(model.explain(X[3]).decision, model.predict(X[3:4]), rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_regressor_resumes_and_reads_csr_alike(dtype: Any) -> None:
    X, y = walking(1500)
    X = X.astype(dtype)
    whole, sparse, loop = (regressor(budget=12, **RAW) for _ in range(3))
    whole.partial_fit(X, y)
    sparse.partial_fit(scipy.sparse.csr_array(X), y)
    for i in range(0, 1500, 100):
        loop.partial_fit(X[i : i + 100], y[i : i + 100])
        loop = pickle.loads(pickle.dumps(loop))
    same_state(whole, sparse, but="learner/expansion/support")
    same_state(whole, loop)
    assert find_field(state_of(whole), "reflex_squares")[0] > 0


def test_targets_in_other_units_change_nothing() -> None:
    X, y = walking(2000)
    answers = [regressor().prequential(X, a * y + b) for a, b in ((1.0, 0.0), (1e6, 3e6))]
    one, other = (each[1:] for each in answers)  # before the first row b is unknown
    np.testing.assert_allclose(other, 1e6 * one + 3e6, rtol=1e-4, atol=1.0)


def test_an_absurd_target_does_not_carry_it_away() -> None:
    X, y = walking(3000)
    plain = regressor().prequential(X, y)
    y[1500] = 1e9
    struck = regressor().prequential(X, y)
    after = np.arange(3000) > 1500
    errors = [np.sqrt(np.mean((each - y)[after] ** 2)) for each in (struck, plain)]
    assert errors[0] < 1.3 * errors[1]
