"""`budgetron run`: learn a stream once, testing on each row before learning it."""

from __future__ import annotations

import json
import os
import time
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

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
    print_report,
    print_table,
    progress,
    shortened,
)
from budgetron.cli._coverage import Coverage, coverage_lines, with_coverage
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
from budgetron.cli._keyed import run_keyed
from budgetron.cli._plot import check_plot, draw_plot
from budgetron.cli._tally import CLASSES, Alarms, Errors, Mistakes, Tally, digits
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
    from collections.abc import Callable, Iterator

    from budgetron.cli._out import Out
    from budgetron.cli._workers import Crew
    from budgetron.streams import RowStream, SourceOptions
    from budgetron.streams.read_ahead import Place

# Kernels that do not depend on gamma: "auto" need not know the width.
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
        str | None, typer.Option(metavar="LIST", help="All labels, as in -1,1.")
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The class whose F1 is shown."),
    ] = None,
    coverage: Coverage = None,
    ask: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Learn this share of labels only."),
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
            help="Save model and position; resume from it.",
        ),
    ] = None,
    every: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Rows between two saves (100000).", show_default=False
        ),
    ] = 100_000,
    workers: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Learn on N cores and merge the models.",
            show_default=False,
        ),
    ] = 1,
    merge_every: Annotated[
        int | None,
        typer.Option(min=1000, metavar="N", help="Rows between two merges."),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="One small model per value of COLUMN."),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="With --key: memory of all models (1GB)."),
    ] = None,
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
    if (share := _share_in(labels_from)) is not None:
        ask, labels_from = share, None
    novelty = found.tasks == ("novelty",)
    task = "novelty" if novelty else task
    options = sources.learning_options(**reading, labelled=None if novelty else True)
    given = {
        "budget": None if budget is None else parse_value(budget),
        "kernel": kernel,
        "gamma": None if gamma is None else parse_value(gamma),
        "degree": degree,
        "coef0": coef0,
        "random_state": seed,
    }
    parameters = {name: value for name, value in given.items() if value is not None}
    if scale is not None:  # "none" is a value too
        parameters["scale"] = parse_value(scale)
    parameters.update(parse_setting(text) for text in settings or [])
    for name in ("n_epochs", "shuffle"):
        if name in parameters:
            fail(f"budgetron: {name} is for fit; run reads the rows once, in order")
    missing = {**found.parameters, **parameters}.get("scale") == "auto"
    options = replace(options, gaps=missing)
    if plot is not None:
        check_plot(plot)
    for option, place in (("--save", save), ("--checkpoint", checkpoint), ("--plot", plot)):
        if place is not None:
            check_place(option, place, file.removeprefix("tail:"))
    if key is not None:
        for option, place in (("--checkpoint", checkpoint), ("--plot", plot), ("--out", out)):
            if place is not None:
                fail(f"budgetron: {option} does not work with --key; save the fleet with --save")
        refused: dict[str, Any] = {"--workers": workers if workers > 1 else None}
        refused |= {"--merge-every": merge_every, "--coverage": coverage, "--ask": ask}
        refused |= {"--positive": positive, "--idle": idle, "--dead-letters": dead_letters}
        refused |= {"--id": id, "--labels": labels_from, "--wait": wait, "--wait-bytes": wait_bytes}
        for option, value in refused.items():
            if value is not None:
                fail(f"budgetron: {option} does not work with --key: leave one out")
        if options.live is not None or file.endswith(":"):
            fail("budgetron: --key works only with files")
        run_keyed(
            *(file, key, algorithm, parameters, options),
            *(label_list(classes), memory or "1GB", save),
            regression=task == "regression",
            as_json=as_json,
        )
        return
    if memory is not None:
        fail("budgetron: --memory is for --key; --budget sets the size of one model")
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
    if novelty and labels_from is not None:
        fail(f"budgetron: {algorithm} learns without labels: leave --labels out")
    if merge_every is not None and workers == 1:
        fail("budgetron: --merge-every is for --workers; one learner has nothing to merge")
    if workers > 1 and messages:
        if options.format == "arrow":
            fail("budgetron: Arrow messages hold several rows each: leave --workers out")
        live.check_sharded(file, dead_letters=dead_letters, out=out, id=id, labels=labels_from)
    for option, share_of in (("--coverage", coverage), ("--ask", ask)):
        if workers > 1 and share_of is not None:
            fail(f"budgetron: {option} needs a single learner: leave --workers out")
    if (
        save is not None
        and checkpoint is not None
        and os.path.realpath(save) == (os.path.realpath(checkpoint))
    ):
        fail(f"budgetron: --save {save}: is the checkpoint; save the model to another file")
    if checkpoint is not None and not messages and not sources.readable_twice(file):
        fail(
            "budgetron: standard input cannot be read again, so no checkpoint can resume it: "
            "learn from a file, take its lines as messages (stdin:), or leave --checkpoint out"
        )
    labels = label_list(classes)
    in_bytes = any(isinstance(parameters.get(name), str) for name in ("budget", "n_components"))

    from budgetron.streams import StreamError, open_stream

    keep: Checkpoint | None = None
    first: RowStream | None = None  # standard input can be opened only once
    sentence = ""  # how the task was found
    layout, before = layout_of(checkpoint)
    options = replace(options, layout=layout)
    try:
        asked = options
        once = not sources.readable_twice(file)
        unsaid = (task, before) == (None, None)
        going_on = messages and layout is not None  # the earlier messages cannot be read again
        if sources.is_table(file, options.format) and (unsaid or once) and not going_on:
            first = open_stream(file, options)
            if unsaid and classes is None:
                task, sentence = task_of(first)
        if task is None and before is not None and before not in found.tasks:
            fail(f"{checkpoint}: of another run (its task was {before})")
        task = task or before or found.tasks[0]
        found = find(algorithm, task)
        check_parameters(found, parameters)
        if classes is not None and task != "classification":
            fail(f"budgetron: --classes is for classification; {task} has none")
        if positive is not None and task == "regression":
            fail("budgetron: --positive is for classification; regression has no classes")
        if in_bytes:
            options, labels = _fix_shape(file, task, options, labels)
        width = first.n_features if first is not None and once and not first.grows else None
        options = _resolve_width(file, found, parameters, options, width)
        choice = {**found.parameters, **parameters}
        tally = _tally(task, choice, labels, in_bytes, positive, options)
        tally.covered = with_coverage(coverage, task, parameters)
        tally.ask = _checked_share(ask, algorithm, task, coverage, out)
        model = _make(algorithm, task, parameters)
        if checkpoint is not None:
            run_of = {"algorithm": algorithm, "task": task, "classes": labels}
            run_of |= {**jsonable(parameters), **jsonable(settings_of(options))}
            if workers > 1:
                run_of |= {"workers": workers, "merge_every": merge_every}
            run_of |= {} if coverage is None else {"coverage": coverage}
            run_of |= {} if ask is None else {"ask": ask}
            run_of |= {} if ask is None else {"ask": ask}
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
            with (
                live.sending(out, model, stream, keep) as answers,
                _crew(model, workers, merge_every, threads=not messages) as crew,
            ):
                if workers > 1 and messages:
                    sharded = _Sharded(file, options, workers, merge_every)
                    seconds, stream = _learn_sharded(model, stream, sharded, tally, keep, tell)
                else:
                    seconds = _learn(model, stream, tally, keep, answers, tell, crew, waits=in_turn)
    except StreamError as error:
        fail(str(error))
    finally:
        if keep is not None:
            keep.close()
    if save is not None:  # before anything is printed: the pipe may break
        _save(model, save, stream, {"positive": positive} if novelty and positive else {})
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


