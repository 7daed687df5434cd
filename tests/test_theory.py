"""The papers' theorems hold, on streams where they say something.

A mistake bound above T/4 proves nothing, so every stream here has a competitor whose bound is below
that. Competitors are made by the test: differences of two bumps on the classes' centres.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import Any

import numpy as np
import pytest
from cases import stream
from numpy.typing import NDArray
from tracing import find_field

import budgetron
from budgetron.catalogue import CATALOGUE
from budgetron.engine import Engine
from budgetron.parts import AvpUpdate, Gaussian, Part, PerceptronUpdate, Round, Unlimited
from papers.bogd.bogd import BOGD
from papers.kernels import make_kernel
from papers.ogd.ogd import OGD
from papers.page import Page
from papers.random import Random

Array = NDArray[np.float64]
GAMMA = 0.5
GAUSSIAN = make_kernel("rbf", GAMMA)


# ---- mistake bounds ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Competitor:
    """g = c (k(p, .) - k(q, .)), with what the bounds need to know of it."""

    loss: float  # L_T(g), hinge
    squared_norm: float  # ||g||^2


def noisy_blobs(rows: int, flips: float, seed: int) -> tuple[Array, Array]:
    """Two blobs at (1, 1, 0) and (-1, -1, 0), some labels turned; labels 0 and 1."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=rows)
    X = np.array([[-1.0, -1.0, 0.0], [1.0, 1.0, 0.0]])[y] + 0.25 * rng.normal(size=(rows, 3))
    turned = rng.random(rows) < flips
    return X, np.where(turned, 1 - y, y).astype(float)


def competitors(X: Array, y: Array) -> list[Competitor]:
    centres = np.array([[1.0, 1.0, 0.0], [-1.0, -1.0, 0.0]])
    bumps = GAUSSIAN(X, centres) @ [1.0, -1.0]
    size = float(np.array([1.0, -1.0]) @ GAUSSIAN(centres, centres) @ [1.0, -1.0])
    return [
        Competitor(float(np.maximum(0, 1 - c * (2 * y - 1) * bumps).sum()), c * c * size)
        for c in (0.25, 0.5, 1.0, 1.25, 1.4, 2.0, 4.0)
    ]


def margins(machine: Part, X: Array, y: Array) -> tuple[Array, Engine]:
    """The margins y f(x) of every round, before it was learned."""
    engine = Engine(machine.spec(), "classification", 2, 0, np.dtype(np.float64))
    decisions = engine.learn(X, y, record=True)
    assert decisions is not None
    return (2 * y - 1) * decisions[:, 0], engine


def assert_bounded(mistakes: int, bounds: list[float], rounds: int) -> None:
    """Every competitor's bound holds, and the best one says something."""
    assert all(mistakes <= bound for bound in bounds)
    assert min(bounds) < rounds / 4
    assert mistakes > 20, "the stream was too easy to mean anything"


@pytest.mark.parametrize("seed", range(3))
def test_perceptron_theorem_1(seed: int) -> None:
    """Freund & Schapire 1999; Dekel et al. 2008, theorem 1: M <= 2 L(g) + ||g||^2."""
    X, y = noisy_blobs(2000, 0.03, seed)
    margin, _ = margins(Round(Gaussian(GAMMA), PerceptronUpdate()), X, y)
    bounds = [2 * g.loss + g.squared_norm for g in competitors(X, y)]
    assert_bounded(int((margin <= 0).sum()), bounds, len(y))


@pytest.mark.parametrize("epsilon", [0.55, 0.75, 0.95])
def test_avp_corollary_1(epsilon: float) -> None:
    """Liao et al. 2024, corollary 1: M <= 2 L(g) + ||g||^2 + (1 - 2 epsilon) |N|."""
    X, y = noisy_blobs(2000, 0.03, 5)
    update = AvpUpdate(step=1.0, epsilon=epsilon)
    margin, _ = margins(Round(Gaussian(GAMMA), update, Unlimited(), inf), X, y)
    near = int(((margin > 0) & (margin < 1 - epsilon)).sum())
    assert near > 5
    bounds = [2 * g.loss + g.squared_norm + (1 - 2 * epsilon) * near for g in competitors(X, y)]
    assert_bounded(int((margin <= 0).sum()), bounds, len(y))


