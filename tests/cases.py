"""What the inherited tests run over: a learner gets all of them by being listed here.

A case is a catalogue name with explicit parameters (small budgets, so that streams of a few hundred
rows fill them many times over), the kernels it takes, and the counters of its saved state that show
its branches were really taken.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse

import budgetron

KERNELS: dict[str, dict[str, Any]] = {
    "rbf": {"kernel": "rbf", "gamma": 0.5},
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 1.0},
    "laplacian": {"kernel": "laplacian", "gamma": 0.5},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.3, "coef0": 0.1},
}
DEFINITE = ("rbf", "linear", "poly", "laplacian")


@dataclass(frozen=True)
class Case:
    """A learner and how to test it."""

    name: str
    params: dict[str, Any] = field(default_factory=dict)
    kernels: tuple[str, ...] = tuple(KERNELS)
    branches: tuple[str, ...] = ()  # state counters that must reach 2 in a trace

    @property
    def budget(self) -> int | None:
        return self.params.get("budget")

    def make(self, kernel: str = "rbf", **more: Any) -> Any:
        return budgetron.make(self.name, **{**KERNELS[kernel], **self.params, **more})

    def __str__(self) -> str:
        return self.name


CASES = [
    Case("perceptron"),
    Case(
        "ahpatron",
        {"budget": 12, "epsilon": 0.5, "radius": 3.0, "step": 0.4, "ridge": 5e-4, "norm": "keep"},
        kernels=DEFINITE,
        branches=("halvings",),
    ),
]
BY_NAME = {case.name: case for case in CASES}
BUDGETED = [case for case in CASES if case.budget is not None]


def stream(
    rows: int, width: int = 4, classes: int = 2, seed: int = 0, sparse: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """A noisy non-linear stream with repeated rows, zeros and exact duplicates."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, width))
    X[rng.random(X.shape) < (0.5 if sparse else 0.1)] = 0.0
    centres = np.random.default_rng(99).normal(size=(3 * classes, width))
    y = ((X[:, None, :] - centres) ** 2).sum(axis=2).argmin(axis=1) % classes
    flipped = rng.random(rows) < 0.1
    y[flipped] = rng.integers(classes, size=flipped.sum())
    repeats = np.arange(7, rows, 7)
    X[repeats] = X[repeats - 5]
    return X, y


def as_format(X: np.ndarray, layout: str) -> Any:
    return X if layout == "dense" else scipy.sparse.csr_array(X)


def same_state(first: Any, second: Any) -> None:
    """Two estimators are equal to the bit."""
    one, other = first._engine.native.save(), second._engine.native.save()
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)
