"""`budgetron data`: list the papers' data sets, fetch them, print where they are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from budgetron._text import bytes_text
from budgetron.cli._console import fail, note, output, print_table, progress
from budgetron.cli._verbs import add, epilog

if TYPE_CHECKING:
    from budgetron.datasets import DataSet, File

data = typer.Typer(
    help="The papers' data sets: list, get, path.",
    epilog=epilog("budgetron data list", "budgetron data get a9a"),
    invoke_without_command=True,
)


@data.callback()
def _top(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


def list_sets(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Show this one in full.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the data sets, or show where one comes from and how the papers prepared it."""
    from dataclasses import asdict

    from budgetron import datasets

    try:
        listed = [datasets.find(name)] if name else list(datasets.data_sets().values())
    except datasets.DataError as error:
        fail(f"budgetron: {error}")
    if as_json:
        print(json.dumps([{**asdict(each), "rows": each.rows} for each in listed], indent=2))
    elif name:
        _print_one(listed[0])
    else:
        _print_list(listed)


def get(
    names: Annotated[list[str], typer.Argument(metavar="NAME", help="NAME or NAME/PART.")],
) -> None:
    """Fetch data sets from their public origins, verify them and keep them in the cache.

    Files that are already in $BUDGETRON_DATA or in the cache are only verified.
    """
    from budgetron import datasets

    failed = False
    for text in names:
        try:
            data_set, files = datasets.named(text)
            for file in files:
                print(_get(data_set, file))
        except datasets.DataError as error:
            note(f"budgetron: {error}")
            failed = True
    if failed:
        raise typer.Exit(2)


def path(
    name: Annotated[str, typer.Argument(metavar="NAME", help="NAME or NAME/PART.")],
) -> None:
    """Print the paths of a data set's files, one per line."""
    from budgetron import datasets

    known, _, part = name.partition("/")
    try:
        found = datasets.paths(known, *([part] if part else []))
    except datasets.DataError as error:
        fail(f"budgetron: {error}")
    for each in found:
        print(each)


add(
    data,
    list_sets,
    "List the data sets, or show one in full.",
    "budgetron data list a9a",
    "budgetron data get a9a; budgetron run data:a9a -a budgetron",
    name="list",
)
add(
    data,
    get,
    "Fetch data sets, verify them and keep them.",
    "budgetron data get a9a phishing",
    "budgetron run data:a9a -a budgetron --budget 100",
)
add(
    data,
    path,
    "Print where a data set's files are.",
    "budgetron data path a9a",
    "budgetron run data:a9a -a budgetron --budget 100",
)


def _get(data_set: DataSet, file: File) -> str:
    """Fetch or verify one file; return the line to print."""
    from budgetron import datasets

    here = datasets.locate(file)
    if here is not None:
        checked = datasets.verify(data_set, file, here)
        return f"{here}  (was here; {checked})"
    with progress(f"fetching {file.name}", None) as report:

        def came(done: int, total: int | None) -> None:
            of = "" if total is None else f" of {bytes_text(total)}"
            report(done, f"{bytes_text(done)}{of}")

        return f"{datasets.fetch(data_set, file, came)}  (fetched, verified)"


def _print_list(listed: list[DataSet]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("data set", no_wrap=True)
    table.add_column("rows", justify="right", no_wrap=True)
    table.add_column("here", no_wrap=True)
    table.add_column("features", justify="right", no_wrap=True)
    table.add_column("classes")
    table.add_column("papers")
    for each in listed:
        here = _here(each)
        tasks = [str(each.classes)] if each.classes else []
        tasks += ["regression"] if "regression" in each.task else []
        table.add_row(
            Text(each.name, style="bold"),
            f"{each.rows:,}",
            here,
            str(each.features),
            ", ".join(tasks),
            ", ".join(each.papers),
        )
    print_table(table)
    output().print(
        "\nbudgetron data list NAME shows where it comes from and how papers prepared it."
    )


def _here(data_set: DataSet) -> str:
    """Whether all rows of the set are on this machine."""
    from budgetron import datasets

    places = [(file, datasets.locate(file)) for file in data_set.files]
    if not any(place for _, place in places):
        return "no"
    whole = all(place and not datasets.rows_missing(file, place) for file, place in places)
    return "yes" if whole else "in part"


def _print_one(data_set: DataSet) -> None:
    from rich.text import Text

    from budgetron import datasets

    console = output()
    console.print(Text(f"{data_set.name}: {data_set.about}", style="bold"))
    classes = f" of {data_set.classes} classes" if data_set.classes else ""
    console.print(Text(f"{data_set.task}{classes}, {data_set.features} features; {data_set.page}"))
    for file in data_set.files:
        here = datasets.locate(file)
        place = "not here" if here is None else str(here)
        missing = 0 if here is None else datasets.rows_missing(file, here)
        part = f"\n  in part: {file.rows - missing:,} of {file.rows:,} rows" if missing else ""
        console.print(Text(f"\n{file.part}: {file.rows:,} rows\n  {file.url}\n  {place}{part}"))
    for paper, preparation in data_set.papers.items():
        console.print(Text(f"\n{paper}: {preparation}"))
