"""What a run infers from a table and reports: task, columns, values that cannot be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from budgetron._text import shown
from budgetron.cli._checkpoint import layout_in
from budgetron.cli._console import fail, note, output, print_table
from budgetron.cli._tally import plain

if TYPE_CHECKING:
    from budgetron.streams import RowStream, SourceOptions
    from budgetron.streams.table.roles import Layout


def task_of(stream: RowStream) -> tuple[str | None, str]:
    """The task that fits the labels, and a sentence that says why; None: not known."""
    label = getattr(stream, "label", None)
    return (None, "") if label is None else (label.task, label.sentence)


def settings_of(options: SourceOptions) -> dict[str, Any]:
    """The options as checkpoints compare them; without those that follow from others."""
    left_out = ("gaps", "layout", "ids", "carry", "live")
    return {name: value for name, value in vars(options).items() if name not in left_out}


def layout_of(checkpoint: str | None) -> tuple[Layout | None, str | None]:
    """The layout and the task of a resumed run's table; the file may have grown since."""
    from budgetron.model_file import ModelFileError, read_header

    if checkpoint is None:
        return None, None
    try:
        document = read_header(checkpoint)
    except (ModelFileError, OSError):  # there is none yet, or a later check reports the fault
        return None, None
    layout = layout_in(checkpoint, document)
    if layout is not None and layout.older:
        what = "was written by an older version, whose categories grew with the rows"
        fail(f"{checkpoint}: {what}: predict can use it; to learn, remove it and start again")
    task = document.get("task")
    return layout, task if isinstance(task, str) else None


def tell_columns(stream: RowStream) -> None:
    """The inferred kinds of a table's columns."""
    for text in stream.column_notices:
        note(text)


def print_kinds(stream: RowStream) -> None:
    """Print the inferred kinds, one line per kind, unless all columns are numbers."""
    from rich.table import Table

    if not stream.column_notices:
        return
    kinds: dict[str, list[str]] = {}
    for each in getattr(stream, "columns", ()):
        kind = each.kind if each.coding is not None else f"{each.kind}, left out"
        kinds.setdefault(kind, []).append(shown(each.name))
    room = max(20, output().width - max(map(len, kinds)) - len("count") - 10)
    table = Table()
    table.add_column("kind", no_wrap=True)
    table.add_column("count", justify="right", no_wrap=True)
    table.add_column("columns", no_wrap=True)
    for kind, names in kinds.items():
        table.add_row(kind, f"{len(names):,}", _first(names, room))
    print_table(table)


def _first(names: list[str], width: int) -> str:
    """The first names, as many as fit into `width` characters.

    >>> _first(["age", "pay", "town"], 13)
    'age, pay, ...'
    """
    text = ", ".join(names)
    if len(text) <= width:
        return text
    end = text.rfind(", ", 0, width - 3)
    return f"{text[: end + 2 if end >= 0 else width - 3]}..."


def tell_one_class(model: Any) -> None:
    """Warn if all labels are the same: a wrong label column makes no mistakes."""
    classes: Any = getattr(model, "classes_", None)
    if classes is not None and len(classes) == 1:
        label = plain(classes[0])
        note(f"warning: all labels are {label!r}: is this the label column (--label)?")


def tell_unparsed(stream: RowStream) -> None:
    """Report which columns hold values of another kind."""
    for text in stream.cell_notices:
        note(text)
