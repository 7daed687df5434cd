"""The straight part of Budgetron, w.x + c: its forms, and when they change."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import budgetron
from budgetron.errors import BudgetronError
from papers.budgetron.budgetron import DIAGONAL, FULL, LEVEL, NONE, Budgetron, unpack
from papers.kernels import make_kernel
from papers.units import Units, gamma_of_stored
from tests.learners.test_units import STREAMS, WARM_UP
from tests.support.cases import Case, numeric_stream, same_state, stream
from tests.support.native import engine_of, native_of, state_of
from tests.support.tracing import State, Tie, differences, find_field, learn, make_page, run_trace

FLOOR = {"floor": 0.003}
RAW: dict[str, Any] = {"scale": None, "gamma": 0.5}
OF_TRACE = {
    "budget": 6, "r": 0.3, "jitter": 0.02, "replace": "auto", "scale": None, "reflex": True,
    **FLOOR,
}  # fmt: skip


def form_of(model: Any) -> int:
    return int(find_field(state_of(model), "form")[0])


def growing(rows: int, width: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Every 15 rows another feature begins; each row has at most four."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(rows, width)) * (rng.random((rows, width)) < 0.3)
    X[np.arange(width) > 2 + np.arange(rows)[:, None] // 15] = 0.0
    order = np.argsort(-np.abs(X), axis=1)[:, 4:]
    np.put_along_axis(X, order, 0.0, axis=1)
    noise = rng.normal(scale=0.3, size=rows)
    return X, (X @ rng.normal(size=width) + noise > 0).astype(int)


# ---- as the page has it --------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_follows_its_page_where_full_turns_diagonal(layout: str, dtype: str) -> None:
    X, y = growing(260)
    case = Case("budgetron", {**OF_TRACE, "straight": "auto"})
    model = run_trace(case, "rbf", X, y, 2, layout, dtype=dtype)
    assert form_of(case.make().partial_fit(X[:30], y[:30])) == FULL
    assert form_of(model) == DIAGONAL


def dense_rows(rows: int, width: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Rows of two classes that a plane separates; every value is nonzero."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(rows, width))
    return X, (X @ rng.normal(size=width) > 0).astype(int)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_follows_its_page_where_rows_become_dense(dtype: str) -> None:
    X, y = dense_rows(60, width=140)
    X[:15, 4:] = 0.0
    case = Case("budgetron", {**OF_TRACE, "budget": 71, "straight": "auto"})
    model = run_trace(case, "rbf", X, y, 2, "dense", dtype=dtype)
    assert form_of(case.make().partial_fit(X[:10], y[:10])) == FULL
    assert form_of(model) == NONE
    assert not model.coef_.any()
    assert not model.intercept_.any()


def test_dense_rows_have_none_from_the_start_unless_examples_are_few() -> None:
    X, y = dense_rows(30)
    forms = {}
    for budget in (10, 59, 60, 130):
        model = budgetron.make("budgetron", budget=budget, **RAW).partial_fit(X, y)
        forms[budget] = form_of(model)
    assert forms == {10: DIAGONAL, 59: DIAGONAL, 60: NONE, 130: NONE}
    few = budgetron.make("budgetron", budget=130, **RAW).partial_fit(X[:, :100], y)
    assert form_of(few) == FULL


def test_dense_rows_that_a_plane_parts_win_it_back(tmp_path: Any) -> None:
    X, y = dense_rows(1500)
    none = budgetron.make("budgetron", budget=70, straight="none").partial_fit(X, y)
    model = budgetron.make("budgetron", budget=70)
    model.partial_fit(X[:450], y[:450])
    assert form_of(model) == NONE
    kinds = state_of(model)["race/counts"].reshape(-1, 3)[:, 0]
    assert 2 in kinds
    budgetron.save(model, tmp_path / "racing.btn")
    twin = budgetron.load(tmp_path / "racing.btn")
    for each in (model, twin):
        each.partial_fit(X[450:], y[450:])
    same_state(model, twin)
    assert form_of(model) == DIAGONAL
    assert model.n_mistakes_ < 0.9 * none.n_mistakes_
    pickled = pickle.loads(pickle.dumps(model))  # it keeps what it has won
    for each in (model, pickled):
        each.partial_fit(X, y)
    same_state(model, pickled)
    assert form_of(pickled) == DIAGONAL


def test_follows_its_page_where_there_are_more_features_than_places() -> None:
    rng = np.random.default_rng(0)
    X = np.zeros((200, 150))
    X[np.arange(200)[:, None], rng.integers(0, 150, size=(200, 2))] = rng.normal(size=(200, 2))
    y = (X.sum(axis=1) > 0).astype(int)
    case = Case("budgetron", {**OF_TRACE, "straight": "diagonal"})
    model = run_trace(case, "rbf", X, y, 2, "csr")
    assert find_field(state_of(model), "features").size == 64


@pytest.mark.parametrize("reflex", [False, True])
@pytest.mark.parametrize("straight", ["auto", "diagonal"])
@pytest.mark.parametrize("classes", [2, 3])
def test_follows_its_page_through_a_drift(straight: str, classes: int, reflex: bool) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(classes, size=720)
    X = rng.normal(scale=0.4, size=(720, 2)) + np.array([[0, 3], [3, 0], [3, 3]])[y]
    y[560:] = (y[560:] + 1) % classes
    changed = {"jitter": 0.005, "straight": straight, "reflex": reflex}
    case = Case("budgetron", {**OF_TRACE, **changed})
    state = state_of(run_trace(case, "rbf", X, y, classes, "dense"))
    assert find_field(state, "drifts")[0] >= 1
    assert find_field(state, "replacements")[0] >= 2 or (reflex and classes == 2)


def not_larger(page: Any, after: State, norm: float, dtype: str) -> float:
    """The factor that leaves f not larger than before.

    If the examples are nearly equal, coefs cancel and the norm of f is rounding: then the model's
    own factor, which must be one.
    """
    rounding = float(np.sqrt(np.finfo(dtype).eps) * np.abs(page.coef).sum())
    if min(norm, page.norm()) > rounding:
        return min(1.0, norm / page.norm())
    own = np.argsort(after.ids)
    theirs = page.coef[np.argsort(page.ids)]
    factor = float((after.coef[own] * theirs).sum() / max((theirs**2).sum(), 1e-300))
    assert 0.0 <= factor <= 1.0 + 1e-6
    return factor


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("straight", ["full", "diagonal"])
@pytest.mark.parametrize(
    "name",
    [
        "jump", "shift", "births", "all jump", "wider", "jump down", "a trend that is seen late",
        "rare", "gaps", "gaps in rare features and a trend",
    ],
)  # fmt: skip
def test_follows_its_page_through_changes_of_units(name: str, straight: str, dtype: str) -> None:
    """Weights, constant and their variances are those of the page after each change.

    Without a metric, which the page of units does not know: in float32 it wins on one stream.
    """
    X = STREAMS[name].astype(dtype).astype(float)
    rng = np.random.default_rng(0)
    seen = np.nan_to_num((X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0))
    weights = np.array([1.0, -1.0, 2.0, 1.0, -1.0])[: X.shape[1]]
    y = (seen @ weights + rng.normal(scale=0.4, size=len(X)) > 0).astype(int)
    params = {"budget": 30, "r": 0.1, "jitter": 0.01, "replace": "auto", "straight": straight}
    case = Case("budgetron", {**params, **FLOOR, "reflex": True, "relevance": False})
    model = case.make(scale="auto", gamma="median")
    rows = X.astype(dtype)
    model.partial_fit(rows[:WARM_UP], y[:WARM_UP], classes=[0, 1])
    units = Units(X.shape[1])
    units.start(X[:WARM_UP])
    page = make_page(case, "rbf", X.shape[1], 1, engine_of(model).seed, dtype)
    page.tolerance = 1e-7 if dtype == "float64" else 2e-2
    after = State(native_of(model), page)
    changes = 0
    for t in range(WARM_UP, len(X)):
        before, gamma = after, model.gamma_
        z = units.transform(X[t]).astype(dtype).astype(float)
        model.partial_fit(rows[t : t + 1], y[t : t + 1])
        after = State(native_of(model), page)
        if not units.count(X[t]):
            continue
        page.kernel = make_kernel("rbf", gamma)
        learn(page, before, Tie(), z, 2.0 * y[t] - 1.0, 1.0)
        norm = page.norm()
        ages = t + 1 - page.ids
        stored = zip(page.support, ages, strict=True)
        page.support = np.array([units.convert(s, age) for s, age in stored])
        page.support = page.support.astype(dtype).astype(float)
        page.kernel = make_kernel("rbf", gamma_of_stored(page.support, gamma, units.least_squared))
        page.coef *= not_larger(page, after, norm, dtype)
        page.Kinv = np.linalg.inv(page.gram() + page.jitter * np.eye(page.size))
        if units.converts:
            steps = np.array([units.step(units.features[j]) for j in page.features])
            page.change_units(*steps.T)
        units.commit()
        assert not differences(page, after, page.tolerance)
        changes += 1
    assert changes > 0
    assert changes == model.unit_changes_


@pytest.mark.parametrize("straight", ["full", "diagonal"])
def test_weights_of_flags_follow_what_a_flag_is(straight: str) -> None:
    """While the stream is even a flag is as large as the largest feature, then it is 1."""
    rng = np.random.default_rng(0)
    X = rng.normal(scale=0.5, size=(900, 4))
    X[500:, 1] *= 1000.0
    X[rng.random(X.shape) < 0.2] = np.nan
    y = np.isnan(X[:, 0]).astype(int)
    made = {"budget": 30, "missing": "flag", "straight": straight, "reflex": False}
    model = budgetron.make("budgetron", **made)
    model.partial_fit(X[:400], y[:400], classes=[0, 1])
    flag = model._shown_examples()[:, 4:].max()
    assert flag != 1.0
    assert model.coef_.shape == (1, 8)
    assert model.coef_[0, 4] > 0.0
    for i in range(400, 900):
        weights, answer = model.coef_[0, 4:], model.decision_function(X[i : i + 1])
        parts = model.explain(X[i])
        np.testing.assert_allclose(parts.decision, answer, rtol=1e-9)
        assert set(parts.features) <= set(range(8))
        # A row that weighs almost nothing moves almost nothing.
        model.partial_fit(X[i : i + 1], (answer >= 0).astype(int), sample_weight=[1e-9])
        if model.unit_changes_ > 0:
            break
        np.testing.assert_allclose(model.coef_[0, 4:], weights, rtol=1e-5)
    assert model.unit_changes_ == 1
    np.testing.assert_allclose(model.coef_[0, 4:], flag * weights, rtol=1e-5)


def test_a_change_of_units_that_forgot_the_constant_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    change = Budgetron.change_units
    monkeypatch.setattr(Budgetron, "change_units", lambda self, a, b: change(self, a, 0 * b))
    with pytest.raises(AssertionError):
        test_follows_its_page_through_changes_of_units("shift", "full", "float64")


# ---- what it is ----------------------------------------------------------------------------------


def test_is_ridge_regression_where_nothing_is_stored() -> None:
    """Before the first example, w and c are those of a ridge with penalty r/tau."""
    X, _ = numeric_stream(200)
    y = X @ np.arange(1.0, X.shape[1] + 1) + 2.0
    model = budgetron.make(
        "budgetron", task="regression", jitter=2.0, straight="full", floor=0.0, r=0.3,
        target_scale=None, **RAW,
    ).partial_fit(X, y)  # fmt: skip
    assert model.n_support_ == 0  # k(x, x) = 1 is not above the jitter
    Z = np.hstack([np.ones((200, 1)), X])
    penalty = np.diag(0.3 / np.diag(first_covariance(X[:1], y[:1])))
    expected = np.linalg.solve(Z.T @ Z + penalty, Z.T @ y)
    np.testing.assert_allclose(model.coef_[0], expected[1:], rtol=1e-9)
    np.testing.assert_allclose(model.intercept_, expected[:1], rtol=1e-9)
    np.testing.assert_allclose(model.predict(X), Z @ expected, rtol=1e-9)


def first_covariance(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Diag(tau/10, tau, tau, ...) of a learner that has seen these rows."""
    tau = min(0.2, 2 / (1 + float((X**2).sum(axis=1).mean())))
    return tau * np.diag(np.append(0.1, np.ones(X.shape[1])))


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly"])
@pytest.mark.parametrize("straight", ["full", "diagonal"])
def test_its_attributes_make_its_answer(task: str, kernel: str, straight: str) -> None:
    X, y = stream(300, classes=3) if task == "classification" else numeric_stream(300)
    made = {"kernel": kernel, "gamma": 0.3, "degree": 2, "coef0": 1.0, "scale": None}
    model = budgetron.make("budgetron", task=task, budget=15, straight=straight, **made).fit(X, y)
    k = make_kernel(kernel, 0.3, 2, 1.0)(X, model.support_vectors_)
    f = X @ model.coef_.T + model.intercept_ + k @ model.dual_coef_.T
    answer = model.predict(X)[:, None] if task == "regression" else model.decision_function(X)
    np.testing.assert_allclose(f, answer, rtol=1e-7, atol=1e-7)
    assert model.coef_.shape == (1 if task == "regression" else 3, X.shape[1])


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_explain_has_the_features_of_the_row(task: str) -> None:
    X, y = stream(300) if task == "classification" else numeric_stream(300)
    model = budgetron.make("budgetron", task=task, budget=15).fit(X, y)
    x = X[7].copy()
    x[2] = 0.0
    why = model.explain(x)
    answer = (
        model.decision_function(x[None]) if task == "classification" else model.predict(x[None])
    )
    np.testing.assert_allclose(why.decision, np.ravel(answer), rtol=1e-9)
    assert why.straight is not None
    assert why.straight.shape == (len(why.features), 1)
    sizes = np.abs(why.straight[:, 0])
    assert (sizes[:-1] >= sizes[1:]).all()
    assert f"feature {why.features[0]}" in repr(why)
    assert "intercept" in repr(why)


