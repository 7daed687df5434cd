"""`budgetron compare`: learners x budgets x streams x permutations, with a report."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from budgetron._text import shown
from budgetron.cli import _sources as sources
from budgetron.cli._console import at_work, fail, note, output, print_table
from budgetron.cli.algorithms import parse_value

if TYPE_CHECKING:
    from budgetron.lab.compare import Comparison


@sources.reads_rows("rows", "n_features")
def compare(
    streams: Annotated[list[str], typer.Argument(metavar="STREAM", help=sources.SOURCE_HELP)],
    algorithms: Annotated[
        list[str] | None,
        typer.Option(
            "--algorithms",
            "-a",
            metavar="LIST",
            help="Comma-separated algorithm names, or all. Your own: module:attribute.",
        ),
    ] = None,
    budgets: Annotated[
        list[str] | None,
        typer.Option(
            "--budgets",
            "-b",
            metavar="LIST",
            help="Comma-separated budgets: examples (50,100) or bytes (64KB).",
        ),
    ] = None,
    repeats: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="Repeats, each in a new random order."),
    ] = 10,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for results and report.")
    ] = Path("comparison"),
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Set a parameter: PARAM=VALUE, or of one algorithm NAME.PARAM=VALUE.",
        ),
    ] = None,
    gamma: Annotated[str | None, typer.Option(metavar="X", help=sources.GAMMA_HELP)] = None,
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
    delay: Annotated[int, typer.Option(min=0, metavar="N", help="Labels arrive N rows later.")] = 0,
    keep_order: Annotated[
        bool,
        typer.Option("--keep-order", help="Keep the order of the rows (for drift)."),
    ] = False,
    checkpoints: Annotated[
        int, typer.Option(min=1, metavar="N", help="Number of points on each curve.")
    ] = 50,
    positive: Annotated[
        str | None,
        typer.Option(metavar="CLASS", help="Positive class for F1, precision and recall."),
    ] = None,
    processes: sources.Processes = None,
    backend: sources.Backend = None,
    address: sources.ClusterAddress = None,
    algorithm: Annotated[  # the name that other verbs use
        list[str] | None, typer.Option("--algorithm", hidden=True)
    ] = None,
    budget: Annotated[list[str] | None, typer.Option("--budget", hidden=True)] = None,
    *,
    reading: dict[str, Any],
) -> None:
    """Compare learners on streams. After an interruption, run the same command to continue."""
    check_extra("compare")
    sources.check_task(task)
    options = sources.learning_options(**reading)
    from budgetron.lab.compare import Settings
    from budgetron.lab.compare import compare as run

    common, own = split_settings(settings or [])
    with at_work("comparing", out) as bar:
        found = run(
            streams,
            names([*(algorithms or []), *(algorithm or [])]),
            out,
            budgets=[parse_budget(each) for each in parts([*(budgets or []), *(budget or [])])],
            settings=Settings(repeats, seed, keep_order, delay, checkpoints, positive=positive),
            common=common | sources.parsed(gamma=gamma, kernel=kernel, scale=scale),
            own=own,
            task=task,
            rows=rows,
            options=options,
            processes=processes,
            backend=backend,
            address=address,
            command=shlex.join(["budgetron", *sys.argv[1:]]),
            report=bar.report,
            begin=bar.begin,
            say=note,
        )
    show(found, out)


def show(
    found: Comparison,
    out: Path,
    budget: int | None = None,
    before: Sequence[str] = (),
    after: Sequence[str] = (),
) -> None:
    """Print the results and where the report is; failed cells end the command.

    Parameters
    ----------
    budget : show only lines with this budget and lines without one; None: all
    before, after : lines to print before and after the path of the report
    """
    from budgetron.lab.report.tables import LEGEND, rich_table

    for text in found.skipped:
        note(text)
    note_warnings(found.warnings)
    console = output()
    if found.summary:
        console.print(shown(found.conclusion))
    for stream, lines in found.summary.items():
        wanted = (budget, None) if budget is not None else [line.budget for line in lines]
        failed = [each for each in found.failed(stream) if budget is None or each[1] in wanted]
        of = found.positive[stream]
        title = stream + (f", budget {budget}" if budget is not None else "")
        title += f" (positive class: {of})" if of is not None else ""
        print_table(rich_table(title, [line for line in lines if line.budget in wanted], failed))
    if found.summary:
        console.print(LEGEND)
        for text in (*before, f"report: {out / 'report.html'}", *after):
            console.print(text, soft_wrap=True)
    if found.failures:
        note_failures(sorted({str(failure) for failure in found.failures}))
        count = len(found.failures)
        failed_cells = f"{count} {'cell' if count == 1 else 'cells'} failed"
        fail(f"budgetron: {failed_cells}; the others are kept in {out}")


def note_warnings(warnings: Mapping[str, int]) -> None:
    """Print the learners' warnings, one per line."""
    for text, count in warnings.items():
        note(f"warning: {text} ({count} {'time' if count == 1 else 'times'})")


def note_failures(texts: Iterable[str]) -> None:
    """Print the failures, one per line."""
    for text in texts:
        note(f"failed: {text}")


def parts(texts: list[str]) -> list[str]:
    """Merge `a,b` and `b,c` to a, b, c; a name twice in one text stays, to be refused."""
    found: list[str] = []
    for text in texts:
        listed = filter(None, (each.strip() for each in text.split(",")))
        found += [each for each in listed if each not in found] if found else list(listed)
    return found


def names(texts: list[str]) -> list[str]:
    """Split `a,b` and `c` into names."""
    found = parts(texts)
    if not found:
        fail(
            "budgetron: which learners? Add -a budgetron,forgetron (budgetron algorithms lists all)"
        )
    return found


def parse_budget(text: str) -> int | str:
    """A number of examples; any other text (256KB) is left to the learner."""
    value = parse_value(text)
    return value if isinstance(value, int) and not isinstance(value, bool) else text.strip()


def split_settings(texts: list[str]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """`param=value` for all learners, `name.param=value` for one: (common, own)."""
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
    """End the command if the libraries for figures and files are not installed."""
    try:
        import matplotlib  # noqa: F401
        import pyarrow  # noqa: F401
    except ImportError:
        fail(f"budgetron: {verb} needs Matplotlib and PyArrow: pip install 'budgetron[lab]'")
