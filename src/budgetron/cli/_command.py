"""The `budgetron` command: its verbs and its exit codes.

This module imports only typer, so that `--help` is quick; each command imports what it needs. A
BudgetronError is a user's mistake: one line on standard error and exit code 2. Any other exception
is a bug and keeps its traceback.
"""

from __future__ import annotations

import sys
from copy import copy
from typing import Annotated, Any

import typer

from budgetron.cli._console import note, plain_warnings
from budgetron.cli._standard import BROKEN_PIPE, OutputFailed, standard_streams
from budgetron.cli._verbs import add, epilog
from budgetron.cli.about import about
from budgetron.cli.algorithms import algorithms
from budgetron.cli.compare import compare
from budgetron.cli.data import data
from budgetron.cli.demo import demo
from budgetron.cli.export import export
from budgetron.cli.info import info
from budgetron.cli.inspect import inspect
from budgetron.cli.merge import merge
from budgetron.cli.predict import predict
from budgetron.cli.reproduce import reproduce
from budgetron.cli.run import run
from budgetron.cli.serve import serve
from budgetron.cli.tune import tune
from budgetron.errors import BudgetronError

app = typer.Typer(
    name="budgetron",
    help="Kernel machines that learn from a stream in fixed memory.",
    epilog=epilog(
        "budgetron run synthetic:sea,rows=10000 -a budgetron --budget 50",
        "budgetron algorithms; budgetron run --help",
    ),
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
add(
    app,
    run,
    "Learn a stream in one pass and count the mistakes.",
    "budgetron run synthetic:sea,rows=10000 -a budgetron --budget 50 --save sea.btn",
    "budgetron info sea.btn; budgetron predict sea.btn FILE",
)
add(
    app,
    predict,
    "Predict the rows of a file with a saved model.",
    "budgetron predict sea.btn synthetic:sea,rows=5,seed=1 --output probabilities",
    "budgetron predict sea.btn FILE > answers.csv",
)
add(
    app,
    serve,
    "Predict and learn over HTTP, with a page to watch.",
    "budgetron serve sea.btn --learn --checkpoint kept --port 0",
    "curl -s localhost:8000/v2/models/sea/stats; open http://localhost:8000",
)
add(
    app,
    info,
    "Show what is in a model file.",
    "budgetron info sea.btn",
    "budgetron predict sea.btn FILE",
)
add(
    app,
    export,
    "Write a model for programs without Python: C, ONNX, JSON.",
    "budgetron export sea.btn --to c --out sea.h",
    "cc -std=c99 -c your_program.c, which includes sea.h",
)
add(
    app,
    merge,
    "Merge models that learned separately into one.",
    "budgetron merge sea.btn other.btn --budget 50 --out both.btn",
    "budgetron info both.btn; budgetron predict both.btn FILE",
)
add(
    app,
    algorithms,
    "List the algorithms, or the parameters of one.",
    "budgetron algorithms ahpatron",
    "budgetron about ahpatron; budgetron run FILE -a ahpatron",
)
add(
    app,
    about,
    "Print an algorithm's card: idea, pseudocode, numbers.",
    "budgetron about forgetron",
    "budgetron algorithms forgetron; budgetron run FILE -a forgetron",
)
add(
    app,
    compare,
    "Compare learners and budgets on streams; writes a report.",
    "budgetron compare synthetic:sea,rows=2000 -a rbp,ahpatron -b 20,50 --repeats 2",
    "open comparison/report.html; budgetron tune STREAM -a THE_BEST",
)
add(
    app,
    tune,
    "Find good parameters on the first rows of a stream.",
    "budgetron tune synthetic:sea -a ahpatron --budget 50 --rows 1000",
    "run the command that it prints last, with --save MODEL",
)
add(
    app,
    demo,
    "Compare all learners on data that needs no download.",
    "budgetron demo --out demo-output",
    "open demo-output/report.html; budgetron algorithms",
)
add(
    app,
    reproduce,
    "Reproduce a paper's tables and figures, ours beside theirs.",
    "budgetron reproduce forgetron --table 8.1 --quick",
    "budgetron data list; budgetron reproduce all",
)
add(
    app,
    inspect,
    "Show the columns of a table and what kind they are.",
    "budgetron inspect comparison/records.csv",
    "budgetron run FILE --label NAME",
)
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


# click's base class of usage errors, wherever the installed typer keeps click
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]


def _complaint(error: Any) -> str:
    """A mistake in the command as one line: the error, a suggestion, and where to find help."""
    near = getattr(error, "possibilities", None)  # similar options, the nearest first
    text = f"{error.message}; did you mean {near[0]}?" if near else error.format_message()
    where = error.ctx.command_path if error.ctx else "budgetron"
    return f"budgetron: {' '.join(text.split())} ({where} --help shows more)"


def _with_the_verb(name: str) -> typer.Typer:
    """The command with this verb only: setting up all verbs takes longer than many runs."""
    wanted = [verb for verb in app.registered_commands if name == _name(verb)]
    if not wanted:
        return app
    alone = copy(app)
    alone.registered_commands, alone.registered_groups = wanted, []
    return alone


def _name(verb: Any) -> str:
    return str(verb.name or verb.callback.__name__)


def execute(arguments: list[str]) -> int:
    """Run the command line and return the exit code."""
    with standard_streams() as streams, plain_warnings(note):
        try:
            code = _with_the_verb(arguments[0] if arguments else "")(
                arguments, prog_name="budgetron", standalone_mode=False
            )
            sys.stdout.flush()
        except _UsageError as error:
            note(_complaint(error))
            code = 2
        except BudgetronError as error:
            named = hasattr(error, "line")  # a StreamError begins with the file name
            note(str(error) if named else f"budgetron: {error}")
            code = 2
        except OutputFailed as failed:
            streams.forget_output()
            if failed.broken_pipe:
                return BROKEN_PIPE
            note(f"budgetron: standard output: {failed}")
            code = 2
    return code if isinstance(code, int) else 0