def _save(model: Any, path: str, stream: RowStream, more: dict[str, Any]) -> None:
    from budgetron.model_file import ModelFileError, to_bytes
    from budgetron.model_file.atomic import write_whole

    try:
        write_whole(path, to_bytes(model, {**layout_extra(stream.layout), **more} or None))
    except ModelFileError as error:
        fail(f"{path}: {error}")
    except OSError as error:
        fail(f"{path}: {reason(error)}")


def _tally(
    task: str,
    parameters: dict[str, Any],
    labels: list[Any] | None,
    fixed: bool,
    positive: str | None,
    options: SourceOptions,
) -> Tally:
    """What counts the answers of a run."""
    if task == "novelty":
        return Alarms(parameters["alarm_rate"], fixed, positive, options.labelled is not False)
    return Errors(fixed) if task == "regression" else Mistakes(labels, fixed, positive)


def _share_in(text: str | None) -> float | None:
    """The share to ask for if `--labels` is a number; None for an address or nothing."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def _checked_share(
    share: float | None, algorithm: str, task: str, coverage: float | None, out: str | None
) -> float | None:
    """The share of labels to ask for; ends the command if asking is not possible."""
    from budgetron.estimators._base.asking import check_share

    if share is None:
        return None
    try:
        check_share(share)
    except BudgetronError as error:
        fail(f"budgetron: --ask: {error}".replace("share=", ""))
    if algorithm != "budgetron" or task != "classification":
        fail(
            "budgetron: --ask is for -a budgetron and classes: others do not know how sure they are"
        )
    if coverage is not None or out is not None:
        other = "--coverage" if coverage is not None else "--out"
        fail(f"budgetron: --ask and {other} do not work together: leave one out")
    return share


def label_list(text: str | None) -> list[Any] | None:
    """Labels separated by commas; as numbers if all of them are."""
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

    They come from --n-features and --classes, or take one pass over the file each.
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
    """The options with the width of the data, if something needs it first, and gamma="auto".

    gamma="auto" is 1/width, and AVM's rectangles have sides of delta/sqrt(width); a stream whose
    width grows shows it only at its end. The width is --n-features, or `known` from an open table,
    or takes one pass over the file. If the source cannot be read twice, gamma is "median".
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


