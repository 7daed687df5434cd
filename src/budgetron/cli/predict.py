"""`budgetron predict`: the predictions of a saved model for a file or standard input."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from budgetron.cli import _sources as sources
from budgetron.cli._checked import Checked, is_detector
from budgetron.cli._checkpoint import check_place, layout_in
from budgetron.cli._console import Ticker, fail, note, progress
from budgetron.cli._explained import HEADS, ReasonTables, as_written, explainer
from budgetron.cli._inferred import tell_unparsed
from budgetron.cli._keyed_model import KeyedModel, is_fleet
from budgetron.cli._known_columns import taken_apart
from budgetron.cli._lines import Lines, lines_to
from budgetron.cli._verbs import READING
from budgetron.errors import BudgetronError

if TYPE_CHECKING:
    from budgetron.streams import SourceOptions
    from budgetron.streams.table.roles import Layout


class Output(StrEnum):
    """What to write about a row."""

    labels = "labels"
    decisions = "decisions"
    probabilities = "probabilities"


@sources.reads_rows("label", "rows", "n_features", "dtype", "strict", "skip_bad")
def predict(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="File of `run --save`; also a fleet.")
    ],
    file: sources.Source,
    output: Annotated[
        Output, typer.Option(metavar="WHAT", help="labels, decisions or probabilities.")
    ] = Output.labels,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object per line instead of CSV.")
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show which columns and stored examples decided.")
    ] = False,
    out: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write here: .csv, .jsonl or .parquet."),
    ] = None,
    id: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column to name rows by. Default: their numbers."),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Key column of a fleet. Default: as in `run --key`.",
            rich_help_panel=READING,
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Label column, to measure the error: name, number or none.",
            rich_help_panel=READING,
        ),
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL",
            help="Label of the strange rows, for a detector. Default: as in `run`.",
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
    """Predict the rows of FILE: one line per row, in order.

    A row that cannot be read has a line without a prediction. A table is read
    as `run --save` read it: the same columns, the same features per category.
    A model that was fitted on a data frame finds its columns by name.
    """
    from budgetron.model_file import ModelFileError, read
    from budgetron.sources.messages import Live
    from budgetron.streams import StreamError, open_stream
    from budgetron.streams.libsvm import read_as_libsvm
    from budgetron.streams.opening import is_live

    keyed = KeyedModel(model, key) if is_fleet(model) else None
    try:
        learner, document = (keyed, keyed.document) if keyed else read(model)
    except ModelFileError as error:
        fail(str(error))
    except OSError as error:
        fail(f"{model}: {(error.strerror or str(error)).lower()}")
    learner, document = taken_apart(model, learner, document)
    if key is not None and keyed is None:
        fail(f"{model}: one model for all rows: --key is for a fleet")
    if explain and is_detector(learner):
        fail(f"{model}: --explain does not work with scores of strange rows, which are not sums")
    if positive is not None and not is_detector(learner):
        fail(f"{model}: --positive is for detectors of strange rows")
    if keyed is not None and explain:
        fail(f"{model}: --explain does not work with a fleet")
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
        options = replace(options, ids=True)  # in an array every column is a feature
        if keyed is not None:
            options = replace(options, types={**(options.types or {}), keyed.key: "ignore"})
    elif table:
        _check_kinds(model, layout, options)
        layout = layout.unlabelled() if options.label is False else layout
        said: dict[str, Any] = {"types": None, "categorical": (), "hashed": ()}
        options = replace(options, label=False, layout=layout, **said)
    if is_live(file):
        options = replace(options, live=Live(tell=note))
    truth = label if label is not None and label != "none" else None
    key = keyed.key if keyed else None
    for option, column in (("--id", id), ("--label", truth), ("--key", key)):
        if column is not None and not table:
            if file == "-" and reading["format"] is None:
                fail(str(read_as_libsvm(file)))
            fail(f"{option} names a column, but {file} is not a table")
    carry = tuple(dict.fromkeys(each for each in (id, truth, key) if each is not None))
    options = replace(options, carry=carry)
    if out is not None:
        check_place("--out", out, file)
    now_and_then = Ticker()
    positive = positive or (document.get("extra") or {}).get("positive")
    checked = Checked(learner, positive) if truth is not None else None
    digits = _digits(learner, output)
    for_people = explain and out is None and not as_json
    if explain:
        answer, names, digits = explainer(learner, document, whole=for_people), HEADS, None
    with (
        nullcontext(Lines(ReasonTables(), 1, named=id is not None))
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
                    if len(stream.carried) < len(carry):
                        fail("--id, --label and --key name one column in two ways: use its name")
                    cells = dict(zip(carry, stream.carried.values(), strict=True))
                    if keyed is not None:
                        keyed.meet(cells[keyed.key], stream.row_numbers)
                    lines.write(stream.row_numbers, answer(X), cells[id] if id else None)
                    if checked is not None and truth is not None:
                        checked.count(X, cells[truth])
                    if now_and_then():
                        done = stream.amount_done(stream.position, stream.bytes_read)
                        report(done, f"{stream.position:,} rows")
        except StreamError as error:
            fail(str(error).replace("add --skip-bad", "remove --strict"))
        except BudgetronError as error:  # the width differs from the model's
            fail(f"{file}: {error}")
        if not table and stream.n_bad and not stream.position:  # then it has another format
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
    """End the command if an option gives a column another kind than was learned."""
    said = {**(options.types or {}), **dict.fromkeys(options.categorical, "category")}
    said |= dict.fromkeys(options.hashed, "category")
    for column in layout.encoding.columns:
        kind = said.get(column.name, "").partition(":")[0].replace("hash", "category")
        learned = "ignore" if column.coding is None else column.coding.kind
        if kind and kind != learned:
            what = f"column {column.name!r} was learned as {learned}, not as {kind}"
            fail(f"{model}: {what}: remove that option")


def _in_width(learner: Any, X: Any) -> Any:
    """X cut or padded to the model's width; a learner that accepts wider rows gets them."""
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
    detector = is_detector(learner)
    if detector and output is Output.labels:
        return partial(_scored, learner), ["score", "alarm"]
    regression = not (detector or hasattr(learner, "classes_"))
    classes = (
        [] if regression or detector else [as_written(label) for label in learner.classes_.tolist()]
    )
    if output is Output.labels:
        names = ["prediction" if regression else "label"]
        return lambda X: [[as_written(each)] for each in learner.predict(X).tolist()], names
    if output is Output.probabilities and not hasattr(learner, "predict_proba"):
        fail(f"{path}: {type(learner).__name__} has no probabilities; it has labels and decisions")
    if output is Output.probabilities:
        return lambda X: list(learner.predict_proba(X).tolist()), list(map(str, classes))
    decide = learner.predict if regression else learner.decision_function
    if len(classes) > 2:
        return lambda X: list(decide(X).tolist()), list(map(str, classes))
    return lambda X: [[each] for each in decide(X).tolist()], ["decision"]


def _scored(learner: Any, X: Any) -> list[list[Any]]:
    """Of each row its score, larger the stranger it is, and 1 where there is an alarm, else 0."""
    scores = (-learner.score_samples(X)).tolist()
    alarms = (learner.decision_function(X) < 0.0).tolist()
    return [[score, int(alarm)] for score, alarm in zip(scores, alarms, strict=True)]


def _digits(learner: Any, output: Output) -> int | None:
    """Significant digits worth printing; None: all.

    Probabilities are fitted to some thousand rows. Nine digits tell all float32 numbers apart, the
    type of the rows.
    """
    if output is Output.probabilities:
        return 6
    labels = output is Output.labels and hasattr(learner, "classes_")
    return 9 if learner._engine.dtype.name == "float32" and not labels else None