@pytest.mark.parametrize("budget", [50, 64, 101])
def test_ahpatron_theorem_4(budget: int) -> None:
    """Liao et al. 2024, theorem 4, with its parameters, for competitors in the ball."""
    X, y = noisy_blobs(6000, 0.02, budget)
    U, epsilon = sqrt(budget) / 4, 0.85
    model = budgetron.make(
        "ahpatron",
        gamma=GAMMA,
        budget=budget,
        radius=U,
        epsilon=epsilon,
        step=sqrt(2) * U / sqrt(budget),
        norm=0.6,
    )
    margin = (2 * y - 1) * model.prequential(X, y, classes=[0.0, 1.0])
    assert find_field(model._engine.native.save(), "halvings")[0] >= 2
    near = int(((margin > 0) & (margin < 1 - epsilon)).sum())
    share = U / sqrt(budget)
    upper = (3 * share - epsilon) / (1 - 3 * share) * near
    lower = (share / sqrt(2) - epsilon) / (1 - share / sqrt(2)) * near
    inside = [g for g in competitors(X, y) if g.squared_norm <= U * U]
    bounds = [
        g.loss
        + max(
            12 * share * g.loss + upper, 0.9 * share * g.loss + g.squared_norm / (2 * share) + lower
        )
        for g in inside
    ]
    assert_bounded(int((margin <= 0).sum()), bounds, len(y))


@pytest.mark.parametrize("budget", [2, 3, 10, 25])
def test_ahpatron_lemma_1(budget: int) -> None:
    """Liao et al. 2024, lemma 1: at most max(2 (|M'| + |N|)/B - 1, 0) halvings."""
    X, y = stream(1500, seed=4)
    epsilon = 0.5
    model = budgetron.make("ahpatron", gamma=GAMMA, budget=budget, epsilon=epsilon)
    margin = (2 * y - 1) * model.prequential(X, y, classes=[0, 1])
    updates = int((margin < 1 - epsilon).sum())
    assert updates == model.n_updates_
    halvings = find_field(model._engine.native.save(), "halvings")[0]
    assert 10 <= halvings <= max(2 * updates / budget - 1, 0)


# ---- BOGD's sampling -----------------------------------------------------------------------------

STEP, REGULARIZATION, BUDGET = 0.3, 0.1, 5


