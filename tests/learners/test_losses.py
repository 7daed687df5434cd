"""The losses: slopes by finite differences, at their kinks, and in the compiled core."""

from __future__ import annotations

from math import exp, inf

import numpy as np
import pytest

from budgetron.catalogue import as_printed
from papers.losses import make_loss

# (loss, tau, its kinks)
LOSSES = [
    ("hinge", 0.5, (1.0,)),
    ("smooth-hinge", 0.5, (0.5, 1.0)),
    ("smooth-hinge", 0.25, (0.75, 1.0)),
    ("smooth-hinge", 2.0, (-1.0, 1.0)),
    ("logistic", 0.5, ()),
]
MARGINS = (-40.0, -3.0, -1.5, -1.0, -0.25, 0.0, 0.3, 0.5, 0.625, 0.75, 0.9, 1.0, 1.25, 2.0, 40.0)


@pytest.mark.parametrize(("loss", "tau", "kinks"), LOSSES)
def test_slope_is_the_derivative(loss: str, tau: float, kinks: tuple[float, ...]) -> None:
    page = make_loss(loss, tau)
    h = 1e-6
    for m in np.linspace(-5, 5, 401):
        if min((abs(m - kink) for kink in kinks), default=inf) > 2 * h:
            difference = (page.value(m + h) - page.value(m - h)) / (2 * h)
            assert page.slope(m) == pytest.approx(difference, abs=1e-8)


def test_kinks_take_the_flat_side() -> None:
    assert make_loss("hinge", 0.5).slope(1.0) == 0.0
    assert make_loss("hinge", 0.5).slope(np.nextafter(1.0, 0.0)) == -1.0
    smooth = make_loss("smooth-hinge", 0.5)
    assert smooth.slope(1.0) == 0.0
    assert smooth.slope(0.5) == -1.0
    assert smooth.value(0.5) == 0.25


def test_logistic_does_not_overflow() -> None:
    logistic = make_loss("logistic", 0.5)
    assert logistic.slope(-1000.0) == -1.0
    assert logistic.value(-1000.0) == 1000.0
    assert logistic.slope(40.0) == pytest.approx(-exp(-40.0), rel=1e-12)
    assert logistic.slope(1000.0) == 0.0


def native_slope(loss: str, tau: float, margin: float, sign: int) -> float:
    """The slope that the compiled core uses at a margin, read from the coef it stores.

    Linear kernel, step 1: the first row (1, 0) gets coef c, so f(x) = c x_1 and the row
    (sign margin/c, 1) has this margin for the label `sign`.
    """
    model = as_printed("ogd", kernel="linear", step=1.0, loss=loss, tau=tau)
    model.partial_fit([[1.0, 0.0]], [1], classes=[-1, 1])
    c = model.dual_coef_[0, 0]
    decision = model.prequential([[sign * margin / c, 1.0]], [sign])
    assert sign * decision[0] == margin
    return -sign * model.dual_coef_[0, 1] if model.n_support_ == 2 else 0.0


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize(("loss", "tau", "kinks"), LOSSES)
def test_compiled_slope_is_the_pages(
    loss: str, tau: float, kinks: tuple[float, ...], sign: int
) -> None:
    page = make_loss(loss, tau)
    for margin in (*MARGINS, *kinks):
        expected = page.slope(margin)
        assert native_slope(loss, tau, margin, sign) == pytest.approx(expected, rel=1e-14)


# ---- regression: functions of the error e = target - f, the margin being -|e| --------------------

# (loss, epsilon, its kinks)
OF_ERRORS = [
    ("squared", 0.1, (-0.1, 0.1)),
    ("squared", 0.0, ()),
    ("absolute", 0.1, (0.0,)),
    ("epsilon-insensitive", 0.1, (-0.1, 0.1)),
    ("epsilon-insensitive", 0.5, (-0.5, 0.5)),
]


@pytest.mark.parametrize(("loss", "epsilon", "kinks"), OF_ERRORS)
def test_slope_is_the_derivative_by_the_error(
    loss: str, epsilon: float, kinks: tuple[float, ...]
) -> None:
    page = make_loss(loss, epsilon=epsilon)
    h = 1e-6
    for e in np.linspace(-5, 5, 401):
        if min((abs(e - kink) for kink in kinks), default=inf) > 2 * h:
            difference = (page.value(-abs(e + h)) - page.value(-abs(e - h))) / (2 * h)
            assert -page.slope(-abs(e)) * np.sign(e) == pytest.approx(difference, abs=1e-8)


def test_kinks_of_regression_take_the_flat_side() -> None:
    assert make_loss("absolute").slope(-0.0) == 0.0
    assert make_loss("absolute").slope(-1e-300) == -1.0
    for loss in ("squared", "epsilon-insensitive"):
        assert make_loss(loss, epsilon=0.1).slope(-0.1) == 0.0
        assert make_loss(loss, epsilon=0.1).slope(np.nextafter(-0.1, -1.0)) < -0.1
        assert make_loss(loss, epsilon=0.1).value(-0.1) == 0.0


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize(("loss", "epsilon", "kinks"), OF_ERRORS)
def test_compiled_slope_by_the_error_is_the_pages(
    loss: str, epsilon: float, kinks: tuple[float, ...], sign: int
) -> None:
    """Step 1 from f = 0: the first row's coef is the slope at e = target."""
    page = make_loss(loss, epsilon=epsilon)
    for size in (0.0, 1e-300, 0.05, 0.1, np.nextafter(0.1, 1.0), 0.3, 0.5, 0.7, 2.0, 1e6, *kinks):
        model = as_printed(
            "ogd", "regression", step=1.0, loss=loss, epsilon=epsilon, target_scale=None
        )
        model.fit([[1.0]], [sign * abs(size)])
        coef = model.dual_coef_[0, 0] if model.n_support_ else 0.0
        assert coef == -page.slope(-abs(size)) * sign
