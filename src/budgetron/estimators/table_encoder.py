"""The table encoder as a scikit-learn transformer; `budgetron.tables` does the work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils._set_output import _get_output_config

from budgetron.errors import BudgetronError, as_budgetron_error
from budgetron.estimators._base.parameters import Parameters
from budgetron.estimators._base.scikit import BaseEstimator, TransformerMixin
from budgetron.estimators._base.sizes import parse_bytes
from budgetron.parts.ranges import OneOf, parameter, whole
from budgetron.tables.encoding import LARGEST, Encoding, Wishes
from budgetron.tables.frames import table_of
from budgetron.tables.kinds import Limits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from budgetron.tables.kinds import Column


@dataclass(eq=False, repr=False, kw_only=True)
class TableEncoder(Parameters, TransformerMixin, BaseEstimator):
    """Turns a table of mixed columns into numbers: words, dates, gaps, booleans.

    Kinds of columns are inferred from rows: `fit` uses all of them, `partial_fit` the first
    `infer_rows`. The encoding is then fixed: a row becomes the same features whatever the order of
    the rows, the size of chunks, or the library of the table.

    ============ ================================================================================
    number       itself; a gap is NaN
    boolean      true, yes: 1; false, no: 0; a gap is NaN
    date         days elapsed; time of day, weekday, month as points on circles; a gap is NaN
    category     one feature per category, one for gaps, buckets for rare and unseen ones
    text         words hashed into buckets
    id           left out
    constant     left out by `fit`; `partial_fit` keeps it, for later rows may vary
    ============ ================================================================================

    "", "?", NA, N/A, NaN, NULL, None, null and a lone "-" or "." are gaps. A value that is not of
    its column's kind is a gap, counted in `unparsed_`. Needs pyarrow (``pip install
    'budgetron[lab]'``).

    Parameters
    ----------
    types : mapping or None, default None
        Kinds of columns by name: "number", "category", "date", "boolean", "text", "hash" for
        words that are only hashed, or "ignore" to leave one out. "date:dmy" also gives the
        format of dates: ymd, dmy, mdy, dby (3 Jan 2024), bdy (Jan 3, 2024), yb (2024 Jan), by
        (Jan 2024), yq (2024 Q1), hms. Without it 1/2/2024 is 1 February unless other rows show
        otherwise.
    categorical, numeric, text, ignore : sequences of names or None, default None
        The same for these four kinds.
    decimal : {"auto", ".", ","}, default "auto"
        Decimal point of numbers that are text. "auto": per column, the one that fits more
        values; if both fit all (1,234), the comma separates thousands, unless another column
        has a decimal comma.
    max_categories : int, default 100
        Largest number of categories of a column with their own feature: the most frequent ones.
    min_count : int, default 1
        A category in fewer rows is rare: it shares the buckets of unseen ones.
    hash_width : int, default 1024
        Number of buckets of a text, and of the other categories of a column with more than
        max_categories.
    infer_rows : int, default 1000
        Number of rows from which `partial_fit` infers the columns.
    max_bytes : int or str, default 64,000,000
        Largest size of the encoder in bytes, also as "64MB". If it is too small, columns have
        fewer categories with their own feature.
    fill_gaps : bool, default False
        A gap in a number or a date becomes the median of the rows it was inferred from, a gap
        in a boolean the mean, for learners that take no NaN.
    strict : bool, default False
        A value that is not of its column's kind is an error.

    Attributes
    ----------
    kinds_ : dict
        Kind of each column.
    left_out_ : dict
        Per column that became no feature, the reason.
    unparsed_ : dict
        Per column with such cells, the number of cells that `transform` could not read.
    memory_bytes_ : int
        Size of the encoder in bytes, with rows from which it has not inferred columns yet.
    n_features_in_, feature_names_in_
        Number and names of the columns.

    Examples
    --------
    >>> from budgetron import TableEncoder
    >>> table = {
    ...     "age": [31, 45, None, 28],
    ...     "town": ["Rome", "Oslo", "Rome", "?"],
    ...     "since": ["2024-03-01", "2024-03-04", "2023-12-24", "2024-01-31"],
    ... }
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.kinds_
    {'age': 'number', 'town': 'category', 'since': 'date'}
    >>> encoder.get_feature_names_out()[:4].tolist()
    ['age', 'town=Oslo', 'town=Rome', 'town?']
    >>> encoder.transform(table)[:, :4].toarray()
    array([[31.,  0.,  1.,  0.],
           [45.,  1.,  0.,  0.],
           [nan,  0.,  1.,  0.],
           [28.,  0.,  0.,  1.]])
    """

    types: Mapping[str, str] | None = parameter(None, dict, Mapping, None)
    categorical: Sequence[str] | None = parameter(None, "array-like", None)
    numeric: Sequence[str] | None = parameter(None, "array-like", None)
    text: Sequence[str] | None = parameter(None, "array-like", None)
    ignore: Sequence[str] | None = parameter(None, "array-like", None)
    decimal: str = parameter("auto", OneOf("auto", ".", ","))
    max_categories: int = parameter(100, whole(0))
    min_count: int = parameter(1, whole(1))
    hash_width: int = parameter(1024, whole(1))
    infer_rows: int = parameter(1000, whole(1))
    max_bytes: int | str = parameter(LARGEST, whole(1, None), str)
    fill_gaps: bool = parameter(False, "boolean")
    strict: bool = parameter(False, "boolean")

    # ---- learning ----------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Infer the columns from all rows.

        Parameters
        ----------
        X : a pandas or polars frame, an Arrow table or record batch, a dict of columns, or an array
            with two dimensions
        y : ignored
        """
        self._forget()
        table = table_of(X)
        _check_rows(table)
        wishes = self._wishes()
        self._meet(X, table)
        self._encoding = Encoding.infer([table], wishes)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Infer the columns from the first `infer_rows` rows; later rows change nothing."""
        first = not hasattr(self, "_names")
        table = table_of(X, None if first else self._names)
        if first:
            _check_rows(table)
            self._wishes()  # reports a wrong parameter
        else:
            self._check_names(table.column_names)
        if hasattr(self, "_encoding"):
            return self
        waiting = [*([] if first else self._waiting), table]
        lacking = self.infer_rows - sum(each.num_rows for each in waiting[:-1])
        waiting[-1] = table.slice(0, lacking)
        if table.num_rows >= lacking:
            same = [each.select(waiting[0].column_names) for each in waiting]
            encoding = Encoding.infer(same, self._wishes(more_rows=True))
            self._encoding, waiting = encoding, []
        if first:
            self._meet(X, table)
        self._waiting: list[Any] = waiting
        return self

    def transform(self, X: Any) -> Any:
        """The rows as a CSR float64 array with one column per feature; a frame with `set_output`.

        Columns are found by name, in any order; unknown columns are ignored.
        """
        encoding = self._ready()
        rows = encoding.encode(table_of(X, self._names), self._unread, self.strict)
        dense = _get_output_config("transform", self)["dense"] != "default"
        return rows.toarray() if dense else rows

    def _forget(self) -> None:
        for name in ("_encoding", "_names", "_waiting", "_unread", "feature_names_in_"):
            self.__dict__.pop(name, None)

    def _meet(self, X: Any, table: Any) -> None:
        """Note the names of the columns."""
        self._names: list[str] = table.column_names
        self._unread: Counter[str] = Counter()
        self._waiting = []
        self.n_features_in_ = len(self._names)
        if isinstance(X, Mapping) or hasattr(X, "columns") or hasattr(X, "schema"):
            self.feature_names_in_ = np.array(self._names, dtype=object)

    def _check_names(self, names: Sequence[str]) -> None:
        lost = [each for each in self._names if each not in names]
        if lost:
            raise BudgetronError(f"column {lost[0]!r} is missing, but the first rows had it")

    def _wishes(self, *, more_rows: bool = False) -> Wishes:
        """The given parameters; with `more_rows` to come, constant columns may still vary."""
        with as_budgetron_error():
            self._validate_params()
        types = dict(self.types or {})
        for kind in ("categorical", "numeric", "text", "ignore"):
            names = getattr(self, kind)
            names = () if names is None else names
            if isinstance(names, str):
                raise BudgetronError(f"{kind} must be a list of names, not {names!r}")
            wanted = {"categorical": "category", "numeric": "number"}.get(kind, kind)
            for name in map(str, names):
                if types.setdefault(name, wanted) != wanted:
                    what = f"column {name!r} cannot be {wanted} and {types[name]} at once"
                    raise BudgetronError(what)
        limits = Limits(
            self.max_categories,
            self.min_count,
            self.hash_width,
            fill=bool(self.fill_gaps),
            more_rows=more_rows,
        )
        most = self.max_bytes
        most = parse_bytes(most, "max_bytes") if isinstance(most, str) else int(most)
        return Wishes(types, self.decimal, limits, most)

    def _ready(self) -> Encoding:
        if hasattr(self, "_encoding"):
            return self._encoding
        what = "This TableEncoder instance is not fitted yet: call fit with some rows"
        if hasattr(self, "_names"):
            rows = sum(each.num_rows for each in self._waiting)
            what = (
                f"This TableEncoder instance has seen {rows:,} of the {self.infer_rows:,} rows it "
                "infers columns from: give more to partial_fit, all to fit, or lower infer_rows"
            )
        raise NotFittedError(what)

    # ---- looking inside ----------------------------------------------------------------------

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The unique names of the features."""
        return np.array(self._ready().features, dtype=object)

    @property
    def kinds_(self) -> dict[str, str]:
        return {each.name: each.kind for each in self.columns_}

    @property
    def left_out_(self) -> dict[str, str]:
        return {c.name: f"{c.kind}: {c.why}" for c in self.columns_ if c.coding is None}

    @property
    def columns_(self) -> tuple[Column, ...]:
        """What was found in each column: kind, gaps, number of distinct values, examples."""
        return self._ready().columns

    @property
    def unparsed_(self) -> dict[str, int]:
        self._ready()
        return dict(self._unread)

    @property
    def memory_bytes_(self) -> int:
        if hasattr(self, "_encoding"):
            return self._encoding.memory_bytes
        return sum(each.nbytes for each in getattr(self, "_waiting", []))

    def to_dict(self) -> dict[str, Any]:
        """Parameters and encoding as plain data, for JSON; without waiting rows."""
        params = self.get_params()
        for name in ("categorical", "numeric", "text", "ignore"):
            params[name] = None if params[name] is None else [str(each) for each in params[name]]
        params["types"] = None if self.types is None else dict(self.types)
        named = hasattr(self, "feature_names_in_")
        return {"params": params, "named": named, **self._ready().to_dict()}

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Self:
        """Make it from the result of `to_dict`.

        Raises
        ------
        BudgetronError
            If it is not an encoder.

        Examples
        --------
        >>> from budgetron import TableEncoder
        >>> encoder = TableEncoder().fit({"age": [31, 45], "town": ["Rome", "Oslo"]})
        >>> TableEncoder.from_dict(encoder.to_dict()).kinds_
        {'age': 'number', 'town': 'category'}
        """
        encoding = Encoding.from_dict(found)
        try:
            made = cls(**found["params"])
            named = bool(found["named"])
        except (TypeError, LookupError, AttributeError):
            raise BudgetronError("its description of the table encoder is not valid") from None
        made._wishes()
        made._encoding = encoding
        made._names, made._waiting, made._unread = encoding.names, [], Counter()
        made.n_features_in_ = len(encoding.names)
        if named:
            made.feature_names_in_ = np.array(encoding.names, dtype=object)
        return made

    @classmethod
    def of(cls, encoding: Encoding) -> Self:
        """The encoder with default parameters and this encoding."""
        return cls.from_dict({"params": {}, "named": True, **encoding.to_dict()})

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_encoding")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        return tags


def _check_rows(table: Any) -> None:
    rows, width = table.num_rows, table.num_columns
    if width == 0:
        raise BudgetronError(
            f"0 feature(s) (shape=({rows}, 0)) while a minimum of 1 is required by TableEncoder"
        )
    if rows == 0:
        raise BudgetronError("0 sample(s) while a minimum of 1 is required by TableEncoder")
