"""`fit`, the batch interface: a first pass finds the units, rows are shuffled by index."""

from __future__ import annotations

import pickle
import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_friedman1,
)
from sklearn.model_selection import KFold, cross_val_score

import budgetron
from budgetron import river
from budgetron.estimators._base import estimator as base
from tests.support.cases import (
    BY_NAME,
    CASES,
    KINDS,
    REGRESSION,
    REGRESSION_KINDS,
    Case,
    as_format,
    numeric_stream,
    same_state,
    stream,
)
from tests.support.native import StandIn, engine_of, native_of, state_of

FIXED = {"scale": None, "gamma": 0.5}
AUTO = {"scale": "auto", "gamma": "median"}


def rows_of(case: Case, n: int) -> tuple[np.ndarray, np.ndarray]:
    return numeric_stream(n) if case.task == "regression" else stream(n, classes=3)


def uneven(case: Case, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose features need units, sorted by their labels or targets."""
    X, y = rows_of(case, n)
    order = np.argsort(y, kind="stable")
    return (X * 10.0 ** (np.arange(X.shape[1]) - 1) + 2.0)[order], y[order]


def units(case: Case) -> dict[str, Any]:
    return {**AUTO, "target_scale": "auto"} if case.task == "regression" else AUTO


# ---- the order ----------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("case", CASES + REGRESSION, ids=lambda case: f"{case.task} {case}")
def test_with_fixed_units_and_order_fit_is_partial_fit(case: Case, layout: str) -> None:
    X, y = rows_of(case, 260)
    rows = as_format(X, layout)
    fitted = case.make(**FIXED, shuffle=False).fit(rows, y)
    known = {} if case.task == "regression" else {"classes": np.unique(y)}
    same_state(fitted, case.make(**FIXED).partial_fit(rows, y, **known))


@pytest.mark.parametrize("case", KINDS + REGRESSION_KINDS, ids=lambda case: f"{case.task} {case}")
def test_without_a_seed_the_seed_is_0(case: Case) -> None:
    """The same rows give the same model, in any state of NumPy's generator."""
    X, y = rows_of(case, 300)
    known = {} if case.task == "regression" else {"classes": np.unique(y)}

    def learned(seed: int | None) -> list[Any]:
        np.random.seed(np.random.randint(1000))  # noqa: NPY002 (the state that must not matter)
        one, other = (case.make(shuffle=True, random_state=seed) for _ in range(2))
        return [one.fit(X, y), other.partial_fit(X, y, **known)]

    for first, second, zero in zip(learned(None), learned(None), learned(0), strict=True):
        same_state(first, second)
        same_state(first, zero)


def test_without_a_seed_rivers_models_draw_alike() -> None:
    X, y = stream(300)
    answers = []
    for seed in (None, None, 0):
        model = river.make("fogd", n_components=20, seed=seed)
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            model.learn_one({str(j): value for j, value in enumerate(row)}, label)
        answers.append(model.predict_proba_one({"0": 1.0, "1": -0.5}))
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.parametrize(
    ("rows", "shuffle", "epochs"),
    [
        *[(1, True, 5), (100, True, 5), (300, True, 4), (999, True, 2)],
        *[(1000, True, 1), (1500, True, 1), (100, False, 1)],
    ],
)
def test_small_sets_are_learned_until_a_thousand_rows_were(
    rows: int, shuffle: bool, epochs: int
) -> None:
    X, y = stream(1500)
    model = BY_NAME["rbp"].make(shuffle=shuffle).fit(X[:rows], y[:rows])
    assert model.n_seen_ == rows * epochs
    assert model.partial_fit(X[:100], np.full(100, y[0])).n_seen_ == rows * epochs + 100


# ---- memory -------------------------------------------------------------------------------------


def peak(model: Any, X: Any, y: np.ndarray) -> int:
    """The peak bytes of Python and NumPy in `fit`, without X and y."""
    tracemalloc.start()
    try:
        model.fit(X, y)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("settings", [FIXED, AUTO], ids=["fixed", "auto"])
@pytest.mark.parametrize("width", [40, 3000])
@pytest.mark.parametrize("layout", ["dense", "csr", "frame"])
def test_shuffling_copies_no_more_than_a_piece(
    layout: str, width: int, settings: dict[str, Any]
) -> None:
    rng = np.random.default_rng(0)
    rows = 6_000_000 // width
    X, y = rng.normal(size=(rows, width)), np.arange(rows) % 2
    size, most = X.nbytes, X.nbytes // 4  # of CSR a fifth is scikit-learn's look for infinities
    if layout == "csr":
        X[rng.random(X.shape) < 0.3] = 0
        X = scipy.sparse.csr_array(X)
        size = X.data.nbytes + X.indices.nbytes
    if layout == "frame":  # its rows become an array, with or without shuffling
        pandas = pytest.importorskip("pandas")
        X = pandas.DataFrame(X, columns=[f"f{j}" for j in range(width)])
        most += size
    model = budgetron.make("rbp", budget=5, shuffle=True, n_epochs=2, **settings)
    assert peak(model, X, y) < most
    assert model.memory_bytes_ < size / 3


# ---- the first pass -----------------------------------------------------------------------------


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("rows", [120, 450])
@pytest.mark.parametrize("case", KINDS + REGRESSION_KINDS, ids=lambda case: f"{case.task} {case}")
def test_fit_is_the_same_in_pieces_dense_or_sparse_and_resumed(
    case: Case, rows: int, shuffle: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = uneven(case, rows + 300)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))
    train, later = np.sort(order[:rows]), order[rows:]
    weights = rng.integers(0, 3, size=rows).astype(float)
    how = {**units(case), "shuffle": shuffle}
    whole = case.make(**how).fit(X[train], y[train], sample_weight=weights)
    assert whole.unit_changes_ == 0
    native_of(whole).check_invariants()
    monkeypatch.setattr(base, "PIECE", 37)
    pieces = case.make(**how).fit(scipy.sparse.csr_array(X[train]), y[train], sample_weight=weights)
    np.testing.assert_array_equal(whole.predict(X), pieces.predict(X))
    assert whole.gamma_ == pieces.gamma_
    dense = case.make(**how).fit(X[train], y[train], sample_weight=weights)
    same_state(whole, dense)
    resumed = pickle.loads(pickle.dumps(whole))
    same_state(whole.partial_fit(X[later], y[later]), resumed.partial_fit(X[later], y[later]))


