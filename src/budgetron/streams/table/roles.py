"""What each column of a table is for, as a user says it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias

from budgetron.errors import BudgetronError
from budgetron.tables.encoding import Encoding

Column: TypeAlias = str | int


def spans(text: str) -> list[str]:
    """Columns as people list them: names or numbers with commas between, spans of numbers.

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
class Roles:
    """What each column is for.

    Parameters
    ----------
    label : name or number (from 0; -1 is the last) of the label's column; None: the one column
        called label, target, class or y; False: there is none, and y is NaN
    columns : names or numbers of the features, in the order wanted; None: all but the label
    categorical : of these, those to one-hot; the label's column may be there: its labels are then
        words, whatever they look like
    hashed : of these, those to hash
    hash_width : number of features hashed into
    categories : of each categorical column, each category's feature, if they are known beforehand:
        other categories then have no feature
    labelled : False: labels are not looked at; the label's column, if there is one, is left out
    infer : what kind the columns are is inferred (`budgetron.tables`)
    types, decimal, fill_gaps, strict : if so, as of `TableEncoder`
    encoding : if so, that of an earlier table, as data
    renamed : of columns of the encoding that have other names in this table, these names
    carry : columns whose cells are kept as they are beside the rows, features or not
    """

    label: Column | Literal[False] | None = None
    columns: Sequence[Column] | None = None
    categorical: Sequence[Column] = ()
    hashed: Sequence[Column] = ()
    hash_width: int = 1024
    categories: Sequence[Mapping[str, int]] | None = None
    labelled: bool = True
    infer: bool = False
    types: Mapping[str, str] | None = None
    decimal: str = "auto"
    fill_gaps: bool = False
    strict: bool = False
    encoding: Mapping[str, Any] | None = None
    renamed: Mapping[str, str] | None = None
    carry: Sequence[Column] = ()

    def __post_init__(self) -> None:
        if self.hash_width < 1:
            raise BudgetronError(f"hash_width must be at least 1, not {self.hash_width}")


@dataclass(frozen=True)
class Layout:
    """How a table's columns became features: what another table must be read by for the same model.

    Parameters
    ----------
    numbers, hashed, categorical : columns by name; features lie in this order
    hash_width : number of features hashed into
    categories : of each categorical column, each category's feature
    encoding : if kinds were inferred, all of the above instead, as data
    renamed : of columns of the encoding that have other names in the table to read, these names
    """

    numbers: list[str]
    hashed: list[str]
    hash_width: int
    categorical: list[str]
    categories: list[dict[str, int]]
    encoding: dict[str, Any] | None = None
    renamed: dict[str, str] | None = None

    def to_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_json(cls, found: Any) -> Layout:
        """As `to_json` wrote it.

        Raises
        ------
        BudgetronError
            If it is not a layout.
        """
        names = ("numbers", "hashed", "categorical")
        try:
            made = cls(**found)
            listed = [each for name in names for each in getattr(made, name)]
            places = [place for each in made.categories for place in each.values()]
            fixed = len(made.numbers) + (made.hash_width if made.hashed else 0)
            sound = (
                all(isinstance(each, str) for each in listed)
                and 0 < made.hash_width < 2**31
                and len(made.categories) == len(made.categorical)
                and sorted(places) == list(range(fixed, fixed + len(places)))
            )
        except (TypeError, AttributeError):
            sound = False
        if not sound:
            raise BudgetronError("what it says of the columns it learned makes no sense")
        if made.encoding is not None:
            Encoding.from_dict(made.encoding)
        return made

    def unlabelled(self) -> Layout:
        """For a table without a label: columns that go by number count without the label's."""
        known = None if self.encoding is None else Encoding.from_dict(self.encoding).names
        listed = known or [*self.numbers, *self.hashed, *self.categorical]
        if not {*listed} < {str(i) for i in range(len(listed) + 1)}:  # not all but the label
            return self
        place = {each: str(i) for i, each in enumerate(sorted(listed, key=int))}
        if known is not None:
            return replace(self, renamed=place)
        names = ("numbers", "hashed", "categorical")
        moved: dict[str, Any] = {n: [place[each] for each in getattr(self, n)] for n in names}
        return replace(self, **moved)

    @property
    def options(self) -> dict[str, Any]:
        """The fields of `SourceOptions` that read another table alike."""
        if self.encoding is not None:
            return {"infer": True, "encoding": self.encoding, "renamed": self.renamed}
        return {
            "columns": [*self.numbers, *self.hashed, *self.categorical],
            "hashed": self.hashed,
            "hash_width": self.hash_width,
            "categorical": self.categorical,
            "categories": self.categories,
        }
