"""How a verb becomes a command: Typer's own help, with an example and what to do next below it.

A verb is a function in a file of its own. Options whose type carries the panel `READING`
(`_sources.py`) are listed under that heading, the others under Options.
"""

from __future__ import annotations

from collections.abc import Callable

import typer

READING = "Reading the rows"


def epilog(example: str, then: str) -> str:
    """What stands below a help; each command on a line of its own."""
    return f"Example:\n\n{example}\n\nNext:\n\n{then}"


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
    app.command(name or None, short_help=short, epilog=epilog(example, then))(verb)
