"""How values are written for people: text from outside, cells of a spreadsheet, bytes."""

from __future__ import annotations

from typing import Any


def shown(text: str, keep: str = "") -> str:
    r"""Text from outside, for a terminal: what is no printable character as Python writes it.

    Parameters
    ----------
    text : a label, a file's or a column's name, a message with such in it
    keep : characters to leave as they are

    Examples
    --------
    >>> print(shown("\x1b[2Jcat\n"))
    \x1b[2Jcat\n
    """
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or each in keep else each.encode("unicode_escape").decode()
        for each in text
    )


def spreadsheet(cell: Any) -> Any:
    """A cell of CSV that no spreadsheet takes for a formula: an apostrophe stands before it.

    Numbers stay as they are, also those that are words.

    >>> [spreadsheet(each) for each in ("=1+1", "-1.5", -1.5, "cat")]
    ["'=1+1", '-1.5', -1.5, 'cat']
    """
    if not isinstance(cell, str) or not cell.startswith(("=", "+", "-", "@", "\t", "\r")):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def bytes_text(count: float) -> str:
    """`84.2 kB`: powers of 1000, as everywhere in budgetron."""
    from rich.filesize import decimal

    return decimal(round(count))
