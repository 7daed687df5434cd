"""AVM beyond the trace: its cells, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import BY_NAME, as_format, stream
from tracing import find_field

import budgetron


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rectangles_are_opened_by_the_largest_gap(layout: str, dtype: Any) -> None:
    X, y = stream(400, width=9, sparse=layout == "csr")
    X = X.astype(dtype)
    model = budgetron.make("avm", cover="rectangle", delta=3.0, gamma=0.5)
    model.partial_fit(as_format(X, layout), y, classes=[0, 1])
    opened: list[int] = []
    for t, x in enumerate(X.astype(float)):
        gaps = [np.abs(x - X[i].astype(float)).max() for i in opened]
        if not gaps or min(gaps) >= 1.0:  # 3/sqrt(9)
            opened.append(t)
    assert model._engine.native.ids().tolist() == opened
    assert 20 < len(opened) < 380


def test_hinge_steps_are_whole_numbers_and_ties_exact() -> None:
    X, y = stream(300)
    model = BY_NAME["avm"].make().fit(X, y)
    steps = find_field(model._engine.native.save(), "coefs")
    assert np.abs(steps).max() >= 2
    np.testing.assert_array_equal(steps, np.round(steps))


def test_a_cell_opens_without_a_slope() -> None:
    X = np.array([[0.0], [0.1], [5.0]])
    y = np.array([1, 1, 1])
    model = budgetron.make("avm", delta=1.0, gamma=0.01, regularization=0.1)
    model.partial_fit(X, y, classes=[0, 1])
    assert model.n_support_ == 2
    assert model.dual_coef_[0, 1] == 0.0


@pytest.mark.parametrize("kernel", ["linear", "poly", "sigmoid"])
@pytest.mark.parametrize("name", ["avm", "fogd"])
def test_only_isotropic_kernels(name: str, kernel: str) -> None:
    X, y = stream(20)
    with pytest.raises(ValueError, match=f"kernel='{kernel}'.*use 'rbf', 'laplacian'"):
        budgetron.make(name, kernel=kernel).fit(X, y)


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
        budgetron.make("avm", **{parameter: value}).fit(X, y)
