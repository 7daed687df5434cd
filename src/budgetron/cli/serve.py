"""`budgetron serve`: predict and learn over HTTP."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from budgetron.cli import _sources as sources
from budgetron.cli._checked import is_detector
from budgetron.cli._checkpoint import check_place, layout_in, reason
from budgetron.cli._console import fail
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
    from budgetron.serve.feeding import Feeding

NEW = "A new model"
SOURCE = "Learn messages too (tail:, stdin:, tcp://, kafka://, redis://)"
LIMITS = "Limits"


def serve(
    models: Annotated[
        list[str] | None,
        typer.Argument(metavar="MODEL...", help="Model file of `run --save`."),
    ] = None,
    host: Annotated[
        str,
        typer.Option(metavar="ADDRESS", help="Address to listen on; not loopback: add --token."),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="Port; 0 takes a free one.")
    ] = 8000,
    learn: Annotated[
        bool, typer.Option("--learn", help="Learn what is sent, not only predict.")
    ] = False,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Log learned rows and save models here, to resume from.",
        ),
    ] = None,
    durable: Annotated[
        str,
        typer.Option(
            metavar="on|off", help="on: rows are on disk before they are acknowledged; off: faster."
        ),
    ] = "on",
    token: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            envvar="BUDGETRON_TOKEN",
            show_envvar=True,
            help="Needed to learn, to label and to download; better set the variable.",
        ),
    ] = None,
    source: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SOURCE",
            help="Learn from this source; several models: MODEL=SOURCE.",
            rich_help_panel=SOURCE,
        ),
    ] = None,
    labels: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SOURCE",
            help="Labels that come later than their rows, by id.",
            rich_help_panel=SOURCE,
        ),
    ] = None,
    id: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Key of a row's id, for --labels. Default: id.",
            rich_help_panel=SOURCE,
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Label column of messages. Default: as learned.",
            rich_help_panel=SOURCE,
        ),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="jsonl (the default), csv or arrow.", rich_help_panel=SOURCE
        ),
    ] = None,
    dead_letters: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write bad messages to this file.", rich_help_panel=SOURCE
        ),
    ] = None,
    new: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Serve a new, empty model.",
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
            help="Rows between two checkpoints, at most a minute apart.",
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
        str, typer.Option(metavar="SIZE", help="Largest request.", rich_help_panel=LIMITS)
    ] = "16MB",
    max_rows: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="Most rows per request.", rich_help_panel=LIMITS),
    ] = 10_000,
    waiting: Annotated[
        str,
        typer.Option(
            metavar="SIZE", help="Memory for rows that wait for a label.", rich_help_panel=LIMITS
        ),
    ] = "64MB",
    waiting_hours: Annotated[
        float,
        typer.Option(
            min=0.0, metavar="X", help="How long a row waits for its label.", rich_help_panel=LIMITS
        ),
    ] = 168.0,
    access_log: Annotated[
        bool,
        typer.Option("--access-log", help="Write one line per request.", rich_help_panel=LIMITS),
    ] = False,
) -> None:
    """Serve models over HTTP: predictions, learning, explanations, a page to watch.

    The name of a model is that of its file: sea.btn is at /v2/models/sea. With
    --checkpoint no acknowledged row is lost, even by kill -9.
    """
    try:
        from budgetron.serve.journal import Journal, heard
        from budgetron.serve.server import Server
        from budgetron.serve.settings import Settings
    except ImportError as error:
        fail(f"budgetron: serving needs {error.name}: pip install 'budgetron[serve]'")
    if durable not in ("on", "off"):
        fail(f"budgetron: --durable is on or off, not {durable}")
    if not models and new is None:
        fail("budgetron: name a model file, or start a new model: --new NAME")
    learns = learn or bool(source or labels)
    if checkpoint is not None and not learns:
        fail("budgetron: --checkpoint is for a server that learns: add --learn or --source")
    if new is not None and not learns:
        fail("budgetron: --new is for a server that learns: add --learn or --source")
    for flag, given in (("--label", label), ("--format", format), ("--dead-letters", dead_letters)):
        if given is not None and not source and not labels:
            fail(f"budgetron: {flag} is for messages: pass their source (--source)")
    if id is not None and not labels:
        fail("budgetron: --id is for labels that come later: pass their source (--labels)")
    if labels and format not in (None, "jsonl"):
        fail("budgetron: late labels need JSON rows (--format jsonl)")
    if labels and not source and not learn:
        what = "--labels without --source is for rows that are sent over HTTP with an id"
        fail(f"budgetron: {what}: add --learn")
    if token is not None and not token.strip():
        fail("budgetron: the token is empty: set one, or remove the option")
    definitions = [of_file(each) for each in models or []]
    if new is not None:
        definitions.append(_new(new, algorithm, task, budget, classes, settings or []))
    limits = Settings(
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
    listed = [each.name for each in definitions]
    fed = _sources(source or [], labels or [], listed, label, format, dead_letters, id or "id")
    journal = Journal()
    with heard(journal):
        server = Server(definitions, limits, journal, fed)
        names = ", ".join(listed)
        print(f"{server.url}  {names}", flush=True)
        journal.say("ready", url=server.url, models=names, learns=learns, pid=os.getpid())
        if learns and checkpoint is None:
            what = "what it learns is lost when the server ends: add --checkpoint FOLDER"
            journal.warn(what)
        server.run()


def of_file(path: str) -> Definition:
    """The model in a file, under the file's name; ends the command if it cannot be served."""
    from budgetron.model_file import ModelFileError, read
    from budgetron.serve.definition import Definition

    try:
        model, document = read(path)
    except ModelFileError as error:
        fail(str(error))
    except OSError as error:
        fail(f"{path}: {reason(error)}")
    learner, document = taken_apart(path, model, document)
    if is_detector(learner):
        fail(f"{path}: detectors of strange rows cannot be served; `budgetron predict` scores")
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
    """A new model that has learned nothing yet."""
    import budgetron
    from budgetron.serve.definition import Definition

    found = find(algorithm, task)
    task = task or found.tasks[0]
    if task == "novelty":
        fail(f"budgetron: {algorithm} cannot be served; `budgetron run` learns and scores rows")
    parameters: dict[str, Any] = {} if budget is None else {"budget": parse_value(budget)}
    parameters.update(parse_setting(text) for text in settings)
    check_parameters(found, parameters)
    labels = label_list(classes)
    in_bytes = any(isinstance(parameters.get(each), str) for each in ("budget", "n_components"))
    if in_bytes and labels is None and task == "classification":
        fail("budgetron: a budget in bytes needs all labels: add --classes")
    try:
        learner = budgetron.make(algorithm, task, **parameters)
        learner._validate_params()
    except BudgetronError as error:
        fail(f"budgetron: {error}")
    origin = f"{algorithm} {task} {sorted(parameters.items())} {labels}"
    return Definition(name, learner, None, labels, origin)


