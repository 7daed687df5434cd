"""`budgetron compare`: learners x budgets x streams x permutations, and everything about it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from budgetron.cli import _sources as sources
from budgetron.cli._console import at_work, fail, note, output, print_table
from budgetron.cli.algorithms import parse_value


@sources.reads_rows("rows", "n_features")
def compare(
    streams: Annotated[list[str], typer.Argument(metavar="STREAM", help=sources.SOURCE_HELP)],
    algorithms: Annotated[
        str,
        typer.Option(
            "--algorithms",
            "-a",
            metavar="LIST",
            help="Comma-separated algorithm names, or all. Your own: module:attribute.",
        ),
    ],
    budgets: Annotated[
        str,
        typer.Option(
            "--budgets",
            "-b",
            metavar="LIST",
            help="Comma-separated budgets: examples (50,100) or bytes (64KB).",
        ),
    ] = "",
    repeats: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Number of repeats, each with a new random row order."
        ),
    ] = 10,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for results, figures and the report.")
    ] = Path("comparison"),
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Set a parameter of one algorithm (NAME.PARAM=VALUE) or of all that have it.",
        ),
    ] = None,
    gamma: Annotated[
        str | None, typer.Option(metavar="X", help="Kernel width: a number, auto or median.")
    ] = None,
    kernel: sources.Kernel = None,
    scale: sources.Scale = None,
    task: sources.Task = None,
    seed: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="Random seed of the first repeat; repeat r uses seed + r."
        ),
    ] = 0,
    rows: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Use only the first N rows.")
    ] = None,
    delay: Annotated[
        int, typer.Option(min=0, metavar="N", help="Each label arrives N rows after its row.")
    ] = 0,
    keep_order: Annotated[
        bool,
        typer.Option("--keep-order", help="Keep the row order; use this for streams that drift."),
    ] = False,
    checkpoints: Annotated[
        int, typer.Option(min=1, metavar="N", help="Number of points on each curve.")
    ] = 50,
    positive: Annotated[
        str | None,
        typer.Option(metavar="CLASS", help="Positive class for F1, precision and recall."),
    ] = None,
    processes: sources.Processes = None,
    *,
    reading: dict[str, Any],
) -> None:
    """Compare learners on streams. After an interruption, run the same command to continue."""
    check_extra("compare")
    if task not in (None, "classification", "regression"):
        fail(f"budgetron: --task is classification or regression, not {task!r}")
    options = sources.learning_options(**reading)
    from budgetron.lab.compare import Settings
    from budgetron.lab.compare import compare as run
    from budgetron.lab.report.tables import LEGEND, rich_table

    common, own = split_settings(settings or [])
    given = {"gamma": gamma, "kernel": kernel, "scale": scale}
    common.update({name: parse_value(text) for name, text in given.items() if text is not None})
    kept = f"finished cells are kept in {out}; the same command does the rest"
    with at_work("comparing", kept) as bar:
        comparison = run(
            streams,
            names(algorithms),
            out,
            budgets=[parse_budget(text) for text in budgets.split(",") if text.strip()],
            settings=Settings(repeats, seed, keep_order, delay, checkpoints, positive=positive),
            common=common,
            own=own,
            task=task,
            rows=rows,
            options=options,
            processes=processes,
            command=shlex.join(["budgetron", *sys.argv[1:]]),
            report=bar.report,
            begin=bar.begin,
        )
    for text in comparison.skipped:
        note(text)
    note_warnings(comparison.warnings)
    console = output()
    if comparison.summary:
        console.print(comparison.conclusion, markup=False)
    for stream, lines in comparison.summary.items():
        print_table(rich_table(stream, lines, comparison.failed(stream)))
    if comparison.summary:
        console.print(LEGEND)
        console.print(f"report: {out / 'report.html'}", markup=False, soft_wrap=True)
    if comparison.failures:
        for text in sorted({str(failure) for failure in comparison.failures}):
            note(f"failed: {text}")
        count = len(comparison.failures)
        failed = f"{count} {'cell' if count == 1 else 'cells'} failed"
        fail(f"budgetron: {failed}; the others are kept in {out}")


def note_warnings(warnings: dict[str, int]) -> None:
    """What learners warned of, one line each."""
    for text, count in warnings.items():
        note(f"warning: {text} ({count} {'time' if count == 1 else 'times'})")


def names(text: str) -> list[str]:
    """Of `a,b,c`."""
    found = [name.strip() for name in text.split(",") if name.strip()]
    if not found:
        fail("budgetron: --algorithms takes names with commas between, as in forgetron,ahpatron")
    return found


def parse_budget(text: str) -> int | str:
    """A number of examples; anything else (256KB) is for the learner to read."""
    value = parse_value(text)
    return value if isinstance(value, int) and not isinstance(value, bool) else text.strip()


def split_settings(texts: list[str]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """`param=value` for all, `name.param=value` for one: (common, own)."""
    common: dict[str, Any] = {}
    own: dict[str, dict[str, Any]] = {}
    for text in texts:
        left, equals, value = text.partition("=")
        label, _, parameter = left.strip().rpartition(".")
        if not equals or not parameter:
            fail(f"budgetron: --set takes param=value or name.param=value, not {text!r}")
        (own.setdefault(label, {}) if label else common)[parameter] = parse_value(value)
    return common, own


def check_extra(verb: str) -> None:
    """End the command if what draws and writes is not installed."""
    try:
        import matplotlib  # noqa: F401
        import pyarrow  # noqa: F401
    except ImportError:
        fail(f"budgetron: {verb} draws figures and writes Parquet: pip install 'budgetron[lab]'")
