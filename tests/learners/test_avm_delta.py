"""AVM's delta="auto": found with gamma, found again when units change, core points united."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_diabetes, make_friedman1

import budgetron
from budgetron.catalogue import as_printed
from budgetron.estimators.avm import AUTO
from papers.kernels import make_kernel
from papers.units import Units, gamma_of_stored
from tests.support.cases import BY_NAME, TOLERANCES, same_state
from tests.support.native import native_of
from tests.support.tracing import State, Tie, differences, learn, make_page

WARM_UP, ROWS = 200, 900
DUE = {2, 4, 8, 16, 32, 64, 128, WARM_UP}


def streams() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    plain = rng.normal(size=(ROWS, 4))
    plain[rng.random(plain.shape) < [0.0, 0.2, 0.7, 0.0]] = 0.0
    uneven = plain * [0.1, 100.0, 3.0, 1.0] + [0.0, 0.0, 0.0, 50.0]
    jump, all_jump, wider, closer = uneven.copy(), plain.copy(), plain.copy(), uneven.copy()
    jump[600:, 1] *= 1000
    all_jump[600:] *= 1000
    wider[400:] *= 6.0
    closer[WARM_UP:] *= np.linspace(1.0, 4.0, ROWS - WARM_UP)[:, None]
    return {"jump": jump, "all jump": all_jump, "wider": wider, "growing": closer}


STREAMS = streams()


def targets(name: str, classes: int) -> np.ndarray:
    X = STREAMS[name]
    return (X[:, 0] * X[:, 2] > 0).astype(int) + (X[:, 3] > np.median(X[:, 3])) * (classes - 2)


@pytest.mark.parametrize(("dtype", "layout"), [("float64", "dense"), ("float32", "csr")])
@pytest.mark.parametrize(("cover", "classes"), [("sphere", 2), ("sphere", 3), ("rectangle", 2)])
@pytest.mark.parametrize("name", STREAMS)
def test_rounds_and_changes_of_units_follow_the_page(
    name: str, cover: str, classes: int, layout: str, dtype: str
) -> None:
    X, y = STREAMS[name].astype(dtype), targets(name, classes)
    rows = scipy.sparse.csr_array(X) if layout == "csr" else X
    how = {"cover": cover, "budget": 60, "regularization": 0.01}
    model = budgetron.make("avm", random_state=0, **how)
    units = Units(X.shape[1])
    rtol = 1e-9 if dtype == "float64" else 1e-5
    page: Any = None
    fewer = 0
    for t in range(ROWS):
        before = State(native_of(model), page) if page is not None else None
        stored, gamma, delta = (0, 0.0, 0.0)
        if before is not None:
            stored, gamma, delta = model.n_support_, model.gamma_, model.delta_
        model.partial_fit(rows[t : t + 1], y[t : t + 1], classes=np.arange(classes))
        x = X[t].astype(np.float64)
        if before is None:  # the warm-up: gamma and delta come from one median
            if t + 1 in DUE:
                assert model.delta_ == pytest.approx(AUTO / np.sqrt(model.gamma_), rel=1e-12)
            if t + 1 == WARM_UP:
                units.start(X[:WARM_UP].astype(np.float64))
                page = make_page(BY_NAME["avm"], "rbf", 4, native_of(model).outputs, dtype=dtype)
                page.tolerance, page.lam = TOLERANCES[dtype], 0.01
                page.cover, page.B = cover, 60
            continue
        page.kernel, page.delta = make_kernel("rbf", gamma, 3, 0.0), delta
        target = 2.0 * y[t] - 1.0 if classes == 2 else y[t]
        z = units.transform(x).astype(dtype).astype(float)
        f = learn(page, before, Tie(), z, target, 1.0)
        changes = units.count(x)
        after = State(native_of(model), page)
        if not changes and differences(page, after, TOLERANCES[dtype]):  # rounding may have decided
            before.put(page)
            for tie in list(page.ties(f, target, z)):
                learn(page, before, tie, z, target, 1.0)
                if not differences(page, after, TOLERANCES[dtype]):
                    break
        if changes:
            order = np.argsort(page.ids)
            page.keep(order)
            norm = page.norm()
            ages = t + 1 - page.ids
            rows_and_ages = zip(page.support, ages, strict=True)
            page.support = np.array([units.convert(z, age) for z, age in rows_and_ages])
            page.support = page.support.astype(dtype).astype(float)
            gamma = gamma_of_stored(page.support, gamma, units.least_squared)
            units.commit()
            page.delta = AUTO / np.sqrt(gamma)
            page.unite()
            page.kernel = make_kernel("rbf", gamma, 3, 0.0)
            page.coef *= min(1.0, norm / max(page.norm(), 1e-300))  # f is not larger than before
            fewer += page.size < stored
            assert model.gamma_ == pytest.approx(gamma, rel=rtol)
        assert model.delta_ == pytest.approx(page.delta, rel=rtol)
        wrong = differences(page, after, TOLERANCES[dtype])
        assert not wrong, f"round {t}: {wrong}"
    native_of(model).check_invariants()
    assert model.unit_changes_ == units.changes > 0
    assert fewer > 0 or name == "wider", "core points were to be united"


@pytest.mark.parametrize("average", ["last", "mean", "suffix"])
@pytest.mark.parametrize("cover", ["sphere", "rectangle"])
@pytest.mark.parametrize("name", STREAMS)
def test_batch_is_loop_dense_is_csr_and_resumed_is_uninterrupted(
    name: str, cover: str, average: str
) -> None:
    X, y = STREAMS[name], targets(name, 2)

    def make() -> Any:
        return budgetron.make("avm", cover=cover, average=average, random_state=0)

    whole, sparse, parts, pieces = make(), make(), make(), []
    decisions = whole.prequential(X, y, classes=[0, 1])
    ours = sparse.prequential(scipy.sparse.csr_array(X), y, classes=[0, 1])
    np.testing.assert_array_equal(ours, decisions)
    for a, b in [(0, 1), (1, 150), (150, 701), (701, 799), (799, 800), (800, ROWS)]:
        pieces.append(parts.prequential(X[a:b], y[a:b], classes=[0, 1] if a == 0 else None))
        parts = pickle.loads(pickle.dumps(parts))
    np.testing.assert_array_equal(np.concatenate(pieces), decisions)
    same_state(whole, parts)
    assert whole.delta_ == parts.delta_ == sparse.delta_
    np.testing.assert_array_equal(whole.predict(X), parts.predict(X))


def test_uniting_is_told_and_loses_no_coef() -> None:
    """Of the coefs and of their sums in the mean: nothing leaves except by uniting."""
    X, y = STREAMS["all jump"], targets("all jump", 2)
    model = budgetron.make("avm", average="mean", random_state=0)
    model.partial_fit(X[:WARM_UP], y[:WARM_UP], classes=[0, 1])
    events: list[Any] = []
    model.watch(events.append)

    def summed() -> float:
        state = native_of(model).save()
        return float(state["averaging/older_sum"].sum() + state["averaging/newer_sum"].sum())

    total, left = summed(), set()
    for t in range(WARM_UP, ROWS):
        total += model.dual_coef_.sum()
        ids = set(native_of(model).ids())
        model.partial_fit(X[t : t + 1], y[t : t + 1])
        left |= ids - set(native_of(model).ids())
        assert summed() == pytest.approx(total, rel=1e-9, abs=1e-6)
    merges = [event for event in events if event.kind == "merge"]
    assert left <= {event.example for event in merges} <= {*left, *range(99, ROWS, 100)}
    assert len(left) > 0
    assert {event.other for event in merges} - left <= set(native_of(model).ids())


@pytest.mark.parametrize("factor", [1e-4, 1e-2, 1.0, 1e3])
def test_units_of_the_rows_do_not_matter(factor: float) -> None:
    X, y = load_diabetes(return_X_y=True)
    score = budgetron.AVMRegressor().fit(X * factor * 20, y).score(X * factor * 20, y)
    assert score > 0.4
    X, y = make_friedman1(2000, random_state=0)
    wanted = budgetron.AVMRegressor().fit(X, y).score(X, y)
    assert wanted > 0.5
    assert budgetron.AVMRegressor().fit(X * factor, y).score(X * factor, y) > wanted - 0.05


@pytest.mark.parametrize("gamma", [0.5, "median", "4*median"])
@pytest.mark.parametrize("scale", [None, "auto", "standard"])
def test_delta_does_not_depend_on_gamma(scale: str | None, gamma: Any) -> None:
    X, y = make_friedman1(600, random_state=0)
    model = budgetron.AVMRegressor(scale=scale, gamma=gamma).partial_fit(X, y)
    alone = budgetron.AVMRegressor(scale=scale).partial_fit(X, y)
    assert model.delta_ == pytest.approx(alone.delta_, rel=1e-12)
    assert model.delta_ == pytest.approx(AUTO / np.sqrt(alone.gamma_), rel=1e-12)
    if gamma == "4*median":
        assert model.gamma_ == pytest.approx(4 * alone.gamma_)


def test_rows_without_a_distance() -> None:
    """With one row or equal rows gamma is 1/d, so the squared distance is d."""
    model = budgetron.AVMClassifier().partial_fit(np.ones((1, 9)), [1], classes=[0, 1])
    assert model.delta_ == pytest.approx(AUTO * 3)
    model.partial_fit(np.ones((500, 9)), np.arange(500) % 2)
    assert model.delta_ == pytest.approx(AUTO * 3)
    assert model.n_support_ == 1
    assert np.isfinite(model.decision_function(np.ones((1, 9)))).all()


def test_a_number_stays_as_it_is_given() -> None:
    X, y = STREAMS["jump"], targets("jump", 2)
    model = budgetron.AVMClassifier(delta=0.7).partial_fit(X, y)
    assert model.unit_changes_ > 0
    assert model.delta_ == 0.7
    assert as_printed("avm").delta == as_printed("avm", "regression").delta == 1.0
    assert budgetron.AVMClassifier().delta == budgetron.AVMRegressor().delta == "auto"


def test_a_budget_in_bytes_holds_through_changes() -> None:
    X, y = STREAMS["all jump"], targets("all jump", 2)
    for cover in ("sphere", "rectangle"):
        model = budgetron.AVMClassifier(budget="64KB", cover=cover, average="mean")
        model.partial_fit(X[:400], y[:400], classes=[0, 1])
        memory = model.memory_bytes_
        model.partial_fit(X[400:], y[400:])
        assert model.unit_changes_ > 0
        assert model.memory_bytes_ == memory <= 64_000


def test_a_forged_delta_is_refused() -> None:
    X, y = STREAMS["jump"], targets("jump", 2)
    model = budgetron.AVMClassifier().partial_fit(X, y)
    native = native_of(model)
    for bad in (0.0, -1.0, np.nan, np.inf):
        state = dict(native.save())
        assert state["preparation/delta"][0] == model.delta_
        state["preparation/delta"] = np.array([bad])
        with pytest.raises(ValueError, match="delta"):
            native_of(pickle.loads(pickle.dumps(model))).load(state)


@pytest.mark.parametrize("value", ["median", "2*auto", "", None, 0.0])
def test_other_words_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"'delta' parameter of AVMClassifier.*'auto'"):
        budgetron.AVMClassifier(delta=value).fit(np.eye(3), [0, 1, 0])
