"""The rows that contracts are checked on: noisy, with repeated rows, zeros and exact duplicates."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[Any]


def class_rows(
    rows: int, width: int = 4, classes: int = 2, seed: int = 0, sparse: bool = False
) -> tuple[Rows, NDArray[Any]]:
    """Rows and labels 0, 1, ...: a non-linear problem of which a tenth of the labels is noise."""
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


def number_rows(
    rows: int, width: int = 4, seed: int = 0, sparse: bool = False
) -> tuple[Rows, NDArray[Any]]:
    """The same rows with numbers for targets: a smooth function of the row, and noise."""
    X, _ = class_rows(rows, width, seed=seed, sparse=sparse)
    noise = np.random.default_rng(seed + 1).normal(scale=0.2, size=rows)
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + noise
