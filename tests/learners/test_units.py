"""scale="auto": units that follow the stream, compared with papers/units.py row by row."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import budgetron
from papers.units import CHANGE_EVERY, CHANGES, Units, gamma_of_rows, gamma_of_stored
from tests.support.cases import BY_NAME, KINDS, Case, same_state
from tests.support.native import native_of, state_of

WARM_UP = 200
DUE = {2, 4, 8, 16, 32, 64, 128, WARM_UP}
ROWS = 1700


def streams() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    plain = rng.normal(size=(ROWS, 4))
    plain[rng.random(plain.shape) < [0.0, 0.2, 0.7, 0.0]] = 0.0
    uneven = plain * [0.1, 100.0, 3.0, 1.0] + [0.0, 0.0, 0.0, 50.0]
    late = np.arange(ROWS) >= 600
    jump, back, all_jump, small, shift = (uneven.copy() for _ in range(5))
    jump[late, 1] *= 1000
    back[500:900, 0] *= 1000
    all_jump = plain.copy()
    all_jump[late] *= 1000
    small[late, 3] = 50 + (small[late, 3] - 50) / 1000
    shift[late, 3] += 1000
    born = uneven.copy()
    born[:450, 0] = 7.0
    born[450:, 2] = 0.0
    born[:250, 1] = 0.0
    even_born = plain.copy()
    even_born[:450, 0] = 7.0
    flags = (plain > 0.5).astype(float)
    flags[:, 3] = 1.0
    flags[700:, 3] = 0.0
    wider = plain.copy()
    wider[400:] *= 6.0
    aside, far, twice, moves = (
        plain.copy(),
        plain + np.array([0.0, 0.0, 0.0, 1e5]),
        wider.copy(),
        uneven.copy(),
    )
    aside[late, 3] += 8.0
    far[late, 3] += 1e5
    twice[1000:] *= 6.0
    moves[:, 3] += 0.01 * np.maximum(0, np.arange(ROWS) - 500) * rng.random(ROWS)
    heavy = rng.standard_cauchy(size=(ROWS, 4)) * [0.1, 10, 1, 1]
    narrower, up_and_back, moved = plain.copy(), uneven * 3.0, rng.normal(size=(ROWS, 4))
    narrower[650:] /= 5.0
    up_and_back[350:1000] *= 3.0
    burst = moved.copy()
    burst[640:740] *= 1e4
    moved[1200:] += 2.5
    grows = uneven * 2.0 ** (np.arange(ROWS) / 150)[:, None]
    number = uneven.copy()
    number[:, 0] = np.arange(ROWS) + 1.7e9
    resets, late_trend, rare = (uneven.copy() for _ in range(3))
    resets[:, 0] = np.arange(ROWS) % 750 + 1
    late_trend[:, 0] = np.arange(ROWS) + rng.normal(size=ROWS) * 20
    rare[:, :2] *= rng.random((ROWS, 2)) < [0.004, 0.008]
    rare[1100:, 1] *= rng.random(ROWS - 1100) < 0.5
    small_set = uneven.copy()
    equal, many_equal = uneven.copy(), uneven.copy()
    equal[:WARM_UP] = equal[0]
    many_equal[:150] = many_equal[0]
    gaps, even_gaps = uneven.copy(), plain.copy()
    for rows in (gaps, even_gaps):
        rows[rng.random(rows.shape) < 0.15] = np.nan
        rows[0] = np.nan
        rows[:350, 0] = np.nan
        rows[350:420, 0] += 20.0
    gaps[900:, 3] = np.nan
    gaps[620:, 1] *= 1000
    gap_flags = flags.copy()
    gap_flags[rng.random(flags.shape) < 0.3] = np.nan
    gap_flags[:WARM_UP, 2] = np.nan
    gap_flags[WARM_UP:240, 2] = 0.0
    only_gaps = uneven.copy()
    only_gaps[:WARM_UP] = np.nan
    gap_trend = np.hstack([rare, number[:, :1]])
    gap_trend[rng.random(gap_trend.shape) < 0.2] = np.nan
    gap_trend[:300, 0] = np.nan
    gap_trend[:1200, 1] *= 1000
    return {
        "jump": jump,
        "back again": back,
        "all jump": all_jump,
        "jump down": small,
        "shift": shift,
        "births": born,
        "births while even": even_born,
        "flags": flags,
        "wider": wider,
        "aside while even": aside,
        "far from 0": far,
        "wider twice": twice,
        "moves slowly": moves,
        "heavy tails": heavy,
        "all narrower": narrower,
        "all wider and back": up_and_back,
        "all elsewhere": moved,
        "a burst": burst,
        "all grow": grows,
        "row number": number,
        "a trend that ends": resets,
        "a trend that is seen late": late_trend,
        "rare": rare,
        "nothing": small_set,
        "first rows equal": equal,
        "many of the first rows equal": many_equal,
        "gaps": gaps,
        "gaps while even": even_gaps,
        "gaps among flags": gap_flags,
        "first rows missing": only_gaps,
        "gaps in rare features and a trend": gap_trend,
    }


STREAMS = streams()
STEADY = {"births while even", "nothing", "first rows equal", "heavy tails", "flags"}
STEADY |= {"gaps while even", "gaps among flags", "first rows missing"}
STEADY |= {"row number", "a trend that ends", "a burst"}


def stored_rows(model: Any) -> np.ndarray:
    rows = model._shown_examples()
    order = np.argsort(native_of(model).ids(), kind="stable")
    return (rows.toarray() if scipy.sparse.issparse(rows) else rows)[order]


def in_force(model: Any, width: int) -> np.ndarray:
    """Centre and size of every feature that has a state."""
    state = state_of(model)
    numbers = state["preparation/units/numbers"].reshape(-1, 16)
    units = np.full((width, 2), np.nan)
    units[state["preparation/units/features"]] = numbers[:, 10:12]
    return units


def converted(page: Units, stored: np.ndarray) -> np.ndarray:
    """All rows were stored, the last in this round."""
    return np.array([page.convert(z, len(stored) - i) for i, z in enumerate(stored)])


def median_gamma(stored: np.ndarray) -> float:
    return gamma_of_rows(stored.astype(np.float64))


@pytest.mark.parametrize("layout", ["dense", pytest.param("csr", marks=pytest.mark.long)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", STREAMS)
def test_units_gamma_and_stored_examples_are_those_of_the_page(
    name: str, dtype: type, layout: str
) -> None:
    X = STREAMS[name].astype(dtype)
    y = np.arange(ROWS) % 2
    rows = scipy.sparse.csr_array(X) if layout == "csr" else X
    # Passive-aggressive with steps this small stores every row.
    model = budgetron.make("pa", C=1e-9, scale="auto", gamma="median")
    page, gamma, start, stored = Units(X.shape[1]), 1 / X.shape[1], 0, np.empty((0, X.shape[1]))
    warming_up = True
    rtol = 1e-9 if dtype is np.float64 else 1e-5
    for t in range(ROWS):
        model.partial_fit(rows[t : t + 1], y[t : t + 1], classes=[0, 1])
        x = X[t].astype(np.float64)
        stored = np.vstack([stored, page.transform(x).astype(dtype)])
        if warming_up:
            kept = X[start : t + 1].astype(np.float64)
            if len(kept) in DUE:
                page.start(kept)
                stored = np.array([page.transform(row) for row in kept]).astype(dtype)
                gamma = median_gamma(stored)
            if len(kept) == WARM_UP:
                alike = stored[-WARM_UP:] if np.isnan(kept).any() else kept
                warming_up = bool((alike == alike[0]).all())
                start = t + 1 if warming_up else start
        elif page.count(x):
            stored = converted(page, stored).astype(dtype)
            gamma = gamma_of_stored(stored.astype(np.float64), gamma, page.least_squared)
            page.commit()
        assert model.gamma_ == pytest.approx(gamma, rel=rtol)
        if t % 50 == 0 or t + 1 in DUE or (t + 1) % 100 == 0:
            assert native_of(model).unit_changes == page.changes
            wanted = np.array([[f.in_force.centre, f.in_force.size] for f in page.features])
            units = in_force(model, X.shape[1])
            seen = ~np.isnan(units[:, 0]) & [len(f.values) > 0 for f in page.features]
            np.testing.assert_allclose(units[seen], wanted[seen], rtol=rtol, atol=1e-9)
            # A warm-up that starts again forgets what was stored at its next check.
            ours = stored_rows(model)[-len(stored) :]
            np.testing.assert_allclose(ours, stored[-len(ours) :], rtol=rtol, atol=10 * rtol)
    if name not in STEADY:
        assert page.changes > 0, "the stream was to change units"


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("fitted", [1300, 700, 150])
@pytest.mark.parametrize("name", [name for name in STREAMS if name != "first rows equal"])
def test_fit_settles_units_and_gamma_as_the_page_does(
    name: str, fitted: int, dtype: type, layout: str
) -> None:
    """From all its rows, in any order; later rows of partial_fit change them as usual."""
    X, y = STREAMS[name].astype(dtype), np.arange(ROWS) % 2
    rows = scipy.sparse.csr_array(X) if layout == "csr" else X
    model = budgetron.make("pa", C=1e-9, scale="auto", gamma="median", shuffle=False)
    model.fit(rows[:fitted], y[:fitted])
    page = Units(X.shape[1])
    drawn = np.random.default_rng(model._seed).permutation(fitted)
    page.survey(X[drawn].astype(np.float64))
    rtol = 1e-9 if dtype is np.float64 else 1e-5

    def shown(some: np.ndarray) -> np.ndarray:
        return np.array([page.transform(x) for x in some.astype(np.float64)]).astype(dtype)

    def check(stored: np.ndarray, gamma: float) -> None:
        assert model.gamma_ == pytest.approx(gamma, rel=rtol)
        assert model.unit_changes_ == page.changes
        wanted = np.array([[f.in_force.centre, f.in_force.size] for f in page.features])
        units = in_force(model, X.shape[1])
        seen = ~np.isnan(units[:, 0]) & [len(f.values) > 0 for f in page.features]
        np.testing.assert_allclose(units[seen], wanted[seen], rtol=rtol, atol=1e-9)
        np.testing.assert_allclose(stored_rows(model), stored, rtol=rtol, atol=10 * rtol)

    stored, gamma = shown(X[:fitted]), median_gamma(shown(X[drawn[:WARM_UP]]))
    check(stored, gamma)
    if fitted < WARM_UP:  # the warm-up continues: the first 200 rows of the stream decide
        model.partial_fit(rows[fitted:WARM_UP], y[fitted:WARM_UP])
        page.start(X[:WARM_UP].astype(np.float64))
        check(shown(X[:WARM_UP]), median_gamma(shown(X[:WARM_UP])))
        return
    for t in range(fitted, ROWS):
        stored = np.vstack([stored, page.transform(X[t].astype(np.float64)).astype(dtype)])
        if page.count(X[t].astype(np.float64)):
            stored = converted(page, stored).astype(dtype)
            gamma = gamma_of_stored(stored.astype(np.float64), gamma, page.least_squared)
            page.commit()
        if (t + 1) % 100 == 0:
            model.partial_fit(rows[t - 99 : t + 1], y[t - 99 : t + 1])
            check(stored, gamma)


@pytest.mark.parametrize("name", ["jump", "births", "all jump", "flags", "gaps"])
@pytest.mark.parametrize("case", KINDS, ids=str)
def test_every_learner_goes_on_through_changes(case: Case, name: str) -> None:
    """Valid after each change; dense = CSR, batch = loop, resumed = uninterrupted."""
    X, y = STREAMS[name], (STREAMS[name][:, 0] * STREAMS[name][:, 2] > 0).astype(int)
    whole = case.make(scale="auto", gamma="median")
    decisions = whole.prequential(X, y, classes=[0, 1])
    assert np.isfinite(decisions).all()
    native_of(whole).check_invariants()
    sparse = case.make(scale="auto", gamma="median")
    np.testing.assert_array_equal(
        sparse.prequential(scipy.sparse.csr_array(X), y, classes=[0, 1]), decisions
    )
    parts, pieces = case.make(scale="auto", gamma="median"), []
    for a, b in [(0, 1), (1, 150), (150, 701), (701, 799), (799, 800), (800, ROWS)]:
        pieces.append(parts.prequential(X[a:b], y[a:b], classes=[0, 1] if a == 0 else None))
        parts = pickle.loads(pickle.dumps(parts))
    np.testing.assert_array_equal(np.concatenate(pieces), decisions)
    same_state(whole, parts)
    assert whole.unit_changes_ == parts.unit_changes_ == sparse.unit_changes_


@pytest.mark.parametrize("name", STREAMS)
def test_the_number_of_changes_is_bounded(name: str) -> None:
    # A stream whose features jump at every check.
    rng = np.random.default_rng(0)
    X = np.tile(STREAMS[name], (6, 1)) * np.exp(rng.normal(size=6 * ROWS)[:, None] * 3)
    X *= 10.0 ** np.repeat(rng.integers(-6, 6, size=len(X) // 100), 100)[:, None]
    model = budgetron.make("rbp", budget=20, scale="auto", gamma="median", random_state=0)
    for t in range(0, len(X), 100):
        model.partial_fit(X[t : t + 100], np.arange(t, t + 100) % 2, classes=[0, 1])
        assert model.unit_changes_ <= CHANGES + (t + 100) / CHANGE_EVERY


def test_listeners_hear_of_changes() -> None:
    X = STREAMS["jump"]
    y = (X[:, 0] * X[:, 2] > 0).astype(int)
    events: list[Any] = []
    model = BY_NAME["forgetron"].make(scale="auto", gamma="median")
    model.watch(events.append)
    model.partial_fit(X, y, classes=[0, 1])
    units = [event for event in events if event.kind == "units"]
    assert len(units) == model.unit_changes_ > 0
    assert all(event.example is None and event.coef > 0 for event in units)
    assert "units changed" in str(units[0])


def test_features_without_a_state_share_one_unit() -> None:
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array(
        (3000, 20_000), density=1e-3, format="csr", rng=rng, data_sampler=rng.standard_normal
    )
    X = scipy.sparse.csr_array(X * 100.0)
    X[:, [0]] = rng.normal(size=(3000, 1))
    X = scipy.sparse.csr_array(X)
    y = (X[:, [0]].toarray().ravel() > 0).astype(int)
    model = budgetron.make("rbp", budget=10, scale="auto", gamma="median", random_state=0)
    model.partial_fit(X[:1000], y[:1000], classes=[0, 1])
    before = model.memory_bytes_
    model.partial_fit(X[1000:], y[1000:])
    assert len(state_of(model)["preparation/units/features"]) <= 100
    assert model.memory_bytes_ < before + 30_000
    assert np.abs(stored_rows(model)).max() <= 4


def test_a_budget_in_bytes_holds_on_hashed_words() -> None:
    """Statistics are part of the memory: few bytes for many features are accepted."""
    rows, words, width = 1500, 20, 2**20
    rng = np.random.default_rng(0)
    features = np.sort(rng.zipf(1.3, size=(rows, words)) * 0x9E3779B1 % width, axis=1)
    X = scipy.sparse.csr_array(
        (
            rng.exponential(size=features.size).astype(np.float32),
            features.ravel().astype(np.int32),
            np.arange(0, features.size + 1, words),
        ),
        shape=(rows, width),
    )
    X.sum_duplicates()
    X = scipy.sparse.csr_array(X * np.where(np.arange(width) % 3 == 0, 1000, 1).astype(np.float32))
    y = rng.integers(0, 2, size=rows)
    for name in ("rbp", "ahpatron", "budgetron"):
        model = budgetron.make(name, budget="1MB", scale="auto", gamma="median", random_state=0)
        model.partial_fit(X[:400], y[:400], classes=[0, 1])
        memory = model.memory_bytes_
        model.partial_fit(X[400:], y[400:])
        assert 0 < model.memory_bytes_ == memory <= 1_000_000
        assert model.scaling_ == "standard"


def test_rare_features_share_a_unit_until_they_are_frequent() -> None:
    """Ten rare features of sizes 1 to 10 share one unit; one that becomes frequent gets its own."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12_000, 12)) * np.r_[1.0, 100.0, np.arange(1, 11)]
    X[:, 2:] *= rng.random((len(X), 10)) < 0.004
    X[6000:, 11] = rng.normal(size=6000) * 200
    y = np.arange(len(X)) % 2
    model = budgetron.make("rbp", budget=20, scale="auto", gamma="median", random_state=0)
    model.partial_fit(X[:6000], y[:6000], classes=[0, 1])
    sizes = in_force(model, 12)[:, 1]
    assert len(set(sizes[2:])) == 1
    assert 3 < sizes[2] < 12
    model.partial_fit(X[6000:], y[6000:])
    sizes = in_force(model, 12)[:, 1]
    assert len(set(sizes[2:11])) == 1
    assert sizes[11] == pytest.approx(200, rel=0.25)


