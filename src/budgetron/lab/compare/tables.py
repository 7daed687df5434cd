"""The summary as a table on the terminal and in Markdown, the records as CSV and Parquet."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from budgetron._text import bytes_text, shown, spreadsheet
from budgetron.lab.compare.store import Record
from budgetron.lab.compare.summary import ERRORS, SIGNIFICANT, Line, columns

LEGEND = (
    "± is the standard deviation over the permutations. Of each budget the best is bold; ≈ marks "
    f"those a paired t-test does not tell apart from it (p ≥ {SIGNIFICANT:g})."
)


def amounts(line: Line) -> dict[str, str]:
    """What a learner held and took, as text."""
    stored = line.means["stored"]
    return {
        "stored": "–" if math.isnan(stored) else f"{stored:,.0f}",
        "memory": bytes_text(line.means["bytes"]),
        "µs a row": f"{line.microseconds:,.2f}",
    }


def by_error(lines: Sequence[Line]) -> Iterator[tuple[str, list[Line]]]:
    """A budget with its lines, the best first."""
    for budget in columns(lines):
        chosen = [line for line in lines if line.budget_shown == budget]
        yield budget, sorted(chosen, key=lambda line: line.mean)


def rich_table(title: str, lines: Sequence[Line], failed: Sequence[tuple[str, Any]] = ()) -> Any:
    """One stream's table for the terminal; `failed` are the setups that have no line."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text(shown(title)), title_justify="left", title_style="bold", box=SIMPLE_HEAD
    )
    table.add_column("algorithm", no_wrap=True)
    for name in ("budget", ERRORS[lines[0].task][1] + "  ", "stored", "memory", "µs a row"):
        table.add_column(name, justify="right", no_wrap=True)
    for _, chosen in by_error(lines):
        for line in chosen:
            error = Text(line.shown + _mark(line), style="bold" if line.best else "")
            cells = map(Text, amounts(line).values())
            table.add_row(Text(shown(line.algorithm)), Text(line.budget_shown), error, *cells)
        table.add_section()
    for algorithm, budget in failed:
        size = "no budget" if budget is None else str(budget)
        table.add_row(
            Text(shown(algorithm)), Text(size), Text("failed  ", style="red"), "–", "–", "–"
        )
    return table


def markdown(summary: dict[str, list[Line]]) -> str:
    """All streams: a row an algorithm, a column a budget."""
    text = []
    for stream, lines in summary.items():
        budgets = columns(lines)
        text += [f"### {_markdown_text(stream)}: {ERRORS[lines[0].task][1]}", ""]
        text += [f"| algorithm | {' | '.join(budgets)} |", f"|---|{'---:|' * len(budgets)}"]
        for algorithm in dict.fromkeys(line.algorithm for line in lines):
            mine = {line.budget_shown: line for line in lines if line.algorithm == algorithm}
            cells = [_markdown_cell(mine.get(budget)) for budget in budgets]
            text.append(f"| {_markdown_text(algorithm)} | {' | '.join(cells)} |")
        text.append("")
    return "\n".join([*text, LEGEND, ""])


def _markdown_text(name: str) -> str:
    """A name on one line and in one cell."""
    return re.sub(r"([\\`*\[\]<>|])", r"\\\1", shown(name))


def _markdown_cell(line: Line | None) -> str:
    if line is None:
        return ""
    return f"**{line.shown}**" if line.best else line.shown + _mark(line).rstrip()


def _mark(line: Line) -> str:
    """As wide for every line."""
    return " ≈" if line.even else "  "


def write_records(folder: Path, records: Sequence[Record]) -> None:
    """`records`: a row a cell, after its last row; `checkpoints`: a row a checkpoint."""
    final = [_flat(record, record["checkpoints"][-1]) for record in records]
    every = [_flat(record, point) for record in records for point in record["checkpoints"]]
    for name, rows in (("records", final), ("checkpoints", every)):
        _write(folder / name, rows)


def _flat(record: Record, point: dict[str, float]) -> dict[str, Any]:
    named = ("stream", "task", "algorithm", "learner", "budget", "repeat", "seed")
    flat: dict[str, Any] = {name: record[name] for name in named}
    flat["budget"] = None if flat["budget"] is None else str(flat["budget"])
    flat["params"] = json.dumps(record["params"], sort_keys=True)
    flat.update({**point, "rows": int(point["rows"])})
    return flat


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    import pyarrow
    import pyarrow.parquet

    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.with_suffix(".csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({name: _cell(row.get(name)) for name in names})
    table = {name: [_finite(row.get(name)) for row in rows] for name in names}
    pyarrow.parquet.write_table(pyarrow.table(table), path.with_suffix(".parquet"))


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def _cell(value: Any) -> Any:
    """Empty where there is nothing; floats in full."""
    value = _finite(value)
    return "" if value is None else repr(value) if isinstance(value, float) else spreadsheet(value)
