"""A table's columns as features by what they are: kinds are inferred, gaps are no mistakes.

The counterpart of columns.py, where a user says which columns are words and all others must be
numbers. Labels are treated alike in both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from budgetron.errors import BudgetronError
from budgetron.streams.base import StreamError
from budgetron.streams.table.columns import Encoder
from budgetron.streams.table.roles import Layout, Roles
from budgetron.tables.encoding import Encoding, Wishes
from budgetron.tables.kinds import Limits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from budgetron.streams.base import Chunk

# Rows that kinds are inferred from.
INFER_ROWS = 1000
_DENSE = {"number", "boolean", "date"}  # kinds without features that are mostly 0


class InferredEncoder(Encoder):
    """Turns batches of one table into chunks (X, y), once it has an encoding.

    X is dense if all columns are numbers, dates, or yes and no; else CSR.

    Parameters
    ----------
    name, names, roles, dtype, width, gaps : as of Encoder; of roles also what concerns inferred
        kinds
    """

    lenient = True

    def __init__(
        self,
        name: str,
        names: Sequence[str],
        roles: Roles,
        dtype: np.dtype[Any],
        width: int | None = None,
        *,
        gaps: bool = True,
    ) -> None:
        super().__init__(name, names, roles, dtype, width, gaps=gaps)
        chosen = {*self.numbers, *self.hashed, *self.categorical}
        if self.hashed:
            what = "hashed (--hash) does not go with columns whose kinds are inferred"
            raise StreamError(name, None, what)
        self._features = [each for each in names if each in chosen]
        types = dict.fromkeys(self.categorical, "category") | dict(roles.types or {})
        types = {self._find(column): kind for column, kind in types.items()}
        try:
            self._wishes = Wishes(types, roles.decimal, Limits(fill=roles.fill_gaps))
        except BudgetronError as error:
            raise StreamError(name, None, str(error)) from None
        self._strict = roles.strict
        self._renamed = dict(roles.renamed or {})  # names of the encoding -> names in the table
        self.encoding: Encoding | None = None
        self.unread: Counter[str] = Counter()
        self.numbers, self.categorical = [], []
        self.grows = False
        if roles.encoding is not None:
            known = Encoding.from_dict(roles.encoding)
            learned = {here: name for name, here in self._renamed.items()}
            try:
                known.check([learned.get(each, each) for each in names])
            except BudgetronError as error:
                raise StreamError(name, None, str(error)) from None
            self._take(known)

    def infer(self, batches: Sequence[Any]) -> None:
        """Decide what the columns are, by the first rows."""
        import pyarrow as pa

        tables = [pa.Table.from_batches([each]).select(self._features) for each in batches]
        try:
            self._take(Encoding.infer(tables, self._wishes))
        except BudgetronError as error:
            raise StreamError(self._name, None, str(error)) from None

    def _take(self, encoding: Encoding) -> None:
        self.encoding = encoding
        names = [each.name for each in encoding.coded]
        self._features = [self._renamed.get(each, each) for each in names]
        # Numbers with a decimal point may be read as such; the others are read as text.
        plain = [c.name for c in encoding.coded if c.to_dict().get("decimal") == "."]
        self.numbers = [self._renamed.get(each, each) for each in plain]
        words = [c.name for c in encoding.coded if c.kind == "category"]
        self.words = [self._renamed.get(each, each) for each in words]
        self._dense = {each.kind for each in encoding.coded} <= _DENSE

    @property
    def needed(self) -> list[str]:
        label = [] if self.label is None else [self.label]
        return list(dict.fromkeys([*self._features, *label, *self._carry]))

    @property
    def width(self) -> int:
        return 0 if self.encoding is None else self.encoding.width

    @property
    def layout(self) -> Layout:
        encoding = None if self.encoding is None else self.encoding.to_dict()
        return Layout([], [], 1, [], [], encoding)

    def encode(self, batch: Any, row: int) -> tuple[Chunk, NDArray[np.bool_], list[StreamError]]:
        import pyarrow as pa

        assert self.encoding is not None
        bad: dict[int, StreamError] = {}
        names = [each.name for each in self.encoding.coded]
        table = pa.Table.from_batches([batch]).select(self._features).rename_columns(names)
        try:
            X = self._rows(table)
        except BudgetronError as error:
            raise StreamError(self._name, None, str(error)) from None
        y = self._labels(batch, row, bad)
        good = np.ones(batch.num_rows, bool)
        good[list(bad)] = False
        if bad:
            X, y = X[good], y[good]
        return (X, y), good, [bad[i] for i in sorted(bad)]

    def _rows(self, table: Any) -> Any:
        assert self.encoding is not None
        with np.errstate(over="ignore"):
            if not self._dense:
                X = self.encoding.encode(table, self.unread, self._strict)
                X.data = _in_range(X.data.astype(self._dtype))
                return X
            cells = self.encoding.cells(table, self.unread, self._strict)
            return _in_range(np.hstack([each.values for each in cells]).astype(self._dtype))


def _in_range(values: NDArray[Any]) -> NDArray[Any]:
    """Values of which none is infinite: what has no place in float32 is the largest that has."""
    most = np.finfo(values.dtype).max
    return np.clip(values, -most, most, out=values)
