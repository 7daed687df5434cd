"""Messages about a table: the inferred kinds of its columns, and cells that could not be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from budgetron._text import shown

if TYPE_CHECKING:
    from budgetron.tables.kinds import Column

OFTEN = 0.05  # share of a column's values: more values of another kind cause a warning
SHOWN = 6  # columns listed in a line


def of_columns(name: str, columns: Sequence[Column]) -> list[str]:
    """One line with the kinds of the columns, unless all are numbers."""
    kept = [each for each in columns if each.coding is not None]
    kinds = Counter(each.kind for each in kept)
    left = [f"{shown(each.name)} ({each.kind})" for each in columns if each.coding is None]
    if not left and set(kinds) <= {"number"}:
        return []
    text = ", ".join(f"{count} {kind}" for kind, count in kinds.items() if kind != "constant")
    still = [shown(each.name) for each in kept if each.kind == "constant"]
    so_far = f"; constant so far: {_listed(still)}" if still else ""
    out = f"; left out: {_listed(left)}" if left else ""
    return [f"{name}: columns: {text or 'none vary'}{so_far}{out} (budgetron inspect shows them)"]


def of_unparsed(
    name: str, columns: Sequence[Column], unparsed: Mapping[str, int], rows: int
) -> list[str]:
    """Which columns hold values of another kind; if there are many, also the flag to use."""
    if not unparsed:
        return []
    kinds = {each.name: each.coding.kind for each in columns if each.coding is not None}
    listed = [f"{column} ({count:,} not a {kinds[column]})" for column, count in unparsed.items()]
    lines = [f"{name}: read as gaps: {_listed(listed, ' columns')}"]
    often = [column for column, count in unparsed.items() if count > OFTEN * rows]
    if often:
        share = 100 * unparsed[often[0]] / max(rows, 1)
        what = f"column {often[0]!r}: {share:.0f} % of its values are not a {kinds[often[0]]}"
        words = f"if it holds words, --categorical {','.join(often)}"
        lines.append(f"warning: {what}: {words}; dates, --types {often[0]}=date")
    return lines


def of_undecoded(name: str, undecoded: Mapping[str, int]) -> list[str]:
    """Which columns hold bytes that are not text."""
    listed = [f"{shown(column)} ({count:,})" for column, count in undecoded.items()]
    how = "iconv -f latin1 -t utf8 converts"
    return [f"{name}: not UTF-8, read as gaps: {_listed(listed, ' columns')}; {how}"] * bool(listed)


def of_large(name: str, large: Mapping[str, int]) -> list[str]:
    """Which columns hold numbers that are too large for float32."""
    listed = [f"{shown(column)} ({count:,})" for column, count in large.items()]
    how = "add --dtype float64, or divide them by a constant"
    what = "too large for float32, cut to 3.4e+38"
    return [f"warning: {name}: {what}: {_listed(listed, ' columns')}: {how}"] * bool(listed)


def of_small(name: str, small: Mapping[str, int], rows: int, dtype: Any) -> list[str]:
    """Which columns hold many numbers that are too small; a few are as good as 0."""
    often = {column: count for column, count in small.items() if count > OFTEN * rows}
    listed = [f"{shown(column)} ({count:,})" for column, count in often.items()]
    how = "multiply them by a constant"
    what = f"too small for {dtype}, as 0"
    return [f"warning: {name}: {what}: {_listed(listed, ' columns')}: {how}"] * bool(listed)


def _listed(texts: Sequence[str], of: str = "") -> str:
    more = f", and {len(texts) - SHOWN} more{of}" if len(texts) > SHOWN else ""
    return ", ".join(texts[:SHOWN]) + more
