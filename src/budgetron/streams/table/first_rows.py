"""The first rows of a table with all columns, from which the kinds are inferred."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from budgetron.streams.base import StreamError
from budgetron.streams.table.columns import Columns, check_names
from budgetron.tables.kinds import Column, Limits, look
from budgetron.tables.parsing import whole

if TYPE_CHECKING:
    from budgetron.streams.table import Batches
    from budgetron.streams.table.roles import Roles


@dataclass
class AsTheyAre:
    """All columns; those of text formats as text."""

    needed: list[str]
    numbers: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)


def first_rows(
    open_batches: Callable[[], Batches], rows: int, columns: list[str] | None = None
) -> Any:
    """An Arrow table of the first `rows` rows, or fewer if there are fewer; closes the table.

    Parameters
    ----------
    open_batches : opens the table
    rows : number of rows
    columns : columns by name; None: all

    Raises
    ------
    StreamError
        If the table cannot be opened or read, or has no rows.
    """
    import pyarrow as pa

    batches = open_batches()
    try:
        check_names(batches.name, batches.names)
        found: list[Any] = []
        seen = 0
        reader = batches.read(AsTheyAre(columns or batches.names), 0, rows)
        while seen < rows and (batch := next(reader, None)) is not None:
            found.append(pa.Table.from_batches([batch.slice(0, rows - seen)]))
            seen += found[-1].num_rows
        if not found:
            raise StreamError(batches.name, None, "has no rows")
        damaged = list(getattr(batches, "undecoded", ()))
        if damaged:
            what = f"column {damaged[0]!r} is not UTF-8 text: iconv -f latin1 -t utf8"
            raise StreamError(batches.name, None, what)
        return pa.concat_tables(found, promote_options="permissive")
    finally:
        batches.close()


def looked_at(source: str, table: Any, roles: Roles) -> list[Column]:
    """The kinds of the columns of an Arrow table, inferred from its rows or given.

    Parameters
    ----------
    source : its name, for messages
    table : rows with all columns
    roles : given kinds, and the decimal point
    """
    names = table.column_names
    types = Columns(source, names).kinds(roles)
    return [
        look(name, whole(table.column(name)), types.get(name), roles.decimal, Limits())
        for name in names
    ]