def test_without_it_there_is_nothing_to_say() -> None:
    X, y = stream(100)
    for off in ({"straight": "none"}, {"kernel": "linear"}, {"average": "mean"}):
        model = budgetron.make("budgetron", budget=15, **off).fit(X, y)
        assert not model.coef_.any()
        assert not model.intercept_.any()
        why = model.explain(X[0])
        assert why.features.size == 0
        assert "feature" not in repr(why)
        np.testing.assert_allclose(why.decision, model.decision_function(X[:1]), rtol=1e-9)
        assert "learner/straight/weights" not in state_of(model)


@pytest.mark.parametrize("average", ["mean", "suffix"])
def test_an_average_is_that_without_it(average: str) -> None:
    X, y = stream(400)
    one, other = (
        budgetron.make(
            "budgetron", budget=15, average=average, straight=straight, random_state=0
        ).fit(X, y)
        for straight in ("auto", "none")
    )
    same_state(one, other)


# ---- the floor -----------------------------------------------------------------------------------


def variance_at(model: Any, x: np.ndarray) -> float:
    """The variance of f(x) by the full belief."""
    support = model.support_vectors_[np.argsort(native_of(model).ids())]
    k = make_kernel("rbf", 0.5)(x[None], support)[0]
    z = np.concatenate([[1.0], x[find_field(state_of(model), "features")], k])
    return float(z @ unpack(state_of(model)["learner/belief"]) @ z)


