"""`budgetron predict`: what a saved model says of the rows of a file or of standard input."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from budgetron.cli import _sources as sources
from budgetron.cli._checked import Checked
from budgetron.cli._checkpoint import check_place, layout_in
from budgetron.cli._console import Ticker, fail, note, progress
from budgetron.cli._explained import HEADS, Told, as_written, explainer
from budgetron.cli._inferred import tell_unparsed
from budgetron.cli._known_columns import taken_apart
from budgetron.cli._lines import Lines, lines_to
from budgetron.cli._verbs import READING
from budgetron.errors import BudgetronError

if TYPE_CHECKING:
    from budgetron.streams import SourceOptions
    from budgetron.streams.table.roles import Layout


class Output(StrEnum):
    """What to tell of a row."""

    labels = "labels"
    decisions = "decisions"
    probabilities = "probabilities"


@sources.reads_rows("label", "rows", "n_features", "dtype", "strict", "skip_bad")
def predict(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Of `budgetron run --save`.")],
    file: sources.Source,
    output: Annotated[
        Output, typer.Option(metavar="WHAT", help="labels, decisions or probabilities.")
    ] = Output.labels,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object a line instead of CSV.")
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Tell which columns and stored examples decided.")
    ] = False,
    out: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write here: .csv, .jsonl or .parquet."),
    ] = None,
    id: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column to name rows by. Default: their numbers."),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Label column, to tell the error: its name or number; or none.",
            rich_help_panel=READING,
        ),
    ] = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", hidden=True)] = True,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Stop at a row or value that cannot be read.",
            rich_help_panel=READING,
        ),
    ] = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Predict the rows of FILE: one line for each, in their order.

    A row that cannot be read has a line without a prediction. A table is read
    as that of `run --save` was: the same columns, categories as the same
    features. A model of a frame finds its columns by their names.
    """
    from budgetron.model_file import ModelFileError, read
    from budgetron.sources.messages import Live
    from budgetron.streams import StreamError, open_stream
    from budgetron.streams.libsvm import read_as_libsvm
    from budgetron.streams.opening import is_live

    try:
        learner, document = read(model)
    except ModelFileError as error:
        fail(str(error))
    except OSError as error:
        fail(f"{model}: {(error.strerror or str(error)).lower()}")
    learner, document = taken_apart(model, learner, document)
    if not hasattr(learner, "_engine"):
        fail(f"{model}: the model in it has not learned anything yet")
    answer, names = _answers(learner, output, model)
    table = sources.is_table(file, reading["format"])
    options = sources.source_options(
        **reading,
        label=label,
        strict=strict and table,
        skip_bad=not strict,
        dtype=learner._engine.dtype.name,
    )
    options = replace(options, labelled=False, gaps=learner._takes_gaps)
    layout = layout_in(model, document) or (None if options.header is False else _by_name(learner))
    if layout is None:
        options = replace(options, ids=True)  # of arrays every column is a feature
    elif table:
        _check_kinds(model, layout, options)
        layout = layout.unlabelled() if options.label is False else layout
        said: dict[str, Any] = {"types": None, "categorical": (), "hashed": ()}
        options = replace(options, label=False, layout=layout, **said)
    if is_live(file):
        options = replace(options, live=Live(tell=note))
    truth = label if label is not None and label != "none" else None
    for option, column in (("--id", id), ("--label", truth)):
        if column is not None and not table:
            if file == "-" and reading["format"] is None:
                fail(str(read_as_libsvm(file)))
            fail(f"{option} names a column, and {file} is no table")
    options = replace(options, carry=tuple(each for each in (id, truth) if each is not None))
    if out is not None:
        check_place("--out", out, file)
    now_and_then = Ticker()
    checked = Checked(learner) if truth is not None else None
    digits = _digits(learner, output)
    for_people = explain and out is None and not as_json
    if explain:
        answer, names, digits = explainer(learner, document, whole=for_people), HEADS, None
    with (
        nullcontext(Lines(Told(), 1, named=id is not None))
        if for_people
        else lines_to(out, id, names, digits, as_json=as_json)
    ) as lines:
        try:
            with (
                open_stream(file, options) as stream,
                progress(Path(stream.name).name, stream.amount) as report,
                warnings.catch_warnings(),
            ):
                warnings.filterwarnings("ignore", message="X does not have valid feature names")
                for X, _ in stream:
                    X = _in_width(learner, X)
                    carried = list(stream.carried.values())
                    lines.write(stream.row_numbers, answer(X), carried[0] if id else None)
                    if checked is not None:
                        checked.count(X, carried[-1])
                    if now_and_then():
                        done = stream.amount_done(stream.position, stream.bytes_read)
                        report(done, f"{stream.position:,} rows")
        except StreamError as error:
            fail(str(error).replace("add --skip-bad", "leave --strict out"))
        except BudgetronError as error:  # another width than the model's
            fail(f"{file}: {error}")
        if not table and stream.n_bad and not stream.position:  # of another format, then
            fail(f"no row can be read; {stream.bad_messages[0]}")
        lines.finish(stream.position + stream.n_bad)
    if stream.skipped:
        note(stream.skipped.replace("skipped", "without a prediction"))
    tell_unparsed(stream)
    if checked is not None:
        note(f"{stream.name}: {checked.text}")


