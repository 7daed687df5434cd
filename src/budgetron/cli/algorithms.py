"""`budgetron algorithms`, and finding an algorithm and its parameters by the names a user typed."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterable
from typing import Annotated, Any

import typer

from budgetron.cli.console import fail, output


def algorithms(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the algorithms with their parameters."""
    import budgetron

    listed = budgetron.algorithms()
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
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("algorithm", "tasks", "parameters", "what it does"):
        table.add_column(column, no_wrap=column == "algorithm")
    common = _common(each.parameters for each in listed)
    for each in listed:
        own = ", ".join(f"{k}={v}" for k, v in each.parameters.items() if k not in common)
        what = Text(each.summary)
        what.append(f"\n{each.citation}", style="dim")
        table.add_row(Text(each.name, style="bold"), ", ".join(each.tasks), own, what)
    console = output()
    console.print(table)
    shared = ", ".join(f"{name}={value}" for name, value in common.items())
    if shared:
        console.print(Text(f"\nEvery algorithm also has {shared}."))


def _common(all_parameters: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The parameters, with defaults, that every algorithm has."""
    first, *others = (dict(parameters) for parameters in all_parameters)
    missing = object()
    return {
        name: default
        for name, default in first.items()
        if others and all(other.get(name, missing) == default for other in others)
    }


def find(name: str) -> Any:
    """The description of the algorithm called `name`; ends the command if there is none."""
    import budgetron

    known = {each.name: each for each in budgetron.algorithms()}
    if name not in known:
        fail(f"budgetron: unknown algorithm {name!r}{_nearest(name, known)}")
    return known[name]


def check_parameters(algorithm: Any, names: Iterable[str]) -> None:
    """End the command if the algorithm has no parameter of one of the names."""
    for name in names:
        if name not in algorithm.parameters:
            hint = _nearest(name, algorithm.parameters)
            fail(f"budgetron: {algorithm.name} has no parameter {name!r}{hint}")


def _nearest(name: str, known: Iterable[str]) -> str:
    known = list(known)
    close = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.5)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; there are: {', '.join(known)}"


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