@contextmanager
def _crew(model: Any, workers: int, every: int | None, *, threads: bool) -> Iterator[Crew | None]:
    """The worker threads of --workers; None if the model learns alone."""
    if workers == 1:
        yield None
        return
    from budgetron.cli._workers import Crew
    from budgetron.merging import check_mergeable

    try:
        check_mergeable(model)
    except BudgetronError as error:
        fail(f"budgetron: --workers {workers}: {error}")
    if not threads:
        yield None
        return
    with closing(Crew(model, workers, every)) as crew:
        yield crew


def _learn(
    model: Any,
    stream: RowStream,
    tally: Tally,
    keep: Checkpoint | None,
    answers: Out | None,
    tell: Callable[[], None],
    crew: Crew | None,
    *,
    waits: bool,
) -> float:
    """Test, then train, on every row; return the seconds, with those before a checkpoint.

    `tell` is called after the first rows were learned: if these have a mistake, only that is shown.

    With a checkpoint, Ctrl-C and SIGTERM wait for the end of the chunk, which is then saved.
    `waits`: the rows come from a pipe, so they cannot be read ahead.
    """
    from budgetron.streams.read_ahead import read_ahead

    now_and_then = Ticker()
    code = None
    reported = False
    start = time.perf_counter() - (keep.seconds if keep else 0.0)
    with (
        progress(Path(stream.name).name, stream.amount) as report,
        closing(read_ahead(stream, waits=waits)) as chunks,
        Interruption(wanted=keep is not None or hasattr(stream, "stop_when")) as asked,
        live.stopping(stream, asked, answers),
    ):
        try:
            for place, (X, y) in chunks:
                if place.position > len(y) and not reported:
                    tell()
                    reported = True
                _learn_chunk(model, place, X, y, tally, crew)
                code = asked.code
                stops = code is not None
                if crew is not None and keep is not None and keep.due(place.position, last=stops):
                    crew.merge()
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
            if code is None and asked.code is not None:  # a signal while it waited
                code = asked.code
                mark = live.flushed(answers, stream.bookmark)
                if keep is not None and mark is not None and hasattr(model, "n_seen_"):
                    bookmark = {**stream.bookmark, **mark}
                    keep(model, bookmark, tally.state(), stream.layout, last=True)
        except KeyboardInterrupt:
            code = 130
    if crew is not None:
        crew.merge()
    seconds = time.perf_counter() - start
    if code is not None:
        where = _status(model, tally, seconds, stream) if hasattr(model, "n_seen_") else "0 rows"
        if keep is not None and keep.position:
            where += f"; the same command resumes after row {keep.position:,}"
        note(f"interrupted: {where}")
        raise typer.Exit(code)
    if not stream.position:
        fail(f"{stream.name}: no rows to learn from")
    tally.check(model)
    if not reported:
        tell()
    mark = live.flushed(answers, stream.bookmark)
    if keep is not None and mark is not None:
        keep(model, {**stream.bookmark, **mark}, tally.state(), stream.layout, last=True)
    return seconds


