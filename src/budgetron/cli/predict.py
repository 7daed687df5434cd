"""`budgetron predict`: what a saved model says of the rows of a file or of standard input."""

from __future__ import annotations

import csv
import json
import sys
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from budgetron._text import shown, spreadsheet
from budgetron.cli import _sources as sources
from budgetron.cli._checkpoint import layout_in
from budgetron.cli._console import Ticker, fail, note, progress
from budgetron.cli._explained import explainer
from budgetron.cli._inferred import tell_unparsed
from budgetron.cli._known_columns import taken_apart
from budgetron.errors import BudgetronError

if TYPE_CHECKING:
    from budgetron.streams import SourceOptions
    from budgetron.streams.table.roles import Layout


class Output(StrEnum):
    """What to tell of a row."""

    labels = "labels"
    decisions = "decisions"
    probabilities = "probabilities"


@sources.reads_rows("rows", "n_features", "dtype")
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
    *,
    reading: dict[str, Any],
) -> None:
    """Predict the rows of FILE, whose own labels are not looked at.

    A table is read as that of `run --save` was: the same columns, categories as the same features.
    A model that learned a frame in Python finds its columns by their names.
    """
    from budgetron.model_file import ModelFileError, read
    from budgetron.streams import StreamError, open_stream

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
    write = _writer(names, as_json=as_json)
    options = sources.source_options(**reading, dtype=learner._engine.dtype.name)
    options = replace(options, labelled=False, gaps=learner._takes_gaps)
    layout = layout_in(model, document) or (None if options.header is False else _by_name(learner))
    if layout is None:
        options = replace(options, ids=True)  # of arrays every column is a feature
    elif sources.is_table(file, options.format):
        _check_kinds(model, layout, options)
        layout = layout.unlabelled() if options.label is False else layout
        said: dict[str, Any] = {"types": None, "categorical": (), "hashed": ()}
        options = replace(options, label=False, layout=layout, **said)
    tell = explainer(learner, document, as_json=as_json) if explain else None
    now_and_then = Ticker()
    try:
        with (
            open_stream(file, options) as stream,
            progress(Path(stream.name).name, stream.bytes_total) as report,
            warnings.catch_warnings(),
        ):
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            for X, _ in stream:
                X = _in_width(learner, X)
                write(answer(X)) if tell is None else tell(X)
                sys.stdout.flush()
                if now_and_then():
                    report(stream.bytes_read, f"{stream.position:,} rows")
    except StreamError as error:
        fail(str(error))
    except BudgetronError as error:  # another width than the model's
        fail(f"{file}: {error}")
    if tell is None:
        write([])  # the header, if there was no row
    if stream.skipped:
        note(stream.skipped)
    tell_unparsed(stream)


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
    """The function from rows to lines of the output, and what its columns are called."""
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


def _plain(label: Any) -> Any:
    """A label as it stood in the source: 1 and not 1.0."""
    return int(label) if isinstance(label, float) and label.is_integer() else label


def _writer(columns: list[str], *, as_json: bool) -> Callable[[Iterable[list[Any]]], None]:
    if as_json:

        def write(lines: Iterable[list[Any]]) -> None:
            for line in lines:
                print(json.dumps(dict(zip(columns, line, strict=True))))

        return write
    on_terminal = sys.stdout.isatty()

    def cell(value: Any) -> Any:
        safe = spreadsheet(value)
        return shown(safe) if on_terminal and isinstance(safe, str) else safe

    table = csv.writer(sys.stdout, lineterminator="\n")
    header = [columns]  # waits for the first answer: what fails prints nothing

    def write_rows(lines: Iterable[list[Any]]) -> None:
        while header:
            table.writerow(map(cell, header.pop()))
        table.writerows(map(cell, line) for line in lines)

    return write_rows
