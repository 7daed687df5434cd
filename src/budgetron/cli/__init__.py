"""The `budgetron` command.

Only typer is imported here, so that `--help` is quick; each command imports what it needs. A user's
mistake is one line on standard error and exit code 2, never a traceback.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from budgetron.cli.algorithms import algorithms
from budgetron.cli.compare import compare
from budgetron.cli.data import data
from budgetron.cli.demo import demo
from budgetron.cli.info import info
from budgetron.cli.predict import predict
from budgetron.cli.reproduce import reproduce
from budgetron.cli.run import run
from budgetron.cli.tune import tune

app = typer.Typer(
    name="budgetron",
    help="Kernel machines that learn from a stream in fixed memory.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(run)
app.command()(predict)
app.command()(info)
app.command()(algorithms)
app.command()(compare)
app.command()(tune)
app.command()(demo)
app.command()(reproduce)
app.add_typer(data, name="data")


def _show_version(wanted: bool) -> None:
    if wanted:
        from budgetron import __version__

        print(f"budgetron {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _top(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


# click's base of usage errors, wherever the installed typer keeps click
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]


def main(arguments: list[str] | None = None) -> None:
    """The entry point: run the command line and exit.

    Exit codes: 0 done, 1 the reader of our output went away, 2 a mistake in the command or the
    data, 130 interrupted.
    """
    try:
        code = app(arguments, prog_name="budgetron", standalone_mode=False)
        sys.stdout.flush()
    except _UsageError as error:
        message = " ".join(error.format_message().split())  # type: ignore[attr-defined]
        print(f"budgetron: {message} (budgetron --help shows more)", file=sys.stderr)
        code = 2
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        # What is still buffered has nowhere to go: without this Python complains at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    sys.exit(code if isinstance(code, int) else 0)
