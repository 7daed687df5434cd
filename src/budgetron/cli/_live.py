"""What `run` does for sources of messages alone: their options, and how they are stopped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from budgetron.cli._checkpoint import check_place
from budgetron.cli._console import fail, note

if TYPE_CHECKING:
    from budgetron.cli._interruption import Interruption
    from budgetron.streams import RowStream, SourceOptions

PANEL = "Messages (tail:, stdin:, tcp://, kafka://, redis://)"

Idle = Annotated[
    float | None,
    typer.Option(
        min=0,
        metavar="SECONDS",
        help="End when no row has come for so long. Default: never.",
        rich_help_panel=PANEL,
    ),
]
DeadLetters = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="Keep messages that are no rows here.", rich_help_panel=PANEL
    ),
]


def with_messages(
    file: str, options: SourceOptions, most: int | None, **given: Any
) -> SourceOptions:
    """The options with what concerns messages; ends the command if the source has none.

    Parameters
    ----------
    file : the source
    options : how it is read
    most : rows between two checkpoints; None: there are none
    **given : options of the command, by their names in `Live`
    """
    from budgetron.streams.opening import is_live

    if not is_live(file):
        for name, value in given.items():
            if value is not None:
                flag = f"--{name.replace('_', '-')}"
                fail(f"budgetron: {flag} is for sources of messages, such as tail:FILE; not {file}")
        return options
    from budgetron.sources.messages import Live

    if given["dead_letters"] is not None:
        check_place("--dead-letters", given["dead_letters"], file.removeprefix("tail:"))
    rows = min(most, options.chunk_rows) if most is not None else options.chunk_rows
    return replace(options, live=Live(tell=note, **given), chunk_rows=rows)


@contextmanager
def stopping(stream: RowStream, asked: Interruption) -> Iterator[None]:
    """While the block runs a signal ends a stream that waits for messages; behind it, it ends."""
    if not hasattr(stream, "stop_when"):
        yield
        return
    over = False
    stream.stop_when(lambda: over or asked.code is not None)
    try:
        yield
    finally:
        over = True
