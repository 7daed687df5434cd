"""Streams as rows at hand: read once, described, permuted.

A comparison permutes rows, so it holds a stream in memory; an endless one needs a number of rows.
Processes that get rows map their arrays from one file (joblib does that), so they hold no copies.
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
    name : what to call it
    X, y : rows, dense or CSR, and labels or targets
    source : where it came from, as the user named it
    given_task : "classification" or "regression"; None: as the labels are
    skipped : what to say of malformed rows that were left out
    """

    name: str
    X: Any
    y: NDArray[Any]
    source: str = ""
    given_task: str | None = None
    skipped: str = ""

    @cached_property
    def task(self) -> str:
        """As given; else targets that are not whole numbers make it a regression."""
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
        """All of them, sorted."""
        return np.unique(self.y)

    def label_called(self, text: str | None) -> Any:
        """The label that is written so; None for None, and of a regression.

        Raises
        ------
        BudgetronError
            If there is none.
        """
        if text is None or self.task == "regression":
            return None
        found = {label_text(label): label for label in self.labels.tolist()}
        if text not in found:
            raise BudgetronError(f"{self.name} has no class {text!r}; there are {', '.join(found)}")
        return found[text]

    def positive(self, named: str | None) -> str | None:
        """The class that precision, recall and F1 are of: the one named, else the larger of two.

        None: they are the mean over the classes, or there are no classes.
        """
        if self.task == "regression" or (named is None and len(self.labels) != 2):
            return None
        return named if named is not None else label_text(self.labels.tolist()[1])

    @cached_property
    def digest(self) -> str:
        """A hash of all that was read."""
        arrays = [self.X.indptr, self.X.indices, self.X.data] if _sparse(self.X) else [self.X]
        found = hashlib.sha256(repr((self.X.shape, str(self.X.dtype))).encode())
        for array in (*arrays, self.y):
            found.update(str(array.dtype).encode())
            found.update(np.ascontiguousarray(array).data)
        return found.hexdigest()[:16]

    def permuted(self, seed: int | None) -> tuple[Any, NDArray[Any]]:
        """X and y in the order of the seed; None: in their own. The last answer is kept."""
        global _last
        found = _last  # read once: another thread may ask for other rows
        if found is None or found[:2] != (self.digest, seed):
            order = slice(None) if seed is None else order_of(len(self.y), seed)
            found = _last = self.digest, seed, taken(self.X, order), self.y[order]
        return found[2:]


# Of `Rows.permuted`: digest, seed, X and y. A process runs cells of one permutation in turn.
_last: tuple[str, int | None, Any, NDArray[Any]] | None = None


def order_of(count: int, seed: int) -> NDArray[Any]:
    """The permutation of so many rows that has this seed, everywhere in the laboratory."""
    return np.random.default_rng(seed).permutation(count)


def taken(X: Any, order: Any) -> Any:
    """These rows; sparse ones with the narrow indices that LIBSVM asks for."""
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
    rows : only so many of each
    options : how to read those that are named
    task : of all; None: as given with them, or by their labels
    say : is told what a table's columns are taken for, and which task its labels are for

    Raises
    ------
    BudgetronError
        If a stream cannot be read, or one that is named has too many classes.
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
        raise StreamError(source, None, "a synthetic stream has no end: say how many --rows")
    with open_stream(source, options, rows=rows) as stream:
        for text in stream.told_of_columns:
            say(text)
        label = getattr(stream, "label", None)
        if task is None and label is not None:
            task = label.task
            if label.sentence:
                say(label.sentence)
        chunks = list(stream)
        name, skipped = stream.name, stream.skipped
        for text in stream.told_of_cells:
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