def test_a_code_among_counts_leaves_their_unit_near_them() -> None:
    """One in 25 nonzero values is 98: the unit would follow it to 20."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 3)) * [1.0, 100.0, 1.0]
    X[:, 2] = rng.integers(1, 4, len(X)) * (rng.random(len(X)) < 0.05)
    X[(X[:, 2] != 0) & (rng.random(len(X)) < 0.04), 2] = 98.0
    model = budgetron.make("rbp", scale="auto", gamma="median", random_state=0)
    model.partial_fit(X, (X[:, 0] > 0).astype(int))
    assert 1.0 < in_force(model, 3)[2, 1] < 5.0


def test_small_sets_are_scaled() -> None:
    from sklearn.datasets import load_wine

    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    model = budgetron.BudgetronClassifier(budget=50, random_state=0).fit(X[:120], y[:120])
    assert (model.predict(X[120:]) == y[120:]).mean() > 0.9


def rising_then(after: str, rows: int) -> np.ndarray:
    """A feature that only grows for 3,000 rows, and then does not; with three others."""
    rng = np.random.default_rng(0)
    t = np.arange(rows)
    X = rng.normal(size=(rows, 4)) * [1.0, 100.0, 3.0, 10.0]
    later = {
        "falls": 6000 - t,
        "begins anew": t % 3000,
        "waves": 3000 * np.sin(t * np.pi / 6000),
        "is random": rng.uniform(0, 3000, size=rows),
    }[after]
    X[:, 0] = np.where(t < 3000, 3000 * np.sin(t * np.pi / 6000) if after == "waves" else t, later)
    return X


@pytest.mark.parametrize("after", ["falls", "begins anew", "waves", "is random"])
def test_a_feature_that_only_grew_has_its_own_unit_again_within_500_rows(after: str) -> None:
    X = rising_then(after, 5900)
    y = np.arange(len(X)) % 2
    model = budgetron.make("rbp", budget=20, scale="auto", gamma="median", random_state=0)
    model.partial_fit(X[:2900], y[:2900], classes=[0, 1])
    assert in_force(model, 4)[0, 1] > 2 * X[:2900, 0].std()
    model.partial_fit(X[2900:3500], y[2900:3500])
    for t in range(3500, len(X), 100):
        assert in_force(model, 4)[0, 1] < 1.6 * X[:t, 0].std(), t
        model.partial_fit(X[t : t + 100], y[t : t + 100])


def test_what_depends_on_a_feature_that_only_grows_is_learned() -> None:
    """Rows sorted by the feature that decides: without it half of later rows are mistakes.

    Without a reflex, which follows the last rows: they are all of one class.
    """
    rng = np.random.default_rng(0)
    X, others = rng.normal(size=(20_000, 5)), rng.normal(size=(2000, 5))
    X = X[np.argsort(X[:, 0])]
    y, wanted = ((rows[:, 0] + 0.3 * rows[:, 1] > 0).astype(int) for rows in (X, others))
    sizes = [1.0, 100.0, 1.0, 1.0, 10.0]
    model = budgetron.make("budgetron", budget=100, reflex=False, random_state=0)
    model.partial_fit(X * sizes, y, classes=[0, 1])
    assert model.scaling_ == "standard"
    assert (model.predict(others * sizes) != wanted).mean() < 0.15


@pytest.mark.parametrize("zeros", [0.45, 0.5, 0.55])
def test_features_that_are_0_in_half_of_the_rows_keep_their_units(zeros: float) -> None:
    rng = np.random.default_rng(0)
    X = np.maximum(rng.uniform(size=(20_000, 5)) - zeros, 0) * [0.1, 10.0, 1e3, 1e5, 30.0]
    y = (X[:, 0] / 0.1 + X[:, 2] / 1e3 > X[:, 1] / 10).astype(int)
    model = budgetron.make("rbp", budget=50).partial_fit(X, y)
    assert model.unit_changes_ <= 3
