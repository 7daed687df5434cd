"""The table encoder as a River transformer: rows are dicts, features have names.

The first `infer_rows` rows are kept, and the encoding is inferred from them as by `partial_fit` of
the scikit-learn transformer. A stream needs features from its first row on, so until then there is
a provisional encoding, inferred again after 1, 2, 4, 8, ... rows. From then on a row's features
equal those of the scikit-learn transformer to the bit.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import field, fields, make_dataclass
from typing import Any, ClassVar

from river.base import Transformer

from budgetron.errors import BudgetronError
from budgetron.estimators._base.docstrings import Docstring
from budgetron.estimators.table_encoder import TableEncoder
from budgetron.tables.cells import KnownCells
from budgetron.tables.encoding import NOT_A, Encoding
from budgetron.tables.frames import column_of, table_of

HEAD = """Turns rows of mixed columns into numbers: words, dates, gaps, booleans, row by row.

The kind of each column is inferred from the first `infer_rows` rows, as by
:class:`budgetron.TableEncoder`, whose features a row then has, by name; features that are 0 are
left out. Until so many rows were learned the encoding is provisional: it is inferred again after 1,
2, 4, 8, ... rows. A column that a row lacks is a gap there."""
EXAMPLES = """\
Examples
--------
>>> from budgetron.river import TableEncoder
>>> encoder = TableEncoder(infer_rows=2)
>>> encoder.learn_one({"age": 31, "town": "Rome"})
>>> encoder.learn_one({"age": 45, "town": "Oslo"})
>>> encoder.transform_one({"age": 28, "town": "Rome"})
{'age': 28.0, 'town=Rome': 1.0}"""


class RiverTableEncoder(Transformer):
    """A TableEncoder with River's interface; its subclass has the parameters as fields."""

    infer_rows: int
    strict: bool
    _parameters: ClassVar[tuple[str, ...]]

    def __post_init__(self) -> None:
        params = {name: getattr(self, name) for name in self._parameters}
        self._wishes = TableEncoder(**params)._wishes(more_rows=True)
        self._rows: list[dict[Any, Any]] = []
        self._encoding: Encoding | None = None
        self._fixed = False
        self._cells: KnownCells | None = None
        self._unread: Counter[str] = Counter()

    @property
    def kinds_(self) -> dict[str, str]:
        """Kind of each column, as far as they are known."""
        columns = () if self._encoding is None else self._encoding.columns
        return {each.name: each.kind for each in columns}

    @property
    def unparsed_(self) -> dict[str, int]:
        """Per column with such cells, the number of cells that could not be read."""
        return dict(self._unread)

    def learn_one(self, x: dict[Any, Any]) -> None:
        """Use a row to infer the columns, if it is one of the first."""
        if self._fixed:
            return
        self._rows.append(dict(x))
        seen = len(self._rows)
        if seen == self.infer_rows:
            try:
                self._infer()
            except BudgetronError:  # the row is refused
                self._rows.pop()
                raise
            self._fixed, self._rows = True, []
        elif seen & (seen - 1) == 0:
            try:
                self._infer()
            except BudgetronError:  # no column has more than one value yet
                self._encoding = None

    def _infer(self) -> None:
        names = dict.fromkeys(name for row in self._rows for name in row)
        cells = {name: column_of([row.get(name) for row in self._rows]) for name in names}
        encoding = Encoding.infer([table_of(cells)], self._wishes)
        self._encoding = encoding
        self._cells = KnownCells(encoding)

    def transform_one(self, x: dict[Any, Any]) -> dict[Any, Any]:
        """The features of a row that are not 0."""
        encoding, cells = self._encoding, self._cells
        if encoding is None or cells is None:
            return {}
        row = x if all(type(name) is str for name in x) else {str(n): v for n, v in x.items()}
        found: dict[Any, Any] = {}
        names = encoding.features
        for j, coding in enumerate(encoding.coded):
            value = row.get(coding.name)
            features, wrong = cells.features(j, value)
            if wrong:
                if self.strict:
                    what = f"column {coding.name!r} holds {str(value)[:40]!r}"
                    raise BudgetronError(f"{what}, not {NOT_A[coding.kind]}")
                self._unread[coding.name] += 1
            for number, each in features:
                found[names[number]] = each
        return found


def river_table_encoder(module: str) -> type[RiverTableEncoder]:
    """The River class, with the parameters of the scikit-learn transformer, as one of `module`."""
    document = Docstring.parse(TableEncoder.__doc__ or "")
    own = [(f.name, f.type, field(default=f.default)) for f in fields(TableEncoder)]
    made = make_dataclass(
        "TableEncoder",
        own,
        bases=(RiverTableEncoder,),
        namespace={
            "_parameters": tuple(name for name, _, _ in own),
            "__doc__": str(Docstring(HEAD, document.parameters, [EXAMPLES])),
        },
        eq=False,
        repr=False,
        kw_only=True,
    )
    made.__module__ = module  # where pickle finds it
    return made
