"""The range for AVM's delta: the formula, samples of any kind, and data without a scale."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist

from budgetron import suggest_delta
from budgetron.catalogue import as_printed


def cloud(rows: int = 300, width: int = 5) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(rows, width))


def test_is_twice_the_mean_distance_and_two_deviations_around() -> None:
    X = cloud()
    distances = pdist(X)
    suggested = suggest_delta(X)
    assert suggested.delta == pytest.approx(2 * distances.mean())
    assert suggested.low == pytest.approx(2 * distances.mean() - 2 * distances.std())
    assert suggested.high == pytest.approx(2 * distances.mean() + 2 * distances.std())


def test_sparse_rows_and_a_change_of_units() -> None:
    X = cloud() * (cloud() > 0)
    np.testing.assert_allclose(suggest_delta(csr_array(X)), suggest_delta(X))
    np.testing.assert_allclose(suggest_delta(1000 * X), 1000 * np.array(suggest_delta(X)))


def test_large_samples_are_drawn_from() -> None:
    X = cloud(1500)
    first, again, other = (suggest_delta(X, n_rows=400, random_state=seed) for seed in (1, 1, 2))
    assert first == again != other
    np.testing.assert_allclose(first, suggest_delta(X, n_rows=1500), rtol=0.05)


def test_low_stays_above_zero() -> None:
    X = np.zeros((100, 2))
    X[:2] = [[3.0, 4.0], [0.0, 1.0]]
    suggested = suggest_delta(X)
    assert 0 < suggested.low == suggested.delta < 1.0  # the least distance, 1, is above the mean
    scattered = np.random.default_rng(0).normal(size=(60, 2))
    scattered[0] = 1e4
    least = pdist(scattered).min()
    suggested = suggest_delta(scattered)
    assert 0 < suggested.low < suggested.delta
    np.testing.assert_allclose(suggested.low, least, rtol=1e-6)
    assert suggested.low <= suggested.high
    as_printed("avm", delta=suggested.low).fit(X, np.arange(100) % 2)


@pytest.mark.parametrize("factor", [1e-200, 1e-3, 1e100])
def test_scales_and_offsets_do_not_matter(factor: float) -> None:
    X = np.random.default_rng(0).normal(size=(50, 3))
    delta = suggest_delta(X).delta
    assert suggest_delta(X * factor).delta == pytest.approx(delta * factor)
    assert suggest_delta(X * 1e-3 + 1e6).delta == pytest.approx(delta * 1e-3, rel=1e-5)


@pytest.mark.parametrize(
    ("X", "params", "message"),
    [
        (np.ones((50, 3)), {}, "needs two different rows"),
        (np.ones((1, 3)), {}, "minimum of 2"),
        (np.array([[1.0], [np.nan]]), {}, "NaN"),
        (cloud(), {"n_rows": 1}, "n_rows is 1; a distance needs at least 2"),
    ],
)
def test_what_has_no_distance_is_refused(X: Any, params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        suggest_delta(X, **params)


def test_the_papers_delta_is_in_the_range(load_real: Callable[..., Any]) -> None:
    """Le et al. 2017, section 9.2, take 7 for a9a."""
    X, _ = load_real("a9a/train")
    suggested = suggest_delta(X)
    assert suggested.low < 7.0 < suggested.high
    assert suggested.high - suggested.low < 4.0
