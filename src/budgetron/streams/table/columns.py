"""From a table's columns to rows: which column is the label, which are features, and as what.

Numbers stay as they are. Words become features in one of two ways: one-hot, a feature a category in
the order in which categories first appear (so X grows wider as they come), or hashed, into a fixed
number of features. Features lie in this order: numbers, hashed, one-hot. How the table is cut into
batches never shows.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from budgetron.streams.base import StreamError
from budgetron.streams.table.roles import Column, Layout, Roles

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from budgetron.streams.base import Chunk

# Names a label goes by where none was named.
LABELS = ("label", "target", "class", "y")
# More categories than this are a key or free text: a one-hot map would grow without end.
MAX_CATEGORIES = 10_000
ABSENT = (
    "has no value: fill it in, leave the column out (columns, --columns) "
    "or pass over such rows (skip_bad, --skip-bad)"
)
ABSENT_NUMBER = (
    'has no value: scale="auto" (--scale auto) treats it as missing; or fill it in, leave the '
    "column out (columns, --columns) or pass over such rows (skip_bad, --skip-bad)"
)
WORDS = "words go into categorical (--categorical) or hashed (--hash), or are left out (--columns)"

LONGEST_LABEL = 1000  # characters
AS_WORDS = "keep labels as words by naming their column in categorical (--categorical)"


class Encoder:
    """Turns batches of one table into chunks (X, y): dense, or CSR if there are categories.

    Parameters
    ----------
    name : of the source, for messages
    names : of the table's columns
    roles : what they are for
    dtype : of X
    width : of X from the start, where one-hot columns would make it grow; more is an error
    gaps : a missing number is NaN; False: it makes its row a bad one
    """

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
        self._name = name
        self._gaps = gaps
        self._dtype = dtype
        self._hash_width = roles.hash_width
        doubled = [each for each, count in Counter(names).items() if count > 1]
        if doubled:
            raise StreamError(name, None, f"two columns are called {min(doubled)!r}")
        self._names = list(names)
        self._known = frozenset(names)
        self.label = self._label(roles)
        chosen = (
            [each for each in names if each != self.label]
            if roles.columns is None
            else self._find_all(roles.columns)
        )
        if not roles.labelled:
            self.label = None
        features = frozenset(chosen)
        if self.label in features:
            what = f"column {self.label!r} is the label, so it cannot be among the features as well"
            raise StreamError(name, None, f"{what}: leave it out of columns (--columns)")
        categorical = self._find_all(roles.categorical)
        self.categorical = [each for each in categorical if each != self.label]
        self.words_as_labels = self.label in categorical
        self.hashed = self._find_all(roles.hashed)
        for each in (*self.categorical, *self.hashed):
            if each not in features:
                what = f"column {each!r} is to be a category but is not among the features"
                raise StreamError(name, None, what)
        words = {*self.categorical, *self.hashed}
        self.numbers = [each for each in chosen if each not in words]
        if not chosen:
            raise StreamError(name, None, "no column is left for the features")
        self._known_width = width if self.categorical else None
        self._fixed_categories = roles.categories is not None
        self._categories = [
            dict(each) for each in roles.categories or ({},) * len(self.categorical)
        ]
        self.grows = bool(self.categorical) and width is None and not self._fixed_categories
        self._numeric_label: bool | None = False if self.words_as_labels else None
        self._carry = self._find_all(roles.carry)

    @property
    def needed(self) -> list[str]:
        """The columns to read."""
        label = [] if self.label is None else [self.label]
        read = [*self.numbers, *self.hashed, *self.categorical, *label, *self._carry]
        return list(dict.fromkeys(read))

    def carried(self, batch: Any) -> list[tuple[str, Any]]:
        """The columns to carry, by name."""
        return [(name, batch.column(name)) for name in self._carry]

    @property
    def layout(self) -> Layout:
        """The columns as features, with the categories met so far."""
        categories = [dict(each) for each in self._categories]
        return Layout(self.numbers, self.hashed, self._hash_width, self.categorical, categories)

    @property
    def width(self) -> int:
        """Of X so far."""
        return self._known_width or self._next

    @property
    def _next(self) -> int:
        """The feature the next category gets."""
        return self._fixed + sum(map(len, self._categories))

    @property
    def _fixed(self) -> int:
        return len(self.numbers) + (self._hash_width if self.hashed else 0)

    # ---- finding columns ---------------------------------------------------------------------

    def _label(self, roles: Roles) -> str | None:
        if roles.label is False:
            return None
        if roles.label is not None:
            return self._find(roles.label)
        usual = [each for each in self._names if each.strip().lower() in LABELS]
        if len(usual) == 1:
            return usual[0]
        if not usual and not roles.labelled:
            return None
        what = "which column is the label? Name it, or its number from 0, with label (--label); "
        raise StreamError(self._name, None, what + self._listed())

    def _find_all(self, columns: Sequence[Column]) -> list[str]:
        return list(dict.fromkeys(self._find(each) for each in columns))

    def _find(self, column: Column) -> str:
        if column in self._known:
            return str(column)
        try:
            return self._names[int(column)]
        except (ValueError, IndexError):
            near = get_close_matches(str(column), self._names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else self._listed()
            raise StreamError(self._name, None, f"there is no column {column!r}; {hint}") from None

    def _listed(self) -> str:
        shown = ", ".join(self._names[:8])
        return f"the columns are {shown}" + (", ..." if len(self._names) > 8 else "")

    # ---- encoding ----------------------------------------------------------------------------

    words: Sequence[str] = ()
    lenient = False  # a word among numbers is an error

    def look(self, batch: Any) -> None:
        """Labels that come as text are numbers if the first one is, unless they are to be words."""
        if self.label is None or self._numeric_label is not None:
            return
        first = batch.column(self.label).drop_null()[:1]
        if len(first):
            self._numeric_label = not np.isnan(_floats(first)[0])

    def encode(self, batch: Any, row: int) -> tuple[Chunk, NDArray[np.bool_], list[StreamError]]:
        """Rows of an Arrow record batch that starts behind `row` rows.

        Returns the chunk of the good rows, which rows are good, and what is wrong with the others.
        """
        n = batch.num_rows
        bad: dict[int, StreamError] = {}
        numbers = np.empty((n, len(self.numbers)), np.float64)
        for j, name in enumerate(self.numbers):
            numbers[:, j] = self._numbers(batch.column(name), name)
        with np.errstate(over="ignore"):
            values = numbers.astype(self._dtype)
        unsound = np.isinf(values) if self._gaps else ~np.isfinite(values)
        for i, j in zip(*np.nonzero(unsound), strict=True):
            what = _complaint(numbers[i, j], self._dtype, ABSENT_NUMBER)
            bad.setdefault(int(i), self._wrong(row + i, self.numbers[j], what))
        words = [
            self._words(batch.column(each), each, row, bad)
            for each in (*self.hashed, *self.categorical)
        ]
        y = self._labels(batch, row, bad)
        good = np.ones(n, bool)
        good[list(bad)] = False
        if bad:
            values, y = values[good], y[good]
            words = [(codes[good], known) for codes, known in words]
        X = values if not words else self._sparse(values, words)
        return (X, y), good, [bad[i] for i in sorted(bad)]

    def _wrong(self, row: int, column: str, what: str) -> StreamError:
        return StreamError(self._name, None, f"row {row + 1}, column {column!r} {what}")

    def _numbers(self, column: Any, name: str) -> Any:
        """float64, NaN where there is no value."""
        import pyarrow as pa

        kind = column.type
        if pa.types.is_dictionary(kind):
            column, kind = column.dictionary_decode(), kind.value_type
        fits = (
            pa.types.is_integer,
            pa.types.is_floating,
            pa.types.is_boolean,
            pa.types.is_decimal,
            pa.types.is_null,
        )
        if not any(fit(kind) for fit in fits):
            what = f"column {name!r} holds {kind}, not numbers: {WORDS}"
            raise StreamError(self._name, None, what)
        return column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)

    def _words(
        self, column: Any, name: str, row: int, bad: dict[int, StreamError]
    ) -> tuple[NDArray[np.int64], list[str]]:
        """Codes into the batch's own list of categories, and that list."""
        import pyarrow as pa

        kind = column.type
        if pa.types.is_dictionary(kind):
            column = column.dictionary_decode()
        texts = self._as_text(column, name).dictionary_encode()
        codes = texts.indices.to_numpy(zero_copy_only=False)
        for i in np.nonzero(np.isnan(codes))[0] if texts.null_count else ():
            bad.setdefault(int(i), self._wrong(row + int(i), name, ABSENT))
        known = [text.strip() for text in texts.dictionary.to_pylist()]
        return np.nan_to_num(codes).astype(np.int64), known

    def _labels(self, batch: Any, row: int, bad: dict[int, StreamError]) -> NDArray[Any]:
        import pyarrow as pa

        if self.label is None:
            return np.full(batch.num_rows, np.nan)
        column = batch.column(self.label)
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        texts = column.type in (pa.string(), pa.large_string(), pa.string_view())
        if self._numeric_label is False and not texts:
            column, texts = self._as_text(column, self.label), True
        if texts and not self._numeric_label:
            for i in np.nonzero(column.is_null().to_numpy(zero_copy_only=False))[0]:
                bad.setdefault(int(i), self._wrong(row + int(i), self.label, ABSENT))
            encoded = column.dictionary_encode()
            codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
            words = [text.strip() for text in encoded.dictionary.to_pylist()]
            for code, word in enumerate(words):
                if len(word) > LONGEST_LABEL:  # an array has room for the longest in every row
                    what = f"has {len(word):,} characters: is a quotation mark never closed?"
                    for i in np.nonzero(codes == code)[0]:
                        bad.setdefault(int(i), self._wrong(row + int(i), self.label, what))
                    words[code] = ""
            labels: NDArray[Any] = np.array([*words, ""], dtype=str)[codes]
            return labels
        y = _floats(column) if texts else np.array(self._numbers(column, self.label))
        for i in np.nonzero(~np.isfinite(y))[0]:
            text = column[int(i)].as_py()
            what = f"holds {text!r}, not a number as the labels before: {AS_WORDS}"
            if not texts or text is None or not np.isnan(y[i]):
                what = _complaint(y[i], y.dtype)
            bad.setdefault(int(i), self._wrong(row + int(i), self.label, what))
        for at, text in _lossy(column, y):
            what = f"holds {text!r}, which is {y[at]:.0f} as a number: {AS_WORDS}"
            bad.setdefault(at, self._wrong(row + at, self.label, what))
        return y

    def _as_text(self, column: Any, name: str) -> Any:
        """The column as strings."""
        import pyarrow as pa

        try:
            return column.cast(pa.string())
        except pa.ArrowException:  # a list, a struct
            what = f"column {name!r} holds {column.type}, not words"
            raise StreamError(self._name, None, f"{what}: leave it out (--columns)") from None

    def _sparse(self, values: Any, words: list[tuple[NDArray[np.int64], list[str]]]) -> Any:
        n, k = values.shape
        count = k + len(words)
        indices = np.empty((n, count), np.int64)
        data = np.ones((n, count), self._dtype)
        indices[:, :k] = np.arange(k)
        data[:, :k] = values
        hashed, one_hot = words[: len(self.hashed)], words[len(self.hashed) :]
        for j, (name, (codes, known)) in enumerate(zip(self.hashed, hashed, strict=True), k):
            slots = [zlib.crc32(f"{name}={text}".encode()) % self._hash_width for text in known]
            indices[:, j] = k + np.array(slots, np.int64)[codes]
        if not self._fixed_categories:
            self._learn_categories(one_hot)
        for j, (places, (codes, known)) in enumerate(
            zip(self._categories, one_hot, strict=True), k + len(hashed)
        ):
            # no feature: a category that is none of those known beforehand, or that only rows
            # passed over have, for which no row asks
            indices[:, j] = np.array([places.get(text, -1) for text in known], np.int64)[codes]
        data[indices < 0] = 0
        indices[indices < 0] = 0
        indptr = np.arange(0, n * count + 1, count)
        X = csr_array((data.ravel(), indices.ravel(), indptr), shape=(n, self.width))
        X.sum_duplicates()
        X.eliminate_zeros()
        return X

    def _learn_categories(self, one_hot: list[tuple[NDArray[np.int64], list[str]]]) -> None:
        """Give new categories their features, in the order of rows and, in a row, of columns."""
        new = []
        for j, (codes, known) in enumerate(one_hot):
            seen, first = np.unique(codes, return_index=True)
            for code, i in zip(seen.tolist(), first.tolist(), strict=True):
                if known[code] not in self._categories[j]:
                    new.append((i, j, known[code]))
        for _, j, text in sorted(new):
            if text in self._categories[j]:
                continue
            if len(self._categories[j]) == MAX_CATEGORIES:
                what = (
                    f"column {self.categorical[j]!r} has more than {MAX_CATEGORIES} categories: "
                    "hash it instead (hashed, --hash) or leave it out (--columns)"
                )
                raise StreamError(self._name, None, what)
            if self._next == self._known_width:
                what = f"category {text!r} of column {self.categorical[j]!r} is one too many"
                raise StreamError(self._name, None, f"{what} for {self._next} features")
            self._categories[j][text] = self._next


