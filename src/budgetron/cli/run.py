"""`budgetron run`: learn a stream once, testing on each row before learning it."""

from __future__ import annotations

import json
import os
import time
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from budgetron._text import bytes_text, shown
from budgetron.cli import _live as live
from budgetron.cli import _sources as sources
from budgetron.cli._checkpoint import Checkpoint, check_place, layout_extra, reason
from budgetron.cli._console import (
    Ticker,
    fail,
    note,
    output,
    print_table,
    progress,
    shortened,
)
from budgetron.cli._inferred import (
    layout_of,
    print_kinds,
    settings_of,
    task_of,
    tell_columns,
    tell_one_class,
    tell_unparsed,
)
from budgetron.cli._interruption import Interruption
from budgetron.cli._plot import check_plot, draw_plot
from budgetron.cli._tally import CLASSES, Errors, Mistakes, digits
from budgetron.cli.algorithms import (
    AlgorithmName,
    check_parameters,
    find,
    jsonable,
    parse_setting,
    parse_value,
)
from budgetron.errors import BudgetronError

if TYPE_CHECKING:
    from collections.abc import Callable

    from budgetron.cli._out import Out
    from budgetron.streams import RowStream, SourceOptions
    from budgetron.streams.read_ahead import Place

# Kernels whose value does not depend on gamma: no need to know the width for "auto".
_WITHOUT_GAMMA = {"linear"}
SHOWN = 4  # columns with missing values


