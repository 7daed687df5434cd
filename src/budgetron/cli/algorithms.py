"""`budgetron algorithms`, and finding an algorithm and its parameters by the names a user typed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Annotated, Any

import typer

from budgetron.catalogue import CATALOGUE, nearest
from budgetron.cli._console import fail, output
from budgetron.errors import BudgetronError


def _names(incomplete: str) -> list[tuple[str, str]]:
    """What Tab offers: names and what each does."""
    found = {name: entry for name, entry in CATALOGUE.items() if name.startswith(incomplete)}
    return [(name, entry.summary) for name, entry in found.items()]


AlgorithmName = Annotated[
    str,
    typer.Option(
        "--algorithm",
        "-a",
        metavar="NAME",
        help="One of `budgetron algorithms`.",
        autocompletion=_names,
    ),
]
NAME = typer.Argument(metavar="NAME", help="One of `budgetron algorithms`.", autocompletion=_names)


def algorithms(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Tell of this one.", autocompletion=_names),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the algorithms, or tell the parameters of one and where it comes from."""
    import budgetron

    listed = budgetron.algorithms() if name is None else [find(name)]
    if as_json:
        rows = [
            {
                "name": each.name,
                "tasks": list(each.tasks),
                "parameters": jsonable(each.parameters),
                "summary": each.summary,
                "citation": each.citation,
            }
            for each in listed
        ]
        print(json.dumps(rows, indent=2))
    elif name is None:
        _print_list(listed)
    else:
        _print_one(listed[0])


def _print_list(listed: list[Any]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("algorithm", no_wrap=True)
    table.add_column("what it does")
    for each in listed:
        table.add_row(Text(each.name, style="bold"), each.summary)
    console = output()
    console.print(table)
    console.print("\nbudgetron algorithms NAME tells its parameters, about NAME prints its card.")


def _print_one(algorithm: Any) -> None:
    from rich.table import Table
    from rich.text import Text

    console = output()
    console.print(Text(f"{algorithm.name}: {algorithm.summary}", style="bold"))
    console.print(Text(f"{algorithm.citation}; does {', '.join(algorithm.tasks)}"))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("parameter", no_wrap=True)
    table.add_column("default")
    for parameter, default in algorithm.parameters.items():
        table.add_row(Text(parameter), Text(str(default)))
    console.print()
    console.print(table)
    console.print(Text(f"\nits card: budgetron about {algorithm.name}"))
    console.print(Text(f"try: {trial(algorithm)}"))


def trial(algorithm: Any) -> str:
    """The command to try it with."""
    return f"budgetron run FILE --algorithm {algorithm.name}"


def find(name: str, task: str | None = None) -> Any:
    """The description of the algorithm called `name`; ends the command if there is none.

    Without a task it is of the first the algorithm does.
    """
    import budgetron

    task = task or (CATALOGUE[name].tasks[0] if name in CATALOGUE else "classification")
    try:
        known = {each.name: each for each in budgetron.algorithms(task)}
    except BudgetronError as error:
        fail(f"budgetron: {error}")
    if name not in known and name in CATALOGUE:
        fail(f"budgetron: {name} does no {task}; these do: {', '.join(known)}")
    if name not in known:
        fail(f"budgetron: unknown algorithm {name!r}{nearest_or_all(name, known)}")
    return known[name]


def check_parameters(algorithm: Any, names: Iterable[str]) -> None:
    """End the command if the algorithm has no parameter of one of the names."""
    for name in names:
        if name not in algorithm.parameters:
            hint = nearest_or_all(name, algorithm.parameters)
            fail(f"budgetron: {algorithm.name} has no parameter {name!r}{hint}")


def nearest_or_all(name: str, known: Iterable[str]) -> str:
    """A hint at the name that was probably meant, or all of them."""
    known = list(known)
    return nearest(name, known) or f"; there are: {', '.join(known)}"


def parse_setting(text: str) -> tuple[str, Any]:
    """`name=value` of the --set option."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        fail(f"budgetron: --set takes name=value, not {text!r}")
    return name.strip(), parse_value(value)


def parse_value(text: str) -> Any:
    """An int, a float (inf included), None, True or False if the text reads as one; else itself."""
    text = text.strip()
    words = {"none": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def jsonable(value: Any) -> Any:
    """The value in what JSON has: infinities and anything unknown become text."""
    if isinstance(value, dict):
        return {str(key): jsonable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)
