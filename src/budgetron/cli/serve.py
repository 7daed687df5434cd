"""`budgetron serve`: predict and learn over HTTP."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from budgetron.cli import _sources as sources
from budgetron.cli._checkpoint import layout_in, reason
from budgetron.cli._console import fail, note
from budgetron.cli._known_columns import taken_apart
from budgetron.cli.algorithms import (
    AlgorithmName,
    check_parameters,
    find,
    parse_setting,
    parse_value,
)
from budgetron.cli.run import label_list
from budgetron.errors import BudgetronError

if TYPE_CHECKING:
    from budgetron.serve.definition import Definition

NEW = "A new model"
LIMITS = "Limits"


def serve(
    models: Annotated[
        list[str] | None,
        typer.Argument(metavar="MODEL...", help="Of `budgetron run --save`; the file names it."),
    ] = None,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen; others than loopback: --token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="0: a free one.")] = 8000,
    learn: Annotated[
        bool, typer.Option("--learn", help="Learn what is sent, not only predict.")
    ] = False,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Log learned rows and save models here; the same command goes on from it.",
        ),
    ] = None,
    durable: Annotated[
        str,
        typer.Option(
            metavar="on|off", help="on: a row is on disk before it is acknowledged; off: faster."
        ),
    ] = "on",
    token: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            envvar="BUDGETRON_TOKEN",
            show_envvar=True,
            help="Needed to learn, label and take the file; best in the variable.",
        ),
    ] = None,
    new: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Serve a new model, which the first rows begin.",
            rich_help_panel=NEW,
        ),
    ] = None,
    algorithm: AlgorithmName = "budgetron",
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget", "-b", metavar="SIZE", help=sources.BUDGET_HELP, rich_help_panel=NEW
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="classification or regression.", rich_help_panel=NEW),
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(
            metavar="LIST", help="All labels; a budget in bytes needs them.", rich_help_panel=NEW
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Set another parameter.", rich_help_panel=NEW
        ),
    ] = None,
    every: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Rows between two checkpoints; a minute at most.",
            rich_help_panel=LIMITS,
        ),
    ] = 100_000,
    keep_logs: Annotated[
        bool,
        typer.Option(
            "--keep-logs", help="Keep the logs of all learned rows.", rich_help_panel=LIMITS
        ),
    ] = False,
    max_body: Annotated[
        str, typer.Option(metavar="SIZE", help="Of a request.", rich_help_panel=LIMITS)
    ] = "16MB",
    max_rows: Annotated[
        int, typer.Option(min=1, metavar="N", help="Of a request.", rich_help_panel=LIMITS)
    ] = 10_000,
    waiting: Annotated[
        str,
        typer.Option(metavar="SIZE", help="Of rows that wait for a label.", rich_help_panel=LIMITS),
    ] = "64MB",
    waiting_hours: Annotated[
        float,
        typer.Option(
            min=0.0, metavar="X", help="How long a row waits for its label.", rich_help_panel=LIMITS
        ),
    ] = 168.0,
    access_log: Annotated[
        bool, typer.Option("--access-log", help="A line for every request.", rich_help_panel=LIMITS)
    ] = False,
) -> None:
    """Serve models over HTTP: predictions, learning, explanations, a page to watch.

    A model is named by its file: sea.btn is at /v2/models/sea. With --checkpoint
    nothing that was acknowledged is lost, even by kill -9.
    """
    try:
        from budgetron.serve.journal import Journal
        from budgetron.serve.server import Server
        from budgetron.serve.settings import Settings
    except ImportError as error:
        fail(f"budgetron: serving takes {error.name}: pip install 'budgetron[serve]'")
    if durable not in ("on", "off"):
        fail(f"budgetron: --durable {durable}: is on or off")
    if not models and new is None:
        fail("budgetron: name a model file, or begin a new model: --new NAME")
    if checkpoint is not None and not learn:
        fail("budgetron: --checkpoint is of a server that learns: add --learn")
    if new is not None and not learn:
        fail("budgetron: --new is of a server that learns: add --learn")
    if token is not None and not token.strip():
        fail("budgetron: the token is empty: name one, or leave it out")
    definitions = [of_file(each) for each in models or []]
    if new is not None:
        definitions.append(_new(new, algorithm, task, budget, classes, settings or []))
    told = Settings(
        host=host,
        port=port,
        learn=learn,
        folder=None if checkpoint is None else _folder(checkpoint),
        durable=durable == "on",
        token=None if token is None else token.strip(),
        keep_logs=keep_logs,
        every_rows=every,
        most_body=_bytes("--max-body", max_body),
        most_rows=max_rows,
        waiting_bytes=_bytes("--waiting", waiting),
        waiting_seconds=waiting_hours * 3600,
        access_log=access_log,
    )
    journal = Journal()
    server = Server(definitions, told, journal)
    names = ", ".join(each.name for each in definitions)
    print(f"{server.url}  {names}", flush=True)
    journal.say("ready", url=server.url, models=names, learns=learn, pid=os.getpid())
    if learn and checkpoint is None:
        note("what is learned is lost when the server ends: --checkpoint FOLDER keeps it")
    server.run()


def of_file(path: str) -> Definition:
    """The model in a file, named by it; ends the command if it cannot be served."""
    from budgetron.model_file import ModelFileError, read
    from budgetron.serve.definition import Definition

    try:
        model, document = read(path)
    except ModelFileError as error:
        fail(str(error))
    except OSError as error:
        fail(f"{path}: {reason(error)}")
    learner, document = taken_apart(path, model, document)
    origin = hashlib.sha256(str(document["sha256"]).encode()).hexdigest()[:16]
    return Definition(Path(path).stem, learner, layout_in(path, document), None, origin)


def _new(
    name: str,
    algorithm: str,
    task: str | None,
    budget: str | None,
    classes: str | None,
    settings: list[str],
) -> Definition:
    """A model that has learned nothing yet."""
    import budgetron
    from budgetron.serve.definition import Definition

    found = find(algorithm, task)
    task = task or found.tasks[0]
    parameters: dict[str, Any] = {} if budget is None else {"budget": parse_value(budget)}
    parameters.update(parse_setting(text) for text in settings)
    check_parameters(found, parameters)
    labels = label_list(classes)
    in_bytes = any(isinstance(parameters.get(each), str) for each in ("budget", "n_components"))
    if in_bytes and labels is None and task == "classification":
        fail("budgetron: a budget in bytes needs all labels: --classes")
    try:
        learner = budgetron.make(algorithm, task, **parameters)
        learner._validate_params()
    except BudgetronError as error:
        fail(f"budgetron: {error}")
    origin = f"{algorithm} {task} {sorted(parameters.items())} {labels}"
    return Definition(name, learner, None, labels, origin)


def _folder(path: str) -> Path:
    """The folder of checkpoints, which is made if it is not there."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail(f"budgetron: --checkpoint {path}: {reason(error)}")
    return Path(path)


def _bytes(option: str, text: str) -> int:
    from budgetron.estimators._base.sizes import parse_bytes

    try:
        return parse_bytes(text, option)
    except BudgetronError as error:
        fail(f"budgetron: {error}")
