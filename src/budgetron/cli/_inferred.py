"""What `run` infers of a table, and tells: the task, the columns, values that could not be read."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from budgetron._text import shown
from budgetron.cli._checkpoint import layout_in
from budgetron.cli._console import note
from budgetron.cli._sources import readable_twice

if TYPE_CHECKING:
    from budgetron.streams import RowStream, SourceOptions

CLASSES = 20  # numbers with more different values are a target, not classes
OFTEN = 0.05  # of a column's values: so many of another kind are worth a warning
SHOWN = 6  # columns in a line


def task_of_label(file: str, options: SourceOptions) -> str | None:
    """The task that the label's first values are for, with a sentence that says how; None: unknown.

    Numbers are a target if some have a fraction or more than CLASSES are different; else classes.
    """
    import numpy as np

    from budgetron.streams.opening import format_of, open_batches
    from budgetron.streams.table.columns import Encoder
    from budgetron.streams.table.first_rows import first_rows
    from budgetron.streams.table.inferred import INFER_ROWS
    from budgetron.streams.table.roles import Roles
    from budgetron.tables.kinds import Limits, look
    from budgetron.tables.parsing import numbers, whole

    if not readable_twice(file):
        return None
    batches = open_batches(file, format_of(file, options.format), options)
    table = first_rows(batches, INFER_ROWS)
    roles = Roles(label=options.label, categorical=options.categorical)
    encoder = Encoder(file, table.column_names, roles, np.dtype(float))
    label = encoder.label
    if label is None or encoder.words_as_labels:
        return None
    column = whole(table.column(label))
    found = look(label, column, None, "auto", Limits())
    if found.kind not in ("number", "id"):
        return "classification"
    values = numbers(column).values
    whole_numbers = bool((values == np.floor(values))[~np.isnan(values)].all())
    if whole_numbers and found.distinct <= CLASSES:
        return "classification"
    sort = "numbers" if whole_numbers else "numbers with fractions"
    said = f"{found.distinct:,} distinct {sort} in {found.rows:,} rows"
    note(f"label {label!r}: {said}: regression; --task classification to change")
    return "regression"


def settings_of(options: SourceOptions) -> dict[str, Any]:
    """The options as checkpoints compare them; of inferred columns only where they count."""
    kept = asdict(options)
    del kept["gaps"]  # which follows from the parameters
    del kept["encoding"], kept["renamed"], kept["carry"]
    if not options.infer:
        for name in ("infer", "types", "decimal", "fill_gaps", "strict"):
            del kept[name]
    return kept


def with_encoding_in(checkpoint: str | None, options: SourceOptions) -> SourceOptions:
    """The options with the encoding of a run that goes on: its file may have more rows by now."""
    from budgetron.model_file import ModelFileError, read_header

    if checkpoint is None or not options.infer:
        return options
    try:
        layout = layout_in(checkpoint, read_header(checkpoint))
    except (ModelFileError, OSError):  # there is none yet, or what is wrong is said later
        return options
    return options if layout is None else replace(options, encoding=layout.encoding)


def tell_columns(stream: RowStream) -> None:
    """One line on what the columns are taken for, unless all are numbers."""
    columns = getattr(stream, "columns", ())
    kinds = Counter(each.kind for each in columns if each.coding is not None)
    left = [f"{shown(each.name)} ({each.kind})" for each in columns if each.coding is None]
    if not left and set(kinds) <= {"number"}:
        return
    text = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    more = f", and {len(left) - SHOWN} more" if len(left) > SHOWN else ""
    out = f"; left out: {', '.join(left[:SHOWN])}{more}" if left else ""
    note(f"{stream.name}: columns: {text}{out} (budgetron inspect shows them)")


def tell_unparsed(stream: RowStream) -> None:
    """Which columns hold values of another kind; where there are many, the flag to use."""
    unparsed: dict[str, int] = getattr(stream, "unparsed", {})
    rows = max(stream.position, 1)
    if not unparsed:
        return
    kinds = {each.name: each.kind for each in getattr(stream, "columns", ())}
    listed = [f"{name} ({count:,} no {kinds[name]})" for name, count in unparsed.items()]
    more = f", and {len(listed) - SHOWN} more columns" if len(listed) > SHOWN else ""
    note(f"{stream.name}: read as gaps: {', '.join(listed[:SHOWN])}{more}")
    often = [name for name, count in unparsed.items() if count > OFTEN * rows]
    if often:
        share = 100 * unparsed[often[0]] / rows
        what = f"column {often[0]!r}: {share:.0f} % of its values are no {kinds[often[0]]}"
        note(f"warning: {what}: if it holds words, --categorical {','.join(often)}")
