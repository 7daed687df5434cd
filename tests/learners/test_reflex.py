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
    """Two blobs whose labels are others every so many rows."""
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
    """Its share goes by weighed mistakes: by plain ones, what answers the frequent class wins."""
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
    """Few rows tell the two apart: the belief, which has a head start, answers. Means of five."""
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
        state = state_of(budgetron.make("budgetron", budget=10, **off).fit(X, y))
        assert not any("reflex" in name for name in state)
    numbers = X[:, 0]
    state = state_of(budgetron.make("budgetron", task="regression", budget=10).fit(X, numbers))
    assert not any("reflex" in name for name in state)
