"""`budgetron tune`: search a grid on the first rows of a stream; print the command to use."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from budgetron.cli import _sources as sources
from budgetron.cli._console import at_work, fail, note, output
from budgetron.cli.algorithms import AlgorithmName, jsonable, parse_setting, parse_value
from budgetron.cli.compare import note_failures, note_warnings, parse_budget

if TYPE_CHECKING:
    from budgetron.lab.tune import Tuning

_SHOWN = 12


@sources.reads_rows("rows", "n_features")
def tune(
    stream: Annotated[str, typer.Argument(metavar="STREAM", help=sources.SOURCE_HELP)],
    algorithm: AlgorithmName = "budgetron",
    grid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PARAM=V1,V2,...",
            help="Values to try, for example step=1,10/sqrt(T).",
        ),
    ] = None,
    budget: sources.Budget = None,
    gamma: Annotated[
        str | None, typer.Option(metavar="X", help="Use this kernel width; do not search for it.")
    ] = None,
    kernel: sources.Kernel = None,
    scale: sources.Scale = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Fix a parameter at this value."),
    ] = None,
    rows: Annotated[
        int, typer.Option(min=2, metavar="N", help="Use only the first N rows.")
    ] = 10_000,
    by: Annotated[
        str, typer.Option(metavar="NAME", help="Error to minimise: prequential or held-out.")
    ] = "prequential",
    task: sources.Task = None,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Random seed for the row order and the learner.")
    ] = 0,
    keep_order: Annotated[
        bool, typer.Option("--keep-order", help="Keep the order of the rows.")
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Run every candidate on all rows; stop none early.")
    ] = False,
    processes: sources.Processes = None,
    backend: sources.Backend = None,
    address: sources.ClusterAddress = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of a table.")
    ] = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Find good parameters on the first rows of a stream."""
    sources.check_task(task)
    if by not in ("prequential", "held-out"):
        fail(f"budgetron: --by is prequential or held-out, not {by!r}")
    options = sources.learning_options(**reading)
    from budgetron.lab.tune import tune as search

    fixed = sources.parsed(gamma=gamma, kernel=kernel, scale=scale)
    if budget is not None:
        fixed["budget"] = parse_budget(budget)
    fixed.update(parse_setting(text) for text in settings or [])
    with at_work("tuning") as bar:
        found = search(
            stream,
            algorithm,
            _grid(grid) if grid else None,
            params=fixed,
            rows=rows,
            by=by,
            task=task,
            seed=seed,
            keep_order=keep_order,
            halving=not every,
            options=options,
            processes=processes,
            backend=backend,
            address=address,
            report=bar.report,
            begin=bar.begin,
            say=note,
        )
    if found.skipped:
        note(found.skipped)
    note_warnings(found.warnings)
    words = sources.as_typed(reading)
    if stream.startswith("synthetic:"):  # it has no end
        words += ["--rows", str(rows)]
    best = {**fixed, **found.best.params}
    command = _command(stream, algorithm, best, found.task, [*words, "--seed", str(seed)])
    if as_json:
        print(json.dumps(_result(algorithm, stream, found, command)))
        return
    console = output()
    console.print(found.conclusion(algorithm))
    console.print(f"{algorithm}: {by} error on up to {found.rows:,} rows", style="bold")
    console.print(_table(found))
    more = len(found.candidates) - _SHOWN
    if more > 0:
        console.print(f"and {more:,} more")
    console.print("use it:")
    console.print(f"  {command}", soft_wrap=True)
    failed = Counter(each.what for each in found.candidates if each.what)
    note_failures(f"{what} ({count} of the settings)" for what, count in failed.items())


def _grid(texts: list[str]) -> dict[str, list[Any]]:
    grid = {}
    for text in texts:
        name, equals, values = text.partition("=")
        found = [parse_value(value) for value in values.split(",") if value.strip()]
        if not equals or not name.strip() or not found:
            fail(f"budgetron: --grid takes param=value,value,..., not {text!r}")
        grid[name.strip()] = found
    return grid


def _table(found: Tuning) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD)
    names = list(found.best.params)
    for name in names:
        table.add_column(name, justify="right", overflow="fold")
    table.add_column("rows seen", justify="right", overflow="fold")
    error_name = "mistakes" if found.task == "classification" else "RMSE"
    table.add_column(error_name, justify="right", overflow="fold")
    for number, candidate in enumerate(found.candidates[:_SHOWN]):
        cells = [_short(candidate.params[name]) for name in names]
        cells.append(f"{candidate.rows:,}")
        cells.append("failed" if candidate.what else found.shown(candidate.error))
        table.add_row(*cells, style="bold" if number == 0 else "")
    table.add_section()
    for label, error in found.references.items():
        cells = [label, *[""] * (len(names) - 1), f"{found.rows:,}", found.shown(error)]
        table.add_row(*(cells[-len(names) - 2 :] if names else cells[1:]))
    return table


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _command(
    stream: str, algorithm: str, params: dict[str, Any], task: str, others: list[str]
) -> str:
    """The command that uses the winner: `run`, or `compare` for a learner unknown to run."""
    options = ("budget", "kernel", "gamma", "scale")
    words = [f"--{name}={_text(params[name])}" for name in options if name in params]
    for name, value in params.items():
        if name not in options:
            words += ["--set", f"{name}={_text(value)}"]
    if ":" not in algorithm:
        start = ["run", stream, "--algorithm", algorithm]
        start += ["--task", task] if task == "regression" else []
    else:
        start = ["compare", stream, "--algorithms", algorithm, "--task", task]
        words = [word.replace("--budget=", "--budgets=") for word in words]
    return shlex.join(["budgetron", *start, *words, *others])


def _text(value: Any) -> str:
    return repr(value) if isinstance(value, float) else str(value)


def _result(algorithm: str, stream: str, found: Tuning, command: str) -> dict[str, Any]:
    return {
        "algorithm": algorithm,
        "source": stream,
        "task": found.task,
        "rows": found.rows,
        "best": jsonable(found.best.params),
        "error": found.best.error,
        "references": jsonable(found.references),
        "candidates": [
            jsonable(
                {"params": c.params, "rows": c.rows, "error": c.error, "failed": c.what or None}
            )
            for c in found.candidates
        ],
        "command": command,
    }
