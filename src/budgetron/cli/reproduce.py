"""`budgetron reproduce`: run a paper's tables and figures again, ours beside theirs."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from budgetron.cli import _sources as sources
from budgetron.cli._console import at_work, fail, note, print_markdown
from budgetron.cli.compare import check_extra, note_warnings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from budgetron.lab.reproduce.report import Results
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
        typer.Option("--quick", help="One permutation, sets of up to 70,000 rows: minutes."),
    ] = False,
    permutations: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Number of row orders per set, at most those its table names. Default: as many as "
            "the table names, else 10.",
        ),
    ] = None,
    tune: Annotated[bool, typer.Option("--tune", help="Search the parameter grids again.")] = False,
    processes: sources.Processes = None,
    backend: sources.Backend = None,
    address: sources.ClusterAddress = None,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for tables, figures and finished runs.")
    ] = Path("reproduction"),
) -> None:
    """Run a paper's tables and figures again and print ours beside theirs.
    Data sets are read from $BUDGETRON_DATA, or from where `budgetron data get` keeps them; a
    missing set is reported and skipped. Finished runs are kept in the folder: after an interruption
    run the same command for the rest.
    """  # one paragraph: Typer would keep the line breaks of a second one
    from budgetron import datasets
    from budgetron.lab.reproduce import report
    from budgetron.lab.reproduce.runner import Lab, measure_table
    from budgetron.lab.store import Store
    from budgetron.lab.workers import Workers

    tasks = _tasks(paper, table, figure)
    if any(task.figures for task in tasks):
        check_extra("a figure")
    if sets is not None:
        tasks = _with_sets(paper, tasks, [name.strip() for name in sets.split(",")])
    if quick:
        tasks = [replace(task, table=task.table.quick()) for task in tasks]
    folder = datasets.local_folder()
    if folder is not None and not folder.is_dir():
        note(f"budgetron: BUDGETRON_DATA is {folder}, which is not a folder")
    worse = False
    wrong: list[str] = []
    with at_work("reproducing", out) as bar, closing(Store(out)) as store:

        def report_runs(done: int, count: int) -> None:
            bar.report(1000 * done // max(1, count), f"{done}/{count} runs")

        with Workers(processes, backend, address) as pool:
            for task in tasks:
                results = measure_table(
                    task.table,
                    1 if quick else permutations,
                    Lab(pool, store, report_runs),
                    tune=tune,
                    begin=lambda title: bar.begin(1000, title),
                )
                bar.close()
                wrong += report.failed(task.table, results)
                if task.shown:
                    text = report.markdown(task.table, results)
                    print_markdown(text)
                    report.save(out, task.table, results, text)
                    worse |= report.unexplained(task.table, results)
                for wanted in task.figures:
                    _draw(out, task.table, wanted, results)
    note_warnings(pool.warnings)
    if wrong:
        for text in dict.fromkeys(wrong):
            note(f"budgetron: {text}")
        raise typer.Exit(2)
    if worse:
        note("budgetron: a line is worse than published and its table gives no reason")
        raise typer.Exit(1)


def _tasks(paper: str, number: str | None, figure: str | None) -> list[Task]:
    """The tables and figures asked for; ends the command if they do not exist."""
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
        both = number is None and figure is None
        shown = bool(entry.tables) if both else number in entry.tables
        drawn = entry.figures if both else entry.drawn(figure) if figure is not None else ()
        if shown:
            tasks.append(Task(entry if number is None else entry.only(number), shown, drawn))
        elif drawn:
            tasks.append(Task(entry.behind(drawn), shown, drawn))
    return tasks


def _list(numbers: Sequence[str]) -> str:
    return ", ".join(sorted(set(numbers))) or "none"


def _with_sets(paper: str, tasks: Sequence[Task], wanted: Sequence[str]) -> list[Task]:
    """The tasks that have a data set asked for; ends the command if a set is unknown."""
    known = dict.fromkeys(each.name for task in tasks for each in task.table.sets)
    for name in wanted:
        if name not in known:
            fail(f"budgetron: {paper} has no set {name!r}; there are {', '.join(known)}")
    cut = [(task, tuple(s for s in task.table.sets if s.name in wanted)) for task in tasks]
    return [replace(task, table=replace(task.table, sets=sets)) for task, sets in cut if sets]


def _draw(out: Path, table: Table, figure: Figure, results: Results) -> None:
    from budgetron.lab.reproduce import figures

    path = out / f"{table.paper}_figure{figure.number}"
    drawn = figures.draw(table, figure, results, path)
    print(f"figure {figure.number}: {f'{path}.png' if drawn else 'not drawn'}")
    for data_set, why in results:
        if isinstance(why, str) and (not figure.sets or data_set.name in figure.sets):
            print(f"  not run: {data_set.name}: {why}")
