"""`budgetron inspect`: the columns of a table, and how they would be encoded."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from budgetron._text import shown
from budgetron.cli import _sources as sources
from budgetron.cli._console import fail, output
from budgetron.errors import BudgetronError

if TYPE_CHECKING:
    from budgetron.tables.kinds import Column

WIDEST = 26  # characters shown of a column name


@sources.reads_rows("label", "rows", "n_features", "dtype", "strict", "skip_bad", "columns")
def inspect(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="A CSV, Parquet, Arrow or JSON lines file, or -."),
    ],
    rows: Annotated[int, typer.Option(min=1, metavar="N", help="Look at the first N rows.")] = 1000,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Show the columns of a table: kind, gaps, distinct values, examples; suggest the label."""
    from budgetron.streams import StreamError
    from budgetron.streams.opening import TABLES, format_of, open_batches
    from budgetron.streams.table.columns import suggested_label
    from budgetron.streams.table.first_rows import first_rows, looked_at
    from budgetron.tables.frames import table_of

    given = reading.pop("format")
    kind = format_of(file, given or ("csv" if file == "-" else None))
    if kind not in TABLES and file != "-" and ":" not in file and not Path(file).is_file():
        folder = Path(file).is_dir()
        fail(
            f"{file}: {'is a folder; name a file in it' if folder else 'no such file or directory'}"
        )
    if kind not in TABLES:
        fail(f"{file}: is not a table; tables are {', '.join(TABLES)} (--format)")
    options = sources.source_options(format=kind, skip_bad=True, **reading)
    try:
        table = table_of(first_rows(open_batches(file, kind, options), rows))
        columns = looked_at(file, table, options)
    except StreamError as error:
        fail(str(error))
    except BudgetronError as error:
        fail(f"{file}: {error}")
    label, why = suggested_label(columns)
    if as_json:
        print(json.dumps(_as_data(columns, table.num_rows, label)))
        return
    _print(file, columns, table.num_rows)
    print(f"label: {shown(label)}, {why}?")
    words = ["budgetron", "run", file, "--label", label, *sources.as_typed(reading)]
    print(" ".join(shlex.quote(shown(each)) for each in words))


def _as_data(columns: list[Column], rows: int, label: str) -> dict[str, Any]:
    return {
        "rows": rows,
        "label": label,
        "columns": [
            {
                "name": each.name,
                "kind": each.kind,
                "why": each.why,
                "gaps": each.gaps / rows,
                "distinct": each.distinct,
                "examples": list(each.examples),
            }
            for each in columns
        ],
    }


def _print(file: str, columns: list[Column], rows: int) -> None:
    from rich.table import Table
    from rich.text import Text

    console = output()
    name_width = min(WIDEST, max(len("column"), *(len(shown(each.name)) for each in columns)))
    room = max(
        10, console.width - name_width - len("constant") - len("gaps") - len("distinct") - 16
    )
    table = Table()
    table.add_column("column", no_wrap=True)
    table.add_column("kind", no_wrap=True)
    table.add_column("gaps", justify="right", no_wrap=True)
    table.add_column("distinct", justify="right", no_wrap=True)
    table.add_column("examples", no_wrap=True)
    for each in columns:
        share = each.gaps / each.rows
        gaps = "" if not each.gaps else "<1 %" if share < 0.01 else f"{100 * share:.0f} %"
        table.add_row(
            Text(_cut(each.name, name_width)),
            each.kind,
            gaps,
            f"{each.distinct:,}",
            Text(_cut(", ".join(each.examples), room)),
        )
    console.print(Text(f"{shown(file)}: {len(columns)} columns, first {rows:,} rows", style="bold"))
    console.print(table)


def _cut(text: str, width: int) -> str:
    text = shown(text)
    return text if len(text) <= width else text[: width - 3] + "..."
