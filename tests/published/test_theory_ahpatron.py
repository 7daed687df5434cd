"""The theorems of Ahpatron's paper on AVP and Ahpatron.

Liao, Li, Liao, Hu and Dang, "Ahpatron: a new budgeted online kernel learning machine with tighter
mistake bound", AAAI Conference on Artificial Intelligence 2024. In all of it k(x, x) <= 1.

Its proofs follow ||f_t - g||^2 for a competitor g through the rounds that update. So do the tests
of theorems 3 and 6: a bound has slack in which a wrong step could hide, but the equation that the
proof sums has none.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import Any

import numpy as np
import pytest

from budgetron.catalogue import as_printed
from budgetron.parts import AvpUpdate, Gaussian, Round, Unlimited
from papers.ahpatron.ahpatron import Ahpatron
from tests.published.theory import (
    GAMMA,
    GAUSSIAN,
    Array,
    Pool,
    Turn,
    assert_bounded,
    blobs,
    competitors,
    make_engine,
    margins,
    noisy_blobs,
    turns,
)
from tests.support.cases import stream
from tests.support.native import state_of
from tests.support.tracing import find_field

# ---- AVP -----------------------------------------------------------------------------------------


def updates(pool: Pool, name: str, epsilon: float, **params: Any) -> tuple[list[Turn], int, int]:
    """The rounds of M' and N, in which f moves, and how many there are of each."""
    engine = make_engine(as_printed(name, gamma=GAMMA, epsilon=epsilon, **params), pool)
    moved = []
    for turn in turns(engine, pool):
        if turn.margin < 1 - epsilon:
            moved.append(turn)
        else:
            assert np.array_equal(turn.before.coefs, turn.after.coefs)
    mistakes = sum(turn.margin <= 0 for turn in moved)
    return moved, mistakes, len(moved) - mistakes


def rates(moved: list[Turn], step: float | str, radius: float) -> Array:
    """lambda_t of the rounds that update; "adaptive" is corollary 2's."""
    if step != "adaptive":
        return np.full(len(moved), float(step))
    mistakes = np.cumsum([turn.margin <= 0 for turn in moved])  # this round's included
    return radius / np.sqrt(radius**2 + mistakes)


def nearer(pool: Pool, turn: Turn, g: Array) -> float:
    """delta_t = ||f_t - g||^2 - ||f_{t+1} - g||^2"""
    return pool.square(turn.before.coefs - g) - pool.square(turn.after.coefs - g)


def check_progress(
    pool: Pool, turn: Turn, rate: float, radius: float, g: Array, start: Array | None = None
) -> bool:
    """The line that theorem 3's proof sums: y (g - f_t)(x_t) <= delta_t/(2 lambda_t) + lambda_t/2.

    It is ||f_t + lambda_t y k(x_t, .) - g||^2 written out, with k(x_t, x_t) = 1: an equation unless
    f was scaled back to the ball, which brings it nearer to g. Returns whether it was.

    A halving starts from f-bar_t, of the norm of f_t, and adds to the right
    <f_t - f-bar_t, g>/lambda_t - y (f_t - f-bar_t)(x_t).
    """
    y = pool.signs[turn.t]
    lacking = y * pool.at(turn.t, g) - turn.margin
    right = nearer(pool, turn, g) / (2 * rate) + rate / 2
    if start is None:
        start = turn.before.coefs
    else:
        lost = turn.before.coefs - start
        extra = pool.inner(lost, g) / rate - y * pool.at(turn.t, lost)
        assert extra <= (radius + rate) / rate * sqrt(max(0.0, pool.square(lost)))
        right += extra
    outside = pool.square(start + rate * y * pool.row(turn.t)) > radius**2
    assert pool.square(turn.after.coefs) <= (1 + 1e-9) * radius**2
    assert lacking <= right + 1e-8
    assert outside or lacking >= right - 1e-8
    return outside


