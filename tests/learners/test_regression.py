"""Regression: every learner that does it follows its page and the general rules."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import budgetron
from budgetron.catalogue import CATALOGUE, paper_settings
from budgetron.checks import contracts
from tests.support.cases import DEFINITE, REGRESSION, Case, as_format, numeric_stream, same_state
from tests.support.native import native_of, state_of
from tests.support.tracing import find_field, ran_through, run_trace

BUDGETED = [case for case in REGRESSION if case.budget is not None]
PLAIN = {case.name: case for case in REGRESSION if not case.label}

each_case = pytest.mark.parametrize("case", REGRESSION, ids=str)
each_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def learn(case: Case, X: Any, y: np.ndarray, **more: Any) -> Any:
    return case.make(random_state=5, **more).partial_fit(X, y)


def test_every_regressor_of_the_catalogue_has_a_case() -> None:
    assert set(PLAIN) == {name for name, entry in CATALOGUE.items() if "regression" in entry.tasks}
    assert set(PLAIN) == {algorithm.name for algorithm in budgetron.algorithms("regression")}


# ---- the page ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layout", "dtype", "rows"),
    [
        ("dense", "float64", 420),
        ("csr", "float64", 200),
        ("dense", "float32", 200),
        ("csr", "float32", 200),
    ],
)
@pytest.mark.parametrize(
    ("case", "kernel"),
    [pytest.param(c, k, id=f"{c}-{k}") for c in REGRESSION for k in c.kernels],
)
def test_follows_its_page(case: Case, kernel: str, layout: str, dtype: str, rows: int) -> None:
    X, y = numeric_stream(rows, sparse=layout == "csr")
    ran_through(run_trace(case, kernel, X, y, 0, layout, dtype=dtype), case)


@each_case
def test_follows_its_page_with_weights(case: Case) -> None:
    X, y = numeric_stream(150)
    weights = np.random.default_rng(0).choice([0.25, 1.0, 3.0], size=len(y))
    model = run_trace(case, "rbf", X, y, 0, "dense", weights)
    assert not np.array_equal(model.predict(X), case.make(random_state=1).fit(X, y).predict(X))


# ---- how rows come -------------------------------------------------------------------------------


@each_case
@given(cuts=st.lists(st.integers(1, 299), max_size=8, unique=True))
def test_chunks_do_not_matter(case: Case, cuts: list[int]) -> None:
    contracts.check_chunks_do_not_matter(case.make(random_state=5), cuts=cuts)


@each_dtype
@each_case
def test_batch_equals_one_row_at_a_time(case: Case, dtype: type) -> None:
    contracts.check_batch_equals_loop(case.make(random_state=5), dtypes=[dtype])
    X, y = numeric_stream(100)
    X = X.astype(dtype)
    model = case.make().partial_fit(X, y)
    assert model.prediction_one(X[0]) == model.predict(X[:1])[0]
    assert case.make().learn_one(X[0], y[0]) == case.make().prequential(X[:1], y[:1])[0]


@each_dtype
@each_case
def test_dense_equals_csr(case: Case, dtype: type) -> None:
    contracts.check_dense_equals_sparse(case.make(random_state=5), dtypes=[dtype])


@each_case
def test_resuming_continues_to_the_bit(case: Case) -> None:
    contracts.check_resumes_exactly(case.make(random_state=5))


def test_width_may_grow_from_chunk_to_chunk() -> None:
    X, y = numeric_stream(200, sparse=True)
    X[:100, 3] = 0.0
    narrow = scipy.sparse.csr_array(X[:100, :3])
    for case in PLAIN.values():
        if case.name == "avm":  # its rectangles are sized by the first width
            continue
        whole, grown = case.make(), case.make()
        expected = whole.prequential(scipy.sparse.csr_array(X), y)
        first = grown._prequential_growing(narrow, y[:100])
        rest = grown._prequential_growing(scipy.sparse.csr_array(X[100:]), y[100:])
        np.testing.assert_array_equal(expected, np.concatenate([first, rest]))
        assert grown.n_features_in_ == 4


# ---- the budget ----------------------------------------------------------------------------------


@pytest.mark.parametrize("case", BUDGETED, ids=str)
def test_fills_its_budget_and_then_keeps_its_bytes(case: Case) -> None:
    how = {"rows": 900, "settled": 600, "full": case.full}
    contracts.check_memory_is_constant_once_full(case.make(), **how)
    X, y = numeric_stream(900)
    model = case.make().partial_fit(X, y)
    assert model.memory_bytes_ >= model.support_vectors_.nbytes + model.dual_coef_.nbytes
    native_of(model).check_invariants()


def test_targets_that_are_too_large_to_learn_cause_one_warning() -> None:
    X, y = numeric_stream(60)
    model = budgetron.BudgetronRegressor()
    with pytest.warns(budgetron.PrecisionWarning, match=r"up to 1e\+60 .*: divide") as said:
        model.partial_fit(X, 1e100 * y)
    assert said[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(X, 1e100 * y)
        budgetron.BudgetronRegressor().partial_fit(X, 1e58 * y)


@pytest.mark.filterwarnings("ignore::budgetron.PrecisionWarning")
@pytest.mark.parametrize("case", BUDGETED, ids=str)
def test_long_run(case: Case) -> None:
    """float32, duplicated points, a constant feature, targets mostly noise."""
    rng = np.random.default_rng(0)
    model = case.make(budget=16, gamma=2.0)
    pool = rng.normal(size=(5000, 3)).astype(np.float32)
    pool[:, 2] = 1.0
    X = pool[rng.integers(len(pool), size=60_000)]
    y = X[:, 0] * X[:, 1] + rng.normal(size=60_000)
    assert np.isfinite(model.prequential(X, y)).all()
    assert model.n_support_ <= 16
    native_of(model).check_invariants()


# ---- what it learns ------------------------------------------------------------------------------


def test_the_tube_is_open_at_its_edge() -> None:
    """An error of exactly epsilon is no error; a larger one moves f."""
    for name in ("rbp", "forgetron", "projectron", "pa", "ogd", "bogd", "nogd"):
        model = budgetron.make(name, task="regression", epsilon=0.5, target_scale=None)
        assert model.fit([[1.0]], [0.5]).n_updates_ == 0 or name in {"ogd", "bogd"}  # they decay
        assert model.n_support_ == 0
        assert model.fit([[1.0]], [np.nextafter(0.5, 1.0)]).n_support_ == 1


def test_errors_move_f_towards_the_target() -> None:
    for name in PLAIN:
        for target in (-2.0, 2.0):
            model = budgetron.make(name, task="regression", gamma=1.0).fit([[0.5, 1.0]], [target])
            assert np.sign(model.predict([[0.5, 1.0]])[0]) == np.sign(target)


def test_passive_aggressive_brings_the_error_to_epsilon() -> None:
    how = {"C": np.finfo(float).max, "epsilon": 0.25, "gamma": 0.5, "target_scale": None}
    model = budgetron.make("pa", task="regression", **how)
    X, y = numeric_stream(50)
    for x, target in zip(X, y, strict=True):
        model.partial_fit(x[None, :], [target])
        assert abs(target - model.predict(x[None, :])[0]) <= 0.25 + 1e-12


def test_ogd_with_no_dead_zone_is_least_mean_squares() -> None:
    """A linear kernel: w <- w + step (y - w.x) x."""
    X, y = numeric_stream(100)
    how = {"kernel": "linear", "epsilon": 0.0, "step": 0.05, "target_scale": None}
    model = budgetron.make("ogd", task="regression", **how)
    w, expected = np.zeros(X.shape[1]), []
    for x, target in zip(X, y, strict=True):
        expected.append(w @ x)
        w = w + 0.05 * (target - w @ x) * x
    np.testing.assert_allclose(model.prequential(X, y), expected, rtol=1e-10, atol=1e-12)


def test_forgetron_with_small_steps_never_shrinks() -> None:
    """Psi <= step^2 + 2 step < 15/32: then it is the Perceptron that drops its oldest."""
    X, y = numeric_stream(400)
    how = paper_settings("regression") | {"budget": 10, "gamma": 0.5}
    forgetron = budgetron.make("forgetron", "regression", **how).fit(X, y)
    oldest = CATALOGUE["rbp"].estimator("regression")(removal="oldest", **how)
    np.testing.assert_array_equal(forgetron.predict(X), oldest.fit(X, y).predict(X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_avm_with_the_squared_loss_stays_in_its_ball(dtype: type) -> None:
    X, y = numeric_stream(500)
    X = X.astype(dtype)
    how = {"regularization": 1e-3, "delta": 1.0, "gamma": 0.5, "target_scale": None}
    model = budgetron.make("avm", task="regression", **how)
    largest = 0.0
    for x, target in zip(X, y, strict=True):
        model.partial_fit(x[None, :], [target])
        largest = max(largest, abs(target))
        norm2 = float(model.predict(model.support_vectors_) @ model.dual_coef_[0])
        assert norm2 <= largest**2 / 1e-3 * (1 + 1e-4)
    assert find_field(state_of(model), "projections")[0] > 1


@pytest.mark.parametrize("name", sorted(PLAIN))
def test_learns_a_smooth_function(name: str) -> None:
    X = np.random.default_rng(0).uniform(-1, 1, size=(4000, 2))
    y = np.sin(3 * X[:, 0]) * X[:, 1]
    # The step 1/(lambda t) needs a lambda; a budget, steps that do not fill it with noise.
    settings = {
        "avm": {"delta": 0.3, "regularization": 0.01},
        "bogd": {"budget": 400, "max_coef": 1.0},
        "rbp": {"budget": 400},
        "forgetron": {"budget": 400},
    }
    model = budgetron.make(
        name, task="regression", gamma=1.0, random_state=0, **settings.get(name, {})
    )
    model.fit(X, y)
    assert model.score(X, y) > 0.6


# ---- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_targets_that_are_not_finite_are_refused(bad: float) -> None:
    X, y = numeric_stream(60)
    for case in PLAIN.values():
        model = case.make().partial_fit(X, y)
        before = copy.deepcopy(model)
        spoiled = y.copy()
        spoiled[30] = bad
        with pytest.raises(ValueError, match=r"Input y contains (NaN|infinity) in row 30"):
            model.partial_fit(X, spoiled)
        with pytest.raises(ValueError, match="not a finite number"):
            model.learn_one(X[0], bad)
        same_state(model, before)


def test_bad_rows_leave_the_model_as_it_was() -> None:
    X, y = numeric_stream(60)
    for case in PLAIN.values():
        model = case.make().partial_fit(X, y)
        before = copy.deepcopy(model)
        with pytest.raises(ValueError, match="NaN"):
            model.partial_fit(np.where(np.arange(60)[:, None] == 59, np.nan, X), y)
        with pytest.raises(ValueError, match="inconsistent numbers"):
            model.partial_fit(X, y[:-1])
        with pytest.raises(ValueError, match="requires y"):
            model.partial_fit(X, None)
        same_state(model, before)


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("rbp", {"epsilon": -0.1}, "'epsilon' parameter of BudgetPerceptronRegressor"),
        ("rbp", {"step": 0.0}, "'step' parameter"),
        ("ogd", {"loss": "hinge"}, "'loss' parameter of OGDRegressor"),
        ("ogd", {"step": 2.0, "regularization": 1.0}, "below 1"),
        ("bogd", {"budget": 0}, "'budget' parameter"),
        ("nogd", {"rank": 7, "budget": 5}, "rank=7"),
        ("fogd", {"kernel": "linear"}, "use 'rbf', 'laplacian'"),
        ("avm", {"loss": "logistic"}, "'loss' parameter of AVMRegressor"),
        *[(n, {"kernel": "sigmoid"}, "sigmoid") for n in ("forgetron", "projectron", "nogd")],
    ],
)
def test_bad_parameters_say_which_and_what_is_allowed(
    name: str, params: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        budgetron.make(name, task="regression", **params).fit([[0.0], [1.0]], [0.0, 1.0])


def test_asking_before_learning() -> None:
    with pytest.raises(NotFittedError):
        budgetron.make("ogd", task="regression").predict([[1.0]])
    with pytest.raises(ValueError, match="does classification, not 'regression'"):
        budgetron.make("ahpatron", task="regression")


# ---- scikit-learn --------------------------------------------------------------------------------


@each_case
def test_pipeline_grid_and_clone(case: Case) -> None:
    X, y = numeric_stream(120)
    model = make_pipeline(StandardScaler(), case.make()).fit(X, y)
    assert np.isfinite(model.score(X, y))
    search = GridSearchCV(case.make(), {"gamma": [0.1, 1.0]}, cv=2).fit(X, y)
    assert np.isfinite(search.predict(X)).all()
    assert not hasattr(clone(case.make().fit(X, y)), "n_support_")


def test_kernels_of_cases_are_what_learners_take() -> None:
    X, y = numeric_stream(20)
    for case in PLAIN.values():
        for kernel in DEFINITE:
            if kernel in case.kernels:
                case.make(kernel).fit(as_format(X, "csr"), y)
            else:
                with pytest.raises(ValueError, match="kernel="):
                    case.make(kernel).fit(X, y)
