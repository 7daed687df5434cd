"""Where rows of CSV text end: a newline ends a row unless it is inside quotation marks."""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

QUOTE = 0x22


def rows_end(text: bytes, delimiter: str) -> int:
    r"""Where the last whole row of `text` ends, after its newline; 0 if no row is whole.

    Parameters
    ----------
    text : starts at the start of a row
    delimiter : the separator of fields

    Examples
    --------
    >>> rows_end(b"1,2\n3,4\n5,", ",")
    8
    >>> rows_end(b'1,"rome"\n2,"new\nyork', ",")
    9
    """
    if QUOTE not in text:
        return text.rfind(b"\n") + 1
    letters = np.frombuffer(text, np.uint8)
    quotes = np.flatnonzero(letters == QUOTE)
    if not _alternate(letters, quotes, delimiter):
        whole = _whole_rows(delimiter).match(text)
        return whole.end() if whole else 0
    # From the end: a position after an even number of marks is outside quotation marks.
    end = len(text)
    for i in range(len(quotes), -1, -1):
        start = int(quotes[i - 1]) if i else 0
        if i % 2 == 0 and (newline := text.rfind(b"\n", start, end)) >= 0:
            return newline + 1
        end = start
    return 0


def unclosed(text: bytes, delimiter: str) -> int:
    r"""Where the field starts whose quotation mark is never closed.

    Parameters
    ----------
    text : a row without its end
    delimiter : the separator of fields

    Examples
    --------
    >>> unclosed(b'1,"new\nyork","rome\n2,3', ",")
    13
    """
    found = _fields(delimiter).match(text)
    return found.end() if found else 0


def _alternate(letters: NDArray[np.uint8], quotes: NDArray[np.intp], delimiter: str) -> bool:
    """Whether quotation marks open and close in turn.

    They do if every second one, from the first on, starts a field or directly follows the one
    before it (two marks in a quoted field mean one). A mark in the middle of an unquoted field
    means nothing, and breaks the order.
    """
    opening = quotes[2::2] if quotes[0] == 0 else quotes[::2]
    may_come_before = np.zeros(256, dtype=bool)
    may_come_before[[ord(delimiter), ord("\n"), ord("\r"), QUOTE]] = True
    return bool(may_come_before[letters[opening - 1]].all())


def _field(delimiter: str) -> tuple[bytes, bytes]:
    """Patterns of a field and of a separator.

    Groups are repeated in atomic groups, (?>(?:...)*): those repeated by *+ match too much in
    Python 3.11.2.
    """
    between = re.escape(delimiter.encode())
    field = rb'(?>"(?>(?:[^"]++|"")*)"|(?!"))[^' + between + rb"\r\n]*+"
    return field, rb"[" + between + rb"\r]"


@lru_cache(maxsize=8)
def _whole_rows(delimiter: str) -> re.Pattern[bytes]:
    """Matches as many whole rows as there are; about 10 times as slow as counting marks."""
    field, between = _field(delimiter)
    return re.compile(rb"(?>(?:(?>(?:" + field + between + rb")*)" + field + rb"\n)*)")


@lru_cache(maxsize=8)
def _fields(delimiter: str) -> re.Pattern[bytes]:
    """Matches as many whole fields of a row as there are, each with its separator."""
    field, between = _field(delimiter)
    return re.compile(rb"(?>(?:" + field + between + rb")*)")
