"""Cells as numbers, booleans, and points in time: a whole column at once.

Each function takes an Arrow array of any type and returns values, NaN or NaT if there are none, and
which cells could not be read: a gap ("", "?", NA, null, ...) has no value and is not an error.
Texts are parsed once per distinct text, so that repeated ones cost little.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

# Texts that mean no value, without surrounding spaces.
GAPS = (
    *("", "?", "NA", "N/A", "n/a", "#N/A", "NULL", "null", "None"),
    *("NaN", "nan", "NAN", "-nan", "NaT"),
)
# A single mark is a gap too, unless a column has it as a category (labels + and -).
LONE = ("-", "--", ".", "\u2013", "\u2014")
YES = ("true", "yes", "y", "t", "on")
NO = ("false", "no", "n", "f", "off")

# A number, and one with separated thousands: 1,234,567.8 or, with a decimal comma, 1.234.567,8.
_PLAIN = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
_APART = " '\u2019\u00a0\u202f"
_GROUPED = {
    ".": rf"^[+-]?[0-9]{{1,3}}(?:[,{_APART}][0-9]{{3}})+(?:\.[0-9]*)?$",
    ",": rf"^[+-]?[0-9]{{1,3}}(?:[.{_APART}][0-9]{{3}})+(?:,[0-9]*)?$",
}
_COMMA = _PLAIN.replace(r"\.", ",")
# What may be before or after a number: $1,234.50, -$5, 12 %, 1.234 EUR.
_MONEY = "USD EUR GBP CHF JPY CNY INR CAD AUD NZD SEK NOK DKK PLN CZK HUF BRL MXN ZAR TRY KRW RUB"
_UNIT = rf"(?:(?:US|CA|AU|R)?[$]|[\x{{20AC}}\x{{A3}}\x{{A5}}\x{{20B9}}]|{'|'.join(_MONEY.split())})"
_BEFORE = rf"^([+-]?) ?{_UNIT} ?([+-]?[0-9.,][^A-Za-z%]*)$"
_BEHIND = rf"^([+-]?[0-9.,].*[0-9.,]|[+-]?[0-9])[ \x{{A0}}\x{{202F}}]?(?:{_UNIT}|%)$"

_TIME = (
    r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,](?P<part>[0-9]{1,9}))?)?"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?(?: ?(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2}))?"
)
_YEAR = r"(?P<year>[0-9]{4}|[0-9]{2})"
_NAMED = r"(?P<month>[A-Za-z]{3})[A-Za-z]*\.?"
_MONTH = r"(?P<month>[A-Za-z]{3})(?:uary|ruary|ch|il|e|y|ust|t|tember|ober|ember)?\.?"
_DATES = {
    "ymd": r"(?P<year>[0-9]{4})[-/.](?P<month>[0-9]{1,2})[-/.](?P<day>[0-9]{1,2})",
    "dmy": rf"(?P<day>[0-9]{{1,2}})[-/.](?P<month>[0-9]{{1,2}})[-/.]{_YEAR}",
    "mdy": rf"(?P<month>[0-9]{{1,2}})[-/.](?P<day>[0-9]{{1,2}})[-/.]{_YEAR}",
    "dby": rf"(?P<day>[0-9]{{1,2}})[-/ .]{_NAMED}[-/ ,.]+{_YEAR}",
    "bdy": rf"{_NAMED} (?P<day>[0-9]{{1,2}}),? {_YEAR}",
    # The first day of a month, or of a quarter. A longer word must also end like a month.
    "yb": rf"(?P<year>[0-9]{{4}})[- ]{_MONTH}",
    "by": rf"{_MONTH}[- ](?P<year>[0-9]{{4}})",
    "yq": r"(?P<year>[0-9]{4})[- ]?[Qq](?P<month>[1-4])",
}
# Formats of dates, in order of preference if several fit equally: day before month, unless a day
# above 12 shows otherwise. RE2 takes the same expressions.
ORDERS = {
    **{name: rf"^{date}(?:(?:T| +|, ){_TIME})?$" for name, date in _DATES.items()},
    "hms": rf"^{_TIME}$",
}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MICROSECONDS = 1_000_000
_DAY = 86_400 * _MICROSECONDS
# int64 microseconds reach further; NumPy, pandas and Arrow can all show these years.
_FIRST, _LAST = np.datetime64("0001-01-01", "us"), np.datetime64("9999-12-31T23:59:59", "us")


class Read(NamedTuple):
    """Values of a column's cells, and which cells could not be read."""

    values: NDArray[Any]
    wrong: NDArray[np.bool_]