@sources.reads_rows()
def run(
    file: sources.Source,
    algorithm: AlgorithmName = "budgetron",
    budget: sources.Budget = None,
    gamma: Annotated[str | None, typer.Option(metavar="X", help=sources.GAMMA_HELP)] = None,
    kernel: sources.Kernel = None,
    scale: sources.Scale = None,
    degree: Annotated[int | None, typer.Option(hidden=True)] = None,
    coef0: Annotated[float | None, typer.Option(hidden=True)] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Random seed of the learner.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Set another parameter."),
    ] = None,
    task: sources.Task = None,
    classes: Annotated[
        str | None, typer.Option(metavar="LIST", help="All labels, as in -1,1; others are errors.")
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The class whose F1 is shown."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    plot: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Draw errors over rows (.png .svg .pdf)."),
    ] = None,
    save: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Write the model to this file at the end.")
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Save model and position here; the same command goes on from it.",
        ),
    ] = None,
    every: Annotated[
        int, typer.Option(min=1, metavar="N", help="Rows between two checkpoints.")
    ] = 100_000,
    idle: live.Idle = None,
    dead_letters: live.DeadLetters = None,
    out: live.OutTo = None,
    id: live.Id = None,
    labels_from: live.LabelsFrom = None,
    wait: live.Wait = None,
    wait_bytes: live.WaitBytes = None,
    *,
    reading: dict[str, Any],
) -> None:
    """Learn FILE in one pass and report the mistakes or errors made on the way.

    Each row is predicted before it is learned. With --scale auto an empty cell
    or NaN is a missing value.
    """
    found = find(algorithm, task)
    options = sources.learning_options(**reading)
    given = {
        "budget": None if budget is None else parse_value(budget),
        "kernel": kernel,
        "gamma": None if gamma is None else parse_value(gamma),
        "degree": degree,
        "coef0": coef0,
        "random_state": seed,
    }
    parameters = {name: value for name, value in given.items() if value is not None}
    if scale is not None:  # none is a value too
        parameters["scale"] = parse_value(scale)
    parameters.update(parse_setting(text) for text in settings or [])
    for name in ("n_epochs", "shuffle"):
        if name in parameters:
            fail(f"budgetron: {name} is of fit; run goes over the rows once, in their order")
    missing = {**found.parameters, **parameters}.get("scale") == "auto"
    options = replace(options, gaps=missing)
    if plot is not None:
        check_plot(plot)
    for option, place in (("--save", save), ("--checkpoint", checkpoint), ("--plot", plot)):
        if place is not None:
            check_place(option, place, file.removeprefix("tail:"))
    options = live.with_messages(
        file,
        options,
        every if checkpoint else None,
        idle=idle,
        dead_letters=dead_letters,
        out=out,
        id=id,
        labels=labels_from,
        wait=wait,
        wait_bytes=wait_bytes,
    )
    messages = options.live is not None
    if (
        save is not None
        and checkpoint is not None
        and os.path.realpath(save) == (os.path.realpath(checkpoint))
    ):
        fail(f"budgetron: --save {save}: is the checkpoint; give the model a file of its own")
    if checkpoint is not None and not messages and not sources.readable_twice(file):
        fail(
            "budgetron: standard input cannot be read again, so no checkpoint can resume it: "
            "learn from a file, take its lines as messages (stdin:), or leave --checkpoint out"
        )
    labels = label_list(classes)
    in_bytes = any(isinstance(parameters.get(name), str) for name in ("budget", "n_components"))

    from budgetron.streams import StreamError, open_stream

    keep: Checkpoint | None = None
    first: RowStream | None = None  # standard input is opened but once
    sentence = ""  # on how the task was found
    layout, before = layout_of(checkpoint)
    options = replace(options, layout=layout)
    try:
        asked = options
        once = not sources.readable_twice(file)
        unsaid = (task, before) == (None, None)
        going_on = messages and layout is not None  # what came before is not there to look at
        if sources.is_table(file, options.format) and (unsaid or once) and not going_on:
            first = open_stream(file, options)
            if unsaid and classes is None:
                task, sentence = task_of(first)
        task = task or before or found.tasks[0]
        found = find(algorithm, task)
        check_parameters(found, parameters)
        if classes is not None and task == "regression":
            fail("budgetron: --classes is for classification; regression has none")
        if positive is not None and task == "regression":
            fail("budgetron: --positive is for classification; regression has no classes")
        if in_bytes:
            options, labels = _fix_shape(file, task, options, labels)
        width = first.n_features if first is not None and once and not first.grows else None
        options = _resolve_width(file, found, parameters, options, width)
        tally: Mistakes | Errors = (
            Errors(in_bytes) if task == "regression" else Mistakes(labels, in_bytes, positive)
        )
        model = _make(algorithm, task, parameters)
        if checkpoint is not None:
            run_of = {"algorithm": algorithm, "task": task, "classes": labels}
            run_of |= {**jsonable(parameters), **jsonable(settings_of(options))}
            keep = Checkpoint(checkpoint, every, file, run_of)
            if keep.model is not None:
                model = keep.model
                keep.restore(tally)
            options = replace(options, chunk_rows=min(every, options.chunk_rows))
        if first is not None and not messages and (keep is not None or options != asked):
            first.close()
            first = None
        if first is None:
            first = open_stream(file, options, position=keep.bookmark if keep else 0)
        with first as stream:
            tally.label = getattr(stream, "label", None)
            tell = partial(_tell, stream, sentence, columns=as_json)
            in_turn = (once and not messages) or labels_from is not None
            with live.sending(out, model, stream, keep) as answers:
                seconds = _learn(model, stream, tally, keep, answers, tell, waits=in_turn)
    except StreamError as error:
        fail(str(error))
    finally:
        if keep is not None:
            keep.close()
    if save is not None:  # before anything is printed: a pipe may break
        _save(model, save, stream)
    result = _result(algorithm, task, model, stream, seconds, tally)
    result["resumed_from"] = keep.resumed_from if keep else 0
    live.tell_joined(stream, result)
    if plot is not None:
        draw_plot(plot, result, tally)
    if stream.skipped:
        note(stream.skipped)
    tell_unparsed(stream)
    tell_one_class(model)
    if as_json:
        print(json.dumps(result))
    else:
        print_kinds(stream)
        _print_table(result, tally)


def _save(model: Any, path: str, stream: RowStream) -> None:
    from budgetron.model_file import ModelFileError, to_bytes
    from budgetron.model_file.atomic import write_whole

    try:
        write_whole(path, to_bytes(model, layout_extra(stream.layout) or None))
    except ModelFileError as error:
        fail(f"{path}: {error}")
    except OSError as error:
        fail(f"{path}: {reason(error)}")


def label_list(text: str | None) -> list[Any] | None:
    """The labels with commas between; numbers if all of them are."""
    if text is None:
        return None
    labels = [label.strip() for label in text.split(",")]
    try:
        return [float(label) for label in labels]
    except ValueError:
        return labels


def _fix_shape(
    file: str, task: str, options: SourceOptions, labels: list[Any] | None
) -> tuple[SourceOptions, list[Any] | None]:
    """The options with the width of the data, and all labels: a budget in bytes needs both.

    They are --n-features and --classes, or take a pass over the file each.
    """
    width = sources.full_width(file, options)
    if labels is None and task == "classification":
        labels = sources.all_labels(file, options)
    if width is None or (labels is None and task == "classification"):
        fail(
            f"budgetron: a budget in bytes needs the number of features and all classes; {file} "
            "cannot be read twice to find them: pass --n-features and --classes"
        )
    return replace(options, n_features=width), labels