@pytest.mark.parametrize(
    ("step", "radius", "epsilon", "scaled"),
    [(0.5, 4.0, 0.6, False), (0.9, 1.5, 0.5, True), ("adaptive", 1.48, 0.6, True)],
)
def test_avp_theorem_3(step: float | str, radius: float, epsilon: float, scaled: bool) -> None:
    """Liao et al. 2024, theorem 3, for ||g|| <= U and lambda_t/2 < epsilon.

    |M'| - L(g) <= the sum over M' and N of delta_t/(2 lambda_t) + lambda_t/2, less epsilon |N|
    """
    pool = blobs(300, 2000, 0.03, 1)
    moved, mistakes, near = updates(pool, "avp", epsilon, step=step, radius=radius)
    lambdas = rates(moved, step, radius)
    assert near > 20
    assert (lambdas / 2 < epsilon).all()
    bounds = []
    for g in pool.competitors(radius):
        back = sum(
            check_progress(pool, turn, rate, radius, g)
            for turn, rate in zip(moved, lambdas, strict=True)
        )
        assert (back > 5) == scaled
        gained = sum(
            nearer(pool, turn, g) / (2 * rate) for turn, rate in zip(moved, lambdas, strict=True)
        )
        bounds.append(pool.loss(g) + gained + lambdas.sum() / 2 - epsilon * near)
    assert_bounded(mistakes, bounds, len(pool))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("radius", "epsilon"), [(2.0, 0.6), (2.5, 0.8)])
def test_avp_corollary_2(radius: float, epsilon: float, seed: int) -> None:
    """Liao et al. 2024, corollary 2: lambda_t = U/sqrt(U^2 + |M'_t|), for ||g|| <= U.

    |M'| <= a + 9 U^2 + 3 U sqrt(a), with a = max(L(g) + 2 U^2 + Delta, 0) and Delta the sum over N
    of lambda_t/2 - epsilon.

    The proof is not in the paper. Two sums give it: that of delta_t/(2 lambda_t) is at most
    2 U^2/lambda_T, as ||f_t - g|| <= 2 U, and that of lambda_t/2 over M' at most U sqrt(|M'|). So
    |M'| <= a + 3 U sqrt(|M'|), which is solved for |M'|. All three are tested, too.
    """
    pool = blobs(300, 2000, 0.03, seed)
    moved, mistakes, near = updates(pool, "avp", epsilon, step="adaptive", radius=radius)
    lambdas = rates(moved, "adaptive", radius)
    erred = np.array([turn.margin <= 0 for turn in moved])
    assert near > 20
    assert lambdas[erred].sum() / 2 <= radius * sqrt(mistakes)
    delta = float((lambdas[~erred] / 2 - epsilon).sum())
    bounds, implicit = [], []
    for g in pool.competitors(radius):
        gained = 0.0
        for turn, rate in zip(moved, lambdas, strict=True):
            check_progress(pool, turn, rate, radius, g)
            gained += nearer(pool, turn, g) / (2 * rate)
        assert gained <= 2 * radius**2 / lambdas[-1]
        a = max(pool.loss(g) + 2 * radius**2 + delta, 0.0)
        bounds.append(a + 9 * radius**2 + 3 * radius * sqrt(a))
        implicit.append(a + 3 * radius * sqrt(mistakes))
    assert_bounded(mistakes, bounds, len(pool))
    assert_bounded(mistakes, implicit, len(pool))


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


# ---- Ahpatron ------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [50, 64, 101])
def test_ahpatron_theorem_4(budget: int) -> None:
    """Liao et al. 2024, theorem 4, with its parameters, for competitors in the ball."""
    X, y = noisy_blobs(6000, 0.02, budget)
    U, epsilon = sqrt(budget) / 4, 0.85
    model = as_printed(
        "ahpatron",
        gamma=GAMMA,
        budget=budget,
        radius=U,
        epsilon=epsilon,
        step=sqrt(2) * U / sqrt(budget),
        norm=0.6,
    )
    margin = (2 * y - 1) * model.prequential(X, y, classes=[0.0, 1.0])
    assert find_field(state_of(model), "halvings")[0] >= 2
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
    model = as_printed("ahpatron", gamma=GAMMA, budget=budget, epsilon=epsilon)
    margin = (2 * y - 1) * model.prequential(X, y, classes=[0, 1])
    updates = int((margin < 1 - epsilon).sum())
    assert updates == model.n_updates_
    halvings = find_field(state_of(model), "halvings")[0]
    assert 10 <= halvings <= max(2 * updates / budget - 1, 0)


