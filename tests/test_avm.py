"""AVM beyond the trace: its averaged outputs, its cells, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import BY_NAME, Case, as_format, stream
from tracing import find_field, make_page, restore

import budgetron


def averaging(average: str) -> Case:
    case = BY_NAME["avm"]
    return Case("avm", {**case.params, "average": average, "budget": None}, case.kernels)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("average", ["last", "mean", "suffix"])
def test_predict_is_the_pages(average: str, classes: int) -> None:
    X, y = stream(200, classes=classes)
    case = averaging(average)
    model = case.make()
    page = None
    for t in range(70):
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=np.arange(classes))
        native = model._engine.native
        page = page or make_page(case, "rbf", X.shape[1], native.outputs)
        restore(page, native, X.shape[1])
        expected = np.array([page.predict_decision(x) for x in X[150:]])
        np.testing.assert_allclose(
            model.decision_function(X[150:]), np.squeeze(expected), rtol=1e-9, atol=1e-9
        )


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_averages_are_of_the_hypotheses_before_each_round(kernel: str) -> None:
    X, y = stream(100)
    models = {average: averaging(average).make(kernel) for average in ("last", "mean", "suffix")}
    before: list[Any] = []  # f_1 .. f_T at some rows
    for t in range(1, 61):
        before.append(
            models["last"].decision_function(X) if t > 1 else np.zeros(len(X))  # f_1 = 0
        )
        for model in models.values():
            model.partial_fit(X[t : t + 1], y[t : t + 1], classes=[0, 1])
        half = max(1, 2 ** (t.bit_length() - 2)) if t > 1 else 1
        np.testing.assert_allclose(
            models["mean"].decision_function(X), np.mean(before, axis=0), atol=1e-9
        )
        np.testing.assert_allclose(
            models["suffix"].decision_function(X), np.mean(before[half - 1 :], axis=0), atol=1e-9
        )
        assert t / 2 <= len(before[half - 1 :]) <= max(1, 0.76 * t + 1)


def test_what_is_recorded_is_not_averaged() -> None:
    X, y = stream(200)
    recorded = [
        averaging(average).make().prequential(X, y, classes=[0, 1]) for average in ("last", "mean")
    ]
    np.testing.assert_array_equal(*recorded)


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