def _resolve_width(
    file: str,
    algorithm: Any,
    parameters: dict[str, Any],
    options: SourceOptions,
    known: int | None = None,
) -> SourceOptions:
    """The options with the width of the data, where something needs it first, and gamma="auto".

    gamma="auto" is 1/width, and AVM's rectangles have sides of delta/sqrt(width); a stream whose
    width grows tells it only at the end. It is --n-features, `known` of a table that is open, or
    takes a pass over the file. What else cannot be read twice gets gamma="median", not "auto".
    """
    choice = {**algorithm.parameters, **parameters}
    automatic = choice.get("gamma") == "auto" and choice.get("kernel") not in _WITHOUT_GAMMA
    if not automatic and choice.get("cover") != "rectangle":
        return options
    width = known or sources.full_width(file, options)
    if width is None:
        if choice.get("cover") == "rectangle":
            fail(
                f"budgetron: cover=rectangle needs the number of features; {file} cannot be "
                "read twice to count them: pass --n-features"
            )
        parameters["gamma"] = "median"
        return options
    if automatic:
        parameters["gamma"] = 1 / width
    return options if known else replace(options, n_features=width)


def _make(algorithm: str, task: str, parameters: dict[str, Any]) -> Any:
    import budgetron

    try:
        return budgetron.make(algorithm, task, **parameters)
    except BudgetronError as error:
        fail(f"budgetron: {error}")


def _learn(
    model: Any,
    stream: RowStream,
    tally: Mistakes | Errors,
    keep: Checkpoint | None,
    answers: Out | None,
    tell: Callable[[], None],
    *,
    waits: bool,
) -> float:
    """Test, then train, on every row; the seconds it took, those before a checkpoint included.

    `tell` is called once the first rows were learned: a mistake in them is all that is told.

    With a checkpoint Ctrl-C and SIGTERM wait for the end of the chunk, which is then kept.
    `waits`: the rows come from a pipe, so they cannot be read ahead.
    """
    from budgetron.streams.read_ahead import read_ahead

    now_and_then = Ticker()
    code = None
    told = False
    start = time.perf_counter() - (keep.seconds if keep else 0.0)
    with (
        progress(Path(stream.name).name, stream.amount) as report,
        closing(read_ahead(stream, waits=waits)) as chunks,
        Interruption(wanted=keep is not None or hasattr(stream, "stop_when")) as asked,
        live.stopping(stream, asked, answers),
    ):
        try:
            for place, (X, y) in chunks:
                if place.position > len(y) and not told:
                    tell()
                    told = True
                _learn_chunk(model, place, X, y, tally)
                code = asked.code
                mark = live.sent(answers, place, tally.answers, y, keep, last=code is not None)
                if keep is not None and mark is not None:
                    state = tally.state()
                    bookmark = {**place.bookmark, **mark}
                    keep(model, bookmark, state, place.layout, last=code is not None)
                if code is not None:
                    break
                if now_and_then():
                    done = stream.amount_done(place.position, place.bytes_read)
                    now = _status(model, tally, time.perf_counter() - start, stream)
                    report(done, now)
            if code is None and asked.code is not None:  # while it waited for messages
                code = asked.code
                mark = live.flushed(answers, stream.bookmark)
                if keep is not None and mark is not None and hasattr(model, "n_seen_"):
                    bookmark = {**stream.bookmark, **mark}
                    keep(model, bookmark, tally.state(), stream.layout, last=True)
        except KeyboardInterrupt:
            code = 130
    seconds = time.perf_counter() - start
    if code is not None:
        where = _status(model, tally, seconds, stream) if hasattr(model, "n_seen_") else "0 rows"
        if keep is not None and keep.position:
            where += f"; the same command goes on after row {keep.position:,}"
        note(f"interrupted: {where}")
        raise typer.Exit(code)
    if not stream.position:
        fail(f"{stream.name}: no rows to learn from")
    tally.check(model)
    if not told:
        tell()
    mark = live.flushed(answers, stream.bookmark)
    if keep is not None and mark is not None:
        keep(model, {**stream.bookmark, **mark}, tally.state(), stream.layout, last=True)
    return seconds


