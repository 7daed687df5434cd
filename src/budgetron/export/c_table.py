"""The table encoder in C: a struct with one field per column, and a function that fills features.

Features are those of `TableEncoder`, in its order. Cells are typed: a number, a boolean, a point in
time, text. The caller parses its input; this code trims, looks up and hashes text. In text columns
ASCII letters become lower case; other characters stay, and count as letters.
"""

from __future__ import annotations

import re

import numpy as np

from budgetron.export.c_text import comment, literal, quoted
from budgetron.tables.codings import Boolean, Category, Coding, Date, Number, Text
from budgetron.tables.encoding import Encoding
from budgetron.tables.hashing import MULTIPLIER, column_seed
from budgetron.tables.parsing import GAPS, LONE

_KEYWORDS = """
    asm auto bool break case char const continue default do double else enum extern false float for
    goto if inline int long main register restrict return short signed sizeof static struct switch
    true typedef union unsigned void volatile while
    alignas alignof and bitand bitor catch class compl concept constexpr decltype delete explicit
    export friend mutable namespace new noexcept not nullptr operator or override private protected
    public requires template this throw try typeid typename using virtual wchar_t xor
    NAN INFINITY HUGE_VAL HUGE_VALF NULL EOF errno isnan isinf isfinite signbit fpclassify
"""
KEYWORDS = frozenset(_KEYWORDS.split())
FIELDS = {
    "number": ("double", "a number; NAN if missing"),
    "boolean": ("int", "1 or 0; -1 if missing"),
    "date": ("int64_t", "microseconds since 1970, UTC; INT64_MIN if missing"),
    "category": ("const char *", "UTF-8; NULL if missing"),
    "text": ("const char *", "UTF-8; NULL if missing"),
}


def field_names(table: Encoding) -> list[str]:
    """The fields of the struct, in the order of the columns: unique and valid C names."""
    taken: list[str] = []
    for coding in table.coded:
        name = re.sub(r"[^A-Za-z0-9]+", "_", coding.name).strip("_")
        if not re.match(r"[A-Za-z]", name) or name in KEYWORDS:
            name = f"column_{name}".rstrip("_")
        made, number = name, 2
        while made in taken:
            made, number = f"{name}_{number}", number + 1
        taken.append(made)
    return taken


def table_text(table: Encoding, width: int) -> tuple[str, int]:
    """The C text for a table whose rows have `width` features, and the bytes of its constants."""
    names = field_names(table)
    lines = [comment("A row of the table: one field per column that the model uses.")]
    lines += ["struct @_row {"]
    for name, coding in zip(names, table.coded, strict=True):
        kind, words = FIELDS[coding.kind]
        space = "" if kind.endswith("*") else " "
        lines += [f"  {kind}{space}{name}; {comment(f'{coding.name}: {words}')}"]
    lines += ["};", ""]
    kinds = {coding.kind for coding in table.coded}
    size = 0
    if kinds & {"category", "text"}:
        lines += _WORDS.split("\n")
        size += sum(len(gap.encode()) + 9 for gap in (*GAPS, *LONE))
    if "date" in kinds:
        lines += _DATES.split("\n")
    if "text" in kinds:
        lines += _TEXTS.split("\n")
    for number, coding in enumerate(table.coded):
        if isinstance(coding, Category) and coding.categories:
            lines += [f"static const char *const @_categories_{number}[] = {{"]
            lines += [f"  {quoted(each)}," for each in coding.categories] + ["};"]
            size += sum(len(each.encode()) + 9 for each in coding.categories)
    lines += [
        comment("The features of a row, @_features numbers."),
        "static inline void @_encode(const struct @_row *row, @@_INPUT *x) {",
        "  int j;",
        "  for (j = 0; j < @_features; ++j) x[j] = 0;",
    ]
    for number, (name, coding, start) in enumerate(
        zip(names, table.coded, table.starts, strict=False)
    ):
        if start + coding.width > width:
            break
        lines += [f"  {each}" for each in _column(coding, f"row->{name}", start, number)]
    return "\n".join([*lines, "}", ""]), size


def _fill(fill: float | None) -> str:
    return "NAN" if fill is None else literal(fill)


def _column(coding: Coding, cell: str, start: int, number: int) -> list[str]:
    """The lines of one column."""
    match coding:
        case Number():
            finite = f"{cell} - {cell} == 0"
            return [f"x[{start}] = (@@_INPUT)({finite} ? {cell} : {_fill(coding.fill)});"]
        case Boolean():
            known = f"({cell} == 0 || {cell} == 1)"
            return [f"x[{start}] = (@@_INPUT)({known} ? (double){cell} : {_fill(coding.fill)});"]
        case Date():
            bits = sum(1 << ("hour", "weekday", "month").index(part) for part in coding.parts[1:])
            gap = "NAN" if coding.fill is None else "0.0"
            origin = f"INT64_C({coding.origin})"
            given = f"{cell}, {origin}, {bits}, {_fill(coding.fill)}, {gap}"
            return [f"@_date({given}, x + {start});"]
        case Category():
            known, marks = (
                f"@_categories_{number}" if coding.categories else "0",
                int(not {*LONE} & {*coding.categories}),
            )
            seed = f"UINT64_C(0x{column_seed(coding.name):016x})"
            given = f"{cell}, {known}, {len(coding.categories)}, {marks}, {seed}, {coding.others}"
            return [f"x[{start} + @_category({given})] = 1;"]
        case Text():
            seed = f"UINT64_C(0x{column_seed(coding.name):016x})"
            return [f"@_text({cell}, {seed}, {coding.others}, x + {start});"]
    raise AssertionError(coding.kind)


