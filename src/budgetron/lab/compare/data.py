"""Streams as rows at hand: read once, described, and shared with the workers through files.

A comparison permutes rows, so it holds a stream in memory; an endless one needs a number of rows.
Workers map the arrays from a folder instead of getting copies.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from budgetron.estimators._base.targets import check_labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from budgetron.streams import SourceOptions


@dataclass(frozen=True, eq=False)
class Rows:
    """A stream's rows.

    Attributes
    ----------
    name : what to call it
    X, y : rows, dense or CSR, and labels or targets
    source : where it came from, as the user named it
    told : the task, if the user named it
    skipped : what to tell of malformed rows passed over
    """

    name: str
    X: Any
    y: NDArray[Any]
    source: str = ""
    told: str | None = None
    skipped: str = ""

    @property
    def task(self) -> str:
        """As told; else targets that are not whole numbers make it a regression."""
        if self.told is not None:
            return self.told
        from sklearn.utils.multiclass import type_of_target

        return "regression" if type_of_target(self.y) == "continuous" else "classification"

    def digest(self) -> str:
        """A hash of all that was read."""
        arrays = [self.X.indptr, self.X.indices, self.X.data] if _sparse(self.X) else [self.X]
        found = hashlib.sha256(repr((self.X.shape, str(self.X.dtype))).encode())
        for array in (*arrays, self.y):
            found.update(str(array.dtype).encode())
            found.update(np.ascontiguousarray(array).data)
        return found.hexdigest()[:16]

    def save(self, folder: Path) -> None:
        """Write the arrays where workers find them."""
        folder.mkdir(parents=True)
        names = ("indptr", "indices", "data") if _sparse(self.X) else ("X",)
        for name in names:
            np.save(folder / f"{name}.npy", self.X if name == "X" else getattr(self.X, name))
        np.save(folder / "y.npy", self.y)
        (folder / "shape.json").write_text(json.dumps(self.X.shape), encoding="utf-8")


def saved(folder: Path) -> tuple[Any, NDArray[Any]]:
    """The rows of `Rows.save`, mapped."""

    def array(name: str) -> NDArray[Any]:
        found: NDArray[Any] = np.load(folder / f"{name}.npy", mmap_mode="r")
        return found

    if (folder / "X.npy").exists():
        return array("X"), array("y")
    shape = tuple(json.loads((folder / "shape.json").read_text(encoding="utf-8")))
    parts = (array("data"), array("indices"), array("indptr"))
    return csr_array(parts, shape=shape), array("y")


def load(
    sources: Iterable[Any],
    rows: int | None = None,
    options: SourceOptions | None = None,
) -> list[Rows]:
    """Read streams: names for the opener, `Rows`, or (name, X, y).

    Parameters
    ----------
    sources : the streams
    rows : only so many of each
    options : how to read those that are named
    """
    loaded = []
    for source in sources:
        if isinstance(source, str | Path):
            loaded.append(_read(str(source), rows, options))
        else:
            given = source if isinstance(source, Rows) else Rows(*source)
            X = given.X.tocsr() if _sparse(given.X) else np.asarray(given.X)
            y = _labels(np.asarray(given.y))
            loaded.append(replace(given, X=X[:rows], y=y[:rows]))
    return _named_apart(loaded)


def _named_apart(loaded: Iterable[Rows]) -> list[Rows]:
    """Streams of one name are numbered: "a", "a 2", and no other is called so."""
    named = list(loaded)
    taken = {each.name for each in named}
    seen: set[str] = set()
    for place, each in enumerate(named):
        if each.name in seen:
            free = (f"{each.name} {number}" for number in itertools.count(2))
            named[place] = replace(each, name=next(name for name in free if name not in taken))
        taken.add(named[place].name)
        seen.add(each.name)
    return named


def _read(source: str, rows: int | None, options: SourceOptions | None) -> Rows:
    from budgetron.streams import StreamError, open_stream

    chunks: list[Any] = []
    read = 0
    if source.startswith("synthetic:") and rows is None and "rows=" not in source:
        raise StreamError(source, None, "a synthetic stream has no end: say how many --rows")
    with open_stream(source, options, rows=rows) as stream:
        for X, y in stream:
            chunks.append((X, y))
            read += len(y)
        name, skipped = stream.name, stream.skipped
    if not read:
        raise StreamError(name, None, "no rows to learn from")
    y = _labels(np.concatenate([chunk[1] for chunk in chunks]))[:rows]
    X = _stack([chunk[0] for chunk in chunks])[:rows]
    return Rows(_short(source), X, y, source, skipped=skipped)


def _stack(parts: list[Any]) -> Any:
    """Chunks as one array, or as CSR if less than half of the values are there."""
    width = max(part.shape[1] for part in parts)
    if not _sparse(parts[0]):
        return np.concatenate(parts)
    wide = [csr_array((p.data, p.indices, p.indptr), shape=(p.shape[0], width)) for p in parts]
    X = csr_array(vstack(wide, format="csr"))
    X.has_canonical_format = True
    return X.toarray() if X.nnz > 0.5 * X.shape[0] * X.shape[1] else X


def _labels(y: NDArray[Any]) -> NDArray[Any]:
    """Labels of a dtype that can be mapped from a file."""
    if y.dtype.kind != "O":
        return y
    check_labels(y.tolist())
    return y.astype(str)


def _short(source: str) -> str:
    """`data/a9a.libsvm.xz` is a9a."""
    name = Path(source).name or source
    for ending in (".gz", ".xz", ".bz2", ".zst", ".libsvm", ".svm", ".txt"):
        name = name.removesuffix(ending)
    return {"-": "stdin"}.get(name, name) or source


def _sparse(X: Any) -> bool:
    return bool(issparse(X))
