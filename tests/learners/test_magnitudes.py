"""scale="auto" for values of any size, and whichever features are the small ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import budgetron
from tests.support.cases import KINDS, Case

ROWS = 2000
SIZES = {
    np.float32: [1e-44, 1e-38, 1e-30, 1e-20, 1e-10, 1e-5, 1e5, 1e10, 1e20, 1e30, 3e37],
    np.float64: [1e-152, 1e-150, 1e-100, 1e-20, 1e20, 1e100, 1e150, 1e151],
}


def rows(width: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((ROWS, width))
    y = X[:, 0] * X[:, 1] + X[:, 2] / 2 > 0
    return X, (y ^ (rng.random(ROWS) < 0.05)).astype(int)


def made(name: str, **how: Any) -> Any:
    size = {"n_components" if name == "fogd" else "budget": 100}
    return budgetron.make(name, random_state=0, **size, **how)


def error(name: str, X: Any, y: np.ndarray, **how: Any) -> float:
    decisions = made(name, **how).prequential(X, y, classes=[0, 1])
    assert np.isfinite(decisions).all()
    return float(((decisions >= 0) != y).mean())


@pytest.mark.parametrize("case", KINDS, ids=str)
def test_any_size_is_learned(case: Case) -> None:
    X, y = rows()
    wanted = error(case.name, X, y)
    for dtype, sizes in SIZES.items():
        for size in sizes:
            found = error(case.name, (X * size).astype(dtype), y)
            assert found <= 1.2 * wanted, f"{size:g} in {dtype.__name__}: {found:.3f}, {wanted:.3f}"


@pytest.mark.parametrize("size", [1e-30, 1e30])
@pytest.mark.parametrize("name", ["budgetron", "avm", "nogd"])
def test_fit_and_sparse_rows_too(name: str, size: float) -> None:
    X, y = rows()
    X[np.abs(X) < 0.3] = 0.0
    small = (X * size).astype(np.float32)
    dense = made(name).prequential(small, y, classes=[0, 1])
    sparse = made(name).prequential(scipy.sparse.csr_array(small), y, classes=[0, 1])
    np.testing.assert_array_equal(dense, sparse)
    wanted = made(name).fit(X[:1500], y[:1500]).score(X[1500:], y[1500:])
    assert made(name).fit(small[:1500], y[:1500]).score(small[1500:], y[1500:]) > wanted - 0.05


@pytest.mark.parametrize("size", [5e-324, 1e-300, 1e-170, 1e170, 1e300])
def test_beyond_that_nothing_breaks(size: float) -> None:
    X, y = rows()
    X = np.clip(X, -3, 3) * size
    for name in ("budgetron", "avm", "nogd", "rbp", "fogd"):
        model = made(name)
        decisions = model.prequential(X, y, classes=[0, 1])
        assert np.isfinite(decisions).all()
        assert np.isfinite(model.gamma_)


@pytest.mark.parametrize("name", ["budgetron", "bpas", "ahpatron", "avm"])
@pytest.mark.parametrize(
    "sizes", [(1, 577, 866), (1, 4, 6), (1, 30, 30, 40, 45), (1, *(10,) * 8, 15)], ids=str
)
def test_features_much_smaller_than_the_others_count(sizes: tuple[float, ...], name: str) -> None:
    """Half of the answer depends on the small feature: as good as in units chosen by hand."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, len(sizes)))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    wanted = error(name, X, y, scale=None)
    assert error(name, X * sizes, y) <= 1.1 * wanted
    assert made(name).partial_fit(X * sizes, y).scaling_ == "standard"


def test_what_is_often_zero_is_not_small() -> None:
    """Flags, counts and pixels near a border stay as they come."""
    from sklearn.datasets import load_digits

    rng = np.random.default_rng(0)
    y = np.arange(ROWS) % 2
    flags = (rng.random((ROWS, 40)) < np.geomspace(0.02, 0.5, 40)).astype(float)
    assert made("rbp").partial_fit(flags, y).scaling_ is None
    assert made("rbp").partial_fit(3.0 * flags, y).scaling_ is None
    X, digits = load_digits(return_X_y=True)
    assert made("rbp").partial_fit(X, digits).scaling_ is None
    assert made("rbp").partial_fit(rng.standard_normal((ROWS, 8)) * 1.2, y).scaling_ is None


def test_standardised_rows_stay_as_they_are() -> None:
    """Also with a feature that is nearly constant, whose robust size is small."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, 6))
    X[:, 5] = np.where(rng.random(ROWS) < 0.03, 5.0, -0.15) + 1e-3 * rng.standard_normal(ROWS)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    assert made("rbp").partial_fit(X, np.arange(ROWS) % 2).scaling_ is None