_GAPS = "\n".join(f"  {quoted(gap)}," for gap in (*GAPS, *LONE))
_WORDS = f"""\
/* What people write where there is no value; the last {len(LONE)} are marks. */
static const char *const @_gaps[] = {{
{_GAPS}
}};

static inline int @_space(char c) {{
  return c == ' ' || (c >= '\\t' && c <= '\\r');
}}

/* Whether the text from `from` to `to` is `word`. */
static inline int @_same(const char *from, const char *to, const char *word) {{
  while (from < to && *word != 0 && *from == *word) {{
    ++from;
    ++word;
  }}
  return from == to && *word == 0;
}}

/* The text without the spaces around it; whether it stands for no value. */
static inline int @_gap(const char **from, const char **to, int marks) {{
  const int count = marks ? {len(GAPS) + len(LONE)} : {len(GAPS)};
  int i;
  if (*from == 0) return 1;
  while (@_space(**from)) ++*from;
  *to = *from;
  while (**to != 0) ++*to;
  while (*to > *from && @_space((*to)[-1])) --*to;
  for (i = 0; i < count; ++i) {{
    if (@_same(*from, *to, @_gaps[i])) return 1;
  }}
  return 0;
}}

static inline uint64_t @_mix(uint64_t h) {{
  h = (h ^ (h >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  h = (h ^ (h >> 27)) * UINT64_C(0x94D049BB133111EB);
  return h ^ (h >> 31);
}}

/* The bucket of a text, below `count`. */
static inline int @_bucket(const char *from, const char *to, int small, uint64_t seed, int count) {{
  uint64_t sum = 0, power = 1;
  for (; from < to; ++from) {{
    uint64_t byte = (unsigned char)*from;
    if (small && byte >= 'A' && byte <= 'Z') byte += 'a' - 'A';
    sum += (byte + 1) * power;
    power *= UINT64_C(0x{MULTIPLIER:016X});
  }}
  return (int)(@_mix(sum ^ seed) % (uint64_t)count);
}}

/* The feature of a category: its own, that of a gap, or a bucket. */
static inline int @_category(const char *from, const char *const *known, int count, int marks,
                             uint64_t seed, int others) {{
  const char *to = from;
  int i;
  if (@_gap(&from, &to, marks)) return count;
  for (i = 0; i < count; ++i) {{
    if (@_same(from, to, known[i])) return i;
  }}
  return count + 1 + @_bucket(from, to, 0, seed, others);
}}
"""
_TWO_PI = literal(2 * np.pi)
_DATES = f"""\
/* Days since the origin; then the hour (1), the weekday (2), the month (4) as points on circles. */
static inline void @_date(int64_t t, int64_t origin, int parts, double fill, double gap,
                          @@_INPUT *x) {{
  const int64_t long_day = INT64_C(86400000000);
  const int lost = t == INT64_MIN;
  double shares[3];
  int64_t day, rest, z, era, in_era, year, in_year;
  int i, at = 1, month;
  if (lost) t = 0;
  day = t / long_day;
  rest = t % long_day;
  if (rest < 0) {{
    rest += long_day;
    --day;
  }}
  /* The month: days are counted from March on, 400 years are one era. */
  z = day + 719468;
  era = (z >= 0 ? z : z - 146096) / 146097;
  in_era = z - era * 146097;
  year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
  in_year = in_era - (365 * year + year / 4 - year / 100);
  month = (int)((5 * in_year + 2) / 153);
  shares[0] = (double)rest / (double)long_day;
  shares[1] = (double)(((day + 3) % 7 + 7) % 7) / 7.0;
  shares[2] = ((month + 2) % 12 + (double)(in_year - (153 * month + 2) / 5) / 31.0) / 12.0;
  x[0] = (@@_INPUT)(lost ? fill : (double)(t - origin) / (double)long_day);
  for (i = 0; i < 3; ++i) {{
    if (!(parts >> i & 1)) continue;
    x[at++] = (@@_INPUT)(lost ? gap : sin({_TWO_PI} * shares[i]));
    x[at++] = (@@_INPUT)(lost ? gap : cos({_TWO_PI} * shares[i]));
  }}
}}
"""
_TEXTS = """\
/* Counts of words in buckets, as a vector of length 1. */
static inline void @_text(const char *from, uint64_t seed, int count, @@_INPUT *x) {
  const char *to = from;
  double length = 0;
  int i;
  if (@_gap(&from, &to, 1)) return;
  while (from < to) {
    const char *end = from;
    while (end < to && ((*end >= '0' && *end <= '9') || (*end >= 'A' && *end <= 'Z') ||
                        (*end >= 'a' && *end <= 'z') || (unsigned char)*end > 127)) {
      ++end;
    }
    if (end > from) x[@_bucket(from, end, 1, seed, count)] += 1;
    from = end > from ? end : end + 1;
  }
  for (i = 0; i < count; ++i) length += (double)x[i] * (double)x[i];
  length = sqrt(length);
  for (i = 0; i < count && length > 0; ++i) x[i] = (@@_INPUT)((double)x[i] / length);
}
"""