class Words(NamedTuple):
    """A column of texts: each cell's text by its number, -1 for a gap, and the distinct texts."""

    codes: NDArray[np.int64]
    texts: Any


def is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def whole(column: Any) -> Any:
    """One Arrow array of a column that may be in chunks, or in a dictionary of numbers."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # of older versions, or too long for one
            column = pa.concat_arrays(column.chunks) if column.num_chunks else column.chunk(0)
    if pa.types.is_dictionary(column.type) and not is_text(column.type.value_type):
        column = column.dictionary_decode()
    return column


def as_text(column: Any) -> Any:
    """The cells of a column that is not text as texts; whole numbers have no fraction."""
    import pyarrow as pa
    from pyarrow import compute

    kind = column.type
    if pa.types.is_null(kind):
        return pa.nulls(len(column), pa.string())
    if pa.types.is_floating(kind):
        column = column.cast(pa.float64())
        column = compute.if_else(compute.equal(column, 0.0), pa.scalar(0.0), column)  # no "-0"
        near = compute.less(compute.abs(column), 1e15)
        round_ = compute.and_(near, compute.equal(compute.floor(column), column))
        if not compute.any(round_).as_py():
            return column.cast(pa.string())
        digits = compute.if_else(round_, column, None).cast(pa.int64()).cast(pa.string())
        return compute.coalesce(digits, column.cast(pa.string()))
    return column.cast(pa.string())


def dictionary_of(column: Any) -> tuple[NDArray[Any], Any]:
    """The cells of a column of any type as numbers of texts, -1 for null, and these texts."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        column = (column if is_text(column.type) else as_text(column)).dictionary_encode()
    indices = column.indices
    codes = indices.to_numpy(zero_copy_only=False) if not indices.null_count else _codes(indices)
    texts = column.dictionary
    if texts.type != pa.string():
        texts = texts.cast(pa.string())
    return codes, texts


