"""The race of kernel widths: who wins, the model before and after, and the cost."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray
from sklearn.datasets import make_classification

import budgetron
from budgetron import BudgetronClassifier, BudgetronRegressor, river
from papers.budgetron.budgetron import Budgetron
from papers.kernels import make_kernel
from papers.race import FACTORS, LAST, STRAIGHT, WIDTH, Race
from tests.support.cases import same_state
from tests.support.native import native_of, state_of

Rows = NDArray[Any]


def checkerboard(rows: int, cells: int = 4, noise: float = 0.05) -> tuple[Rows, Rows]:
    """A board of so many cells per side: the median's kernel is too wide for it."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(rows, 2))
    y = (np.floor(cells * X).sum(axis=1) % 2).astype(int)
    return X, np.where(rng.uniform(size=rows) < noise, 1 - y, y)


def blobs(rows: int) -> tuple[Rows, Rows]:
    """Two wide blobs: no kernel is better than the median's."""
    rng = np.random.default_rng(1)
    y = rng.integers(2, size=rows)
    return rng.normal(size=(rows, 5)) + 1.2 * y[:, None], y


def turning(rows: int, until: int, noise: float = 0.2) -> tuple[Rows, Rows]:
    """Two classes that circle around each other, one turn in 300 rows, and stop after so many."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=rows)
    angle = 2 * np.pi * np.minimum(np.arange(rows), until) / 300 + np.pi * y
    X = np.c_[np.cos(angle), np.sin(angle)] + noise * rng.normal(size=(rows, 2))
    return X, y


def contenders(model: Any) -> list[str]:
    """The names of the remaining contenders."""
    return sorted({name.split("/")[0] for name in state_of(model) if name.startswith("contender")})


def race_field(model: Any, name: str) -> float:
    return float(state_of(model)[f"race/{name}"][0])


# ---- who wins ------------------------------------------------------------------------------------


def test_a_narrow_kernel_wins_where_borders_are_fine() -> None:
    X, y = checkerboard(8000)
    median = BudgetronClassifier(gamma="median", relevance=False).partial_fit(X, y)
    race = BudgetronClassifier(relevance=False).partial_fit(X, y)
    gammas = [float(native_of(model).gamma) for model in (median, race)]
    assert gammas[1] in (4 * gammas[0], 16 * gammas[0])
    assert race.n_mistakes_ < 0.75 * median.n_mistakes_
    assert race_field(race, "factor") in FACTORS
    assert race.n_support_ <= 100


@pytest.mark.parametrize("seed", [2, 7])
def test_rows_of_the_frequent_class_alone_do_not_decide(seed: int) -> None:
    """In the first compared rows the learners hardly differ, or not at all."""
    X, y = make_classification(2000, weights=[0.995], flip_y=0, random_state=seed)
    plain, model = (
        BudgetronClassifier(class_weight="balanced", **words).partial_fit(X, y)
        for words in ({"gamma": "median", "relevance": False}, {})
    )
    np.testing.assert_array_equal(plain.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("classes", [2, 3])
def test_nothing_changes_if_no_contender_wins(classes: int) -> None:
    X, y = blobs(4000)
    y = y + (X[:, 0] > 2) if classes == 3 else y
    median = BudgetronClassifier(gamma="median", budget=20)
    race = BudgetronClassifier(gamma="race", budget=20)
    f = [model.prequential(X, y, classes=np.arange(classes)) for model in (median, race)]
    np.testing.assert_array_equal(f[0], f[1])
    assert race.gamma_ == median.gamma_
    assert contenders(race) == []


def test_the_winner_fills_the_whole_budget() -> None:
    X, y = checkerboard(8000)
    model = BudgetronClassifier(budget=60).partial_fit(X, y)
    assert race_field(model, "factor") > 1
    assert model.n_support_ > 30


def test_regression_races_by_errors() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(5000, 1))
    y = 1e4 + 100 * np.sin(30 * X[:, 0])
    R2 = {}
    for gamma in ("median", "race"):
        model = BudgetronRegressor(gamma=gamma, budget=60).partial_fit(X[:4000], y[:4000])
        R2[gamma] = model.score(X[4000:], y[4000:])
    assert R2["race"] > R2["median"] + 0.3


def test_the_first_rows_learned_again_end_it() -> None:
    X, y = checkerboard(280)
    model = BudgetronClassifier(n_epochs=1).fit(X, y)
    assert contenders(model)
    model = BudgetronClassifier(n_epochs=2).fit(X, y)
    assert contenders(model) == []
    assert race_field(model, "factor") == 1


def test_it_ends() -> None:
    rows = LAST + 300
    X, y = np.random.default_rng(0).normal(size=(rows, 2)), np.arange(rows) % 2
    model = BudgetronClassifier(budget=10).partial_fit(X[:250], y[:250])
    assert len(contenders(model)) == 2
    model.partial_fit(X[250:], y[250:])
    assert contenders(model) == []


# ---- the rule ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("heaviest", [1.0, 5.0])
def test_it_is_the_page(heaviest: float, dtype: str) -> None:
    X, y = checkerboard(2600, cells=4)
    X = X.astype(dtype)
    weights = np.where(np.arange(len(y)) % 17 == 3, heaviest, 1.0)
    budget = 24
    model = BudgetronClassifier(budget=budget, scale=None)  # units, and so metrics, stay plain
    f = model.prequential(X, y, sample_weight=weights)
    warm = BudgetronClassifier(gamma="median", scale=None).partial_fit(X[:200], y[:200])
    gamma = float(native_of(warm).gamma)

    def make(factor: float, share: float) -> Budgetron:
        own = {name: getattr(model, name) for name in ("r", "jitter", "replace", "straight")}
        own |= {"floor": model.floor, "reflex": model.reflex, "dtype": dtype}
        kernel = make_kernel("rbf", factor * gamma)
        return Budgetron(kernel, 2, budget=int(share * budget), **own)

    page = make(1.0, 1.0)
    signs = 2.0 * y - 1.0
    rows = X.astype(np.float64)
    for x, sign, weight in zip(rows[:200], signs[:200], weights[:200], strict=True):
        page.learn(x, sign, weight)
    race = Race(page, make, list(weights[:200]))
    factors = []
    tolerance = {"float64": 1e-6, "float32": 2e-2}[dtype]
    for t in range(200, len(X)):
        expected = race.learn(rows[t], signs[t], weights[t])
        assert abs(f[t] - expected[0]) <= tolerance * (1 + abs(expected[0])), t
        factors.append(race.factor)
    assert factors[-1] > 1
    assert race_field(model, "factor") == race.factor
    assert len(race.contenders) == len(contenders(model))
    if race.contenders:
        numbers = state_of(model)["race/numbers"].reshape(-1, 5)[:, 2:]
        for each, (ahead, squares, plain) in zip(race.contenders, numbers, strict=True):
            e, w = np.array(each.differences), np.array(each.weights)
            assert (ahead, squares, plain) == ((w * e).sum(), ((w * e) ** 2).sum(), (e**2).sum())


def test_one_with_a_straight_part_is_the_page() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1200, 110))
    y = (X @ rng.normal(size=110) > 0).astype(int)
    model = BudgetronClassifier(budget=60, scale=None)
    f = model.prequential(X, y)
    warm = BudgetronClassifier(gamma="median", scale=None).partial_fit(X[:200], y[:200])

    def make(factor: float, share: float) -> Budgetron:
        own = {name: getattr(model, name) for name in ("r", "jitter", "replace", "straight")}
        own |= {"floor": model.floor, "reflex": model.reflex}
        kernel = make_kernel("rbf", factor * float(native_of(warm).gamma))
        return Budgetron(kernel, 110, budget=int(share * 60), **own)

    page = make(1.0, 1.0)
    for x, sign in zip(X[:200], 2.0 * y[:200] - 1.0, strict=True):
        page.learn(x, sign)
    race = Race(page, make, [1.0] * 200)
    assert [each.rules for each in race.contenders] == [WIDTH, WIDTH, STRAIGHT]
    for t in range(200, len(X)):
        expected = race.learn(X[t], 2.0 * y[t] - 1.0)
        assert abs(f[t] - expected[0]) <= 1e-6 * (1 + abs(expected[0])), t
    assert race.page is not page, "it has won"
    assert race.factor == 1
    assert len(race.contenders) == len(contenders(model))


# ---- which examples are kept ---------------------------------------------------------------------


def is_recent(model: Any) -> bool:
    return "learner/turned/recent" in state_of(model)


def test_the_most_recent_examples_win_where_old_ones_mislead() -> None:
    X, y = turning(3000, until=3000)
    median = BudgetronClassifier(budget=24, gamma="median").partial_fit(X, y)
    model = BudgetronClassifier(budget=24).partial_fit(X, y)
    assert is_recent(model)
    assert model.n_mistakes_ < 0.5 * median.n_mistakes_
    assert model.n_support_ == 24
    assert model.coef_.any() == 0, "it has no straight part"
    model.predict(X)
    native_of(model).check_invariants()


def test_the_most_useful_examples_come_back_when_the_stream_stands_still() -> None:
    X, y = turning(16000, until=2000, noise=0.9)
    X[:2000], y[:2000] = turning(2000, until=2000)
    model = BudgetronClassifier(budget=24).partial_fit(X[:2000], y[:2000])
    assert is_recent(model)
    model.partial_fit(X[2000:], y[2000:])
    assert not is_recent(model)
    never = BudgetronClassifier(budget=24).partial_fit(X[2000:14000], y[2000:14000])
    model_rate, never_rate = (
        (each.predict(X[14000:]) != y[14000:]).mean() for each in (model, never)
    )
    assert model_rate < never_rate + 0.01


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_memory_that_wins_is_the_page(dtype: str) -> None:
    """The win, the narrower widths that start after it, and the contender that comes back."""
    X, y = turning(2600, until=900)
    X = X.astype(dtype)
    model = BudgetronClassifier(budget=24, scale=None)
    f = model.prequential(X, y)
    warm = BudgetronClassifier(gamma="median", scale=None).partial_fit(X[:200], y[:200])

    def make(factor: float, share: float) -> Budgetron:
        own = {name: getattr(model, name) for name in ("r", "jitter", "replace", "straight")}
        own |= {"floor": model.floor, "reflex": model.reflex, "dtype": dtype}
        kernel = make_kernel("rbf", factor * float(native_of(warm).gamma))
        return Budgetron(kernel, 2, budget=int(share * 24), **own)

    page = make(1.0, 1.0)
    rows, signs = X.astype(np.float64), 2.0 * y - 1.0
    for x, sign in zip(rows[:200], signs[:200], strict=True):
        page.learn(x, sign)
    race = Race(page, make, [1.0] * 200)
    kinds, tolerance = set(), {"float64": 1e-6, "float32": 2e-2}[dtype]
    for t in range(200, len(X)):
        expected = race.learn(rows[t], signs[t])
        assert abs(f[t] - expected[0]) <= tolerance * (1 + abs(expected[0])), t
        memories = [each for each in race.contenders if each.memory]
        kinds |= {(race.page.replace, each.page.replace) for each in memories}
    assert kinds == {("auto", "recent"), ("recent", "auto")}
    assert race.page.replace == "recent"
    assert is_recent(model)
    assert len(race.contenders) == len(contenders(model))


@pytest.mark.parametrize("rows", [450, 700, 1300])
def test_a_memory_resumes_and_layouts_are_equal(rows: int) -> None:
    """While it races, after it has won, and while the other one races to come back."""
    X, y = turning(3000, until=900)
    whole = BudgetronClassifier(budget=24).partial_fit(X, y, classes=[0, 1])
    first = BudgetronClassifier(budget=24).partial_fit(X[:rows], y[:rows], classes=[0, 1])
    assert is_recent(first) == (rows > 450)
    resumed = pickle.loads(pickle.dumps(first)).partial_fit(X[rows:], y[rows:])
    same_state(whole, resumed)
    sparse = BudgetronClassifier(budget=24).partial_fit(scipy.sparse.csr_array(X), y)
    np.testing.assert_array_equal(whole.decision_function(X), sparse.decision_function(X))


def test_a_drift_starts_a_memory() -> None:
    X, y = blobs(3000)
    y = np.where(np.arange(3000) < 2500, y, 1 - y)
    model = BudgetronClassifier(budget=24, relevance=False).partial_fit(X[:2500], y[:2500])
    assert contenders(model) == []
    model.partial_fit(X[2500:], y[2500:])
    assert len(model.drift_log_) == 1
    assert state_of(model)["race/counts"][0] == 3


def test_a_winner_takes_over_the_log_of_drifts() -> None:
    X, y = blobs(3000)
    y = np.where(np.arange(3000) < 1500, y, 1 - y)
    more = turning(3000, until=3000)
    X = np.r_[X[:, :2], more[0] * [3.0, 1.0]]
    y = np.r_[y, more[1]]
    model, events = BudgetronClassifier(budget=24), []
    model.watch(events.append)
    model.partial_fit(X, y)
    assert is_recent(model)
    drifts = [event.round for event in events if event.kind == "drift"]
    assert drifts
    assert model.drift_log_.tolist() == drifts


def test_no_memory_where_the_user_decides() -> None:
    X, y = turning(3000, until=3000)
    for words in ({"replace": "never"}, {"replace": "always"}, {"gamma": "median"}):
        model = BudgetronClassifier(budget=24, **words).partial_fit(X, y)
        assert not is_recent(model)
    model = BudgetronClassifier(budget="200KB").partial_fit(X, y, classes=[0, 1])
    assert not is_recent(model)


# ---- promises ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [150, 350, 700, 1500, 5000])
def test_batch_loop_and_resumed_are_equal(rows: int) -> None:
    X, y = checkerboard(rows + 500)
    classes = [0, 1]
    whole = BudgetronClassifier(budget=30).partial_fit(X, y, classes=classes)
    loop = BudgetronClassifier(budget=30).partial_fit(X[:1], y[:1], classes=classes)
    for i in range(1, rows + 500, 7):
        loop.partial_fit(X[i : i + 7], y[i : i + 7])
    same_state(whole, loop)
    first = BudgetronClassifier(budget=30).partial_fit(X[:rows], y[:rows], classes=classes)
    resumed = pickle.loads(pickle.dumps(first)).partial_fit(X[rows:], y[rows:])
    same_state(whole, resumed)


def test_a_saved_model_goes_on_racing(tmp_path: Any) -> None:
    X, y = checkerboard(3000)
    model = BudgetronClassifier(budget=30).partial_fit(X[:450], y[:450])
    budgetron.save(model, tmp_path / "racing.bgt")
    loaded = budgetron.load(tmp_path / "racing.bgt")
    for each in (model, loaded):
        each.partial_fit(X[450:], y[450:])
    same_state(model, loaded)
    assert race_field(loaded, "factor") > 1


def test_dense_and_sparse_race_alike() -> None:
    X, y = checkerboard(2000)
    X[X[:, 0] < 0.2, 0] = 0
    dense = BudgetronClassifier(budget=30).partial_fit(X, y)
    sparse = BudgetronClassifier(budget=30).partial_fit(scipy.sparse.csr_array(X), y)
    np.testing.assert_array_equal(dense.decision_function(X), sparse.decision_function(X))
    assert race_field(dense, "factor") == race_field(sparse, "factor") > 1


def test_units_change_while_it_lasts() -> None:
    X, y = checkerboard(3000)
    X[400:] *= [1000.0, 1.0]
    model = BudgetronClassifier(budget=60).partial_fit(X[:600], y[:600])
    assert contenders(model)
    model.partial_fit(X[600:], y[600:])
    assert model.unit_changes_ > 0
    assert np.isfinite(model.decision_function(X)).all()
    native_of(model).check_invariants()


def test_a_class_joins_while_it_lasts() -> None:
    X, y = checkerboard(3000)
    late = np.where((np.arange(3000) > 450) & (X[:, 0] > 0.9), 2, y)
    model = river.BudgetronClassifier(budget=40)
    for x, label in zip(X, late, strict=True):
        model.learn_one({"a": x[0], "b": x[1]}, int(label))
    right = sum(model.predict_one({"a": x[0], "b": x[1]}) == 2 for x in X[2500:] if x[0] > 0.9)
    assert right > 0.8 * (X[2500:, 0] > 0.9).sum()


def test_none_where_it_cannot_be() -> None:
    X, y = checkerboard(400)
    for words in ({"average": "mean"}, {"kernel": "poly"}, {"gamma": 1.0}):
        model = BudgetronClassifier(**words, relevance=False).partial_fit(X, y)
        assert contenders(model) == []
    model = BudgetronClassifier(budget="100KB").partial_fit(X, y, classes=[0, 1])
    assert contenders(model) == []


def test_other_learners_do_not_race() -> None:
    X, y = checkerboard(400)
    with pytest.raises(ValueError, match="gamma"):
        budgetron.make("bpas", gamma="race").partial_fit(X, y)


def test_lowering_the_budget_ends_it() -> None:
    X, y = checkerboard(400)
    model = BudgetronClassifier(budget=40).partial_fit(X, y)
    assert contenders(model)
    model.lower_budget(20)
    assert contenders(model) == []
    assert model.n_support_ <= 20


def test_a_forged_race_is_refused() -> None:
    X, y = checkerboard(400)
    model = BudgetronClassifier(budget=40).partial_fit(X, y)
    native = native_of(model)
    for name, value in (("factor", 3.0), ("numbers", np.nan), ("counts", 7), ("counts", -1)):
        state = state_of(model)
        forged = state[f"race/{name}"].copy()
        forged[0] = value
        with pytest.raises(ValueError, match="race"):
            native.load({**state, f"race/{name}": forged})


def test_one_who_stays_after_a_win_at_its_last_row_can_be_loaded() -> None:
    """If another contender wins in that row, it stays until its next check."""
    X, y = checkerboard(450)
    model = BudgetronClassifier(budget=40, relevance=False).partial_fit(X, y)
    native, state = native_of(model), state_of(model)
    counts = state["race/counts"].copy()
    counts[1::3] = LAST + 99
    native.load({**state, "race/counts": counts})
    counts[1::3] = LAST + 100
    with pytest.raises(ValueError, match="race"):
        native.load({**state, "race/counts": counts})
