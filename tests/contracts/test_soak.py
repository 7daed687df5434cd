"""Long runs: always finite, always within budget. BUDGETRON_SOAK_ROUNDS sets how long.

Each learner with a budget runs so many rounds in float32, a third of them with a kernel so wide
that all examples look alike, a third with one so narrow that only copies do. Half of the rows are
copies of a few points, one feature is constant, one always zero, labels are mostly noise. Budgetron
with its defaults runs as many rounds in which rows and labels drift.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import budgetron
from tests.support.cases import BUDGETED, BY_NAME, REGRESSION, Case, attempts
from tests.support.native import native_of

ROUNDS = int(os.environ.get("BUDGETRON_SOAK_ROUNDS", "60000"))
GAMMAS = (1e-7, 2.0, 1e7)
BUDGET = 16
BLOCK = 5_000


def pool(rng: np.random.Generator) -> np.ndarray:
    """Rows of which every other one is a copy of one of forty points."""
    rows = rng.normal(size=(5000, 4)).astype(np.float32)
    rows[::2] = rows[rng.integers(40, size=2500)]
    rows[:, 2] = 1.0
    rows[:, 3] = 0.0
    return rows


def soak(model: Any, targets: Any, rounds: int, classes: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    rows = pool(rng)
    taken: list[int] = []  # bytes after each block
    for start in range(0, rounds, BLOCK):
        X = rows[rng.integers(len(rows), size=min(BLOCK, rounds - start))]
        decisions = model.prequential(X, targets(rng, X), **classes)
        assert np.isfinite(decisions).all()
        assert np.isfinite(model.dual_coef_).all()
        assert model.n_support_ <= BUDGET
        taken.append(model.memory_bytes_)
        native_of(model).check_invariants()
    assert model.n_seen_ == rounds
    assert len(set(taken[2:])) <= 1  # the first check of invariants allocates scratch
    assert attempts(model) >= 0.2 * rounds, "too few updates to mean anything"


def noisy_labels(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    noise = rng.random(len(X)) < 0.5
    return np.where(noise, rng.integers(2, size=len(X)), X[:, 0] * X[:, 1] > 0).astype(int)


def noisy_numbers(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    return np.asarray(X[:, 0] * X[:, 1] + rng.normal(scale=2.0, size=len(X)))


@pytest.mark.filterwarnings("ignore::budgetron.PrecisionWarning")
@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("case", [*BUDGETED, BY_NAME["fogd"]], ids=str)
def test_long_run(case: Case, gamma: float) -> None:
    size = {} if case.name == "fogd" else {"budget": BUDGET}
    model = case.make(gamma=gamma, random_state=0, **size)
    soak(model, noisy_labels, ROUNDS // len(GAMMAS), {"classes": [0, 1]})


@pytest.mark.filterwarnings("ignore::budgetron.PrecisionWarning")
@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("case", [case for case in REGRESSION if case.budget], ids=str)
def test_long_run_of_regression(case: Case, gamma: float) -> None:
    model = case.make(gamma=gamma, random_state=0, budget=BUDGET)
    soak(model, noisy_numbers, ROUNDS // len(GAMMAS), {})


def drifting_rows(rng: np.random.Generator, rows: int, block: int) -> np.ndarray:
    """Four features in different units; two of them move with every block, and jump."""
    X = rng.normal(size=(rows, 4)) * np.array([1.0, 30.0, 0.01, 1.0])
    X[:, 1] += 10.0 * block
    X[:, 2] += 0.05 * (block % 7)
    X[:, 3] = rng.integers(2, size=rows)
    return X.astype(np.float32)


@pytest.mark.filterwarnings("ignore::budgetron.PrecisionWarning")
@pytest.mark.filterwarnings("ignore::budgetron.NotLearningWarning")
@pytest.mark.parametrize("classes", [0, 2, 3], ids=["numbers", "2 classes", "3 classes"])
def test_budgetron_stays_positive_definite_through_drift(classes: int) -> None:
    """All defaults but the budget, float32 rows: units change, drifts reset, the reflex leads."""
    rng = np.random.default_rng(1)
    task = "classification" if classes else "regression"
    model = budgetron.make("budgetron", task=task, budget=BUDGET)
    given = {"classes": list(range(classes))} if classes else {}
    for block, start in enumerate(range(0, ROUNDS, BLOCK)):
        X = drifting_rows(rng, min(BLOCK, ROUNDS - start), block)
        z = np.column_stack([X[:, 0], (X[:, 1] - 10.0 * block) / 30.0])
        turn = 0.9 * block + np.linspace(0.0, 0.9, len(X))  # the border turns, and sometimes jumps
        f = np.cos(turn) * z[:, 0] + np.sin(turn) * z[:, 1] + (block % 5 == 0) * z[:, 0] * z[:, 1]
        f = f + 0.2 * rng.normal(size=len(X))
        y = np.digitize(f, np.linspace(-0.5, 0.5, classes - 1)) if classes > 2 else (f > 0) * 1
        decisions = model.prequential(X, y if classes else 100.0 * f + block, **given)
        assert np.isfinite(decisions).all()
        assert np.isfinite(model.dual_coef_).all()
        if classes:  # margins are about 1
            assert np.abs(decisions).max() < 1e3
            assert np.abs(model.dual_coef_).max() < 1e3
        native_of(model).check_invariants()  # P = U D U' with every D_j above 0
    assert model.n_seen_ == ROUNDS
    assert model.unit_changes_ > 0
    assert model.drift_log_.size > 0
