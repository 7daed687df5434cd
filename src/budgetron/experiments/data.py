"""The rows of an experiment: LIBSVM files of a local folder, or a stream made from a seed."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, vstack

from budgetron.experiments.tables import Set
from budgetron.streams import LibsvmStream, two_gaussians

if TYPE_CHECKING:
    from numpy.typing import NDArray


def default_folder() -> Path:
    """Where the data sets are: `$BUDGETRON_DATA`, or `../shared/data`."""
    return Path(os.environ.get("BUDGETRON_DATA", Path("..") / "shared" / "data"))


def missing(data_set: Set, folder: Path) -> str | None:
    """Why the set cannot be run, in a few words; None if it can."""
    if data_set.not_run is not None:
        return data_set.not_run
    paths = [_path(folder, name) for name in data_set.files]
    absent = [path.name for path in paths if not path.exists()]
    return f"{', '.join(absent)} not in the data folder" if absent else None


def permuted(data_set: Set, seed: int, folder: Path) -> tuple[Any, NDArray[Any]]:
    """The set's rows in the order `default_rng(seed).permutation`, or the seed's own stream."""
    if data_set.flip is not None:
        X, y = two_gaussians(data_set.rows // 2, flip=data_set.flip, seed=seed)
        return X.astype(data_set.dtype), y
    return _permuted(data_set.files, data_set.features, data_set.dtype, folder, seed)


@lru_cache(maxsize=1)
def _permuted(
    files: tuple[str, ...], features: int | None, dtype: str, folder: Path, seed: int
) -> tuple[Any, NDArray[Any]]:
    X, y = _load(files, features, dtype, folder)
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order]


@lru_cache(maxsize=1)
def _load(
    files: tuple[str, ...], features: int | None, dtype: str, folder: Path
) -> tuple[Any, NDArray[Any]]:
    """All rows, one file after the other, in file order; dense if most values are there."""
    chunks: list[Any] = []
    for name in files:
        with LibsvmStream(_path(folder, name), dtype=dtype, n_features=features) as stream:
            chunks.extend(stream)
    X = csr_array(vstack([chunk[0] for chunk in chunks], format="csr"))
    y = np.concatenate([chunk[1] for chunk in chunks])
    dense = X.nnz > 0.5 * X.shape[0] * X.shape[1]
    return (X.toarray() if dense else X), y


def _path(folder: Path, name: str) -> Path:
    return folder / f"{name}.libsvm.xz"