class _Sharded(NamedTuple):
    """What processes that read partitions need to know."""

    file: str
    options: SourceOptions
    workers: int
    merge_every: int | None


def _learn_sharded(
    model: Any,
    stream: RowStream,
    sharded: _Sharded,
    tally: Tally,
    keep: Checkpoint | None,
    tell: Callable[[], None],
) -> tuple[float, RowStream]:
    """The same with processes that read partitions of a topic; returns the stream at its end."""
    from budgetron.cli._sharded import learn_sharded
    from budgetron.streams import open_stream

    now_and_then = Ticker()
    start = time.perf_counter() - (keep.seconds if keep else 0.0)
    with progress(stream.name, stream.amount) as show, Interruption() as asked:

        def report(at: Any, rows: int) -> None:
            if now_and_then():
                show(rows, _status(model, tally, time.perf_counter() - start, at or stream))

        try:
            here = learn_sharded(
                model,
                stream,  # type: ignore[arg-type]
                sharded.file,
                sharded.options,
                tally,
                keep,
                asked,
                workers=sharded.workers,
                merge_every=sharded.merge_every,
                report=report,
            )
        except BudgetronError as error:
            fail(f"budgetron: {error}")
    seconds = time.perf_counter() - start
    if asked.code is not None:
        where = f"{here['rows']:,} rows"
        if keep is not None and keep.position:
            where += f"; the same command resumes after row {keep.position:,}"
        note(f"interrupted: {where}")
        raise typer.Exit(asked.code)
    if not here["rows"]:
        fail(f"{stream.name}: no rows to learn from")
    tally.check(model)
    tell()
    stream.close()
    options = replace(sharded.options, layout=stream.layout)
    with open_stream(sharded.file, options, position=here) as last:  # this stream has the counts
        return seconds, last


def _tell(stream: RowStream, sentence: str, *, columns: bool) -> None:
    """Report how the task was found, and the kinds of columns if no table shows them."""
    if sentence:
        note(sentence)
    if columns:
        tell_columns(stream)


def _learn_chunk(model: Any, place: Place, X: Any, y: Any, tally: Tally, crew: Crew | None) -> None:
    try:
        tally.learn(model, place, X, y, crew)
    except BudgetronError as error:  # a wrong parameter value, or labels that are not classes
        fail(f"budgetron: {error}")
    except MemoryError:
        fail("budgetron: the model does not fit into memory; take a smaller budget")


def _status(model: Any, tally: Tally, seconds: float, stream: RowStream) -> str:
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
    tally: Tally,
) -> dict[str, Any]:
    rows = int(model.n_seen_) if tally.ask is None else tally.metrics.rows
    params = jsonable(model.get_params())
    counts = model.missing_counts_
    by_column = {str(at): count for at, count in counts.items()}
    if stream.layout is not None:
        by_column = stream.layout.encoding.by_column(counts)
    again = sum(counts.values()) - sum(by_column.values())  # a missing date misses all its features
    return {
        "algorithm": algorithm,
        "task": task,
        "source": stream.name,
        "budget": params.get(model._budget_name),
        "rows": rows,
        **tally.result(model),
        **({} if tally.covered is None else tally.covered.result()),
        "seconds": seconds,
        "rows_per_second": rows / seconds,
        "n_support": int(model.n_support_),
        "n_updates": int(model.n_updates_),
        # of a copy: a model that was stopped and resumed has buffers of other sizes
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


def _print_table(result: dict[str, Any], tally: Tally) -> None:
    lines = {
        "rows": f"{result['rows']:,}",
        **tally.lines(result),
        **coverage_lines(result),
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
    print_report(f"{result['algorithm']} on {result['source']}", lines)
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