def full_and_one_more() -> tuple[Array, Array, Array]:
    """Rows that all have loss, one more than the budget, and where to look at f."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(BUDGET + 1, 3))
    return X, rng.integers(2, size=BUDGET + 1), rng.normal(size=(8, 3))


def gradient_step(X: Array, y: Array, probes: Array) -> Array:
    """Where plain OGD is after these rows."""
    page = OGD(GAUSSIAN, 3, step=STEP, regularization=REGULARIZATION, loss="hinge", tau=0.5)
    for x, sign in zip(X, 2.0 * y - 1.0, strict=True):
        page.learn(x, sign)
    assert page.size == BUDGET + 1
    return np.array([page.row(x) @ page.coef[:, 0] for x in probes])


def page_run(sampling: str, seed: int, X: Array, y: Array, probes: Array) -> Array:
    page: Page = BOGD(
        GAUSSIAN,
        3,
        budget=BUDGET,
        step=STEP,
        regularization=REGULARIZATION,
        max_coef=1e6,
        sampling=sampling,
        loss="hinge",
        tau=0.5,
    )
    page.random = Random.seeded(seed)
    for x, sign in zip(X, 2.0 * y - 1.0, strict=True):
        page.learn(x, sign)
    assert page.size == BUDGET
    return np.array([page.row(x) @ page.coef[:, 0] for x in probes])


def native_runs(name: str, seeds: range, X: Array, y: Array, probes: Array) -> list[Array]:
    """One engine a seed, of the spec that the estimator makes."""
    model = budgetron.make(
        name,
        gamma=GAMMA,
        budget=BUDGET,
        step=STEP,
        regularization=REGULARIZATION,
        max_coef=1e6,
    )
    spec = model.partial_fit(X, y, classes=[0, 1])._engine.spec
    runs = []
    for seed in seeds:
        engine = Engine(spec, "classification", 2, seed, X.dtype)
        engine.learn(X, y.astype(float))
        assert len(engine.native.ids()) == BUDGET
        runs.append(engine.predict(probes)[:, 0])
    return runs


def assert_mean_is(values: Array, expected: Array) -> None:
    """The mean over the first axis is `expected`, within five standard errors."""
    error = values.std(axis=0) / sqrt(len(values))
    assert (error > 0).all(), "nothing was drawn"
    assert (np.abs(values.mean(axis=0) - expected) < 5 * error).all()


@pytest.mark.parametrize("name", ["bogd", "bogd++"])
@pytest.mark.parametrize("native", [False, True], ids=["page", "native"])
def test_bogd_is_a_gradient_step_in_expectation(name: str, native: bool) -> None:
    """Zhao et al. 2012, section 3: without clipping, E f_{t+1} = (1 - step reg) f_t - step grad."""
    if native and name not in CATALOGUE:
        pytest.skip(f"{name} is not in the catalogue yet")
    X, y, probes = full_and_one_more()
    sampling = "uniform" if name == "bogd" else "nonuniform"
    seeds = range(1500)
    if native:
        runs = native_runs(name, seeds, X, y, probes)
    else:
        runs = [page_run(sampling, seed, X, y, probes) for seed in seeds]
    assert_mean_is(np.array(runs), gradient_step(X, y, probes))


# ---- feature maps --------------------------------------------------------------------------------


def map_values(kernel: str, D: int, seed: int, x: Array, probes: Array) -> Array:
    """z(x).z(x') of FOGD's map: what one step of size 1 from zero leaves as the decision."""
    model = budgetron.make(
        "fogd", kernel=kernel, gamma=GAMMA, n_components=D, step=1.0, random_state=seed
    )
    decisions: Array = model.partial_fit(x[None, :], [1], classes=[0, 1]).decision_function(probes)
    return decisions


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_fogd_map_approaches_its_kernel_at_the_root_of_its_size(kernel: str) -> None:
    """z(x).z(x') is the mean of D cosines: its variance is ((1 + k(2 delta))/2 - k(delta)^2)/D."""
    rng = np.random.default_rng(2)
    x, probes = rng.normal(size=3), rng.normal(size=(40, 3))
    function = make_kernel(kernel, GAMMA)
    k = function(probes, x[None, :])[:, 0]
    twice = function(2 * probes, 2 * x[None, :])[:, 0]
    variance = float(((1 + twice) / 2 - k**2).mean())
    sizes, seeds = (16, 64, 256, 1024), range(60)
    errors = []
    for D in sizes:
        values = np.array([map_values(kernel, D, seed, x, probes) for seed in seeds])
        assert_mean_is(values, k)
        errors.append(float(((values - k) ** 2).mean()))
        assert errors[-1] * D == pytest.approx(variance, rel=0.35)
    slope = np.polyfit(np.log(sizes), np.log(np.sqrt(errors)), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.06)


def nogd(budget: int, step: float, **kernel: Any) -> Any:
    return budgetron.make("nogd", budget=budget, rank=budget, step=step, **kernel)


@pytest.mark.parametrize("classes", [2, 3])
def test_nogd_at_full_rank_is_ogd_where_rows_are_its_landmarks(classes: int) -> None:
    """All rows are in the span of the stored examples: nothing is lost, for ever."""
    budget, step = 9, 0.3
    rng = np.random.default_rng(3)
    points = rng.normal(size=(budget, 3))
    order = np.concatenate([np.arange(budget), rng.integers(budget, size=400)])
    X = points[order]
    y = rng.integers(classes, size=len(order))
    model = nogd(budget, step, gamma=GAMMA)
    decisions = model.prequential(X, y, classes=np.arange(classes))
    assert model.n_support_ == budget
    assert model.n_updates_ > 100
    n_outputs = 1 if classes == 2 else classes
    page = OGD(GAUSSIAN, 3, n_outputs, step=step, regularization=0.0, loss="hinge", tau=0.5)
    for x, label, decision in zip(X, y, decisions, strict=True):
        expected = page.learn(x, label if classes > 2 else 2.0 * label - 1.0)
        np.testing.assert_allclose(decision, np.squeeze(expected), atol=1e-8)


def test_nogd_at_full_rank_is_ogd_projected_onto_its_span() -> None:
    """Beyond the landmarks each gradient is projected: a += step y K^-1 k(x)."""
    budget, step = 12, 0.3
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(300, 6)), rng.integers(2, size=300)
    model = nogd(budget, step, gamma=GAMMA)
    decisions = model.prequential(X, y, classes=[0, 1])
    landmarks: list[int] = []
    a = np.zeros(0)
    for t, sign in enumerate(2.0 * y - 1.0):
        row = GAUSSIAN(X[landmarks], X[t : t + 1])[:, 0]
        f = row @ a
        assert decisions[t] == pytest.approx(f, abs=1e-6)
        if sign * f >= 1:
            continue
        if len(landmarks) < budget:
            landmarks.append(t)
            a = np.append(a, step * sign)
        else:
            K = GAUSSIAN(X[landmarks], X[landmarks])
            assert np.linalg.cond(K) < 1e8
            a = a + step * sign * np.linalg.solve(K, row)
    assert model.n_updates_ > 10 * budget
