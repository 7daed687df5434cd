"""AVM beyond the trace: its cells and their number, and its errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import zeta

from budgetron.catalogue import as_printed
from tests.support.cases import BY_NAME, as_format, stream
from tests.support.native import native_of, state_of
from tests.support.tracing import find_field


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rectangles_are_opened_by_the_largest_gap(layout: str, dtype: Any) -> None:
    X, y = stream(400, width=9, sparse=layout == "csr")
    X = X.astype(dtype)
    model = as_printed("avm", cover="rectangle", delta=3.0, gamma=0.5)
    model.partial_fit(as_format(X, layout), y, classes=[0, 1])
    opened: list[int] = []
    for t, x in enumerate(X.astype(float)):
        gaps = [np.abs(x - X[i].astype(float)).max() for i in opened]
        if not gaps or min(gaps) >= 1.0:  # 3/sqrt(9)
            opened.append(t)
    assert native_of(model).ids().tolist() == opened
    assert 20 < len(opened) < 380


def test_hinge_steps_are_whole_numbers_and_ties_exact() -> None:
    X, y = stream(300)
    model = BY_NAME["avm"].make().fit(X, y)
    steps = find_field(state_of(model), "coefs")
    assert np.abs(steps).max() >= 2
    np.testing.assert_array_equal(steps, np.round(steps))


def test_a_cell_opens_without_a_slope() -> None:
    X = np.array([[0.0], [0.1], [5.0]])
    y = np.array([1, 1, 1])
    model = as_printed("avm", delta=1.0, gamma=0.01, regularization=0.1)
    model.partial_fit(X, y, classes=[0, 1])
    assert model.n_support_ == 2
    assert model.dual_coef_[0, 1] == 0.0


# ---- theorem 15: how many examples are stored ----------------------------------------------------

ROWS = 4000
DRAWS = 12


def clouds(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Thirty well-separated clouds in the plane, in random order."""
    generator = np.random.default_rng(seed)
    cloud = generator.integers(30, size=rows)
    centres = np.stack([cloud % 6, cloud // 6], axis=1) * 3.0
    return centres + 0.1 * generator.standard_normal((rows, 2)), cloud % 2


def sizes(beta: float, rho: float) -> list[int]:
    X, y = clouds(ROWS)
    found = []
    for seed in range(DRAWS):
        model = as_printed("avm", delta=2.0, gamma=1.0, beta=beta, rho=rho, random_state=seed)
        found.append(model.partial_fit(X, y, classes=[0, 1]).n_support_)
    return found


@pytest.mark.parametrize(
    ("beta", "rho", "sum_of_q"),
    [
        (20.0, 1.0, 20.0 * (np.log(ROWS) + 1)),  # ii
        (5.0, 0.6, 5.0 * ROWS**0.4 / 0.4),  # iii
        (90.0, 1.5, 90.0 * zeta(1.5)),  # iv
    ],
)
def test_model_size_is_bounded_by_the_rate_of_approximation(
    beta: float, rho: float, sum_of_q: float
) -> None:
    """E[S_T] <= sum_t q_t + E[M_T], q_t = 1 - p_t; M_T, the cells of this stream, is 30."""
    bound = sum_of_q + 30
    assert bound < ROWS / 4
    stored = sizes(beta, rho)
    assert np.mean(stored) <= bound
    # The rows that were not approximated come one by one from independent draws.
    q = np.minimum(1.0, beta / np.arange(1, ROWS + 1) ** rho)
    spread = np.sqrt((q * (1 - q)).sum() / DRAWS)
    assert q.sum() - 5 * spread <= np.mean(stored) <= q.sum() + 30 + 5 * spread
    assert q.sum() > 30  # and they outnumber the cells
    assert len(set(stored)) > 1


def test_model_size_is_the_number_of_cells_when_all_rows_are_approximated() -> None:
    """i: p_t = 1. Regardless of the order of the rows, S_T <= M_T <= |P|."""
    X, y = clouds(ROWS)
    # Cells of radius 1 have core points at least 1 apart: at most one in each square of diagonal 1.
    squares = {tuple(square) for square in np.floor(X * np.sqrt(2)).astype(int)}
    assert len(squares) < ROWS / 4
    for order in (np.arange(ROWS), np.argsort(X[:, 0]), np.random.default_rng(1).permutation(ROWS)):
        model = as_printed("avm", delta=2.0, gamma=1.0)
        model.partial_fit(X[order], y[order], classes=[0, 1])
        assert model.n_support_ == 30 <= len(squares)
        assert model.n_updates_ > 300
    endless = as_printed("avm", delta=1e-9, gamma=1.0).partial_fit(X, y, classes=[0, 1])
    assert endless.n_support_ == ROWS  # so the cells made the difference


def test_averages_store_no_more() -> None:
    """Remark 17: the mean and the suffix lie in the span of the same core points."""
    X, y = clouds(500)
    for average in ("last", "mean", "suffix"):
        model = as_printed("avm", delta=2.0, gamma=1.0, average=average)
        assert model.partial_fit(X, y, classes=[0, 1]).n_support_ == 30


@pytest.mark.parametrize("kernel", ["linear", "poly", "sigmoid"])
@pytest.mark.parametrize("name", ["avm", "fogd"])
def test_only_isotropic_kernels(name: str, kernel: str) -> None:
    X, y = stream(20)
    with pytest.raises(ValueError, match=f"kernel='{kernel}'.*use 'rbf', 'laplacian'"):
        as_printed(name, kernel=kernel).fit(X, y)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("delta", 0.0),
        ("regularization", 0.0),
        ("beta", -1.0),
        ("rho", -0.5),
        ("budget", 0),
        ("cover", "cube"),
        ("average", "median"),
        ("loss", "square"),
        ("tau", 0.0),
    ],
)
def test_bad_parameters(parameter: str, value: Any) -> None:
    X, y = stream(20)
    with pytest.raises(ValueError, match=f"'{parameter}' parameter.*{value}"):
        as_printed("avm", **{parameter: value}).fit(X, y)