def _by_name(learner: Any) -> Layout | None:
    """The layout of a table for a model that knows its features by name; None for others."""
    from budgetron.streams.table.roles import Layout
    from budgetron.tables.older import of_numbers

    names = getattr(learner, "feature_names_in_", None)
    return None if names is None else Layout.of(of_numbers(names.tolist()))


def _check_kinds(model: str, layout: Layout, options: SourceOptions) -> None:
    """End the command where a flag says that a column is something else than was learned."""
    said = {**(options.types or {}), **dict.fromkeys(options.categorical, "category")}
    said |= dict.fromkeys(options.hashed, "category")
    for column in layout.encoding.columns:
        kind = said.get(column.name, "").partition(":")[0].replace("hash", "category")
        learned = "ignore" if column.coding is None else column.coding.kind
        if kind and kind != learned:
            what = f"column {column.name!r} was learned as {learned}, not as {kind}"
            fail(f"{model}: {what}: predict reads it so; leave that option out")


def _in_width(learner: Any, X: Any) -> Any:
    """X as wide as the model; a model that meets wider rows takes them, as one that learns does."""
    import numpy as np
    from scipy.sparse import csr_array

    if isinstance(X, np.ndarray):
        return X
    learner.n_features_in_ = width = max(learner.n_features_in_, X.shape[1])
    wide = csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width))
    wide.has_canonical_format = True
    return wide


def _answers(
    learner: Any, output: Output, path: str
) -> tuple[Callable[[Any], list[list[Any]]], list[str]]:
    """The function from rows to what the output says of each, and what its columns are called."""
    regression = not hasattr(learner, "classes_")
    classes = [] if regression else [as_written(label) for label in learner.classes_.tolist()]
    if output is Output.labels:
        names = ["prediction" if regression else "label"]
        return lambda X: [[as_written(each)] for each in learner.predict(X).tolist()], names
    if output is Output.probabilities and not hasattr(learner, "predict_proba"):
        fail(f"{path}: {type(learner).__name__} has no probabilities; there are labels, decisions")
    if output is Output.probabilities:
        return lambda X: list(learner.predict_proba(X).tolist()), list(map(str, classes))
    decide = learner.predict if regression else learner.decision_function
    if len(classes) > 2:
        return lambda X: list(decide(X).tolist()), list(map(str, classes))
    return lambda X: [[each] for each in decide(X).tolist()], ["decision"]


def _digits(learner: Any, output: Output) -> int | None:
    """Significant digits worth printing; None: all.

    Probabilities are fitted to some thousand rows. Nine tell all numbers of float32 apart, in which
    the rows came.
    """
    if output is Output.probabilities:
        return 6
    labels = output is Output.labels and hasattr(learner, "classes_")
    return 9 if learner._engine.dtype.name == "float32" and not labels else None
