"""A reason as a table for people: at most 80 characters wide."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

from budgetron._text import shown

if TYPE_CHECKING:
    from budgetron.explaining.reasons import Reason

MOST, EXAMPLES = 10, 3  # columns and examples in the table
NAME, VALUE, HELD = 15, 16, 10  # characters of a column's name, of its value, of an example's

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}")


def as_text(reason: Reason) -> str:
    """The columns that moved a decision, and beside them the stored examples behind it."""
    moved, examples = reason.moves[:MOST], reason.examples[:EXAMPLES]
    heads = ["column", "this row", "change"]
    heads += [f"example {i + 1}" for i in range(len(examples))]
    lines = [heads]
    for move in moved:
        held = [cell(each.values.get(move.column), HELD) for each in examples]
        name, value = cut(move.column, NAME), cell(move.value, VALUE)
        lines.append([name, value, f"{move.change:+.3g}", *held])
    for title, numbers in (
        ("share", [f"{each.share:+.3g}" for each in examples]),
        ("similarity", [f"{each.similarity:.2f}" for each in examples]),
        ("round", [f"{each.round}" for each in examples]),
    ):
        if numbers:
            lines.append([title, "", "", *numbers])
    widths = [max(cell_len(line[j]) for line in lines) for j in range(len(heads))]
    table = [
        "  ".join(
            _padded(each, width, left=j < 2)
            for j, (each, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    if examples:
        table.insert(1 + len(moved), "")
    return "\n".join([_head(reason), *table, *_more(reason)])


def _padded(text: str, width: int, *, left: bool) -> str:
    spaces = " " * (width - cell_len(text))
    return text + spaces if left else spaces + text


def _head(reason: Reason) -> str:
    if reason.probability is None:
        return f"row {cut(str(reason.row), 20)}: {reason.prediction:.6g}"
    sure = f"probability {reason.probability:.2f}, f = {reason.decision:.3g}"
    other = "" if reason.against is None else f", not {cell(reason.against, 14)}"
    return f"row {cut(str(reason.row), 20)}: {cell(reason.prediction, 14)}{other} ({sure})"


def _more(reason: Reason) -> list[str]:
    lines = []
    rest = len(reason.moves) - MOST
    if rest > 0:
        lines.append(f"{rest} more column{'s' if rest > 1 else ''} moved it less")
    left = reason.n_examples - len(reason.examples[:EXAMPLES])
    if reason.examples and left > 0:
        lines.append(f"{left} more stored example{'s have' if left > 1 else ' has'} smaller shares")
    shares = sorted(reason.moves, key=lambda each: -abs(each.share))
    if any(each.share for each in shares):
        largest = ", ".join(
            f"{cut(each.column, NAME)} {each.share:+.3g}" for each in shares[:2] if each.share
        )
        lines.append(f"straight part {sum(each.share for each in shares):+.3g} ({largest})")
    if reason.constant:
        lines.append(f"constant {reason.constant:+.3g}")
    return lines


def cell(value: Any, width: int) -> str:
    """What a cell held, in so many characters; a gap is a question mark.

    >>> cell(1234567890.0, 8), cell(None, 8), cell(True, 8), cell("Constantinople", 8)
    ('1.23e+09', '?', 'yes', 'Constan…')
    >>> cell("2024-11-05 06:15:00", 12)
    '2024-11-05'
    """
    if value is None:
        return "?"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        whole = f"{value:.10g}"
        return whole if len(whole) <= min(width, 9) else f"{value:.3g}"
    text = str(value)
    if cell_len(text) > width and _TIME.match(text):  # the day says most
        text = text[: 16 if width >= 16 else 10]
    return cut(text, width)


def cut(text: str, width: int) -> str:
    """Text from outside in so many characters.

    >>> cut("occupation code", 10)
    'occupatio…'
    """
    text = shown(text)
    if cell_len(text) <= width:
        return text
    while cell_len(text) > width - 1:
        text = text[:-1]
    return text + "…"
