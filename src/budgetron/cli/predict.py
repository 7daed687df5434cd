"""`budgetron predict`: what a saved model says of the rows of a file or of standard input."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from budgetron.cli import _sources as sources
from budgetron.cli._checked import Checked
from budgetron.cli._checkpoint import check_place, layout_in
from budgetron.cli._console import Ticker, fail, note, progress
from budgetron.cli._lines import lines_to
from budgetron.cli._verbs import READING
from budgetron.errors import BudgetronError


class Output(StrEnum):
    """What to tell of a row."""

    labels = "labels"
    decisions = "decisions"
    probabilities = "probabilities"


def predict(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Of `budgetron run --save`.")],
    file: sources.Source,
    output: Annotated[
        Output, typer.Option(metavar="WHAT", help="labels, decisions or probabilities.")
    ] = Output.labels,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object a line instead of CSV.")
    ] = False,
    out: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write here: .csv, .jsonl or .parquet."),
    ] = None,
    id: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column to name rows by. Default: their numbers."),
    ] = None,
    format: sources.Format = None,
    label: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Label column, to tell the error: its name or number; or none.",
            rich_help_panel=READING,
        ),
    ] = None,
    columns: sources.Columns = None,
    hashed: sources.Hashed = None,
    delimiter: sources.Delimiter = None,
    header: sources.Header = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", hidden=True)] = True,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Stop at a row that cannot be read.", rich_help_panel=READING
        ),
    ] = False,
) -> None:
    """Predict the rows of FILE: one line for each, in their order.

    A row that cannot be read has a line without a prediction. A table is read
    as that of `run --save` was: the same columns, categories as the same
    features. A model of a frame finds its columns by their names.
    """
    from budgetron.model_file import ModelFileError, read
    from budgetron.streams import StreamError, open_stream

    try:
        learner, document = read(model)
    except ModelFileError as error:
        fail(str(error))
    except OSError as error:
        fail(f"{model}: {(error.strerror or str(error)).lower()}")
    if not hasattr(learner, "_engine"):
        fail(f"{model}: the model in it has not learned anything yet")
    answer, names = _answers(learner, output, model)
    options = sources.source_options(
        format=format,
        label=label,
        columns=columns,
        hashed=hashed,
        delimiter=delimiter,
        header=header,
        dtype=learner._engine.dtype.name,
        skip_bad=not strict,
    )
    options = replace(options, labelled=False, gaps=learner._takes_gaps)
    layout = layout_in(model, document) or (None if header is False else _by_name(learner))
    table = _is_table(file, format)
    if layout is not None and columns is None and hashed is None and table:
        layout = layout.unlabelled() if options.label is False else layout
        options = replace(options, label=False, **layout.options)
    truth = label if label is not None and label != "none" else None
    for option, column in (("--id", id), ("--label", truth)):
        if column is not None and not table:
            fail(f"{option} names a column, and {file} is no table")
    options = replace(options, carry=tuple(each for each in (id, truth) if each is not None))
    if out is not None:
        check_place("--out", out, file)
    now_and_then = Ticker()
    checked = Checked(learner) if truth is not None else None
    digits = _digits(learner, output)
    with lines_to(out, id, names, digits, as_json=as_json) as lines:
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
            fail(str(error))
        except BudgetronError as error:  # another width than the model's
            fail(f"{file}: {error}")
        if not table and stream.n_bad and not stream.position:  # of another format, then
            fail(f"no row can be read; {stream.bad_messages[0]}")
        lines.finish(stream.position + stream.n_bad)
    if stream.skipped:
        note(stream.skipped.replace("skipped", "without a prediction"))
    if checked is not None:
        note(f"{stream.name}: {checked.text}")


def _is_table(file: str, format: str | None) -> bool:
    from budgetron.streams.opening import TABLES, format_of

    return file.startswith("data:") or format_of(file, format) in TABLES


def _by_name(learner: Any) -> Any:
    """The layout of a table for a model that knows its features by name; None for others."""
    from budgetron.streams.table.roles import Layout

    names = getattr(learner, "feature_names_in_", None)
    return None if names is None else Layout(names.tolist(), [], 1, [], [])


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
    classes = [] if regression else [_plain(label) for label in learner.classes_.tolist()]
    if output is Output.labels:
        names = ["prediction" if regression else "label"]
        return lambda X: [[_plain(each)] for each in learner.predict(X).tolist()], names
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


def _plain(label: Any) -> Any:
    """A label as it stood in the source: 1 and not 1.0."""
    return int(label) if isinstance(label, float) and label.is_integer() else label
