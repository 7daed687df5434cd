"""Rows and labels of requests in the form that the model takes.

A model that learned a table reads objects by column name, with the encoding in its file; a model
that learned numbers reads arrays, or objects by feature name. The result is an array of the model's
dtype and width (CSR if that is very wide), without infinities, and without gaps if the model takes
none: it can be learned without further checks.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from budgetron.serve.errors import Refused, bad
from budgetron.serve.packed import WIDEST
from budgetron.streams.table.labels import Label
from budgetron.streams.table.roles import Layout
from budgetron.tables.cells import KnownCells
from budgetron.tables.encoding import Encoding, Wishes, column_hint
from budgetron.tables.frames import column_of, table_of
from budgetron.tables.kinds import Limits

Cell = str | int | float | bool | None
LONGEST_LABEL = 1_000  # characters
LONGEST_NAME = 64  # characters of a column name in messages
TOO_LARGE = "a row has an infinity, or a number that is too large for the model"
FEW = 8  # up to this many rows, cells are encoded one by one


class Reader:
    """Turns request data into rows.

    Parameters
    ----------
    learner : the estimator that takes them
    layout : how a table becomes its features; None: it takes numbers

    Attributes
    ----------
    unread : per column, the number of cells that could not be read and became gaps
    """

    def __init__(self, learner: Any, layout: Layout | None) -> None:
        self._learner = learner
        self._encoding: Encoding | None = None if layout is None else layout.encoding
        self._label: Label | None = None if layout is None else layout.label
        self.unread: Counter[str] = Counter()
        if self._encoding is not None:
            self._cells = KnownCells(self._encoding)
            self._places = self._encoding.places
            self._columns = {each.name: j for j, each in enumerate(self._encoding.coded)}
            self._known = {*self._encoding.names}
            if self._label is not None:
                self._known.add(self._label.name)
        names = getattr(learner, "feature_names_in_", None)
        width = getattr(learner, "n_features_in_", 0)
        self._names: list[str] = (
            [f"x{j}" for j in range(width)] if names is None else names.tolist()
        )
        self._numbers = {name: j for j, name in enumerate(self._names)}
        self._absent = 0.0 if getattr(learner, "_sparse", False) else np.nan

    @property
    def new(self) -> bool:
        """Whether nothing is known about the rows: the first rows learned decide."""
        return not hasattr(self._learner, "_engine") and self._encoding is None

    @property
    def columns(self) -> list[str]:
        """The keys that objects have."""
        return self._names if self._encoding is None else [*self._columns]

    @property
    def label(self) -> str:
        """The label column of a table."""
        return "label" if self._label is None else self._label.name

    @property
    def width(self) -> int:
        """Features per row."""
        if self._encoding is not None:
            return self._encoding.width
        return int(getattr(self._learner, "n_features_in_", 0))

    @property
    def dtype(self) -> Any:
        engine = getattr(self._learner, "_engine", None)
        return np.dtype(np.float64) if engine is None else engine.dtype

    # ---- rows ------------------------------------------------------------------------------------

    @np.errstate(over="ignore")  # numbers that are too large are refused
    def rows(self, rows: Sequence[Any]) -> Any:
        """Objects by column name, or arrays of numbers; not mixed."""
        if not rows:
            raise bad("rows is empty: send at least one row")
        objects = isinstance(rows[0], dict)
        if any(isinstance(row, dict) is not objects for row in rows):
            raise bad("rows must be all objects or all arrays")
        if not objects:
            return self.array(rows)
        if self._encoding is None:
            return self._named(rows)
        if len(rows) <= FEW and self.width <= WIDEST:
            return self._checked(self._one_by_one(rows))
        self._refuse_unknown(name for row in rows for name in row)
        table = table_of({name: self._cells_of(name, rows) for name in self._columns})
        return self.table(table)

    def _cells_of(self, name: str, rows: Sequence[dict[str, Cell]]) -> Any:
        """A column; each cell is read as if it came in its own request."""
        assert self._encoding is not None
        cells = [row.get(name) for row in rows]
        number = self._encoding.coded[self._columns[name]].kind == "number"
        if number and bool in {*map(type, cells)}:  # among numbers, true would become text
            cells = [int(each) if type(each) is bool else each for each in cells]
        return column_of(cells)

    def array(self, rows: Any) -> Any:
        """Rows that are arrays of numbers; None is a gap."""
        if self._encoding is not None:
            what = "the model learned a table: send objects by column name"
            raise bad(f"{what}; {column_hint('', self.columns)}")
        try:
            X = np.array(rows, dtype=self.dtype, order="C")
        except (ValueError, TypeError):
            raise bad("rows must be arrays of numbers, all of one length") from None
        except OverflowError:
            raise bad(TOO_LARGE) from None
        if X.ndim != 2:
            raise bad("rows must be arrays of numbers, all of one length")
        if self.width and X.shape[1] != self.width:
            raise bad(f"a row has {X.shape[1]} numbers, but the model takes {self.width}")
        return self._checked(X)

    @np.errstate(over="ignore")  # numbers that are too large are refused
    def table(self, table: Any) -> Any:
        """The rows of an Arrow table."""
        if self._encoding is None:
            if self._names and not self.new:
                self._refuse_missing(table.column_names)
                table = table.select(self._names)
            columns = [_numbers(each).to_numpy(zero_copy_only=False) for each in table.columns]
            if any(each.dtype.kind not in "fiub" for each in columns):
                raise bad("the model takes numbers, but a column of the table has other values")
            return self._checked(np.column_stack(columns).astype(self.dtype, order="C"))
        cells = self._encoding.cells(table)
        self._encoding.count(cells, self.unread)
        X = self._encoding.rows(cells, table.num_rows, self.dtype)
        return self._checked(X.toarray() if self.width <= WIDEST else X)

    def _one_by_one(self, rows: Sequence[dict[str, Cell]]) -> Any:
        assert self._encoding is not None
        X = np.zeros((len(rows), self.width), self.dtype)
        coded = self._encoding.coded
        for i, row in enumerate(rows):
            if not row.keys() <= self._known:
                self._refuse_unknown(row)
            x = X[i]
            for name, j in self._columns.items():
                features, wrong = self._cells.features(j, row.get(name))
                if wrong:
                    self.unread[coded[j].name] += 1
                for number, value in features:
                    if self._places is None:
                        x[number] = value
                    elif self._places[number] >= 0:
                        x[self._places[number]] += value
        return X

    def _named(self, rows: Sequence[dict[str, Cell]]) -> Any:
        X = np.full((len(rows), self.width), self._absent, self.dtype)
        for x, row in zip(X, rows, strict=True):
            for name, value in row.items():
                j = self._numbers.get(name)
                if j is None:
                    raise _no_column(name, self._names)
                if value is not None and type(value) not in (int, float, bool):
                    raise bad(
                        f"column {name[:LONGEST_NAME]!r} holds {str(value)[:40]!r}, not a number"
                    )
                x[j] = np.nan if value is None else _float(value)
        return self._checked(X)

    def _checked(self, X: Any) -> Any:
        """Rows with 0.0 in place of -0.0, so no bit depends on it; refused if not finite."""
        values = X if isinstance(X, np.ndarray) else X.data
        values += 0.0
        if not np.isfinite(values).all():
            if np.isinf(values).any():
                raise bad(TOO_LARGE)
            if not self._learner._takes_gaps:
                raise bad("a row has a missing value, which this model cannot take: fill it in")
        return X

    def _refuse_unknown(self, names: Any) -> None:
        for name in names:
            if name not in self._known:
                raise _no_column(name, self.columns)

    def _refuse_missing(self, names: Sequence[str]) -> None:
        lost = next((name for name in self._names if name not in names), None)
        if lost is not None:
            raise _no_column(lost, list(names))

    # ---- labels ----------------------------------------------------------------------------------

    def labels(self, given: Sequence[Any]) -> list[Any]:
        """Labels as the model has them: all numbers, all words, or all booleans."""
        classes = getattr(self._learner, "classes_", None)
        numeric = self._learner._task == "regression"
        numeric |= self._label is not None and self._label.numeric
        if numeric or (classes is not None and len(classes) and classes.dtype.kind == "f"):
            return [_number(each) for each in given]
        kinds = set(map(type, given))
        if self._label is not None or kinds == {str}:
            return [_word(each) for each in given]
        if not kinds <= {str, int, float, bool}:
            raise bad("a label must be a text, a number, or true or false")
        if len(kinds) > 1:
            if not kinds <= {int, float}:
                raise bad("labels must be all texts, all numbers, or all true and false")
            return [_number(each) for each in given]
        return _finite(given)

    # ---- a new model -----------------------------------------------------------------------------

    def inferred(self, rows: Sequence[dict[str, Cell]]) -> Layout:
        """Find how to read objects, from the first ones.

        JSON numbers are numbers. No column is dropped because the first rows are equal: other
        values may come.
        """
        names = dict.fromkeys(name for row in rows for name in row)
        cells = {name: [row.get(name) for row in rows] for name in names}
        numbers = [name for name, each in cells.items() if {*map(type, each)} <= {int, float}]
        wishes = Wishes(dict.fromkeys(numbers, "number"), limits=Limits(more_rows=True, ids=True))
        table = table_of({name: column_of(each) for name, each in cells.items()})
        return Layout.of(Encoding.infer([table], wishes))


def _no_column(name: str, names: Sequence[str]) -> Refused:
    """The error for an unknown column; a name may be as long as a request."""
    name = name[:LONGEST_NAME]
    hint = column_hint(name, [each[:LONGEST_NAME] for each in names])
    return bad(f"there is no column {name!r}; {hint}")


def _numbers(column: Any) -> Any:
    """An Arrow column; a column of gaps only, or of decimals, becomes one of numbers."""
    import pyarrow as pa

    if pa.types.is_null(column.type) or pa.types.is_decimal(column.type):
        return column.cast(pa.float64())
    return column


def _float(value: Any) -> float:
    """A JSON number, which may be an integer of any length."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _number(label: Any) -> float:
    if type(label) is bool or not isinstance(label, int | float):
        raise bad(f"label {str(label)[:40]!r} is not a number, but the model's labels are")
    value = _float(label)
    if not np.isfinite(value):
        raise bad("a label must be finite")
    return value


def _word(label: Any) -> str:
    """Labels that are words may look like numbers: 1 is "1"."""
    if type(label) is str:
        text = label.strip()
    elif label is None or not isinstance(label, str | int | float | bool):
        raise bad("a label must be a text, a number, or true or false")
    else:
        _finite([label])
        text = str(label).strip()
    if not text:
        raise bad("a label is empty")
    if "\0" in text:  # NumPy would drop it
        raise bad("a label holds a zero byte")
    if len(text) > LONGEST_LABEL:
        raise bad(f"a label may have at most {LONGEST_LABEL:,} characters")
    return text


def _finite(labels: Sequence[Any]) -> list[Any]:
    """Labels that are numbers, or booleans; refused if one is not finite or too large."""
    if any(isinstance(each, float) and not math.isfinite(each) for each in labels):
        raise bad("a label must be finite")
    if any(isinstance(each, int) and abs(each) >= 2**63 for each in labels):
        raise bad("a label is too large for a 64-bit integer")
    return list(labels)
