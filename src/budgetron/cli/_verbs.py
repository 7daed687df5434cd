"""How a verb becomes a command: Typer's help, with an example and a next step below it.

One file defines one verb, as a function. Options whose type has the panel `READING` (`_sources.py`)
are listed under that heading, all others under Options.
"""

from __future__ import annotations

from collections.abc import Callable

import typer

READING = "Reading the rows"


def epilog(example: str, then: str) -> str:
    """The text below a help page; one command per line."""
    return f"Example:\n\n{example}\n\nNext:\n\n{then}"


def add(
    app: typer.Typer, verb: Callable[..., None], short: str, example: str, then: str, name: str = ""
) -> None:
    """Make `verb` a command of `app`.

    Parameters
    ----------
    short : the text in the list of commands
    example : a command that runs as it is, in a folder where the earlier examples were run
    then : the next step a user may want
    name : the verb; default: the name of the function
    """
    app.command(name or None, short_help=short, epilog=epilog(example, then))(verb)
