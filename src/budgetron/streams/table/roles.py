"""The role of each column of a table, as a user gives it, and how a table was read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

from budgetron.errors import BudgetronError
from budgetron.streams.table.labels import Label
from budgetron.tables.encoding import Encoding
from budgetron.tables.older import of_older

Column: TypeAlias = str | int

# Number of rows from which kinds are inferred.
INFER_ROWS = 1000


def spans(text: str) -> list[str]:
    """Columns as people list them: names or numbers separated by commas, ranges of numbers.

    >>> spans("0,3-5,age")
    ['0', '3', '4', '5', 'age']
    """
    listed: list[str] = []
    for each in filter(None, (part.strip() for part in text.split(","))):
        first, dash, last = each.partition("-")
        if dash and first.isdigit() and last.isdigit():
            listed += map(str, range(int(first), int(last) + 1))
        else:
            listed.append(each)
    return listed


@dataclass(frozen=True)
class Layout:
    """How a table's columns became features; other tables for the same model are read this way.

    Parameters
    ----------
    found : the encoding, as data
    label : what the labels are
    renamed : for columns of the encoding that have other names in the table to read, these names
    older : written by a version whose categories grew with the rows
    """

    found: Mapping[str, Any]
    label: Label | None = None
    renamed: Mapping[str, str] | None = None
    older: bool = False

    @cached_property
    def encoding(self) -> Encoding:
        return Encoding.from_dict(self.found)

    def to_json(self) -> dict[str, Any]:
        label = {} if self.label is None else {"label": self.label.to_json()}
        return {"encoding": dict(self.found), **label}

    @classmethod
    def of(cls, encoding: Encoding, label: Label | None = None) -> Layout:
        return cls(encoding.to_dict(), label)

    @classmethod
    def from_json(cls, found: Any) -> Layout:
        """Make it from the result of `to_json`, of this or an earlier version.

        Raises
        ------
        BudgetronError
            If it is not a layout.
        """
        if not isinstance(found, dict):
            raise BudgetronError("its description of the columns is not valid")
        if "encoding" not in found:
            return cls(of_older(found).to_dict(), older=bool(found["categorical"]))
        label = None if found.get("label") is None else Label.from_json(found["label"])
        made = cls(found["encoding"], label)
        made.encoding  # noqa: B018 (which says what is wrong)
        return made

    @property
    def options(self) -> dict[str, Any]:
        """The fields of `SourceOptions` that read another table the same way."""
        return {"layout": self}

    def unlabelled(self) -> Layout:
        """For a table without a label: column numbers are counted without the label column."""
        names = self.encoding.names
        if not {*names} < {str(i) for i in range(len(names) + 1)}:  # not all columns but the label
            return self
        place = {each: str(i) for i, each in enumerate(sorted(names, key=int))}
        return replace(self, renamed=place)


@dataclass(frozen=True)
class Roles:
    """The role of each column.

    Parameters
    ----------
    label : name or number (from 0; -1 is the last) of the label column; None: the one column
        called label, target, class or y; False: there is none, and y is NaN
    columns : names or numbers of the features, in the order wanted; None: all but the label. With a
        layout: the columns that replace its columns, in their order
    types : the kinds of columns by name or number, as in `TableEncoder`; others are inferred. The
        label's may be "category": labels are then words, whatever they look like
    categorical, hashed : columns that are "category" and "hash"
    hash_width : buckets of texts, hashed columns and columns of many categories
    decimal, fill_gaps, strict : as of `TableEncoder`
    ids : columns of which every value is another one are features too
    labelled : False: labels are not looked at; the label's column, if there is one, is left out.
        None: labels are read if there are any, else y is NaN
    layout : how an earlier table was read; nothing is inferred
    carry : columns whose cells are kept unchanged beside the rows, features or not
    """

    label: Column | Literal[False] | None = None
    columns: Sequence[Column] | None = None
    types: Mapping[Any, str] | None = None
    categorical: Sequence[Column] = ()
    hashed: Sequence[Column] = ()
    hash_width: int = 1024
    decimal: str = "auto"
    fill_gaps: bool = False
    strict: bool = False
    ids: bool = True
    labelled: bool | None = True
    layout: Layout | None = None
    carry: Sequence[Column] = ()

    def __post_init__(self) -> None:
        if self.hash_width < 1:
            raise BudgetronError(f"hash_width must be at least 1, not {self.hash_width}")