def test_no_row_makes_f_at_it_surer_than_the_floor() -> None:
    X, y = numeric_stream(400)
    for floor in (0.0, 0.05):
        model = budgetron.make(
            "budgetron", task="regression", budget=10, straight="full", floor=floor,
            target_scale=None, **RAW,
        ).partial_fit(X[:300], y[:300])  # fmt: skip
        kept = 0
        for x, target in zip(X[300:], y[300:], strict=True):
            before = variance_at(model, x)
            model.partial_fit(x[None], [target])
            after = variance_at(model, x)
            grown = 0.1 / LEVEL**2 if floor > 0 else 0.0  # of the constant, in every round
            assert after <= (before + grown) * (1 + 1e-9)
            assert after >= min(before, floor) * (1 - 1e-9)
            kept += after >= 0.05 * (1 - 1e-9)  # to rounding
        assert (kept > 0) == (floor > 0)


# ---- how rows come -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_dense_is_csr_and_a_batch_a_loop_where_it_turns(dtype: Any) -> None:
    X, y = growing(400)
    X = X.astype(dtype)
    whole, sparse, loop = (
        budgetron.make("budgetron", budget=6, random_state=0, **RAW) for _ in range(3)
    )
    whole.partial_fit(X, y, classes=[0, 1])
    sparse.partial_fit(scipy.sparse.csr_array(X), y, classes=[0, 1])
    for i in range(0, 400, 7):
        loop.partial_fit(X[i : i + 7], y[i : i + 7], classes=[0, 1])
        loop = pickle.loads(pickle.dumps(loop))
    assert form_of(whole) == DIAGONAL
    same_state(whole, sparse, but="learner/expansion/support")
    same_state(whole, loop)
    np.testing.assert_array_equal(whole.coef_, sparse.coef_)


