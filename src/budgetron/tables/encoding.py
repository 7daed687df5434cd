"""The encoding of a table: the features of its columns, and the features of any rows.

It is inferred once, from some rows, and never changes after that. Features are in the order of the
table's columns, those of a column in the order of its coding (codings.py), unless the encoding says
otherwise. An encoding is plain data: `to_dict` and `from_dict`.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse

from budgetron.errors import BudgetronError
from budgetron.tables.codings import Coding, Number, coding_of
from budgetron.tables.frames import column_of
from budgetron.tables.kinds import KINDS, Column, Limits, look
from budgetron.tables.parsing import ORDERS, as_text, whole

if TYPE_CHECKING:
    from budgetron.tables.codings import Cells

# Largest encoder in bytes: 64 MB hold half a million categories.
LARGEST = 64_000_000
BLOCK = 4096  # rows assembled at once: they fit into the cache
NOT_A = {"number": "a number", "boolean": "true or false, yes or no", "date": "a date"}


@dataclass(frozen=True)
class Wishes:
    """What a user says about the columns; the rest is inferred.

    Parameters
    ----------
    types : the kind of columns by name (kinds.KINDS, or "date:dmy" and the like)
    decimal : decimal point of numbers that are text: ".", "," or "auto"
    limits : limits of categories and buckets
    most_bytes : an encoding that takes more gets fewer categories instead
    """

    types: Mapping[str, str]
    decimal: str = "auto"
    limits: Limits = field(default_factory=Limits)
    most_bytes: int = LARGEST

    def __post_init__(self) -> None:
        if self.decimal not in (".", ",", "auto"):
            raise BudgetronError(f"decimal must be '.', ',' or 'auto', not {self.decimal!r}")
        for name, kind in self.types.items():
            known, colon, order = str(kind).partition(":")
            if known not in KINDS or (colon and (known != "date" or order not in ORDERS)):
                dates = ", ".join(f"date:{each}" for each in ORDERS)
                what = f"types: column {name!r} is {kind!r}, not one of {', '.join(KINDS)}, {dates}"
                raise BudgetronError(what)


@dataclass(frozen=True)
class Encoding:
    """The columns of a table and their codings.

    Parameters
    ----------
    columns : all columns of the table, in its order
    places : position of each feature in the order of the codings; -1: none; None: in order
    """

    columns: tuple[Column, ...]
    places: tuple[int, ...] | None = None

    # ---- made from rows ----------------------------------------------------------------------

    @classmethod
    def infer(cls, tables: Sequence[Any], wishes: Wishes) -> Encoding:
        """Infer an encoding from rows, given as Arrow tables with the same column names.

        Raises
        ------
        BudgetronError
            If a wish names an unknown column, no column is left, or the column names alone take
            more memory than allowed.
        """
        names = tables[0].column_names
        for wish in wishes.types:
            if wish not in names:
                raise BudgetronError(f"there is no column {wish!r}; {column_hint(wish, names)}")
        limits = wishes.limits
        seen = [joined([table.column(name) for table in tables]) for name in names]
        decimal = wishes.decimal
        while True:
            found = cls(
                tuple(
                    look(name, column, wishes.types.get(name), decimal, limits)
                    for name, column in zip(names, seen, strict=True)
                )
            )
            if decimal == "auto" and any(_has_comma(each) for each in found.columns):
                decimal = "auto,"  # one column shows it for the table: 1.234 is a thousand
                continue
            if found.memory_bytes <= wishes.most_bytes:
                break
            if limits.categories == 0:
                what = f"the encoder of {len(names):,} columns takes {found.memory_bytes:,} bytes"
                raise BudgetronError(f"{what}, more than {wishes.most_bytes:,}: ignore columns")
            limits = replace(limits, categories=limits.categories // 2)
        if not found.coded:
            left = ", ".join(f"{c.name} ({c.kind})" for c in found.columns[:8])
            what = f"no column is left for the features: {left}"
            raise BudgetronError(f"{what}; say what they are (types, --numeric, --categorical)")
        return found

    # ---- properties --------------------------------------------------------------------------

    @cached_property
    def names(self) -> list[str]:
        """The names of all columns."""
        return [each.name for each in self.columns]

    @cached_property
    def coded(self) -> list[Coding]:
        """The codings of the columns that become features."""
        return [each.coding for each in self.columns if each.coding is not None]

    @cached_property
    def _coded_names(self) -> list[str]:
        return [each.name for each in self.coded]

    @cached_property
    def starts(self) -> list[int]:
        """The first feature of each coding, and the number of all features."""
        return [0, *np.cumsum([each.width for each in self.coded]).tolist()]

    @property
    def width(self) -> int:
        """Number of features."""
        return self.starts[-1] if self.places is None else 1 + max(self.places, default=-1)

    @cached_property
    def features(self) -> list[str]:
        """The unique names of the features."""
        names = [name for each in self.coded for name in each.features]
        if self.places is not None:
            by_place = dict(zip(self.places, names, strict=True))
            names = [by_place.get(place, "") for place in range(self.width)]
        if len(set(names)) < len(names):
            names = _different(names)
        return names

    @property
    def memory_bytes(self) -> int:
        """Its size in bytes, without the features' names, which are made on request."""
        size = sys.getsizeof
        total = 0
        for each in self.columns:
            total += size(each) + size(each.name) + size(each.kind) + size(each.why)
            total += size(each.examples) + sum(map(size, each.examples))
            known = getattr(each.coding, "categories", ())
            # as Python objects and, for lookups, as an Arrow array
            total += size(each.coding) + size(known)
            total += sum(size(text) + len(text.encode()) + 4 for text in known)
            seen = getattr(each.coding, "seen", {})
            total += size(seen) + sum(map(size, list(seen)))
        return total

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        columns = [
            {
                **asdict(replace(each, coding=None)),
                "examples": list(each.examples),
                "coding": None if each.coding is None else each.coding.to_dict(),
            }
            for each in self.columns
        ]
        where = {} if self.places is None else {"places": list(self.places)}
        return {"columns": columns, **where}

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Encoding:
        """Make it from the result of `to_dict`.

        Raises
        ------
        BudgetronError
            If it is not an encoding.
        """
        try:
            columns = []
            for each in found["columns"]:
                coding = None if each["coding"] is None else coding_of(each["coding"])
                if coding is not None and coding.name != each["name"]:
                    raise BudgetronError(coding.name)
                rest = {"coding": coding, "examples": tuple(each["examples"])}
                columns.append(Column(**{**each, **rest}))
            places = found.get("places")
            made = cls(tuple(columns), None if places is None else tuple(places))
            texts = [(each.name, each.kind, each.why, *each.examples) for each in columns]
            sound = 0 < made.width < 2**31 and len(set(made.names)) == len(made.names)
            sound &= all(isinstance(each, str) for row in texts for each in row)
            counts = [(each.rows, each.gaps, each.distinct) for each in columns]
            sound &= all(type(each) is int for row in counts for each in row)
            if places is not None:
                sound &= len(places) == made.starts[-1] and all(
                    type(each) is int and -1 <= each < len(places) for each in places
                )
        except (TypeError, ValueError, LookupError, AttributeError):
            sound = False
        if not sound:
            raise BudgetronError("its description of the columns is not valid")
        return made

    def by_column(self, counts: Mapping[int, int]) -> dict[str, int]:
        """Missing values per column, from those of its features; other features by number.

        A missing date misses all its features: it counts once.
        """
        columns = [each.name for each in self.coded for _ in range(each.width)]
        if self.places is not None:
            by_place = dict(zip(self.places, columns, strict=True))
            columns = [by_place.get(place, str(place)) for place in range(self.width)]
        found: dict[str, int] = {}
        for at, count in counts.items():
            name = columns[at] if at < len(columns) else str(at)
            found[name] = max(found.get(name, 0), count)
        return found

    def read_by(self, decimal: str) -> Encoding:
        """The same features for a table whose numbers have this decimal point."""
        columns = (
            replace(each, coding=replace(each.coding, decimal=decimal))
            if isinstance(each.coding, Number)
            else each
            for each in self.columns
        )
        return replace(self, columns=tuple(columns))

    # ---- rows --------------------------------------------------------------------------------

    def check(self, names: Sequence[str]) -> None:
        """Refuse a table that lacks a column that becomes features."""
        known = set(names)
        lost = [each.name for each in self.coded if each.name not in known]
        if lost:
            more = f" (and {len(lost) - 1} more)" if len(lost) > 1 else ""
            what = f"there is no column {lost[0]!r}{more}"
            raise BudgetronError(f"{what}; {column_hint(lost[0], list(names))}")

    def cells(self, table: Any) -> list[Cells]:
        """The features of each coded column's cells."""
        names = table.column_names
        if names != self._coded_names:
            self.check(names)
            table = table.select(self._coded_names)
        pairs = zip(self.coded, table.columns, strict=True)
        return [_encoded(coding, whole(column)) for coding, column in pairs]

    def count(self, cells: Sequence[Cells], unread: Counter[str]) -> None:
        """Add the number of unreadable cells per column."""
        for coding, each in zip(self.coded, cells, strict=True):
            wrong = int(np.count_nonzero(each.wrong))
            if wrong:
                unread[coding.name] += wrong

    def cell(self, j: int, value: Any) -> tuple[tuple[tuple[int, float], ...], bool]:
        """The features of one cell of the j-th coding, and whether it could not be read.

        `value` is any Python object; features that are 0 are left out.
        """
        coding = self.coded[j]
        if coding.kind == "number" and type(value) is float and isfinite(value):  # no need of Arrow
            return (((self.starts[j], value),) if value else ()), False
        cells = _encoded(coding, whole(column_of([value])))
        places, values = cells.places.ravel().tolist(), cells.values.ravel().tolist()
        features = tuple(
            (self.starts[j] + place, each)
            for place, each in zip(places, values, strict=True)
            if each != 0
        )
        return features, bool(cells.wrong[0])

    def encode(self, table: Any, unread: Counter[str], strict: bool = False) -> Any:
        """The rows of an Arrow table as CSR, float64.

        Parameters
        ----------
        table : has at least the columns that become features, in any order
        unread : unreadable cells per column; new ones are added
        strict : such a cell is an error
        """
        cells = self.cells(table)
        for coding, each in zip(self.coded, cells, strict=True) if strict else ():
            if each.wrong.any():
                row = int(np.argmax(each.wrong))
                what = not_of_kind(coding, table.column(coding.name)[row])
                raise BudgetronError(f"row {row + 1}, column {coding.name!r} {what}")
        self.count(cells, unread)
        return self.rows(cells, table.num_rows)

    def rows(self, cells: Sequence[Cells], rows: int, dtype: Any = np.float64) -> Any:
        """So many rows of `cells` as CSR."""
        width = self.starts[-1]
        parts = []
        pending: list[tuple[int, Cells]] = []  # codings with equally many features per row
        for start, each in zip(self.starts, cells, strict=False):
            if each.ends is None:
                pending.append((start, each))
                continue
            parts += [_fixed(pending, rows, width, dtype)] if pending else []
            pending = []
            ends = np.concatenate([[0], each.ends])
            indices = start + each.places
            shape = (rows, width)
            values = each.values.astype(dtype)
            parts.append(scipy.sparse.csr_array((values, indices, ends), shape=shape))
        parts += [_fixed(pending, rows, width, dtype)] if pending else []
        X = parts[0]
        for part in parts[1:]:  # no two share a feature
            X = X + part
        X.has_sorted_indices = True
        return X if self.places is None else _placed(X, self.places, self.width)


