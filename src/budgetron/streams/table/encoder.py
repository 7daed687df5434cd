"""From a table's rows to chunks: features by a known or inferred encoding, and labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from budgetron.errors import BudgetronError
from budgetron.streams.base import StreamError
from budgetron.streams.table.columns import Columns
from budgetron.streams.table.labels import Label
from budgetron.streams.table.roles import Layout, Roles
from budgetron.tables.encoding import Encoding, Wishes, joined, not_of_kind
from budgetron.tables.kinds import Limits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from budgetron.streams.base import Chunk
    from budgetron.tables.codings import Cells

_DENSE = {"number", "boolean", "date"}  # kinds whose features are rarely 0
_WORDS = ("category", "hash", "text")
ABSENT = (
    'has no value: scale="auto" (--scale auto) treats it as missing; or fill it in, leave the '
    "column out (columns, --columns) or skip such rows (skip_bad, --skip-bad)"
)
UNREAD = 'scale="auto" (--scale auto) treats it as missing, skip_bad (--skip-bad) skips it'


class Encoded(NamedTuple):
    """A chunk of a batch's good rows, and what else is known about the batch.

    `good` marks these rows, `bad` has the errors of the others, `unread` has the number of
    unreadable cells in good rows, by column.
    """

    chunk: Chunk
    good: NDArray[np.bool_]
    bad: list[StreamError]
    unread: Counter[str]


class Encoder:
    """Turns batches of one table into chunks (X, y), once it has an encoding.

    X is dense if all columns are numbers, dates or booleans; else CSR.

    Parameters
    ----------
    name : name of the source, for messages
    names : names of the table's columns
    roles : their roles
    dtype : type of X
    gaps : a missing number is NaN; False: the row with it is bad
    likely : returns the probable label column

    Attributes
    ----------
    label : the label column; None: there is none
    labels : what the labels are; None: not known yet, or there are none
    encoding : None: not known yet
    kept : columns to carry
    numbers, words : columns of numbers, and columns with few distinct texts, as far as known
    large, small : per column, numbers so far that are too large for the type of X, and those that
        cannot be told from 0 in it
    """

    def __init__(
        self,
        name: str,
        names: Sequence[str],
        roles: Roles,
        dtype: np.dtype[Any],
        *,
        gaps: bool = True,
        likely: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._name = name
        self._gaps = gaps
        self._dtype = dtype
        self._strict = roles.strict
        self._optional = roles.labelled is None  # a row without a label is a row
        columns = Columns(name, names, likely)
        label = columns.label(roles)
        self.label = None if roles.labelled is False else label
        chosen = None if roles.columns is None else columns.find_all(roles.columns)
        if self.label is not None and self.label in (chosen or ()):
            what = f"column {self.label!r} is the label, so it cannot be a feature too"
            raise StreamError(name, None, f"{what}: leave it out of columns (--columns)")
        self._features = chosen or [each for each in names if each != label]
        if not self._features or chosen == []:
            raise StreamError(name, None, "no column is left for the features")
        self.kept = columns.find_all(roles.carry)
        self._label_wish: str | None = None
        self._renamed: dict[str, str] = {}  # names in the encoding -> names in the table
        self.labels: Label | None = None
        self.encoding: Encoding | None = None
        self.numbers: list[str] = []
        self.words: list[str] = []
        self.large: Counter[str] = Counter()
        self.small: Counter[str] = Counter()
        try:
            types = self._types(columns, roles)
            limits = Limits(
                buckets=roles.hash_width,
                fill=roles.fill_gaps,
                more_rows=True,
                ids=roles.ids or chosen is not None,
            )
            self._wishes = Wishes(types, roles.decimal, limits)
            if roles.layout is not None:
                self._read_as(roles.layout, columns, chosen)
        except StreamError:
            raise
        except BudgetronError as error:
            raise StreamError(name, None, str(error)) from None

    def _types(self, columns: Columns, roles: Roles) -> dict[str, str]:
        """The given kinds, by column name; without that of the label."""
        types = columns.kinds(roles)
        features = frozenset(self._features)
        for name, kind in types.items():
            if name not in features and kind != "ignore" and name != self.label:
                what = f"column {name!r} is to be a {kind} but is not among the features"
                raise StreamError(self._name, None, what)
        wish = None if self.label is None else types.pop(self.label, None)
        if wish is not None and wish not in ("number", *_WORDS):
            what = f"column {self.label!r} is the label: take number or category, not {wish}"
            raise StreamError(self._name, None, what)
        self._label_wish = "category" if wish in _WORDS else wish
        return {each: kind for each, kind in types.items() if each in features}

    def _read_as(self, layout: Layout, columns: Columns, chosen: list[str] | None) -> None:
        """Use the encoding of an earlier table, and the kind of its labels."""
        known = layout.encoding
        self._renamed = dict(layout.renamed or {})
        if chosen is not None:
            learned = [each.name for each in known.coded]
            if len(learned) != len(chosen):
                what = f"{len(learned)} columns were learned, but {len(chosen)} are given"
                raise BudgetronError(f"{what} (columns, --columns)")
            self._renamed = dict(zip(learned, chosen, strict=True))
        before = {here: name for name, here in self._renamed.items()}
        known.check([before.get(each, each) for each in columns.names])
        if layout.label is not None and layout.label.name == self.label:
            self.labels = layout.label
        self._take(known if self._wishes.decimal == "auto" else known.read_by(self._wishes.decimal))

    def infer(self, batches: Sequence[Any]) -> None:
        """Infer the columns from the first rows."""
        import pyarrow as pa

        tables = [pa.Table.from_batches([each]) for each in batches]
        try:
            self._look_at_labels([each for table in tables for each in self._label_of(table)])
            self._take(Encoding.infer([t.select(self._features) for t in tables], self._wishes))
        except BudgetronError as error:
            raise StreamError(self._name, None, str(error)) from None

    def _label_of(self, table: Any) -> list[Any]:
        return [] if self.label is None else table.column(self.label).chunks

    def _look_at_labels(self, columns: list[Any]) -> None:
        if columns and self.label is not None and self.labels is None:
            wishes = self._wishes
            self.labels = Label.by(self.label, joined(columns), self._label_wish, wishes.decimal)

    def _take(self, encoding: Encoding) -> None:
        self.encoding = encoding
        coded = encoding.coded
        self._features = [self._here(each.name) for each in coded]
        # Numbers with a decimal point may be parsed as numbers; all others are read as text.
        # Carried cells are read as text too: 007 stays 007.
        plain = [each.name for each in coded if each.to_dict().get("decimal") == "."]
        self.numbers = [self._here(each) for each in plain if self._here(each) not in self.kept]
        self.words = [self._here(each.name) for each in coded if each.kind == "category"]
        self._dense = {each.kind for each in coded} <= _DENSE and encoding.places is None

    def _here(self, name: str) -> str:
        return self._renamed.get(name, name)

    @property
    def needed(self) -> list[str]:
        """The columns to read."""
        label = [] if self.label is None else [self.label]
        return list(dict.fromkeys([*self._features, *label, *self.kept]))

    def carried(self, batch: Any) -> list[tuple[str, Any]]:
        """The columns to carry, by name."""
        return [(name, batch.column(name)) for name in self.kept]

    @property
    def width(self) -> int:
        """The width of X; 0 if it is not known yet."""
        return 0 if self.encoding is None else self.encoding.width

    @property
    def layout(self) -> Layout | None:
        """The columns as features."""
        return None if self.encoding is None else Layout.of(self.encoding, self.labels)

    def encode(self, batch: Any, numbers: NDArray[np.int64]) -> Encoded:
        """Rows of an Arrow record batch; `numbers` are their row numbers in messages."""
        import pyarrow as pa

        assert self.encoding is not None
        encoding = self.encoding
        table = pa.Table.from_batches([batch])
        names = [each.name for each in encoding.coded]
        features = table.select(self._features).rename_columns(names)
        bad: dict[int, StreamError] = {}
        try:
            cells = encoding.cells(features)
            if self._strict or not self._gaps:
                for coding, here, each in zip(encoding.coded, self._features, cells, strict=True):
                    wrong = partial(self._wrong, bad, numbers, here)
                    self._check(coding, each, batch.column(here), wrong)
            y = self._read_labels(table, partial(self._wrong, bad, numbers, self.label))
        except BudgetronError as error:
            raise StreamError(self._name, None, str(error)) from None
        X = self._rows(cells, batch.num_rows)
        good = np.ones(batch.num_rows, bool)
        good[list(bad)] = False
        if bad:
            X, y = X[good], y[good]
            cells = [each._replace(wrong=each.wrong & good) for each in cells]
        unread: Counter[str] = Counter()
        encoding.count(cells, unread)
        self._count_out_of_range(cells)
        return Encoded((X, y), good, [bad[i] for i in sorted(bad)], unread)

    def _wrong(
        self,
        bad: dict[int, StreamError],
        numbers: NDArray[np.int64],
        column: str | None,
        i: int,
        what: str,
    ) -> None:
        where = f"row {numbers[i]}, column {column!r}"
        bad.setdefault(i, StreamError(self._name, None, f"{where} {what}"))

    def _check(
        self, coding: Any, cells: Cells, column: Any, wrong: Callable[[int, str], None]
    ) -> None:
        """Report cells that make their row bad."""
        if self._strict:
            for i in np.nonzero(cells.wrong)[0].tolist():
                wrong(i, not_of_kind(coding, column[i]))
        if not self._gaps and coding.kind in _DENSE:
            for i in np.nonzero(np.isnan(cells.values).any(axis=1))[0].tolist():
                unread = cells.wrong[i]
                wrong(i, f"{not_of_kind(coding, column[i])}: {UNREAD}" if unread else ABSENT)

    def _count_out_of_range(self, cells: list[Cells]) -> None:
        assert self.encoding is not None
        for coding, column, each in zip(self.encoding.coded, self._features, cells, strict=True):
            if coding.kind != "number":
                continue
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                kept = each.values.astype(self._dtype)
                if self._dtype == np.float32:
                    if not np.isfinite(kept.sum()) and (large := int(np.isinf(kept).sum())):
                        self.large[column] += large
                else:
                    kept = kept * kept  # distances are sums of squares
            small = int(np.count_nonzero(each.values) - np.count_nonzero(kept))
            if small:
                self.small[column] += small

    def _read_labels(self, table: Any, wrong: Callable[[int, str], None]) -> NDArray[Any]:
        if self.label is None:
            return np.full(table.num_rows, np.nan)
        self._look_at_labels(self._label_of(table))  # an older file, which did not keep it
        assert self.labels is not None
        return self.labels.read(table.column(self.label), wrong, optional=self._optional)

    def _rows(self, cells: list[Cells], rows: int) -> Any:
        assert self.encoding is not None
        with np.errstate(over="ignore"):
            if not self._dense:
                X = self.encoding.rows(cells, rows, self._dtype)
                _in_range(X.data)
                return X
            dense = np.empty((rows, self.encoding.width), self._dtype)
            for start, each in zip(self.encoding.starts, cells, strict=False):
                dense[:, start : start + each.values.shape[1]] = each.values
            return _in_range(dense)


def _in_range(values: NDArray[Any]) -> NDArray[Any]:
    """Finite values: what is too large for float32 becomes its largest number."""
    most = np.finfo(values.dtype).max
    return np.clip(values, -most, most, out=values)
