"""`budgetron reproduce`: a paper's tables and figures run again, ours beside theirs."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from budgetron.cli import _sources as sources
from budgetron.cli._console import fail, note, progress
from budgetron.cli.compare import note_warnings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from budgetron.cli._console import Report
    from budgetron.lab.reproduce.report import Results
    from budgetron.lab.reproduce.runner import Lab
    from budgetron.lab.reproduce.tables import Figure, Table


@dataclass(frozen=True)
class Task:
    """A file's runs, whether its table is wanted, and which of its figures."""

    table: Table
    shown: bool
    figures: tuple[Figure, ...]


def reproduce(
    paper: Annotated[
        str,
        typer.Argument(metavar="PAPER", help="ahpatron, avm, bogd, forgetron or mnist; or all."),
    ],
    table: Annotated[str | None, typer.Option(metavar="N", help="Run only this table.")] = None,
    figure: Annotated[str | None, typer.Option(metavar="N", help="Draw only this figure.")] = None,
    sets: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Run only these data sets, for example a9a,w8a."),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="One permutation, of sets of at most 70,000 rows: minutes."),
    ] = False,
    permutations: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Run N orders of the rows per set, never more than its table names. Without it: "
            "as many as the table names, else 10.",
        ),
    ] = None,
    tune: Annotated[bool, typer.Option("--tune", help="Search the parameter grids again.")] = False,
    processes: sources.Processes = None,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for tables, figures and finished runs.")
    ] = Path("reproduction"),
) -> None:
    """Run a paper's tables and figures again and print ours beside theirs.

    Data sets are read from $BUDGETRON_DATA, or from where `budgetron data get` keeps them; what is
    not there is named and left out. Finished runs are kept in the folder: the same command goes on
    after an interruption.
    """
    from budgetron import datasets
    from budgetron.lab.reproduce import report, runner
    from budgetron.lab.store import Store
    from budgetron.lab.workers import Workers

    tasks = _tasks(paper, table, figure)
    if any(task.figures for task in tasks):
        _need_matplotlib()
    if sets is not None:
        tasks = _with_sets(paper, tasks, [name.strip() for name in sets.split(",")])
    if quick:
        tasks = [replace(task, table=task.table.quick()) for task in tasks]
    folder = datasets.local_folder()
    if folder is not None and not folder.is_dir():
        note(f"budgetron: BUDGETRON_DATA names {folder}, where there is no folder")
    try:
        store = Store(out)
    except OSError as error:
        why = error.strerror or error
        fail(f"budgetron: cannot write to {out}: {why}; choose another folder with --out")
    count = 1 if quick else permutations
    worse = False
    wrong: list[str] = []
    with Workers(processes) as pool:
        lab = runner.Lab(pool, store)
        for task in tasks:
            results = _run(task.table, count, lab, tune=tune)
            wrong += report.failed(task.table, results)
            if task.shown:
                text = report.markdown(task.table, results)
                print(text, flush=True)
                _save(out, task.table, results, text)
                worse |= report.unexplained(task.table, results)
            for wanted in task.figures:
                _draw(out, task.table, wanted, results)
    store.close()
    note_warnings(dict(pool.warnings))
    if wrong:
        for text in dict.fromkeys(wrong):
            note(f"budgetron: {text}")
        raise typer.Exit(2)
    if worse:
        note("budgetron: a line is worse than published and its table gives no reason")
        raise typer.Exit(1)


