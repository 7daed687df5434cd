"""The rows of an experiment: those of `budgetron.datasets`, or a stream from a seed."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from budgetron import datasets
from budgetron.errors import BudgetronError
from budgetron.lab.reproduce.tables import Set
from budgetron.lab.rows import Rows, order_of, taken
from budgetron.streams import two_gaussians

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Split(NamedTuple):
    """Rows to learn in this order, and rows to predict afterwards, which may be none.

    `total` is the length of the whole stream, of which they are the start; None: they are all of
    it.
    """

    X: Any
    y: NDArray[Any]
    test_X: Any
    test_y: NDArray[Any]
    total: int | None = None


def missing(data_set: Set) -> str | None:
    """Why the set cannot be run, in a few words; None if it can."""
    if data_set.not_run is not None:
        return data_set.not_run
    absent = [name for name in _names(data_set) if not datasets.here(name)]
    by_hand = [name for name in absent if any(file.by_hand for file in datasets.named(name)[1])]
    if by_hand:
        return f"not here, and made by hand: budgetron data list {' '.join(by_hand)} says how"
    return f"not here; fetch it: budgetron data get {' '.join(absent)}" if absent else None


def permuted(data_set: Set, seed: int) -> Split:
    """The set's rows in the order `default_rng(seed).permutation`, or the stream of the seed."""
    if data_set.fixed:
        seed = 0
    return _permuted(replace(data_set, published=()), _places(data_set), seed)


def whole(data_set: Set, most: int | None = None, task: str | None = None) -> Rows:
    """All rows in the order of the files, prepared; if there are more, `most` drawn once."""
    X, y, _ = _load(replace(data_set, published=()), _places(data_set))
    kept: Any = slice(None)
    if most is not None and len(y) > most:
        kept = np.sort(order_of(len(y), 0)[:most])
    return Rows(data_set.name, taken(X, kept), y[kept], given_task=task)


def _names(data_set: Set) -> tuple[str, ...]:
    return (*data_set.files, *data_set.test)


def _places(data_set: Set) -> tuple[Path, ...]:
    """Where its rows come from; rows that are kept are kept for these files."""
    return tuple(path for name in _names(data_set) for path, _ in datasets.sources(name))


@lru_cache(maxsize=1)
def _load(data_set: Set, places: tuple[Path, ...]) -> tuple[Any, NDArray[Any], int]:
    """All rows in file order, prepared; and how many of them to learn."""
    parts = [_read(data_set, name) for name in _names(data_set)]
    if data_set.nonzero:
        parts = [_nonzero(*part) for part in parts]
    learned = sum(len(part[1]) for part in parts[: len(data_set.files)])
    X = parts[0][0] if len(parts) == 1 else datasets.stacked([part[0] for part in parts])
    y = np.concatenate([part[1] for part in parts])
    if data_set.scale is not None:
        X = scaled(X, data_set.scale)
    if data_set.factor != 1:
        X = X * data_set.factor
    if data_set.target is not None:
        y = scaled(y[:, None].astype(np.float64), data_set.target)[:, 0]
    if data_set.above is not None:
        y = (y > data_set.above).astype(np.int64)
    if data_set.against is not None:
        y = (y == data_set.against).astype(np.int64)
    X = X.astype(data_set.dtype)
    return (X if isinstance(X, np.ndarray) else csr_array(X)), y, learned


@lru_cache(maxsize=1)
def _permuted(data_set: Set, places: tuple[Path, ...], seed: int) -> Split:
    if data_set.flip is not None:
        X, y = two_gaussians(data_set.rows // 2, flip=data_set.flip, seed=seed)
        return Split(X.astype(data_set.dtype), y, X[:0], y[:0])
    X, y, learned = _load(data_set, places)
    if data_set.halves:
        y = np.isin(y, half_of(np.unique(y).tolist(), seed)).astype(np.int64)
    order = balanced(y[:learned], seed) if data_set.balanced else order_of(learned, seed)
    rest = np.arange(learned, len(y))
    if data_set.holdout:
        kept = len(order) - round(data_set.holdout * len(order))
        order, rest = order[:kept], order[kept:]
    return Split(taken(X, order), y[order], taken(X, rest), y[rest])


def balanced(y: NDArray[Any], seed: int) -> NDArray[Any]:
    """All rows of the smaller of two classes and as many of the other, drawn at random.

    Examples
    --------
    >>> sorted(np.array([0, 1, 0, 0, 1, 0])[balanced(np.array([0, 1, 0, 0, 1, 0]), 0)].tolist())
    [0, 0, 1, 1]
    """
    random = np.random.default_rng(seed)
    small, large = sorted((np.flatnonzero(y == label) for label in np.unique(y)), key=len)
    rows = np.concatenate([small, random.choice(large, len(small), replace=False)])
    order: NDArray[Any] = random.permutation(rows)
    return order


def half_of(classes: list[Any], seed: int) -> list[Any]:
    """Half of the classes, the first always among them; seeds go through all splits in turn.

    Examples
    --------
    >>> sorted(half_of([0, 1, 2, 3], seed) for seed in range(3))
    [[0, 1], [0, 2], [0, 3]]
    """
    splits = list(combinations(classes[1:], len(classes) // 2 - 1))
    order = np.random.default_rng(0).permutation(len(splits))
    return [classes[0], *splits[order[seed % len(splits)]]]


def scaled(X: Any, how: str) -> Any:
    """Scale every column to [0, 1] ("unit"), [-1, 1] ("both"), or to mean 0 and deviation 1.

    A constant column becomes 0. "whole" scales all columns to [0, 1] together, as for pixels.
    Sparse rows become dense, except with "unit" if no value is negative: then zeros stay zeros.

    Examples
    --------
    >>> scaled(np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]]), "both").T
    array([[-1.,  0.,  1.],
           [ 0.,  0.,  0.]])
    """
    if not isinstance(X, np.ndarray):
        low = X.min(axis=0).toarray().ravel()
        if how == "unit" and np.min(low) >= 0:
            return _unit_sparse(X, low)
        X = X.toarray()
    X = np.asarray(X, dtype=np.float64)
    if how == "standard":
        middle, width = X.mean(axis=0), X.std(axis=0)
    elif how == "whole":
        middle, width = X.min(), np.ptp(X)
    elif how in ("unit", "both"):
        low, high = X.min(axis=0), X.max(axis=0)
        middle = low if how == "unit" else (low + high) / 2
        width = (high - low) / (1 if how == "unit" else 2)
    else:
        raise BudgetronError(
            f"scale is {how!r}; allowed are 'unit', 'both', 'whole' and 'standard'"
        )
    result: NDArray[Any] = (X - middle) / np.where(width > 0, width, 1.0)
    return result


def _unit_sparse(X: Any, low: NDArray[Any]) -> Any:
    """To [0, 1]: a column whose least value is above 0 has no implicit zero to move."""
    width = X.max(axis=0).toarray().ravel() - low
    values = (X.data - low[X.indices]) / np.where(width > 0, width, 1.0)[X.indices]
    return csr_array((values, X.indices, X.indptr), shape=X.shape)


def _read(data_set: Set, name: str) -> tuple[Any, NDArray[Any]]:
    dtype = data_set.dtype if data_set.scale is None else "float64"
    known, files = datasets.named(name)
    return datasets.load(known.name, [file.part for file in files], dtype, data_set.first)


def _nonzero(X: Any, y: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
    """Without the rows whose features are all 0."""
    kept = np.flatnonzero(abs(X).sum(axis=1))
    return X[kept], y[kept]