def _by_model(option: str, given: list[str], models: list[str]) -> dict[str, str]:
    """The source that an option gives for each model."""
    found: dict[str, str] = {}
    for text in given:
        name, equals, source = text.partition("=")
        if not equals or name not in models:
            name, source = models[0], text
            if len(models) > 1:
                fail(f"budgetron: {option} {text}: name the model that learns it: MODEL={text}")
        if name in found:
            fail(f"budgetron: {option} {text}: a model can learn only one source")
        found[name] = source
    return found


def _sources(
    given: list[str],
    late: list[str],
    models: list[str],
    label: str | None,
    format: str | None,
    dead_letters: str | None,
    id: str,
) -> dict[str, Feeding]:
    """The sources of the models, by model name; ends the command if they conflict."""
    from budgetron.serve.feeding import Feeding

    found: dict[str, Feeding] = {}
    rows, labels = _by_model("--source", given, models), _by_model("--labels", late, models)
    for name in dict.fromkeys([*rows, *labels]):
        options = sources.learning_options(label=label, format=format)
        if dead_letters is not None:
            for each in (rows.get(name, ""), labels.get(name, "")):
                check_place("--dead-letters", dead_letters, each.removeprefix("tail:"))
        if name in labels and rows.get(name) == labels[name]:
            fail(f"budgetron: --labels {labels[name]}: is the source of the rows")
        try:
            found[name] = Feeding(rows.get(name, ""), options, dead_letters, labels.get(name), id)
        except BudgetronError as error:
            fail(f"budgetron: {'--labels' if name not in rows else '--source'} {error}")
    if len(found) > 1 and dead_letters is not None:
        fail("budgetron: --dead-letters works with one source only")
    return found


def _folder(path: str) -> Path:
    """The folder of checkpoints; it is made if it does not exist."""
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