def _tasks(paper: str, number: str | None, figure: str | None) -> list[Task]:
    """What was asked for, or the end of the command."""
    from budgetron.lab.reproduce import names, read

    every = [read(name) for name in names()]
    papers = sorted({entry.paper for entry in every})
    if paper not in (*papers, "all"):
        fail(f"budgetron: no paper is called {paper!r}; there are {', '.join(papers)}, and all")
    mine = [entry for entry in every if paper in (entry.paper, "all")]
    tables = [n for entry in mine for n in entry.tables]
    figures = [f.number for entry in mine for f in entry.figures]
    if number is not None and number not in tables:
        fail(f"budgetron: {paper} has no table {number!r} here; there are {_list(tables)}")
    if figure is not None and not any(entry.drawn(figure) for entry in mine):
        fail(f"budgetron: {paper} has no figure {figure!r} here; there are {_list(figures)}")
    tasks = []
    for entry in mine:
        shown = bool(entry.tables) if number is None else number in entry.tables
        drawn = entry.figures if figure is None else entry.drawn(figure)
        if figure is not None and number is None:
            shown = False
        if number is not None and figure is None:
            drawn = ()
        if shown or drawn:
            cut = entry if shown else entry.behind(drawn)
            cut = cut.only(number) if shown and number is not None else cut
            tasks.append(Task(cut, shown, drawn))
    return tasks


def _list(numbers: Sequence[str]) -> str:
    return ", ".join(sorted(set(numbers))) or "none"


def _with_sets(paper: str, tasks: Sequence[Task], wanted: Sequence[str]) -> list[Task]:
    """The tasks that have one of the sets asked for, and only these; or the end of the command."""
    known = dict.fromkeys(each.name for task in tasks for each in task.table.sets)
    for name in wanted:
        if name not in known:
            fail(f"budgetron: {paper} has no set {name!r}; there are {', '.join(known)}")
    kept = []
    for task in tasks:
        sets = tuple(each for each in task.table.sets if each.name in wanted)
        if sets:
            kept.append(replace(task, table=replace(task.table, sets=sets)))
    return kept


def _run(table: Table, permutations: int | None, lab: Lab, *, tune: bool) -> Results:
    from budgetron.lab.reproduce import data, runner
    from budgetron.lab.reproduce.report import Result

    results: list[Result] = []
    for data_set in table.sets:
        reason = data.missing(data_set)
        if reason is None and not data_set.published:
            reason = "no line to run"
        if reason is not None:
            results.append((data_set, reason))
            continue
        with progress(f"{table.name}: {data_set.name}", 1000) as show:

            def tell(done: int, count: int, show: Report = show) -> None:
                show(1000 * done // max(1, count), f"{done}/{count} runs")

            here = replace(lab, progress=tell)
            shown = runner.with_references(data_set, table.protocol)
            lines = runner.measure(table, shown, permutations, here, tune=tune)
        results.append((shown, lines))
    return results


def _save(out: Path, table: Table, results: Results, text: str) -> None:
    """The table as Markdown, and every outcome as JSON."""
    from budgetron.lab.reproduce.protocols import PROTOCOLS
    from budgetron.lab.reproduce.report import measured, verdict

    (out / f"{table.name}.md").write_text(text, encoding="utf-8")
    lines = [
        {
            "set": data_set.name,
            "algorithm": row.algorithm,
            "params": row.params,
            "published": {"mean": row.mean, "sd": row.sd, "stored": row.stored},
            "verdict": verdict(row, ours.mean, PROTOCOLS[table.protocol]),
            **asdict(ours),
        }
        for data_set, row, ours in measured(results)
    ]
    (out / f"{table.name}.json").write_text(json.dumps(lines, indent=1) + "\n", encoding="utf-8")


def _draw(out: Path, table: Table, figure: Figure, results: Results) -> None:
    from budgetron.lab.reproduce import figures

    path = out / f"{table.paper}_figure{figure.number}"
    if figures.draw(table, figure, results, path):
        print(f"figure {figure.number}: {path}.png")
    else:
        print(f"figure {figure.number}: not drawn")
    for data_set, why in results:
        if isinstance(why, str) and (not figure.sets or data_set.name in figure.sets):
            print(f"  not run: {data_set.name}: {why}")


def _need_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        fail(
            "budgetron: figures need matplotlib: pip install 'budgetron[lab]', or ask for a --table"
        )
