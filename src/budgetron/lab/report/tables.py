"""The summary as tables: on the terminal, in Markdown and HTML; the records as CSV and Parquet."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from budgetron._text import bytes_text, shown, spreadsheet
from budgetron.lab.statistics import ERRORS, SIGNIFICANT, Line, algorithms, columns, ranked
from budgetron.lab.store import Record

LEGEND = (
    "± is the standard deviation over the permutations. The best result for each budget is bold. "
    "≈ means: a paired t-test finds no significant difference from the best "
    f"(p ≥ {SIGNIFICANT:g}). The last two rows are baselines that ignore the features."
)

# Further metrics of the detailed table: name, heading, factor, format.
_FURTHER = {
    "classification": (
        ("window_mistake_rate", "last window, %", 100.0, ".2f"),
        ("hinge_loss", "hinge loss", 1.0, ".3f"),
        ("f1", "F1", 1.0, ".3f"),
        ("auc", "AUC", 1.0, ".3f"),
        ("kappa", "kappa", 1.0, ".3f"),
    ),
    "regression": (
        ("mae", "MAE", 1.0, ".4f"),
        ("window_rmse", "RMSE, last window", 1.0, ".4f"),
    ),
}


@dataclass(frozen=True)
class Entry:
    """A cell of a table: its text, its sort key, and whether it is the best."""

    text: str
    value: float | str = ""
    best: bool = False

    @property
    def sort(self) -> float | str:
        """Empty where there is no number."""
        return "" if isinstance(self.value, float) and not math.isfinite(self.value) else self.value

    @property
    def markdown(self) -> str:
        """On one line and in one cell."""
        text = re.sub(r"([\\`*\[\]<>|])", r"\\\1", shown(self.text))
        return f"**{text}**" if self.best else text


@dataclass(frozen=True)
class Grid:
    """A table as any page shows it."""

    heads: list[str]
    rows: list[list[Entry]]


def pivot(lines: Sequence[Line]) -> Grid:
    """One row per algorithm, the best first, one column per budget; references have all columns."""
    budgets = columns(lines)
    rows = []
    for algorithm in algorithms(lines):
        mine = {line.budget_shown: line for line in lines if line.algorithm == algorithm}
        same = next((line for line in mine.values() if line.reference), None)
        found = [_error(same or mine.get(budget)) for budget in budgets]
        rows.append([Entry(algorithm, algorithm), *found])
    return Grid(["algorithm", *budgets], rows)


def detail(lines: Sequence[Line], positive: str | None) -> Grid:
    """One row per setup, with all measurements."""
    further = _FURTHER[lines[0].task]
    of = f" of {positive}" if positive is not None else ", mean over classes"
    heads = [head + of if name == "f1" else head for name, head, *_ in further]
    rows = []
    for place, (_, chosen) in enumerate(ranked(lines)):
        for rank, line in enumerate(chosen, start=1):
            metrics = [
                Entry("–" if math.isnan(value) else f"{value:{style}}", value)
                for name, _, factor, style in further
                for value in [factor * line.means[name]]
            ]
            budget = "–" if line.reference else line.budget_shown
            rows.append(
                [
                    Entry(line.algorithm, line.algorithm),
                    Entry(budget, place),
                    Entry("–", math.nan) if line.reference else Entry(str(rank), rank),
                    _error(line),
                    Entry(line.p_shown, 2.0 if line.best else line.p),
                    *amounts(line).values(),
                    *metrics,
                ]
            )
    error = ERRORS[lines[0].task][1]
    return Grid(["algorithm", "budget", "rank", error, "p", *amounts(lines[0]), *heads], rows)


def amounts(line: Line) -> dict[str, Entry]:
    """Memory and time of a learner."""
    stored, held = line.means["stored"], line.means["bytes"]
    return {
        "stored": Entry("–" if math.isnan(stored) else f"{stored:,.0f}", stored),
        "memory": Entry(bytes_text(held), held),
        "µs per row": Entry(f"{line.microseconds:,.2f}", line.microseconds),
    }


def rich_table(title: str, lines: Sequence[Line], failed: Sequence[tuple[str, Any]] = ()) -> Any:
    """One stream's table for the terminal; `failed` are the setups without a line."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(title=shown(title), title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    table.add_column("algorithm", no_wrap=True)
    for name in ("budget", ERRORS[lines[0].task][1] + "  ", "stored", "memory", "µs per row"):
        table.add_column(name, justify="right", no_wrap=True)
    for _, chosen in ranked(lines):
        for line in chosen:
            error = Text(line.shown + (" ≈" if line.even else "  "))
            error.stylize("bold" if line.best else "")
            budget = "–" if line.reference else line.budget_shown
            found = [each.text for each in amounts(line).values()]
            table.add_row(shown(line.algorithm), budget, error, *found)
        table.add_section()
    for algorithm, size in failed:
        budget = "no budget" if size is None else str(size)
        table.add_row(shown(algorithm), budget, Text("failed  ", style="red"), "–", "–", "–")
    return table


def _error(line: Line | None) -> Entry:
    if line is None:
        return Entry("", math.nan)
    return Entry(line.shown + (" ≈" if line.even else ""), line.mean, line.best)


def write_records(folder: Path, records: Sequence[Record]) -> None:
    """`records`: one row per cell, after its last row; `checkpoints`: one row per checkpoint."""
    final = [_flat(record, record["checkpoints"][-1]) for record in records]
    every = [_flat(record, point) for record in records for point in record["checkpoints"]]
    for name, rows in (("records", final), ("checkpoints", every)):
        write_rows(folder / name, rows)


def _flat(record: Record, point: dict[str, float]) -> dict[str, Any]:
    named = ("stream", "task", "algorithm", "learner", "budget", "repeat", "seed")
    flat: dict[str, Any] = {name: record[name] for name in named}
    flat["budget"] = None if flat["budget"] is None else str(flat["budget"])
    flat["params"] = json.dumps(record["params"], sort_keys=True)
    flat.update({**point, "rows": int(point["rows"])})
    return flat


def write_rows(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write Parquet, and CSV that no spreadsheet takes for formulas; empty if there are no rows.

    Text has no control character.
    """
    import pyarrow
    import pyarrow.csv
    import pyarrow.parquet

    names = dict.fromkeys(name for row in rows for name in row)
    table = {name: [_kept(row.get(name)) for row in rows] for name in names}
    pyarrow.parquet.write_table(pyarrow.table(table), path.with_suffix(".parquet"))
    safe = {name: [spreadsheet(value) for value in values] for name, values in table.items()}
    pyarrow.csv.write_csv(pyarrow.table(safe), path.with_suffix(".csv"))


def _kept(value: Any) -> Any:
    if isinstance(value, str):
        return shown(value)
    return None if isinstance(value, float) and math.isnan(value) else value
