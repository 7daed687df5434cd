"""`budgetron demo`: a raw table and a drifting stream, our learners beside River's, untuned.

Both are generated from a seed: payments with words, dates and gaps, written as a CSV file and read
as a user's file would be; and a checkerboard whose colours change in the middle. Every learner of
the catalogue has a budget of 100 examples and its defaults (`budgetron.lab.compare`); River's
learners take part if River is installed. The terminal shows the best known learners; a folder gets
the figure (error against time per row), the report and all numbers. Takes under a minute.
"""

from __future__ import annotations

import csv
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from budgetron.cli._console import at_work, note, output
from budgetron.cli.compare import check_extra, show

if TYPE_CHECKING:
    from budgetron.lab.rows import Rows

BUDGET = 100
ROWS = 4000
# Shown in the terminal and coloured in the figure; the report has all others.
STRONG = ("budgetron", "pa", "ahpatron", "fogd", "forgetron")
PEERS = {
    "River forest": "budgetron.cli.demo:river_forest",
    "River tree": "budgetron.cli.demo:river_tree",
}
TABLE = "payments.csv"
LABEL = "fraud"


def demo(
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for the figure and the report.")
    ] = Path("demo-output"),
    quick: Annotated[bool, typer.Option("--quick", help="Use a tenth of the rows.")] = False,
) -> None:
    """Learn a raw table and a stream that changes, all learners side by side; draw the figure."""
    check_extra("the demo")
    from budgetron.catalogue import CATALOGUE
    from budgetron.lab.compare import Settings, compare
    from budgetron.lab.report.figures import draw_panels
    from budgetron.lab.store import check_folder

    rows = ROWS // 10 if quick else ROWS
    with at_work("comparing", out) as bar:
        check_folder(out)
        streams = _streams(out, rows)
        _show_table(out / TABLE, rows)
        peers = PEERS if find_spec("river") else {}
        if not peers:
            note("River is not installed, so its learners are left out: pip install river")
        found = compare(
            streams,
            [*CATALOGUE, *(f"{label}={maker}" for label, maker in peers.items())],
            out,
            budgets=(BUDGET,),
            settings=Settings(repeats=1, keep_order=True, checkpoints=20, seconds=15.0),
            report=bar.report,
            begin=bar.begin,
        )
        strong = (*STRONG, *peers)
        draw_panels(out / "demo", found.summary, strong, against="time")
    shown = {
        stream: [line for line in lines if line.algorithm in strong or line.reference]
        for stream, lines in found.summary.items()
    }
    then = ["try next:", *(f"  {command}" for command in next_commands(out))]
    show(replace(found, summary=shown), out, BUDGET, [f"figure: {out / 'demo.png'}"], then)


def next_commands(out: Path) -> list[str]:
    """Commands to try after the demo."""
    return [
        f"budgetron inspect {out / TABLE}",
        f"budgetron run {out / TABLE} --label {LABEL} --budget {BUDGET}",
        "budgetron algorithms",
    ]


def river_tree() -> Any:
    """River's Hoeffding adaptive tree; its rows leave missing values out."""
    from river import compose, tree

    return compose.FuncTransformer(_without_gaps) | tree.HoeffdingAdaptiveTreeClassifier(seed=0)


def river_forest() -> Any:
    """River's adaptive random forest of ten trees; its rows leave missing values out."""
    from river import compose, forest

    return compose.FuncTransformer(_without_gaps) | forest.ARFClassifier(n_models=10, seed=0)


def _without_gaps(row: dict[Any, float]) -> dict[Any, float]:
    return {name: value for name, value in row.items() if value == value}


def _streams(out: Path, rows: int) -> list[Rows]:
    """The table, written and read again, and a stream that changes in the middle."""
    from budgetron.lab.rows import load
    from budgetron.streams import SourceOptions

    out.mkdir(parents=True, exist_ok=True)
    _write_payments(out / TABLE, rows)
    drift = f"synthetic:checkerboard,cells=2,drift=abrupt,at={rows // 2}"
    [table] = load([out / TABLE], options=SourceOptions(label=LABEL))
    [changing] = load([drift], rows)
    return [
        replace(table, name="a table of payments"),
        replace(changing, name=f"a stream that changes at row {rows // 2:,}"),
    ]


def _write_payments(path: Path, rows: int) -> None:
    """Payments, a quarter of them fraud, with words, dates and gaps.

    Fraud is likelier at night for shops on the road, by day for games, and for large sums from
    a new card: no single column shows it.
    """
    import numpy as np

    random = np.random.default_rng(0)
    start = np.datetime64("2026-01-01T00:00:00")
    times = start + np.cumsum(random.integers(60, 1800, rows)).astype("timedelta64[s]")
    night = (times.astype("datetime64[h]").astype(int) % 24) < 8
    shop = random.choice(["grocery", "fuel", "travel", "games", "books"], rows)
    country = random.choice(["CH", "DE", "IT", "US", "BR"], rows)
    amount = random.lognormal(3.5, 1.0, rows)
    age = random.integers(0, 2000, rows)
    road = np.isin(shop, ["fuel", "travel"])
    odd = (road & night) | ((shop == "games") & ~night) | ((amount > 60) & (age < 500))
    fraud = random.random(rows) < np.where(odd, 0.85, 0.03)
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["id", "time", "amount", "shop", "country", "card_age", LABEL])
        gaps = random.random((rows, 2)) < 0.1
        for i in range(rows):
            where = "" if gaps[i, 0] else country[i]
            days = "" if gaps[i, 1] else age[i]
            label = "yes" if fraud[i] else "no"
            lines.writerow([i, times[i], f"{amount[i]:.2f}", shop[i], where, days, label])


def _show_table(path: Path, rows: int) -> None:
    """The first lines of the table, as they are in the file."""
    console = output()
    console.print(f"{path}, generated: {rows:,} rows with words, dates and gaps", soft_wrap=True)
    with path.open(encoding="utf-8") as file:
        for _, line in zip(range(5), file, strict=False):
            console.print(f"  {line.rstrip()}", soft_wrap=True)