@pytest.mark.parametrize("name", ["rbp", "budgetron", "pegasos"])
def test_rows_of_weight_0_do_not_count(name: str) -> None:
    X, y = uneven(BY_NAME[name], 400)
    weights = np.ones(len(y))
    weights[::3] = 0
    noise = X.copy()
    noise[::3] *= 1e6
    first, second = (
        BY_NAME[name].make(**AUTO, shuffle=True).fit(rows, y, sample_weight=weights)
        for rows in (X, noise)
    )
    same_state(first, second)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_units_do_not_depend_on_the_order_of_the_rows(task: str) -> None:
    """A feature that grows and one that jumps: units do not change, each is that of all rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5))
    X[:, 1] = np.arange(3000) + 1.7e9
    X[2000:, 2] *= 1000
    y = np.sort(rng.normal(size=3000)) if task == "regression" else np.arange(3000) // 1500
    model = budgetron.make("pa", task=task, C=1e-9, shuffle=True, **AUTO).fit(X, y)  # stores all
    assert model.unit_changes_ == 0
    stored = np.abs(model.support_vectors_)
    assert 0.5 < stored[:, 1].mean() < 1.2  # of a uniform distribution 0.87
    if task == "regression":
        centre, scale, changes = model.target_units_
        assert (abs(centre) < 0.2, 0.75 < scale < 1.25, changes) == (True, True, 1)
        assert state_of(model)["target_units/seen"] == 1000  # counted once


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("kind", ["equal rows", "one row", "one target"])
def test_where_nothing_can_be_settled_fit_is_partial_fit(kind: str, task: str) -> None:
    """The warm-up of the stream decides when there is enough data."""
    X, y = stream(300) if task == "classification" else numeric_stream(300)
    how: dict[str, Any] = dict(AUTO)
    if kind == "equal rows":
        X = np.tile([[3.0, 0.0, 1e6]], (300, 1))
    if kind == "one row":
        X, y = X[:1], y[:1]
    if kind == "one target":
        y, how = np.full(len(y), y[0]), FIXED
    how["n_epochs"] = 1
    if task == "regression" and kind != "one target":
        how["target_scale"] = None
    fitted = budgetron.make("pa", task=task, shuffle=False, **how).fit(X, y)
    known = {} if task == "regression" else {"classes": np.unique(y)}
    same_state(fitted, budgetron.make("pa", task=task, **how).partial_fit(X, y, **known))


@pytest.mark.parametrize("scale", [None, "standard"])
def test_gamma_alone_is_settled_by_rows_of_all_classes(scale: str | None) -> None:
    """Without scaling; "standard" divides row t by the rows before it, and waits as in a stream."""
    X, y = stream(900, classes=3)
    order = np.argsort(y, kind="stable")
    X, y = X[order] + 10 * y[order][:, None], y[order]
    fitted = BY_NAME["rbp"].make(scale=scale, gamma="median", shuffle=False).fit(X, y)
    streamed = BY_NAME["rbp"].make(scale=scale, gamma="median")
    streamed.partial_fit(X, y, classes=[0, 1, 2])
    if scale == "standard":
        same_state(fitted, streamed)
    else:
        apart = ((X[::3, None] - X[None, ::3]) ** 2).sum(axis=2)
        assert fitted.gamma_ == pytest.approx(1 / np.median(apart[apart > 0]), rel=0.2)
        assert streamed.gamma_ > 5 * fitted.gamma_


def test_a_first_pass_that_ends_early_leaves_the_model_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = uneven(BY_NAME["rbp"], 400)
    model = BY_NAME["rbp"].make(**AUTO).fit(X, y)
    before, native = model.predict(X), native_of(model)

    def interrupted(batch: Any) -> None:
        raise KeyboardInterrupt

    build = base.OnlineEstimator._build

    def stubborn(self: Any, *args: Any, **how: Any) -> Any:
        engine = build(self, *args, **how)
        engine.native = StandIn(engine.native, survey=interrupted)
        return engine

    monkeypatch.setattr(base.OnlineEstimator, "_build", stubborn)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[::-1], y[::-1])
    assert engine_of(model).native is native
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("rows", [60, 600])
@pytest.mark.parametrize("name", ["budgetron", "rbp", "ahpatron"])
def test_a_budget_in_bytes_holds(name: str, rows: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 30)) * 10.0 ** rng.integers(-3, 4, size=30)
    y = np.arange(rows) % 2
    for limit in (40_000, 400_000):
        model = budgetron.make(name, budget=f"{limit} B", shuffle=True, **AUTO)
        assert model.fit(X, y).memory_bytes_ <= limit
        assert model.partial_fit(X, y).memory_bytes_ <= limit


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("factor", [1e-30, 1e-6, 1.0, 1e6, 1e30])
def test_units_of_any_size(factor: float, dtype: type) -> None:
    X, y = load_iris(return_X_y=True)
    X = np.asfortranarray((X * [factor, 1, 1, 1 / factor]).astype(dtype))
    X.setflags(write=False)
    model = budgetron.BudgetronClassifier(shuffle=True).fit(X, y)
    assert model.score(X, y) > 0.94


# ---- quality -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("load", "least"),
    [(load_iris, 0.95), (load_wine, 0.95), (load_breast_cancer, 0.95), (load_digits, 0.93)],
)
def test_budgetron_with_nothing_given_on_sorted_small_sets(load: Any, least: float) -> None:
    X, y = load(return_X_y=True)
    order = np.argsort(y, kind="stable")
    model = budgetron.BudgetronClassifier(shuffle=True)
    assert cross_val_score(model, X[order], y[order]).mean() >= least


@pytest.mark.parametrize(
    ("X", "y", "least"),
    [(*load_diabetes(return_X_y=True), 0.35), (*make_friedman1(1000, random_state=0), 0.80)],
    ids=["diabetes", "friedman1"],
)
def test_budgetron_regresses_rows_sorted_by_their_targets(
    X: np.ndarray, y: np.ndarray, least: float
) -> None:
    order = np.argsort(y)
    folds = KFold(5, shuffle=True, random_state=0)  # whose training rows stay sorted
    model = budgetron.BudgetronRegressor(shuffle=True)
    assert cross_val_score(model, X[order], y[order], cv=folds).mean() >= least