def _tell(stream: RowStream, sentence: str, *, columns: bool) -> None:
    """How the task was found, and what the columns are taken for where no table shows it."""
    if sentence:
        note(sentence)
    if columns:
        tell_columns(stream)


def _learn_chunk(model: Any, place: Place, X: Any, y: Any, tally: Mistakes | Errors) -> None:
    try:
        tally.learn(model, place, X, y)
    except BudgetronError as error:  # a parameter's value, or labels that are no classes
        fail(f"budgetron: {error}")
    except MemoryError:
        fail("budgetron: the model does not fit into memory; take a smaller budget")


def _status(model: Any, tally: Mistakes | Errors, seconds: float, stream: RowStream) -> str:
    lag = getattr(stream, "lag", "")  # of messages
    rows = f"{model.n_seen_:,} rows · {lag} · " if lag else f"{model.n_seen_:,} rows · "
    return (
        f"{rows}{tally.status(model)} · {model.n_seen_ / seconds:,.0f} rows/s · "
        f"{model.n_support_:,} stored · {bytes_text(model.memory_bytes_)}"
    )


def _result(
    algorithm: str,
    task: str,
    model: Any,
    stream: RowStream,
    seconds: float,
    tally: Mistakes | Errors,
) -> dict[str, Any]:
    rows = int(model.n_seen_)
    params = jsonable(model.get_params())
    counts = model.missing_counts_
    by_column = {str(at): count for at, count in counts.items()}
    if stream.layout is not None:
        by_column = stream.layout.encoding.by_column(counts)
    again = sum(counts.values()) - sum(by_column.values())  # of dates, whose features all miss
    return {
        "algorithm": algorithm,
        "task": task,
        "source": stream.name,
        "budget": params.get(model._budget_name),
        "rows": rows,
        **tally.result(model),
        "seconds": seconds,
        "rows_per_second": rows / seconds,
        "n_support": int(model.n_support_),
        "n_updates": int(model.n_updates_),
        # of a copy: buffers of a model that was stopped and went on have grown otherwise
        "memory_bytes": int(model.snapshot().memory_bytes_),
        "n_features": stream.n_features,
        "gamma": model.gamma_,
        "scale": model.scaling_ or "none",
        "warning": model.not_learning_,
        "params": params,
        "bad_lines": stream.n_bad,
        "bad_messages": stream.bad_messages,
        "missing": int(model.n_missing_) - again,
        "missing_by_column": by_column,
        "unparsed": getattr(stream, "unparsed", {}),
    }


def _print_table(result: dict[str, Any], tally: Mistakes | Errors) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False)
    table.add_column(style="dim")
    table.add_column(justify="right")
    lines = {
        "rows": f"{result['rows']:,}",
        **tally.lines(result),
        "updates": f"{result['n_updates']:,}",
        "stored examples": f"{result['n_support']:,}",
        "model memory": bytes_text(result["memory_bytes"]),
        "seconds": f"{result['seconds']:.2f}",
        "rows per second": f"{result['rows_per_second']:,.0f}",
    }
    if result["bad_lines"]:
        lines["bad rows skipped"] = f"{result['bad_lines']:,}"
    if result["missing"]:
        most = sorted(result["missing_by_column"].items(), key=lambda each: -each[1])
        listed = ", ".join(f"{shown(name)} {count:,}" for name, count in most[:SHOWN])
        more = ", ..." if len(most) > SHOWN else ""
        lines["missing values"] = f"{result['missing']:,} ({listed}{more})"
    for name, value in lines.items():
        table.add_row(name, value)
    console = output()
    console.print(Text(shown(f"{result['algorithm']} on {result['source']}"), style="bold"))
    console.print(table)
    if result.get("per_class"):
        _print_classes(result["per_class"])


def _print_classes(classes: list[dict[str, Any]]) -> None:
    from rich.table import Table

    table = Table()
    table.add_column("class")
    for name in ("rows", "precision", "recall", "F1"):
        table.add_column(name, justify="right")
    largest = sorted(classes, key=lambda each: -each["rows"])[:CLASSES]
    for each in classes if len(classes) <= CLASSES else largest:
        shares = (digits(each[name]) for name in ("precision", "recall", "f1"))
        table.add_row(shortened(str(each["label"])), f"{each['rows']:,}", *shares)
    print_table(table)
    if len(classes) > CLASSES:
        output().print(f"(the largest of {len(classes):,} classes; --json has all)")
