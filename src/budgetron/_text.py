"""How values are written for people: text from outside, cells of a spreadsheet, bytes."""

from __future__ import annotations

from typing import Any


def shown(text: str, keep: str = "") -> str:
    r"""Text from outside, for a terminal: characters that are not printable are escaped.

    Parameters
    ----------
    text : a label, a file or column name, or a message that contains one
    keep : characters that are not escaped

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
    """A CSV cell that no spreadsheet takes for a formula: it gets a leading apostrophe.

    Numbers are not changed, also numbers as text.

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


def counted(count: int, noun: str) -> str:
    """A number with its noun, in the plural unless there is one.

    >>> counted(1, "field"), counted(1200, "row")
    ('1 field', '1,200 rows')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def bytes_text(count: float) -> str:
    """`84.2 kB`: powers of 1000, as everywhere in budgetron."""
    from rich.filesize import decimal

    return decimal(round(count))