def _has_comma(column: Column) -> bool:
    return isinstance(column.coding, Number) and column.coding.decimal == ","


def not_of_kind(coding: Coding, cell: Any) -> str:
    """The error of an unreadable cell, an Arrow scalar."""
    return f"holds {str(cell.as_py())[:40]!r}, not {NOT_A[coding.kind]}"


def _placed(X: Any, places: Sequence[int], width: int) -> Any:
    """The features of X at their positions; several at one position are added."""
    at = np.array(places, np.int64)[X.indices]
    kept = at >= 0
    ends = np.concatenate([[0], np.cumsum(kept)])[X.indptr]
    moved = scipy.sparse.csr_array((X.data[kept], at[kept], ends), shape=(X.shape[0], width))
    moved.sum_duplicates()
    return moved


def _encoded(coding: Coding, column: Any) -> Cells:
    import pyarrow as pa

    try:
        return coding.encode(column)
    except (pa.ArrowException, TypeError):
        what = f"column {coding.name!r} holds {column.type}, not {coding.kind}"
        raise BudgetronError(what) from None


def _fixed(found: list[tuple[int, Cells]], rows: int, width: int, dtype: Any) -> Any:
    """CSR of codings with the same number of features in every row; zeros are left out.

    A row's features are written one after the other, column by column for a block of rows, each
    after the row's last one.
    """
    lengths = np.full(rows, sum(each.one_hot for _, each in found), np.int64)
    kept = [None if each.one_hot else each.values != 0 for _, each in found]
    for mask in kept:
        if mask is not None:
            lengths += mask[:, 0] if mask.shape[1] == 1 else np.count_nonzero(mask, axis=1)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    values = np.ones(ends[-1], dtype)
    indices = np.empty(ends[-1], np.int32)
    for first in range(0, rows, BLOCK):
        block = slice(first, min(first + BLOCK, rows))
        at = ends[block].copy()
        for (start, each), mask in zip(found, kept, strict=True):
            places = each.places if len(each.places) == 1 else each.places[block]
            if mask is None:
                indices[at] = places[:, 0] + start
                at += 1
                continue
            for j in range(mask.shape[1]):
                here = mask[block, j]
                where = at[here]
                values[where] = each.values[block, j][here]
                indices[where] = (places[:, j] if len(places) == 1 else places[here, j]) + start
                at += here
    return scipy.sparse.csr_array((values, indices, ends), shape=(rows, width))


def joined(columns: list[Any]) -> Any:
    """The chunks of a column as one array; chunks of different types as text."""
    import pyarrow as pa

    pieces = [whole(each) for each in columns]
    some = [each for each in pieces if not pa.types.is_null(each.type)]
    if len({str(each.type) for each in some}) > 1 or any(
        pa.types.is_dictionary(each.type) for each in some
    ):
        pieces = [_plain_text(each) for each in pieces]
    elif some:
        pieces = [each.cast(some[0].type) for each in pieces]
    return pieces[0] if len(pieces) == 1 else pa.concat_arrays(pieces)


def _plain_text(column: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return as_text(column)


def column_hint(name: str, names: Sequence[str]) -> str:
    """The nearest column name, or a list of names."""
    near = get_close_matches(name, names, n=1)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"the columns are {', '.join(names[:8])}" + (", ..." if len(names) > 8 else "")


def _different(names: list[str]) -> list[str]:
    """Unique names: repeated ones get a number."""
    taken = set(names)
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        other = name
        while seen[name] > 1 and other in taken:
            other = f"{name} ({seen[name]})"
            if other in taken:
                seen[name] += 1
        taken.add(other)
        found.append(other)
    return found
