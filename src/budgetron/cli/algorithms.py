"""`budgetron algorithms`, and finding an algorithm and its parameters by name."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Annotated, Any

import typer

from budgetron.catalogue import ALL, CATALOGUE, TASKS, nearest
from budgetron.cli._console import fail, output
from budgetron.errors import BudgetronError


def _names(incomplete: str) -> list[tuple[str, str]]:
    """What Tab offers: names and what each does."""
    found = {name: entry for name, entry in ALL.items() if name.startswith(incomplete)}
    return [(name, entry.summary) for name, entry in found.items()]


AlgorithmName = Annotated[
    str,
    typer.Option(
        "--algorithm",
        "-a",
        metavar="NAME",
        help="One of `budgetron algorithms`.",
        show_default=False,
        autocompletion=_names,
    ),
]
NAME = typer.Argument(metavar="NAME", help="One of `budgetron algorithms`.", autocompletion=_names)


def algorithms(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Show this one.", autocompletion=_names),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the algorithms, or show the parameters and the source of one."""
    listed = [find(name)] if name is not None else list(_every().values())
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


def _every() -> dict[str, Any]:
    """Every algorithm of every task by name."""
    import budgetron

    found: dict[str, Any] = {}
    for task in TASKS:  # classification first
        for each in budgetron.algorithms(task):
            found.setdefault(each.name, each)
    return found


# The list in the terminal: heading -> names; all there are, each once.
GROUPS = {
    "try this first": ("budgetron",),
    "fixed memory: examples are dropped or shrunk": (
        "forgetron",
        "forgetron-basic",
        "forgetron-greedy",
        "bpas",
        "bsgd-remove",
        "bogd",
        "bogd++",
        "rbp",
        "remove-oldest",
        "cks",
        "stoptron",
    ),
    "fixed memory: examples are projected, merged or halved": (
        "ahpatron",
        "bsgd-merge",
        "bsgd-project",
        "pomdr",
        "projectron",
        "projectron++",
    ),
    "fixed memory: rows become features or core points": ("fogd", "nogd", "avm"),
    "no budget: the model grows with the stream": (
        "pa",
        "pegasos",
        "alma",
        "avp",
        "ogd",
        "perceptron",
        "shrinking-perceptron",
    ),
    "strange rows: learns without labels": ("anomaly",),
}


def _print_list(listed: list[Any]) -> None:
    from rich.table import Table
    from rich.text import Text

    known = {each.name: each for each in listed}
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True, min_width=max(map(len, known)))
    table.add_column()
    console = output()
    for number, (heading, names) in enumerate(GROUPS.items()):
        if number:
            table.add_row("")
        table.add_row(Text(heading.split(":")[0], style="bold"), Text(heading.partition(": ")[2]))
        for name in names:
            table.add_row(Text(f"  {name}"), known[name].summary)
    console.print(table)
    console.print("\nbudgetron algorithms NAME shows parameters; budgetron about NAME, the card.")


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
    card = f"its card: budgetron about {algorithm.name}\n" if algorithm.name in CATALOGUE else ""
    console.print(Text(f"\n{card}try: {trial(algorithm)}"))


def trial(algorithm: Any) -> str:
    """The command to try it with."""
    return f"budgetron run FILE --algorithm {algorithm.name}"


def find(name: str, task: str | None = None) -> Any:
    """The description of the algorithm called `name`; ends the command if there is none.

    Without a task, it is for the algorithm's first task.
    """
    import budgetron

    task = task or (ALL[name].tasks[0] if name in ALL else "classification")
    try:
        known = {each.name: each for each in budgetron.algorithms(task)}
    except BudgetronError as error:
        fail(f"budgetron: {error}")
    if name not in known and name in ALL:
        fail(f"budgetron: {name} does not do {task}; these do: {', '.join(known)}")
    if name not in known:
        fail(f"budgetron: unknown algorithm {name!r}{nearest_or_all(name, ALL)}")
    return known[name]


def check_parameters(algorithm: Any, names: Iterable[str]) -> None:
    """End the command if the algorithm lacks one of these parameters."""
    for name in names:
        if name not in algorithm.parameters:
            hint = nearest_or_all(name, algorithm.parameters)
            fail(f"budgetron: {algorithm.name} has no parameter {name!r}{hint}")


def nearest_or_all(name: str, known: Iterable[str]) -> str:
    """A hint at the nearest name, or all names."""
    known = list(known)
    return nearest(name, known) or f"; there are: {', '.join(known)}"


def parse_setting(text: str) -> tuple[str, Any]:
    """Split `name=value` of the --set option."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        fail(f"budgetron: --set takes name=value, not {text!r}")
    return name.strip(), parse_value(value)


def parse_value(text: str) -> Any:
    """An int, a float (also inf), None, True or False if the text is one; else the text."""
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
    """The value for JSON: infinities and unknown types become text."""
    if isinstance(value, dict):
        return {str(key): jsonable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)