def test_a_million_hashed_features_have_their_weights() -> None:
    rng = np.random.default_rng(0)
    words = rng.choice(2**20, size=400, replace=False)
    picks = rng.integers(0, 400, size=(3000, 8))
    indices = np.sort(words[picks], axis=1)
    y = (picks < 200).sum(axis=1) > 4
    X = scipy.sparse.csr_array(
        (np.ones(indices.size), indices.ravel(), np.arange(0, indices.size + 1, 8)),
        shape=(3000, 2**20),
    )
    X.sum_duplicates()
    errors = {}
    for straight in ("auto", "none"):
        model = budgetron.make("budgetron", budget=50, straight=straight).partial_fit(X, y)
        errors[straight] = model.n_mistakes_
    assert errors["auto"] < 0.7 * errors["none"]


def test_a_river_stream_may_grow_past_the_full_form() -> None:
    pytest.importorskip("river")
    from budgetron.river import BudgetronClassifier

    model = BudgetronClassifier(budget=8)
    rng = np.random.default_rng(0)
    for t in range(300):
        x = {f"f{rng.integers(0, 2 + t // 10)}": float(rng.normal()) for _ in range(3)}
        model.learn_one(x, sum(x.values()) > 0)
        assert model.predict_one(x) in (False, True, None)


