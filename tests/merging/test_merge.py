"""Workers of one base become one model: the contract of `budgetron.merge`."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import budgetron
from budgetron import BudgetronClassifier, BudgetronError, BudgetronRegressor
from tests.support.native import native_of, same_state, state_of

FORMS = ("full", "diagonal", "none")


def class_rows(count: int, classes: int = 2, seed: int = 0) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(count, 5))
    return X, (np.floor(np.abs(2 * X[:, 0] + X[:, 1] * X[:, 2])) % classes).astype(int)


def started(classes: int = 2, rows: int = 500, **params: Any) -> tuple[Any, Any, Any]:
    """A base that has learned `rows` of the rows returned with it."""
    X, y = class_rows(2000, classes)
    model = BudgetronClassifier(budget=20, **params)
    return model.partial_fit(X[:rows], y[:rows], classes=np.arange(classes)).base(), X, y


def worker(base: Any, X: Any, y: Any) -> Any:
    return base.snapshot().partial_fit(X, y)


def assert_like(model: Any, other: Any) -> None:
    """All numbers of two models are equal up to rounding, whether one is held or not."""
    one, two = state_of(model), state_of(other)
    names = {name for name in (*one, *two) if not name.startswith(("held/", "random/"))}
    for name in sorted(names):
        scale = 1 + np.abs(two[name].astype(float)).max(initial=0)
        np.testing.assert_allclose(one[name], two[name], rtol=1e-7, atol=1e-9 * scale, err_msg=name)


# ---- the algebra ---------------------------------------------------------------------------------


@pytest.mark.parametrize("straight", FORMS)
@pytest.mark.parametrize("classes", [2, 4])
def test_the_merge_of_one_delta_is_the_worker(straight: str, classes: int) -> None:
    base, X, y = started(classes, straight=straight)
    alone = worker(base, X[500:1200], y[500:1200])
    merged = budgetron.merge(base, [alone.delta(base, "north")])
    assert_like(merged, alone)
    native_of(merged).check_invariants()
    assert (merged.n_seen_, merged.n_mistakes_) == (1200, alone.n_mistakes_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse", [False, True])
def test_rows_of_any_layout(dtype: Any, sparse: bool) -> None:
    X, y = class_rows(1500)
    X = np.where(np.abs(X) < 0.5, 0, X).astype(dtype)
    rows = scipy.sparse.csr_array(X) if sparse else X
    base = BudgetronClassifier(budget=20).partial_fit(rows[:500], y[:500]).base()
    deltas = [worker(base, rows[at:1500:2], y[at:1500:2]).delta(base, str(at)) for at in (500, 501)]
    merged = budgetron.merge(base, deltas)
    native_of(merged).check_invariants()
    assert merged.n_seen_ == 1500
    dense = BudgetronClassifier(budget=20).partial_fit(X[:500], y[:500]).base()
    others = [worker(dense, X[at:1500:2], y[at:1500:2]).delta(dense, str(at)) for at in (500, 501)]
    np.testing.assert_array_equal(
        budgetron.merge(dense, others).decision_function(X), merged.decision_function(rows)
    )


def test_workers_that_regress_are_one_learner_of_all_rows() -> None:
    """Every row updates, so that the natural parameters are exactly those of all rows."""
    random = np.random.default_rng(1)
    X = random.normal(size=(3000, 4))
    y = 5 * X[:, 0] + np.sin(3 * X[:, 1]) + 40
    base = BudgetronRegressor(budget=30).partial_fit(X[:600], y[:600]).base()
    parts = [range(at, 3000, 4) for at in range(600, 604)]
    deltas = [worker(base, X[part], y[part]).delta(base, str(part[0])) for part in parts]
    merged, alone = budgetron.merge(base, deltas), worker(base, X[600:], y[600:])
    one = budgetron.merge(base, [alone.delta(base, "one")])
    np.testing.assert_allclose(merged.predict(X), one.predict(X), rtol=1e-6, atol=1e-6)
    assert merged.score(X, y) > base.score(X, y)


@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_order_names_and_brackets_do_not_matter(data: Any) -> None:
    """Commutative and idempotent to the bit, associative up to rounding."""
    straight = data.draw(st.sampled_from(FORMS))
    classes = data.draw(st.sampled_from([2, 3]))
    base, X, y = started(classes, straight=straight)
    cuts = sorted(data.draw(st.lists(st.integers(520, 1000), min_size=2, max_size=3, unique=True)))
    parts = [slice(*pair) for pair in zip([500, *cuts], [*cuts, 1010], strict=True)]
    deltas = [worker(base, X[part], y[part]).delta(base, f"w{at}") for at, part in enumerate(parts)]
    merged = budgetron.merge(base, deltas)
    shuffled = data.draw(st.permutations([*deltas, deltas[0]]))
    same_state(merged, budgetron.merge(base, shuffled))
    bracketed = budgetron.merge(base, [deltas[0] + deltas[1], *deltas[2:]])
    assert_like(bracketed, merged)
    native_of(merged).check_invariants()


def test_a_later_delta_of_a_worker_replaces_the_earlier_one() -> None:
    base, X, y = started()
    moving = worker(base, X[500:700], y[500:700])
    early = moving.delta(base, "north")
    late = moving.partial_fit(X[700:900], y[700:900]).delta(base, "north")
    merged = budgetron.merge(base, [late, early])
    assert merged.n_seen_ == 900
    same_state(merged, budgetron.merge(base, [late]))
    other = worker(base, X[900:], y[900:]).delta(base, "south")
    with pytest.raises(BudgetronError, match="worker 'north' is in two deltas"):
        budgetron.merge(base, [early + other, late])


def test_nothing_that_is_passed_changes() -> None:
    base, X, y = started()
    before = base.snapshot()
    alone = worker(base, X[500:800], y[500:800])
    delta = alone.delta(base, "a")
    arrays = {name: array.copy() for name, array in delta.arrays.items()}
    budgetron.merge(base, [delta, worker(base, X[800:900], y[800:900]).delta(base, "b")])
    same_state(before, base)
    assert all(np.array_equal(arrays[name], delta.arrays[name]) for name in arrays)
    pickle.loads(pickle.dumps(delta))


# ---- what a worker keeps -------------------------------------------------------------------------


def test_a_worker_keeps_examples_units_gamma_and_metric() -> None:
    X, _ = class_rows(2000)
    y = (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)
    base = BudgetronClassifier(budget=20).partial_fit(X[:600], y[:600]).base()
    far = np.vstack([X[600:1400], 30 * X[1400:2000]])  # units, gamma and drift would follow
    alone = worker(base, far, np.concatenate([y[600:1400], 1 - y[1400:]]))
    kept = ("ids", "support/values", "support/ends")
    for name in ("learner/expansion/" + each for each in kept):
        assert np.array_equal(state_of(base)[name], state_of(alone)[name])
    assert (alone.gamma_, alone.unit_changes_) == (base.gamma_, base.unit_changes_)
    assert np.array_equal(alone.center_, base.center_)
    assert np.array_equal(alone.scale_, base.scale_)
    assert alone.drift_log_.tolist() == base.drift_log_.tolist()
    merged = budgetron.merge(base, [alone.delta(base, "one")])
    assert merged.drift_log_.tolist()[-1:] == [2000]  # decided at the merge
    merged.partial_fit(far, y[600:])  # it is free again
    native_of(merged).check_invariants()
    assert merged.unit_changes_ > base.unit_changes_


def test_a_worker_stores_nothing_though_there_is_room() -> None:
    X, _ = class_rows(1200)
    y = (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)
    base = BudgetronClassifier(budget=200).partial_fit(X[:400], y[:400]).base()
    assert base.n_support_ < 150
    alone = worker(base, X[400:], 1 - y[400:])  # mistakes, which would be stored
    name = "learner/expansion/ids"
    assert np.array_equal(state_of(base)[name], state_of(alone)[name])
    assert alone.n_updates_ > base.n_updates_ + 100


def test_a_worker_learns_alike_in_batches_in_loops_and_from_a_file(tmp_path: Any) -> None:
    base, X, y = started()
    budgetron.save(base, tmp_path / "base.btn")
    loaded = budgetron.load(tmp_path / "base.btn").partial_fit(X[500:700], y[500:700])
    budgetron.save(loaded, tmp_path / "worker.btn")
    loaded = budgetron.load(tmp_path / "worker.btn").partial_fit(X[700:900], y[700:900])
    looped = base.snapshot()
    for at in range(500, 900):
        looped.learn_one(X[at], y[at])
    same_state(looped, loaded)
    same_state(worker(base, X[500:900], y[500:900]), loaded)
    assert loaded.delta(budgetron.load(tmp_path / "base.btn"), "a").rows == 400


def test_features_that_come_later_are_united() -> None:
    random = np.random.default_rng(3)
    X = (random.random((1800, 12)) < 0.3).astype(float)
    y = (X[:, 0] + X[:, 7] > X[:, 1] + X[:, 8]).astype(int)
    X[:600, 6:] = 0  # the base does not know these
    for straight in FORMS:
        model = BudgetronClassifier(budget=25, straight=straight)
        base = model.partial_fit(X[:600], y[:600]).base()
        one, two = X[600:1200].copy(), X[1200:].copy()
        one[:, 9:], two[:, 6] = 0, 0
        deltas = [
            worker(base, one, y[600:1200]).delta(base, "one"),
            worker(base, two, y[1200:]).delta(base, "two"),
        ]
        merged = budgetron.merge(base, deltas)
        native_of(merged).check_invariants()
        assert merged.score(X, y) > base.score(X, y) - 0.02
        merged.partial_fit(X, y)


def test_weights_and_counts_add_up() -> None:
    X, y = class_rows(1500)
    y = np.where((y == 1) & (np.arange(1500) % 4 > 0), 0, y)
    model = BudgetronClassifier(budget=20, class_weight="balanced")
    base = model.partial_fit(X[:500], y[:500]).base()
    weights = np.linspace(0, 3, 500)
    one = base.snapshot().partial_fit(X[500:1000], y[500:1000], sample_weight=weights)
    two = worker(base, X[1000:], y[1000:])
    merged = budgetron.merge(base, [one.delta(base, "one"), two.delta(base, "two")])
    assert merged.n_seen_ == one.n_seen_ + two.n_seen_ - base.n_seen_
    assert merged.n_mistakes_ == one.n_mistakes_ + two.n_mistakes_ - base.n_mistakes_
    assert merged._class_counts.sum() == 1499  # all rows but the one of weight 0
    again = budgetron.merge(base, [one.delta(base, "one")])
    np.testing.assert_allclose(again.decision_function(X), one.decision_function(X), rtol=1e-7)
    assert again._class_counts.tolist() == one._class_counts.tolist()


def test_missing_values_are_counted_together() -> None:
    X, y = class_rows(1500)
    X[::7, 2] = np.nan
    X[1::9, 4] = np.nan
    base = BudgetronClassifier(budget=20).partial_fit(X[:500], y[:500]).base()
    deltas = [worker(base, X[at::2], y[at::2]).delta(base, str(at)) for at in (500, 501)]
    merged = budgetron.merge(base, deltas)
    assert merged.n_missing_ == np.isnan(X).sum()
    assert merged.missing_counts_ == {2: 215, 4: 167}


# ---- classes -------------------------------------------------------------------------------------


def test_workers_of_halves_of_the_classes_know_all_of_them() -> None:
    random = np.random.default_rng(5)
    centres = random.normal(size=(6, 4)) * 4
    y = np.repeat(np.arange(6), 300)
    X = centres[y] + random.normal(size=(1800, 4))
    order = random.permutation(1800)
    X, y = X[order], np.array(["a", "b", "c", "d", "e", "f"])[y[order]]
    first = np.flatnonzero(np.isin(y, ["b", "c"]))
    base = BudgetronClassifier(budget=40).partial_fit(X[first], y[first]).base()
    low, high = np.isin(y, ["a", "b", "c"]), np.isin(y, ["d", "e", "f"])
    deltas = [
        worker(base, X[of], y[of]).delta(base, name) for name, of in (("l", low), ("h", high))
    ]
    merged = budgetron.merge(base, deltas)
    assert merged.classes_.tolist() == ["a", "b", "c", "d", "e", "f"]
    assert set(merged.predict(X)) == set(merged.classes_)
    assert merged.score(X, y) > 0.75
    native_of(merged).check_invariants()
    same_state(merged, budgetron.merge(base, deltas[::-1]))
    merged.partial_fit(X, y)


# ---- what is refused -----------------------------------------------------------------------------


def test_a_wrong_base_is_one_line() -> None:
    base, X, y = started()
    alone = worker(base, X[500:700], y[500:700])
    delta = alone.delta(base, "north")
    other = budgetron.merge(base, [delta]).base()
    for raising, what in (
        (lambda: budgetron.merge(other, [delta]), "the delta of worker 'north' is of base"),
        (lambda: alone.delta(other, "one"), "this model is of base"),
        (lambda: alone.delta(alone, "one"), "has learned rows since"),
        (lambda: budgetron.merge(alone, [delta]), "has learned rows since"),
        (lambda: budgetron.merge(BudgetronClassifier(), [delta]), "this is not a base"),
        (lambda: budgetron.merge(base, []), "no deltas"),
        (lambda: budgetron.merge(base, [alone]), "BudgetronClassifier is not a delta"),
        (lambda: alone.base(), "a worker cannot be a base"),
        (lambda: budgetron.merge(base, [delta]).delta(base, "one"), "no worker of a base"),
        (lambda: alone.delta(base, None), "name the worker, so that it counts once"),
    ):
        with pytest.raises(BudgetronError, match=what) as refused:
            raising()
        assert "\n" not in str(refused.value)
    lowered = base.snapshot()
    lowered.lower_budget(5)
    with pytest.raises(BudgetronError, match="stored examples of its base"):
        lowered.delta(base, "one")


def test_deltas_of_different_classes_have_no_sum() -> None:
    X, y = class_rows(900)
    base = BudgetronClassifier(budget=20).partial_fit(X[:500], y[:500]).base()
    north = worker(base, X[500:700], y[500:700]).delta(base, "north")
    south = worker(base, X[700:900], np.where(X[700:900, 0] > 1, 2, y[700:900]))
    south = south.delta(base, "south")
    with pytest.raises(BudgetronError, match="'north' and 'south' know different classes"):
        north + south
    assert budgetron.merge(base, [north, south]).classes_.tolist() == [0, 1, 2]


def test_a_forged_delta_is_one_line_or_harmless() -> None:
    base, X, y = started(rows=300)
    delta = worker(base, X[300:400], y[300:400]).delta(base, "north")
    refused = []
    for name, array in delta.arrays.items():
        for forged in (array[:-1], np.concatenate([array, array])):
            damaged = replace(delta, arrays={**delta.arrays, name: forged})
            try:
                merged = budgetron.merge(base, [damaged])
            except BudgetronError as error:
                refused.append(str(error))
            else:
                assert np.isfinite(merged.decision_function(X[:50])).all()
    assert len(refused) > 10
    assert not any("\n" in told for told in refused)
    short = replace(delta, arrays={**delta.arrays, "belief/information": np.ones(2)})
    with pytest.raises(BudgetronError, match="delta of worker 'north': damaged or of another base"):
        budgetron.merge(base, [short])


def test_what_cannot_be_merged_says_so() -> None:
    X, y = class_rows(400)
    with pytest.raises(BudgetronError, match="not settled after 100 rows: learn 200"):
        BudgetronClassifier().partial_fit(X[:100], y[:100]).base()
    with pytest.raises(BudgetronError, match="average='mean' cannot be merged"):
        BudgetronClassifier(average="mean").partial_fit(X, y).base()
    for name, why in (("avm", "its cells"), ("pomdr", "the last rows")):
        model = budgetron.make(name).partial_fit(X, y)
        with pytest.raises(BudgetronError, match=why):
            model.base()
        with pytest.raises(BudgetronError, match=why):
            budgetron.merge_models([model, model])


# ---- other learners ------------------------------------------------------------------------------

OTHERS = ("rbp", "projectron", "bsgd-merge", "ahpatron", "pegasos", "fogd", "nogd")
MORE = ("forgetron", "bpas", "bogd", "ogd", "pa", "alma", "projectron++", "bsgd-project", "cks")


def check_learner(name: str) -> None:
    X, y = class_rows(1000)
    params = budgetron.algorithms()
    budget = {"budget": 15} if "budget" in _parameters(params, name) else {}
    base = budgetron.make(name, **budget).partial_fit(X[:600], y[:600]).base()
    workers = [worker(base, X[at:1000:2], y[at:1000:2]) for at in (600, 601)]
    deltas = [each.delta(base, str(at)) for at, each in enumerate(workers)]
    one = budgetron.merge(base, deltas[:1])
    np.testing.assert_allclose(
        one.decision_function(X), workers[0].decision_function(X), rtol=1e-6, atol=1e-8
    )
    merged = budgetron.merge(base, deltas)
    native_of(merged).check_invariants()
    assert merged.n_seen_ == 1000
    same_state(merged, budgetron.merge(base, deltas[::-1]))
    if not budget:
        mean = np.mean([each.decision_function(X) for each in workers], axis=0)
        np.testing.assert_allclose(merged.decision_function(X), mean, rtol=1e-6, atol=1e-8)
    else:
        assert merged.n_support_ <= 15
    merged.partial_fit(X, y)
    native_of(merged).check_invariants()


def _parameters(known: Any, name: str) -> Any:
    return next(each.parameters for each in known if each.name == name)


@pytest.mark.parametrize("name", OTHERS)
def test_other_learners_are_the_mean_of_their_workers(name: str) -> None:
    check_learner(name)


@pytest.mark.long
@pytest.mark.parametrize("name", MORE)
def test_more_learners_are_the_mean_of_their_workers(name: str) -> None:
    check_learner(name)
