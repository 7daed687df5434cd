"""What the first lines of CSV text contain: names or numbers, the delimiter, a second header."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from budgetron.tables.parsing import GAPS

DELIMITERS = ",;\t|"
_RARE = " ~^:#"
_ROWS = 20  # of the first rows, inspected
_LEAST = 3  # rows of numbers after a second header
_SHOWN = 24  # characters of a line in messages


def is_number(text: str) -> bool:
    """Whether Python can parse it as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def are_names(fields: Sequence[str], text: bytes, delimiter: str) -> bool:
    r"""Whether the first line names the columns, judged by the rows after it.

    It does if it has no number. With whole numbers beside words (town,2019) it also does if
    no word occurs again in its column, and either a word is above numbers and the numbers are
    fewer, years, or 1, 2, 3, ...; or the numbers are years above other numbers.

    >>> are_names(["town", "2019"], b"Rome,17\nOslo,35\n", ",")
    True
    >>> are_names(["Rome", "2019"], b"Rome,2020\nOslo,2021\n", ",")
    False
    """
    numeric = [j for j, each in enumerate(fields) if is_number(each)]
    words = [j for j, each in enumerate(fields) if j not in numeric and each not in GAPS]
    if not numeric:
        return True
    rows = [each for each in _rows(text, delimiter) if len(each) == len(fields)]
    whole = all(re.fullmatch("[0-9]+", fields[j]) for j in numeric)
    if not (words and rows and whole and len(set(fields)) == len(fields)):
        return False
    below = [[each[j] for each in rows if each[j] not in GAPS] for j in range(len(fields))]
    if any(fields[j] in below[j] for j in words):
        return False
    if any(below[j] and all(map(is_number, below[j])) for j in words):
        places = [int(fields[j]) for j in numeric]
        counted = len(places) > 1 and places == [*range(places[0], places[0] + len(places))]
        return counted or len(words) > len(numeric) or all(_is_year(fields[j]) for j in numeric)
    return all(_is_year(fields[j]) and not all(map(_is_year, below[j])) for j in numeric)


def _is_year(text: str) -> bool:
    return re.fullmatch("[12][0-9]{3}", text) is not None


def without_comments(text: bytes) -> bytes:
    r"""The text without the lines above its header that start with #.

    A line with as many delimiters as the line after it is the header; its # is removed.

    >>> without_comments(b"# of 2024\na,b\n1,2\n"), without_comments(b"# a,b\n1,2\n")
    (b'a,b\n1,2\n', b'a,b\n1,2\n')
    """
    while text.startswith(b"#"):
        line, end, rest = text.partition(b"\n")
        behind = rest.partition(b"\n")[0]
        most = max(DELIMITERS.encode(), key=line.count)
        if not end or not rest.strip():
            return text
        if line.count(most) and line.count(most) == behind.count(most) and behind[:1] != b"#":
            return line.lstrip(b"# ") + end + rest
        text = rest.lstrip(b"\r\n")
    return text


def second_header(names: Sequence[str], text: bytes, delimiter: str) -> bool:
    r"""Whether the row after the header is another header: the names again, or units.

    It is if at least two columns hold numbers in the rows after it and words in this row, and no
    column holds numbers in both.

    >>> second_header(["a", "b"], b"m,s\n1,2\n3,4\n5,6\n", ",")
    True
    >>> second_header(["a", "b"], b"?,s\n1,2\n3,4\n5,6\n", ",")
    False
    """
    first, *rows = _rows(text, delimiter) or [[]]
    if first == list(names):
        return True
    rows = [each for each in rows if len(each) == len(names)]
    if len(first) != len(names) or len(rows) < _LEAST:
        return False
    words = 0
    for j, cell in enumerate(first):
        below = [each[j] for each in rows if each[j] not in GAPS]
        if not below or not all(map(is_number, below)):
            continue
        if is_number(cell):
            return False
        words += cell not in GAPS
    return words >= 2


def lone_column(line: str, text: bytes, delimiter: str | None) -> str:
    r"""The message about a first line without a delimiter.

    Parameters
    ----------
    line : the first
    text : what follows
    delimiter : as the user gave it; None: none of DELIMITERS is in the line

    >>> lone_column("a~b", b"1~2\n", None)
    "there is but one column in 'a~b': add --delimiter '~'"
    """
    if re.match(r"\S+( \d+:\S+)+", line):
        return "this is LIBSVM text, not CSV (--format libsvm)"
    second = next((each for each in text.decode(errors="replace").splitlines() if each), "")
    if delimiter is None and any(each in second for each in DELIMITERS):
        return "the header is not the first line: delete the lines above it"
    likely = [
        each
        for each in (*DELIMITERS, *_RARE)
        if each != delimiter and each in line and line.count(each) == second.count(each)
    ]
    said = "add another column, or --delimiter CHAR"
    if likely:
        best = max(likely, key=line.count)
        said = "add --delimiter " + ("tab" if best == "\t" else f"'{best}'")
    shown = line if len(line) <= _SHOWN else line[:_SHOWN] + "..."
    return f"there is but one column in {shown!r}: {said}"


def _rows(text: bytes, delimiter: str) -> list[list[str]]:
    """The first rows, without the last, which may be cut; none if they are not CSV text."""

    def lines() -> Iterator[str]:
        whole, newline, _ = text[: 1 << 18].rpartition(b"\n")
        yield from (whole + newline).decode(errors="replace").splitlines(keepends=True)

    try:
        found = islice(filter(None, csv.reader(lines(), delimiter=delimiter)), _ROWS)
        return [[cell.strip() for cell in row] for row in found]
    except csv.Error:
        return []
