"""Which of a table's columns is the label and which are features, by name or number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from budgetron.streams.base import StreamError

if TYPE_CHECKING:
    from budgetron.streams.table.roles import Column, Roles
    from budgetron.tables.kinds import Column as Found

# Usual names of a label column, if none was given.
LABELS = ("label", "target", "class", "y")
FEW = 20  # at most so many distinct values may be classes
LISTED = 100  # most names in a message
COMPARED = 1000  # most names that an unknown name is compared with
# A table with more columns is refused: what is kept per column would take too much memory.
MOST_COLUMNS = 100_000
TOO_WIDE = f"has more than {MOST_COLUMNS:,} columns: keep fewer, or write it as LIBSVM text"


def check_names(source: str, names: Sequence[str]) -> None:
    """Refuse a table with too many columns, or with two of the same name."""
    if len(names) > MOST_COLUMNS:
        raise StreamError(source, None, TOO_WIDE)
    doubled = min((each for each, count in Counter(names).items() if count > 1), default=None)
    if doubled == "":
        raise StreamError(source, None, "two columns have no name: name them")
    if doubled is not None:
        raise StreamError(source, None, f"two columns are called {doubled!r}: rename one")


class Columns:
    """The names of a table's columns.

    Parameters
    ----------
    source : its name, for messages
    names : names of the columns
    likely : returns the probable label column; called if none is found
    """

    def __init__(
        self,
        source: str,
        names: Sequence[str],
        likely: Callable[[], str | None] = lambda: None,
    ) -> None:
        check_names(source, names)
        self._source = source
        self.names = list(names)
        self._known = frozenset(names)
        self._likely = likely

    def label(self, roles: Roles) -> str | None:
        """The label column; None: there is none."""
        if roles.label is False:
            return None
        if roles.label is not None:
            return self.find(roles.label, label=True)
        usual = [each for each in self.names if each.strip().lower() in LABELS]
        if len(usual) == 1:
            return usual[0]
        if not usual and not roles.labelled:
            return None
        what = "which column is the label? Pass its name or number (from 0) with label (--label); "
        raise StreamError(self._source, None, what + self._all())

    def kinds(self, roles: Roles) -> dict[str, str]:
        """The given kinds, by column name."""
        said = list((roles.types or {}).items())
        said += [(each, "category") for each in roles.categorical]
        said += [(each, "hash") for each in roles.hashed]
        types: dict[str, str] = {}
        for column, kind in said:
            name = self.find(column)
            if types.setdefault(name, kind) != kind:
                what = f"column {name!r} cannot be {types[name]} and {kind} at once"
                raise StreamError(self._source, None, what)
        return types

    def find_all(self, columns: Sequence[Column]) -> list[str]:
        return list(dict.fromkeys(self.find(each) for each in columns))

    def find(self, column: Column, *, label: bool = False) -> str:
        """The name of the column; `label`: it is the label, so the error lists all columns."""
        if column in self._known:
            return str(column)
        try:
            return self.names[int(column)]
        except (ValueError, IndexError):
            near = get_close_matches(str(column), self.names[:COMPARED], n=1)
            hint = f"did you mean {near[0]!r}?" if near else self._listed(self.names, 8)
            if self.names == [str(i) for i in range(len(self.names))]:
                hint = f"columns have numbers, 0 to {len(self.names) - 1} (or add --header)"
            elif label:
                hint = self._all(near[0] if near else None)
            what = f"there is no column {column!r}; {hint}"
            raise StreamError(self._source, None, what) from None

    def _all(self, near: str | None = None) -> str:
        """List all columns, the probable label first."""
        first = near or self._likely()
        rest = [each for each in self.names if each != first]
        hint = "" if near is None else f"did you mean {near!r}? "
        return hint + self._listed(rest if first is None else [first, *rest], LISTED)

    @staticmethod
    def _listed(names: Sequence[str], most: int) -> str:
        return f"the columns are {', '.join(names[:most])}" + (", ..." if len(names) > most else "")


def suggested_label(columns: Sequence[Found]) -> tuple[str, str]:
    """The probable label column, and why.

    One called label, target, class or y; else the last one with few distinct values, if it is the
    first or last column; else the last one. Constant or empty columns and ids do not count as last.
    """
    usual = [each for each in columns if each.name.strip().lower() in LABELS]
    if usual:
        return usual[-1].name, "by its name"
    varied = [each for each in columns if each.distinct > 1 and each.kind != "id"]
    last = varied[-1] if varied else columns[-1]
    place = "the last column" + ("" if last is columns[-1] else " that varies")
    if not 2 <= last.distinct <= FEW and 2 <= columns[0].distinct <= FEW:
        last, place = columns[0], "the first column"
    few = f", with {last.distinct} different values" if 2 <= last.distinct <= FEW else ""
    return last.name, place + few
