"""Damaged rows: a learner's loss by the damage shows how robust it is.

The damage is seeded and the same for all learners. Rows are the first 10,000 of a stream; sets
without an order of their own are permuted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.random import Generator

from budgetron.lab.rows import Rows
from studies.real_streams.sources import Source

ROWS = 10_000
SHARE = 0.1
COLUMNS = 10
CLEAN = "clean"

Harm = Callable[[Any, Any, Generator], tuple[Any, Any]]


def flipped(X: Any, y: Any, random: Generator) -> tuple[Any, Any]:
    """Change 10 % of the labels to another label, all with equal probability."""
    labels, codes = np.unique(y, return_inverse=True)
    hit = random.random(len(y)) < SHARE
    turned = (codes + random.integers(1, len(labels), len(y))) % len(labels)
    return X, labels[np.where(hit, turned, codes)]


def missing(X: Any, y: Any, random: Generator) -> tuple[Any, Any]:
    """Remove 10 % of the values."""
    return np.where(random.random(X.shape) < SHARE, np.float32(np.nan), X), y


def noisy(X: Any, y: Any, random: Generator) -> tuple[Any, Any]:
    """Add ten columns of noise."""
    noise = random.standard_normal((len(y), COLUMNS)).astype(np.float32)
    return np.hstack([X, noise]), y


def other_units(X: Any, y: Any, random: Generator) -> tuple[Any, Any]:
    """Multiply every feature by 10^u, u uniform in [-3, 3]."""
    units = 10.0 ** random.uniform(-3, 3, X.shape[1])
    return (X * units).astype(np.float32), y


HARMS: dict[str, Harm] = {
    "10 % of labels flipped": flipped,
    "10 % of values missing": missing,
    "ten columns of noise": noisy,
    "other units": other_units,
}
HARMED = ("elec2", "spam", "phishing", "magic04")


def harmed(source: Source) -> Iterator[Rows]:
    """The clean stream, then one with each damage."""
    rows = source.rows()
    order = np.arange(len(rows.y))
    if not source.ordered:
        order = np.random.default_rng(0).permutation(len(rows.y))
    order = order[:ROWS]
    X, y = rows.X[order], rows.y[order]
    X = X if isinstance(X, np.ndarray) else X.toarray()
    yield Rows(f"{source.name}: {CLEAN}", X, y, given_task=rows.given_task)
    for name, harm in HARMS.items():
        changed, labels = harm(X, y, np.random.default_rng(1))
        yield Rows(f"{source.name}: {name}", changed, labels, given_task=rows.given_task)