@pytest.mark.parametrize(("limit", "form"), [("12kB", "diagonal"), ("40kB", "full")])
@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_within_bytes_the_width_decides_and_nothing_grows(
    limit: str, form: str, layout: str
) -> None:
    X, y = growing(400, width=20)
    rows = scipy.sparse.csr_array(X) if layout == "csr" else X
    model = budgetron.make("budgetron", budget=limit, random_state=0, **RAW)
    model.partial_fit(rows[:1], y[:1], classes=[0, 1])
    taken = model.memory_bytes_
    model.partial_fit(rows[1:], y[1:])
    assert model.memory_bytes_ == taken <= int(limit[:-2]) * 1000
    assert (model.budget_ >= 21) == (form == "full")
    # A limit with room for all features stores dense rows; CSR has no -0.
    alike = X + 0.0 if layout == "csr" else X
    counted = budgetron.make(
        "budgetron", budget=model.budget_, straight=form, random_state=0, **RAW
    ).partial_fit(alike, y, classes=[0, 1])
    same_state(model, counted)


@pytest.mark.parametrize("smaller", [4, "12kB"])
def test_a_lower_budget_turns_it_diagonal(smaller: int | str) -> None:
    X, y = stream(300)
    model = budgetron.make("budgetron", budget=30, **RAW).fit(X, y)
    assert form_of(model) == FULL
    before = model.decision_function(X)
    model.lower_budget(smaller)
    assert form_of(model) == DIAGONAL or smaller != 4
    assert np.isfinite(model.decision_function(X)).all()
    assert not np.array_equal(model.decision_function(X), before)
    native_of(model).check_invariants()
    model.partial_fit(X, y)
    native_of(model).check_invariants()


def test_a_form_that_does_not_exist_is_refused() -> None:
    with pytest.raises(BudgetronError, match="straight"):
        budgetron.make("budgetron", straight="curved").fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(BudgetronError, match="floor"):
        budgetron.make("budgetron", floor=-1.0).fit([[0.0], [1.0]], [0, 1])
