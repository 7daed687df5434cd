"""Single cells: the features of each are cached, so that a repeated cell is looked up.

A cell is encoded as a column of one row, which is slow compared with a dict lookup: a repeated
category or word only costs the lookup.
"""

from __future__ import annotations

from typing import Any

from budgetron.tables.encoding import Encoding

KEPT = 20_000  # cells in the cache

# For a cell: its features by number, and whether it could not be read.
Known = tuple[tuple[tuple[int, float], ...], bool]


class KnownCells:
    """The features of cells of a table's columns, one cell at a time.

    The cache has at most `KEPT` cells; when it is full it is emptied.
    """

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding
        self._known: list[dict[Any, Known]] = [{} for _ in encoding.coded]

    def __len__(self) -> int:
        return sum(map(len, self._known))

    def features(self, j: int, value: Any) -> Known:
        """The features of a cell of the j-th coding that are not 0; whether it was unreadable."""
        try:
            known = self._known[j].get((type(value), value))
        except TypeError:  # a list, which no column takes; the coding says so
            return self._encoding.cell(j, value)
        if known is None:
            known = self._encoding.cell(j, value)
            if len(self) >= KEPT:
                self._known = [{} for _ in self._known]
            self._known[j][type(value), value] = known
        return known
