"""The kind of a column, inferred from the values of some of its rows.

| kind | where |
|---|---|
 constant | all rows hold the same, or nothing; if more rows may come it is kept |
| number, boolean, date | 95 of 100 values or more read as such |
| category or id | 1 of 100 values is a whole number that starts with 0 (a zip code) |
 id | all values differ: whole numbers without a hole, or words that are not text |
| text | several words, most of them another text each |
| category | other words |

The decision depends on how often each value occurs and not on where, so that the order of the rows
makes no difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from budgetron.errors import BudgetronError
from budgetron.tables.codings import LONGEST, Boolean, Category, Coding, Date, Number, Text
from budgetron.tables.parsing import (
    ORDERS,
    is_text,
    numbers,
    text_booleans,
    text_numbers,
    text_times,
    times,
    words_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from budgetron.tables.parsing import Read

KINDS = ("number", "category", "date", "boolean", "text", "id", "constant", "hash", "ignore")
# A column is of a kind if this share of its values can be read as such.
MOST = 0.95
# Least number of distinct values of an id or a text.
MANY = 50
# If this share of the values are digits that start with 0, they are codes: 00123 is not 123.
CODES = 0.01
SHOWN = 40  # characters of an example
SHOWN_VALUES = 3  # examples of a column


@dataclass(frozen=True)
class Limits:
    """Limits of features, and what becomes of gaps.

    Parameters
    ----------
    categories : most categories with their own feature, the most frequent ones
    least : a category in fewer rows is rare and shares the buckets of others
    buckets : number of buckets of texts, and of columns with more categories than that
    few : number of buckets of other columns: for categories that no row had
    fill : gaps in numbers and dates become the median of the inspected rows, and gaps in booleans
        the mean; else NaN
    more_rows : more rows come, so that a constant or empty column may vary later: it is kept
    ids : columns in which all values differ are kept
    """

    categories: int = 100
    least: int = 1
    buckets: int = 1024
    few: int = 8
    fill: bool = False
    more_rows: bool = False
    ids: bool = False


@dataclass(frozen=True)
class Column:
    """An inspected column.

    Parameters
    ----------
    name, kind : as in KINDS
    coding : its coding; None: it is left out
    why : why it is left out
    rows, gaps, distinct : number of rows inspected, of those without a value, of distinct values
    examples : some values, the most frequent first
    """

    name: str
    kind: str
    coding: Coding | None = None
    why: str = ""
    rows: int = 0
    gaps: int = 0
    distinct: int = 0
    examples: tuple[str, ...] = ()


def look(name: str, column: Any, wanted: str | None, decimal: str, limits: Limits) -> Column:
    """Find the kind of an Arrow array of any type, unless it is given.

    Parameters
    ----------
    name : name of the column
    column : some of its rows
    wanted : one of KINDS, of which "hash" is a category without features of its own values;
        "date:" followed by one of ORDERS; None: infer it
    decimal : decimal point of numbers that are text: ".", "," or "auto"; "auto," prefers the comma
        if values fit both
    limits : limits of categories and buckets
    """
    import pyarrow as pa

    wanted, _, order = (wanted or "").partition(":")
    if wanted == "ignore":
        return Column(name, "ignore", None, "ignored", len(column))
    try:
        seen = _Seen(name, column, decimal, order or None, limits)
    except (pa.ArrowException, TypeError):
        what = f"column {name!r} holds {column.type}, not numbers, words or dates"
        raise BudgetronError(f"{what}: leave it out (ignore)") from None
    kind, why = (wanted, "said so") if wanted else seen.kind()
    taken = kind
    if not wanted and (limits.more_rows if kind == "constant" else limits.ids and kind == "id"):
        taken = seen.kind_of_values(ids=not limits.ids)[0]
        kind = kind if kind == "constant" else taken
    coding = None if taken in ("id", "constant") else seen.coding(taken)
    why = "" if coding is not None else why
    kind = "category" if kind == "hash" else kind
    return Column(name, kind, coding, why, seen.rows, seen.gaps, seen.distinct, seen.examples())


def _median(ordered: Any) -> Any:
    """The lower of the two middle values: their mean may be too large for a number."""
    return ordered[(len(ordered) - 1) // 2]


class _Seen:
    """The distinct values of a column with counts: numbers as such, others as texts."""

    def __init__(
        self, name: str, column: Any, decimal: str, order: str | None, limits: Limits
    ) -> None:
        import pyarrow as pa

        self.name = name
        self.rows = len(column)
        self.limits = limits
        self._column = column
        self._type = kind = column.type
        self._said = (None if decimal.startswith("auto") else decimal, order)
        self._points = ",." if decimal == "auto," else ".,"
        self._is_words = is_text(kind) or pa.types.is_dictionary(kind)
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            values = numbers(column).values
            distinct, times_seen = np.unique(values[~np.isnan(values)], return_counts=True)
            common = distinct[np.argsort(-times_seen, kind="stable")[:SHOWN_VALUES]]
            self._common = [f"{each:.12g}" for each in common]
        else:
            texts, times_seen = self._words
            common = np.argsort(-times_seen, kind="stable")[:SHOWN_VALUES]
            self._common = texts.take(common).to_pylist()
        self.distinct = len(times_seen)
        self.gaps = self.rows - int(times_seen.sum())

    @cached_property
    def _words(self) -> tuple[Any, NDArray[np.int64]]:
        """The distinct texts, sorted, and how often each occurs."""
        from pyarrow import compute

        codes, texts = words_of(self._column)
        said = compute.match_substring_regex(texts, r"[\p{L}\p{N}]")
        if len(texts) and not compute.any(said).as_py():  # of + and - both say something
            codes, texts = words_of(self._column, lone=False)
        counts = np.bincount(codes + 1, minlength=len(texts) + 1)
        by_text = compute.sort_indices(texts).to_numpy(zero_copy_only=False)
        return texts.take(by_text), counts[1:][by_text]

    def examples(self) -> tuple[str, ...]:
        """Some values, the most frequent first."""
        return tuple(t if len(t) <= SHOWN else t[:SHOWN] + "..." for t in self._common)

    # ---- kind --------------------------------------------------------------------------------

    def kind(self) -> tuple[str, str]:
        """The kind, and why a column of this kind is left out."""
        if self.distinct == 0:
            return "constant", "no values"
        if self.distinct == 1 and self.gaps == 0 and self.rows > 1:
            return "constant", f"always {self.examples()[0]!r}"
        return self.kind_of_values()

    def kind_of_values(self, *, ids: bool = True) -> tuple[str, str]:
        """The kind of these values, number if there are none; `ids`: whether they may be an id."""
        import pyarrow as pa

        kind = self._type
        if self.distinct == 0:
            return "number", ""
        if pa.types.is_boolean(kind):
            return "boolean", ""
        if pa.types.is_temporal(kind) and not pa.types.is_duration(kind):
            return "date", ""
        if self._is_words and self._codes >= CODES:
            found = self._kind_of_words()
            return ("category", "") if found[0] == "id" and not ids else found
        if not self._is_words or self._share(self._decimal[1]) >= MOST:
            return self._number_or_id() if ids else ("number", "")
        if self._share(text_booleans(self._words[0]).wrong) >= MOST:
            return "boolean", ""
        if self._share(self._order[1]) >= MOST:
            return "date", ""
        found = self._kind_of_words()
        return ("category", "") if found[0] == "id" and not ids else found

    def _number_or_id(self) -> tuple[str, str]:
        """Whether they are whole numbers, each once, without a hole: row numbers."""
        if self.distinct < MANY or self.distinct < self.rows:
            return "number", ""
        values = self._numbers()
        if np.isnan(values).any() or (values != np.floor(values)).any():
            return "number", ""
        dense = np.ptp(values) == len(values) - 1
        return ("id", "counts the rows") if dense else ("number", "")

    def _numbers(self) -> NDArray[np.float64]:
        if self._is_words:
            return text_numbers(self._words[0], self._decimal[0]).values
        return numbers(self._column).values

    def _kind_of_words(self) -> tuple[str, str]:
        from pyarrow import compute

        if self.distinct < MANY:
            return "category", ""
        count = compute.count_substring_regex(self._words[0], r"\s+")
        spaces = count.to_numpy(zero_copy_only=False)
        filled = self.rows - self.gaps
        if 2 * self.distinct > filled and self._share(spaces < 2) >= 0.5:
            return "text", ""
        if self.distinct == filled:
            return "id", "each value is another one"
        return "category", ""

    def _share(self, wrong: NDArray[np.bool_]) -> float:
        """The rows with a valid value."""
        return 1.0 - float(self._words[1][wrong].sum()) / float(self._words[1].sum())

    @cached_property
    def _decimal(self) -> tuple[str, NDArray[np.bool_]]:
        """The decimal point with which most values are numbers, and the values that are not."""
        said = self._said[0]
        ways: Iterable[str] = self._points if said is None else (said,)
        point, wrong = self._best(text_numbers, ways)
        return ("." if said is None and not self._has_points else point), wrong

    @property
    def _has_points(self) -> bool:
        """Whether a value has a point or a comma; for others every decimal point is right."""
        from pyarrow import compute

        return bool(compute.any(compute.match_substring_regex(self._words[0], "[.,]")).as_py())

    @property
    def _codes(self) -> float:
        """The share of values that are digits and start with 0."""
        from pyarrow import compute

        zeros = compute.match_substring_regex(self._words[0], "^0[0-9]+$")
        return self._share(~zeros.to_numpy(zero_copy_only=False))

    @cached_property
    def _order(self) -> tuple[str, NDArray[np.bool_]]:
        """The format in which most values are dates, and the values that are not."""
        said = self._said[1]
        return self._best(text_times, ORDERS if said is None else (said,))

    def _best(
        self, read: Callable[[Any, str], Read], ways: Iterable[str]
    ) -> tuple[str, NDArray[np.bool_]]:
        """The first way to read with the fewest wrong values, and these values."""
        found: list[tuple[str, NDArray[np.bool_]]] = []
        for way in ways:
            found.append((way, read(self._words[0], way).wrong))
            if not found[-1][1].any():
                break
        return max(found, key=lambda each: self._share(each[1]))

    # ---- its coding --------------------------------------------------------------------------

    def coding(self, kind: str) -> Coding:
        if kind == "number":
            point = self._decimal[0] if self._is_words and self.distinct else self._said[0]
            return self._with_fill(Number(self.name, point or "."), _median)
        if kind == "boolean":
            return self._with_fill(Boolean(self.name), np.mean)
        if kind == "date":
            return self._with_fill(self._date(), _median)
        if kind == "text":
            return Text(self.name, self.limits.buckets)
        if kind == "hash":
            return Category(self.name, (), self.limits.buckets)
        return self._category()

    def _with_fill(self, coding: Any, middle: Callable[[Any], Any]) -> Coding:
        """The coding with its fill value, if gaps are to be filled."""
        if not self.limits.fill:
            return coding  # type: ignore[no-any-return]
        values = np.sort(coding.encode(self._column).values[:, 0])  # sorted: sums round equally
        values = values[~np.isnan(values)]
        filled: Coding = replace(coding, fill=float(middle(values)) if len(values) else 0.0)
        return filled

    def _date(self) -> Coding:
        import pyarrow as pa

        order = "ymd"
        if self._is_words:
            order = self._order[0] if self.distinct else self._said[1] or order
            stamps = text_times(self._words[0], order).values
        else:
            stamps = times(self._column).values
            order = "hms" if pa.types.is_time(self._type) else order
        stamps = stamps[~np.isnat(stamps)]
        origin = stamps.min().astype("datetime64[D]").astype("datetime64[us]") if len(stamps) else 0
        timed = bool((stamps != stamps.astype("datetime64[D]")).any())
        if order == "hms":
            parts: tuple[str, ...] = ("elapsed", "hour")
        else:
            weekday = () if order in ("yb", "by", "yq") else ("weekday",)
            parts = ("elapsed", *(("hour",) if timed else ()), *weekday, "month")
        return Date(self.name, order, int(np.int64(origin)), parts)

    def _category(self) -> Coding:
        from pyarrow import compute

        limits = self.limits
        short = compute.utf8_length(self._words[0]).to_numpy(zero_copy_only=False) <= LONGEST
        fit = np.nonzero(short & (self._words[1] >= limits.least))[0]
        common = fit[np.argsort(-self._words[1][fit], kind="stable")][: limits.categories]
        known = sorted(self._words[0].take(np.sort(common)).to_pylist())
        others = limits.few if len(fit) <= limits.categories else limits.buckets
        return Category(self.name, tuple(known), others)