def halved(pool: Pool, turn: Turn, rate: float) -> Array:
    """f-bar_t, by point: f_{t+1} before it was scaled to the ball, without the new example."""
    new = rate * pool.signs[turn.t]
    newest = turn.after.ids == turn.t
    assert newest.sum() == 1
    scale = turn.after.stored[newest][0] / new
    return turn.after.coefs / scale - new * pool.row(turn.t)


def halved_by_page(pool: Pool, turn: Turn, radius: float, step: float, ridge: float) -> Array:
    """f-bar_t as the plain page makes it of the same f_t: equations (6), (7) and (9)."""
    held = turn.before
    page = Ahpatron(
        GAUSSIAN,
        pool.points.shape[1],
        budget=held.ids.size,
        epsilon=0.5,
        radius=radius,
        step=step,
        ridge=ridge,
        norm="keep",
    )
    page.support, page.coef, page.ids = pool.X[held.ids], held.stored[:, None].copy(), held.ids
    page.halve()
    return pool.by_point(page.ids, page.coef[:, 0])


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("budget", "share"), [(16, 0.45), (32, 0.5), (65, 0.6)])
def test_ahpatron_theorem_6(budget: int, share: float, seed: int) -> None:
    """Liao et al. 2024, theorem 6, with c_t U = ||f_t||, lambda = U/(2 sqrt(B)) and zeta measured.

    zeta is the least number with which inequality (11) holds: the mean over the halvings of
    ||f_t - f-bar_t||/U. With kappa = (1/4 + 9 zeta/2) U/sqrt(B), the theorem takes any gamma with
    kappa <= 1 - gamma; the bound is best with equality. Its proof is not in the paper: a halving
    adds (<f_t - f-bar_t, g> + lambda y (f-bar_t - f_t)(x_t))/lambda to the line that theorem 3
    sums, at most (U + lambda)/lambda ||f_t - f-bar_t||, and lemma 1 counts the halvings. It needs
    zeta <= 1/2 and one halving: the term (1 - 2 zeta) ||g||^2 has lemma 1's "- 1" in it.
    """
    pool = blobs(300, 6000, 0.03, seed)
    radius, epsilon, ridge = share * sqrt(budget), 0.6, 5e-4
    step = radius / (2 * sqrt(budget))
    params = {"budget": budget, "radius": radius, "step": step, "ridge": ridge, "norm": "keep"}
    moved, mistakes, near = updates(pool, "ahpatron", epsilon, **params)
    inside = pool.competitors(radius)
    distances = []
    for turn in moved:
        bar = None
        if turn.before.ids.size == budget:
            bar = halved(pool, turn, step)
            other = halved_by_page(pool, turn, radius, step, ridge)
            assert np.abs(pool.gram @ (bar - other)).max() < 1e-8
            assert pool.square(bar) == pytest.approx(pool.square(turn.before.coefs), rel=1e-9)
            distances.append(sqrt(max(0.0, pool.square(turn.before.coefs - bar))))
        for g in inside:
            check_progress(pool, turn, step, radius, g, bar)
    assert budget >= 16
    assert 5 <= len(distances) <= max(2 * len(moved) / budget - 1, 0)
    zeta = float(np.mean(distances)) / radius
    kappa = (1 / 4 + 9 * zeta / 2) * radius / sqrt(budget)
    assert 0 < zeta <= 1 / 2
    assert kappa < epsilon < 1
    gamma = 1 - kappa
    bounds = [
        pool.loss(g) * (1 + kappa / gamma)
        + (1 - 2 * zeta) / gamma * pool.square(g) * sqrt(budget) / radius
        + (kappa - epsilon) / (1 - kappa) * near
        for g in inside
    ]
    assert_bounded(mistakes, bounds, len(pool))
