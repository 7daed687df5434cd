"""How every verb shows its help: one screen, options in two groups, an example, what to do next.

A verb is a function in a file of its own; `add` makes it a command. Options whose type carries the
panel `READING` (cli/sources.py) are listed under that heading, the others under Options.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

READING = "Reading the rows"
_EXTRA = re.compile(r"\s*\[([^\[\]]*)\]$")
_RANGE = re.compile(r"x[<>]|[<>]=?x")


class Verb(TyperCommand):
    """A command whose help is short: no ranges, no line for --help itself."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """`[OPTIONS] MODEL FILE`: arguments by the names the help has for them."""
        parameters = self.get_params(ctx)
        arguments = [each for each in parameters if each.param_type_name == "argument"]
        return ["[OPTIONS]", *map(_placeholder, arguments)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, options, and the options of reading rows, a line each where it can be."""
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": [], READING: []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None or parameter.name == "help":
                continue
            if parameter.param_type_name == "argument":
                groups["Arguments"].append(
                    (_placeholder(parameter), getattr(parameter, "help", ""))
                )
                continue
            panel = getattr(parameter, "rich_help_panel", None) or "Options"
            groups[panel].append((record[0], _short(record[1])))
        for heading, records in groups.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """The example and what is next."""
        _write_epilog(self.epilog, formatter)


class Verbs(TyperGroup):
    """A group of verbs, with an example as they have."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """The example and what is next."""
        _write_epilog(self.epilog, formatter)


def help_width() -> int:
    """Columns the help is set in: those of the terminal, at most 80, at least 30."""
    return min(80, max(30, shutil.get_terminal_size().columns)) - 2


def _write_epilog(epilog: str | None, formatter: Any) -> None:
    """As it was written: a command must not be broken where it is copied from."""
    if epilog:
        formatter.write(f"\n{epilog}\n")


def _placeholder(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper())


def _short(text: str) -> str:
    """The help of an option without the range typer appends.

    >>> _short("Seeded permutations.  [default: 10; x>=1]"), _short("Rows.  [x>=1]")
    ('Seeded permutations. [10]', 'Rows.')
    """
    found = _EXTRA.search(text)
    if found is None:
        return text
    kept = [part.strip() for part in found[1].split(";")]
    kept = [part.removeprefix("default: ") for part in kept if not _RANGE.search(part)]
    return text[: found.start()] + (f" [{'; '.join(kept)}]" if kept else "")


def add(
    app: typer.Typer, verb: Callable[..., None], short: str, example: str, then: str, name: str = ""
) -> None:
    """Make `verb` a command of `app`.

    Parameters
    ----------
    short : what the list of commands says
    example : one command that runs as it stands, in a folder where those before it were run
    then : what one would want to do next
    name : if not that of the function
    """
    epilog = f"Example:\n  {example}\nNext:\n  {then}"
    app.command(name or None, cls=Verb, short_help=short, epilog=epilog)(verb)
