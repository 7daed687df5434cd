"""Streams of keys that differ."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import budgetron


class Keyed(NamedTuple):
    """Keys, rows and labels."""

    keys: NDArray[np.int64]
    X: NDArray[Any]
    y: NDArray[Any]


def keyed(
    rows: int = 2000, keys: int = 20, width: int = 4, classes: int = 2, seed: int = 0
) -> Keyed:
    """Every key has its own border, and features have different sizes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, width))
    own = rng.normal(size=(keys, width, classes)) + rng.normal(size=(width, classes))
    named = rng.integers(0, keys, rows)
    y = np.einsum("ij,ijk->ik", X, own[named]).argmax(axis=1)
    return Keyed(named, X * 10.0 ** rng.integers(-2, 3, width) + 3.0, y)


def least_memory(algorithm: str, width: int, **settings: Any) -> int:
    """The least memory of a fleet, read from the error of one that is too small."""
    fleet = budgetron.Fleet(algorithm, memory=1, **settings)
    try:
        fleet.learn([0], np.ones((1, width)), [settings["classes"][0]])
    except budgetron.BudgetronError as error:
        return int(re.findall(r"at least (\d+)", str(error))[0])
    raise AssertionError("a fleet of one byte was made")