def _codes(indices: Any) -> NDArray[Any]:
    """The numbers of an Arrow array, -1 for null: from its memory, ten times as fast as Arrow."""
    valid, data = indices.buffers()
    n, offset = len(indices), indices.offset
    kind = np.dtype(indices.type.to_pandas_dtype())
    codes = np.frombuffer(data, kind, n, offset * kind.itemsize)
    bits = np.frombuffer(valid, np.uint8, (offset % 8 + n + 7) // 8, offset // 8)
    known = np.unpackbits(bits, bitorder="little")[offset % 8 : offset % 8 + n]
    return np.where(known, codes.astype(np.int64), -1)


def words_of(column: Any, *, lone: bool = True) -> Words:
    """The texts of a column of any type, without surrounding spaces.

    `lone`: a single mark (LONE) is a gap.
    """
    import pyarrow as pa
    from pyarrow import compute

    codes, texts = dictionary_of(column)
    # Texts that differ only in spaces are one, and gaps are none.
    again = compute.utf8_trim_whitespace(texts).dictionary_encode()
    gap = compute.is_in(again.dictionary, pa.array([*GAPS, *LONE] if lone else GAPS)).to_numpy(
        zero_copy_only=False
    )
    numbers = np.cumsum(~gap) - 1
    numbers[gap] = -1
    inner = again.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    renamed = np.append(np.append(numbers, -1)[inner], -1)
    kept = again.dictionary.filter(pa.array(~gap))
    return Words(renamed[codes], kept)


def _by_word(column: Any, read: Callable[[Any], Read]) -> Read:
    """`read` for the distinct texts of a column, copied to its cells; NaN or NaT for gaps."""
    codes, texts = words_of(column)
    values, wrong = read(texts)
    absent = np.array(["nan" if values.dtype.kind == "f" else "NaT"]).astype(values.dtype)
    values = np.concatenate([values, absent])
    return Read(values[codes], np.append(wrong, False)[codes])


def all_wrong(column: Any, absent: Any) -> Read:
    """A column without any cell of the requested kind."""
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    return Read(np.full(len(column), absent), valid)


# ---- numbers -------------------------------------------------------------------------------------


def numbers(column: Any, decimal: str = ".") -> Read:
    """float64; values that are not finite are not numbers."""
    import pyarrow as pa

    kind = column.type
    native = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    if pa.types.is_null(kind):
        return Read(np.full(len(column), np.nan), np.zeros(len(column), bool))
    if any(fits(kind) for fits in native):
        if kind != pa.float64():
            column = column.cast(pa.float64(), safe=False)
        values = column.to_numpy(zero_copy_only=False)
        wrong = np.isinf(values)
        return Read(np.where(wrong, np.nan, values) if wrong.any() else values, wrong)
    if pa.types.is_duration(kind):
        column = column.cast(pa.duration("us"), safe=False).cast(pa.int64()).cast(pa.float64())
        seconds = column.to_numpy(zero_copy_only=False) / _MICROSECONDS
        return Read(seconds, np.zeros(len(column), bool))
    plain = _plain_numbers(column) if is_text(kind) and decimal == "." else None
    if plain is not None:
        return plain
    if not is_text(kind) and not pa.types.is_dictionary(kind):
        return all_wrong(column, np.nan)
    return _by_word(column, lambda texts: text_numbers(texts, decimal))


def _plain_numbers(texts: Any) -> Read | None:
    """Texts as numbers if the fast parser can read all of them; else None."""
    import pyarrow as pa

    try:
        values = texts.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        return None
    return Read(values, np.zeros(len(texts), bool)) if np.isfinite(values).all() else None


def text_numbers(texts: Any, decimal: str) -> Read:
    """Texts without spaces around them as numbers; `decimal` is the decimal point, "." or ","."""
    import pyarrow as pa
    from pyarrow import compute

    found = _plain_numbers(texts) if decimal == "." else None
    if found is not None:
        return found
    form = _PLAIN if decimal == "." else _COMMA
    plain = compute.match_substring_regex(texts, form)
    grouped = compute.match_substring_regex(texts, _GROUPED[decimal])
    if not compute.all(compute.or_(plain, grouped)).as_py():
        bare = compute.replace_substring_regex(texts, _BEFORE, r"\1\2")
        bare = compute.replace_substring_regex(bare, _BEHIND, r"\1")
        if not bare.equals(texts):
            texts = bare
            plain = compute.match_substring_regex(texts, form)
            grouped = compute.match_substring_regex(texts, _GROUPED[decimal])
    if compute.any(grouped).as_py():
        other = "," if decimal == "." else "."
        bare = compute.replace_substring_regex(texts, f"[{other}{_APART}]", "")
        texts = compute.if_else(grouped, bare, texts)
    if decimal == ",":
        texts = compute.replace_substring(texts, ",", ".")
    texts = compute.if_else(compute.or_(plain, grouped), texts, pa.scalar(None, pa.string()))
    values = texts.cast(pa.float64()).to_numpy(zero_copy_only=False)
    wrong = ~np.isfinite(values)
    return Read(np.where(wrong, np.nan, values), wrong)


# ---- booleans ------------------------------------------------------------------------------------


def booleans(column: Any) -> Read:
    """1 for yes, 0 for no; the numbers 1 and 0 count too."""
    import pyarrow as pa

    if is_text(column.type) or pa.types.is_dictionary(column.type):
        return _by_word(column, text_booleans)
    values, wrong = numbers(column)
    other = (values != 0) & (values != 1) & ~np.isnan(values)
    return Read(np.where(other, np.nan, values), wrong | other)


def text_booleans(texts: Any) -> Read:
    import pyarrow as pa
    from pyarrow import compute

    lower = compute.utf8_lower(texts)
    yes = compute.is_in(lower, pa.array([*YES, "1"])).to_numpy(zero_copy_only=False)
    no = compute.is_in(lower, pa.array([*NO, "0"])).to_numpy(zero_copy_only=False)
    return Read(np.where(yes, 1.0, np.where(no, 0.0, np.nan)), ~(yes | no))


# ---- points in time ------------------------------------------------------------------------------


def times(column: Any, order: str = "ymd") -> Read:
    """datetime64[us], in UTC if a zone is given; `order` is one of ORDERS, for texts."""
    import pyarrow as pa

    kind = column.type
    zone = getattr(kind, "tz", None)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        stamps = column.cast(pa.timestamp("us", zone), safe=False).cast(pa.int64())
    elif pa.types.is_time(kind):
        stamps = column.cast(pa.time64("us"), safe=False).cast(pa.int64())
    elif is_text(kind) or pa.types.is_dictionary(kind):
        return _by_word(column, lambda texts: text_times(texts, order))
    else:
        return all_wrong(column, np.datetime64("NaT", "us"))
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    values = stamps.fill_null(0).to_numpy(zero_copy_only=False).astype("datetime64[us]")
    wrong = valid & ((values < _FIRST) | (values > _LAST))
    return Read(np.where(valid & ~wrong, values, np.datetime64("NaT", "us")), wrong)


def text_times(texts: Any, order: str) -> Read:
    """Texts without spaces around them as points in time, written in this order."""
    import pyarrow as pa
    from pyarrow import compute

    n = len(texts)
    if not compute.any(compute.match_substring_regex(texts, ORDERS[order])).as_py():
        return Read(np.full(n, np.datetime64("NaT", "us")), np.ones(n, bool))
    fields = compute.extract_regex(texts, ORDERS[order])
    found = fields.is_valid().to_numpy(zero_copy_only=False)

    def text(name: str) -> Any:
        return compute.coalesce(compute.struct_field(fields, name), pa.scalar(""))

    def number(name: str, least: int, most: int) -> NDArray[np.int64]:
        """The field as whole numbers, 0 if there is none; out of range is not found."""
        digits = compute.if_else(compute.equal(text(name), ""), "0", text(name))
        values: NDArray[np.int64] = digits.cast(pa.int64()).to_numpy(zero_copy_only=False)
        np.logical_and(found, (values >= least) & (values <= most), out=found)
        return values

    days = np.zeros(n, np.int64)
    if order != "hms":
        year = number("year", 0, 9999)
        short = compute.equal(compute.utf8_length(text("year")), 2).to_numpy(zero_copy_only=False)
        year = np.where(short, year + np.where(year < 69, 2000, 1900), year)  # as POSIX has it
        np.logical_and(found, year >= 1, out=found)
        if "b" in order:
            names = compute.utf8_lower(text("month"))
            month = compute.index_in(names, pa.array(_MONTHS)).fill_null(-1)
            month = month.to_numpy(zero_copy_only=False).astype(np.int64) + 1
            np.logical_and(found, month >= 1, out=found)
        elif order == "yq":
            month = 3 * number("month", 1, 4) - 2
        else:
            month = number("month", 1, 12)
        day = number("day", 1, 31) if "d" in order else np.ones(n, np.int64)
        months = (np.where(found, year - 1970, 0) * 12 + np.where(found, month - 1, 0)).astype(
            "datetime64[M]"
        )
        first = months.astype("datetime64[D]").astype(np.int64)
        after = (months + 1).astype("datetime64[D]").astype(np.int64)
        np.logical_and(found, day <= after - first, out=found)
        days = first + day - 1
    hour, minute = number("hour", 0, 23), number("minute", 0, 59)
    second = number("second", 0, 60)
    half = compute.utf8_lower(text("half"))
    twelve = compute.not_equal(half, "").to_numpy(zero_copy_only=False)
    np.logical_and(found, ~twelve | ((hour >= 1) & (hour <= 12)), out=found)
    after_noon = compute.equal(half, "p").to_numpy(zero_copy_only=False)
    hour = np.where(twelve, hour % 12 + 12 * after_noon, hour)
    part = compute.utf8_slice_codeunits(compute.utf8_rpad(text("part"), 6, "0"), 0, 6)
    fraction = part.cast(pa.int64()).to_numpy(zero_copy_only=False)
    total = days * _DAY + ((hour * 60 + minute) * 60 + second) * _MICROSECONDS + fraction
    total = total - _offset(text("zone")) * 60 * _MICROSECONDS
    values = np.where(found, total, 0).astype("datetime64[us]")
    return Read(np.where(found, values, np.datetime64("NaT", "us")), ~found)


def _offset(zones: Any) -> NDArray[np.int64]:
    """Minutes east of Greenwich of zones such as +02:00, -0530 and Z; 0 if there is none."""
    encoded = zones.dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    minutes = []
    for zone in encoded.dictionary.to_pylist():
        sign, digits = zone[:1], re.sub(r"[^0-9]", "", zone)
        east = int(digits[:2]) * 60 + int(digits[2:]) if digits else 0
        minutes.append(-east if sign == "-" else east)
    found: NDArray[np.int64] = np.array(minutes, np.int64)[codes]
    return found
