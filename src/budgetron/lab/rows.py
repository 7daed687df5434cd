"""Streams as rows in memory: read once, described, permuted.

A comparison permutes rows, so it holds a stream in memory; an endless stream needs a number of
rows. Processes map the arrays from one file (by joblib), so they hold no copies.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from budgetron.datasets import stacked
from budgetron.errors import BudgetronError
from budgetron.estimators._base.targets import check_labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from budgetron.streams import SourceOptions


@dataclass(frozen=True, eq=False)
class Rows:
    """A stream's rows.

    Attributes
    ----------
    name : name of the stream
    X, y : rows, dense or CSR, and labels or targets
    source : its origin, as the user named it
    given_task : "classification" or "regression"; None: from the labels
    skipped : message about malformed rows that were skipped

    Examples
    --------
    >>> from budgetron.compare import Rows
    >>> from budgetron.streams import two_gaussians
    >>> Rows("noisy", *two_gaussians(100)).X.shape
    (200, 2)
    """

    name: str
    X: Any
    y: NDArray[Any]
    source: str = ""
    given_task: str | None = None
    skipped: str = ""

    @cached_property
    def task(self) -> str:
        """As given; else regression if targets are not whole numbers."""
        if self.given_task is not None:
            return self.given_task
        from sklearn.utils.multiclass import type_of_target

        return "regression" if type_of_target(self.y) == "continuous" else "classification"

    @cached_property
    def has_gaps(self) -> bool:
        """Whether values are missing."""
        values = self.X.data if _sparse(self.X) else self.X
        return values.dtype.kind == "f" and bool(np.isnan(values).any())

    @cached_property
    def labels(self) -> NDArray[Any]:
        """All labels, sorted."""
        return np.unique(self.y)

    def label_called(self, text: str | None) -> Any:
        """The label written like this; None for None, and for regression.

        Raises
        ------
        BudgetronError
            If there is no such label.
        """
        if text is None or self.task == "regression":
            return None
        found = {label_text(label): label for label in self.labels.tolist()}
        if text not in found:
            raise BudgetronError(f"{self.name} has no class {text!r}; there are {', '.join(found)}")
        return found[text]

    def positive(self, named: str | None) -> str | None:
        """The class for precision, recall and F1: the one given, else the larger of two.

        None: they are the mean over the classes, or there are no classes.
        """
        if self.task == "regression" or (named is None and len(self.labels) != 2):
            return None
        return named if named is not None else label_text(self.labels.tolist()[1])

    @cached_property
    def digest(self) -> str:
        """A hash of all rows."""
        arrays = [self.X.indptr, self.X.indices, self.X.data] if _sparse(self.X) else [self.X]
        found = hashlib.sha256(repr((self.X.shape, str(self.X.dtype))).encode())
        for array in (*arrays, self.y):
            found.update(str(array.dtype).encode())
            found.update(np.ascontiguousarray(array).data)
        return found.hexdigest()[:16]

    def permuted(self, seed: int | None) -> tuple[Any, NDArray[Any]]:
        """X and y in the order of the seed; None: unchanged. The last result is cached."""
        global _last
        found = _last  # read once: another thread may want other rows
        if found is None or found[:2] != (self.digest, seed):
            order = slice(None) if seed is None else order_of(len(self.y), seed)
            found = _last = self.digest, seed, taken(self.X, order), self.y[order]
        return found[2:]


# Cache of `Rows.permuted`: digest, seed, X and y. A process runs cells of one permutation in turn.
_last: tuple[str, int | None, Any, NDArray[Any]] | None = None


def order_of(count: int, seed: int) -> NDArray[Any]:
    """The permutation of so many rows for this seed, everywhere in the laboratory."""
    return np.random.default_rng(seed).permutation(count)


def taken(X: Any, order: Any) -> Any:
    """These rows; sparse ones with the 32-bit indices that LIBSVM needs."""
    rows = X[order]
    if _sparse(rows):
        rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    return rows


def label_text(label: Any) -> str:
    """A label as people write it: 1, not 1.0."""
    return f"{label:.15g}" if isinstance(label, float) else str(label)


def load(
    sources: Iterable[Any],
    rows: int | None = None,
    options: SourceOptions | None = None,
    task: str | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> list[Rows]:
    """Read streams: names for the opener, `Rows`, or (name, X, y).

    Parameters
    ----------
    sources : the streams
    rows : number of rows to use of each
    options : how to read those that are named
    task : task of all; None: as given with them, or from their labels
    say : receives messages about a table's column kinds, and the task of its labels

    Raises
    ------
    BudgetronError
        If a stream cannot be read, or one that is named has too many classes.

    Examples
    --------
    >>> from budgetron.compare import load
    >>> [rows] = load(["synthetic:sea"], rows=50)
    >>> rows.name, rows.X.shape
    ('synthetic:sea', (50, 3))
    """
    loaded = []
    for source in sources:
        if isinstance(source, str | Path):
            loaded.append(_read(str(source), rows, options, task, say))
        else:
            given = source if isinstance(source, Rows) else Rows(*source)
            X = given.X.tocsr() if _sparse(given.X) else np.asarray(given.X)
            y = _labels(np.asarray(given.y))
            task_of = task or given.given_task
            loaded.append(replace(given, X=X[:rows], y=y[:rows], given_task=task_of))
    return _named_apart(loaded)


def _named_apart(loaded: Iterable[Rows]) -> list[Rows]:
    """Number streams of the same name: "a", "a 2"; all names are unique."""
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


def _read(
    source: str,
    rows: int | None,
    options: SourceOptions | None,
    task: str | None,
    say: Callable[[str], None],
) -> Rows:
    from budgetron.streams import StreamError, open_stream
    from budgetron.streams.table.labels import refusal

    if source.startswith("synthetic:") and rows is None and "rows=" not in source:
        raise StreamError(source, None, "a synthetic stream has no end: add --rows")
    with open_stream(source, options, rows=rows) as stream:
        for text in stream.column_notices:
            say(text)
        label = getattr(stream, "label", None)
        if task is None and label is not None:
            task = label.task
            if label.sentence:
                say(label.sentence)
        chunks = list(stream)
        name, skipped = stream.name, stream.skipped
        for text in stream.cell_notices:
            say(text)
    if not sum(len(y) for _, y in chunks):
        raise StreamError(name, None, "no rows to learn from")
    y = _labels(np.concatenate([y for _, y in chunks]))[:rows]
    X = stacked([X for X, _ in chunks])[:rows]
    found = Rows(_short(source), X, y, source, task, skipped)
    if found.task == "classification":
        refused = refusal(label, len(found.labels), numeric=y.dtype.kind != "U")
        if refused:
            raise StreamError(name, None, refused)
    return found


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