def _lossy(column: Any, y: NDArray[np.float64]) -> Iterator[tuple[int, str]]:
    """Whole numbers, as digits or not, that are other ones as float64, or had leading zeros.

    Two of them could become one class.
    """
    import pyarrow as pa
    from pyarrow import compute

    suspect = np.abs(y) >= 2**53
    if column.type in (pa.string(), pa.large_string(), pa.string_view()):
        zeros = compute.match_substring_regex(column, r"^\s*[+-]?0[0-9]+\s*$")
        suspect |= zeros.fill_null(False).to_numpy(zero_copy_only=False)
    for i in np.nonzero(suspect & np.isfinite(y))[0].tolist():
        text = str(column[i].as_py()).strip()
        if re.fullmatch(r"[+-]?[0-9]+", text) and text.lstrip("+") != f"{y[i]:.0f}":
            yield i, text


def _floats(column: Any) -> NDArray[np.float64]:
    """Texts as numbers, NaN where they are none."""
    import pyarrow as pa

    try:
        return np.array(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:  # one of them is none
        pass

    def number(text: str | None) -> float:
        try:
            plain = text is not None and text.isascii() and "_" not in text
            return float(text or "nan") if plain else np.nan  # Python reads more than others do
        except ValueError:
            return np.nan

    return np.array([number(text) for text in column.to_pylist()], np.float64)


def _complaint(value: float, dtype: np.dtype[Any], absent: str = ABSENT) -> str:
    if np.isnan(value):
        return absent
    if np.isinf(value):
        return "is not a finite number"
    return f"is {value:g}, out of range of {dtype.name}"
