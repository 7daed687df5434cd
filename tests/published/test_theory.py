"""The papers' theorems hold, on streams where they are not trivial.

Here those of the Perceptron and of the feature maps; `test_theory_PAPER.py` has the other papers'.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from budgetron.catalogue import as_printed
from budgetron.parts import Gaussian, PerceptronUpdate, Round
from papers.kernels import make_kernel
from papers.ogd.ogd import OGD
from tests.published.theory import (
    GAMMA,
    GAUSSIAN,
    Array,
    assert_bounded,
    assert_mean_is,
    competitors,
    margins,
    noisy_blobs,
)


@pytest.mark.parametrize("seed", range(3))
def test_perceptron_theorem_1(seed: int) -> None:
    """Freund & Schapire 1999; Dekel et al. 2008, theorem 1: M <= 2 L(g) + ||g||^2."""
    X, y = noisy_blobs(2000, 0.03, seed)
    margin, _ = margins(Round(Gaussian(GAMMA), PerceptronUpdate()), X, y)
    bounds = [2 * g.loss + g.squared_norm for g in competitors(X, y)]
    assert_bounded(int((margin <= 0).sum()), bounds, len(y))


# ---- feature maps --------------------------------------------------------------------------------


def map_values(kernel: str, D: int, seed: int, x: Array, probes: Array) -> Array:
    """z(x).z(x') of FOGD's map: what one step of size 1 from zero leaves as the decision."""
    model = as_printed(
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
    return as_printed("nogd", budget=budget, rank=budget, step=step, **kernel)


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
