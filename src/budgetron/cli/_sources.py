"""What all verbs that read rows share: the options of a source, and its width.

A verb takes single options by their types here, or all of them by `reads_rows`. It makes
`SourceOptions` by `source_options` and opens `budgetron.streams.open_stream(source, options)`; both
raise a `StreamError` or end the command if something is wrong.
"""

from __future__ import annotations

import inspect
import stat
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from budgetron.cli._console import fail, progress
from budgetron.cli._verbs import READING
from budgetron.cli.algorithms import parse_value
from budgetron.errors import BudgetronError

if TYPE_CHECKING:
    from budgetron.streams import SourceOptions

SOURCE_HELP = (
    "A LIBSVM, CSV, Parquet, Arrow, JSON lines or npz file; - for standard input; data:NAME; "
    "synthetic:NAME; or messages, as tail:FILE or kafka://HOST/TOPIC."
)

Source = Annotated[str, typer.Argument(metavar="FILE", help=SOURCE_HELP)]
Format = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="libsvm, csv, parquet, arrow, jsonl or npz. Default: by the file name.",
        rich_help_panel=READING,
        autocompletion=lambda: ["libsvm", "csv", "parquet", "arrow", "jsonl", "npz"],
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Label column: its name, its number (from 0), or none.",
        rich_help_panel=READING,
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="LIST",
        help="Feature columns, for example age,pay,3-7. Default: all.",
        rich_help_panel=READING,
    ),
]
Categorical = Annotated[
    str | None,
    typer.Option(metavar="LIST", help="Columns to one-hot encode.", rich_help_panel=READING),
]
Hashed = Annotated[
    str | None,
    typer.Option(
        "--hash", metavar="LIST", help="Columns whose words are hashed.", rich_help_panel=READING
    ),
]
Text = Annotated[
    str | None,
    typer.Option(metavar="LIST", help="Texts, whose words are hashed.", rich_help_panel=READING),
]
Numeric = Annotated[
    str | None,
    typer.Option(metavar="LIST", help="Columns that are numbers.", rich_help_panel=READING),
]
Ignore = Annotated[
    str | None,
    typer.Option(metavar="LIST", help="Columns to leave out.", rich_help_panel=READING),
]
Types = Annotated[
    str | None,
    typer.Option(
        metavar="LIST",
        help="Kinds: day=date:dmy,note=text.",
        rich_help_panel=READING,
    ),
]
Decimal = Annotated[
    str,
    typer.Option(
        metavar="CHAR",
        help="Decimal point: . , or auto.",
        show_default=False,
        rich_help_panel=READING,
    ),
]
Strict = Annotated[
    bool,
    typer.Option("--strict", help="Stop at a value of another kind.", rich_help_panel=READING),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHAR",
        help="CSV delimiter: one character, or tab. Default: detected.",
        rich_help_panel=READING,
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first CSV line holds column names. Default: detected.",
        rich_help_panel=READING,
    ),
]
Rows = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Use only the first N rows.", rich_help_panel=READING),
]
Dtype = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="float32 (the default) or float64.",
        show_default=False,
        rich_help_panel=READING,
    ),
]
NFeatures = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Width of X, if known beforehand.",
        rich_help_panel=READING,
    ),
]
SkipBad = Annotated[
    bool,
    typer.Option("--skip-bad", help="Skip malformed rows; count them.", rich_help_panel=READING),
]

# Options of a verb that learns: name -> type and default.
_READING: dict[str, tuple[Any, Any]] = {
    "format": (Format, None),
    "label": (Label, None),
    "columns": (Columns, None),
    "categorical": (Categorical, None),
    "numeric": (Numeric, None),
    "text": (Text, None),
    "hashed": (Hashed, None),
    "ignore": (Ignore, None),
    "types": (Types, None),
    "decimal": (Decimal, "auto"),
    "strict": (Strict, False),
    "delimiter": (Delimiter, None),
    "header": (Header, None),
    "rows": (Rows, None),
    "n_features": (NFeatures, None),
    "dtype": (Dtype, "float32"),
    "skip_bad": (SkipBad, False),
}


def reads_rows(*without: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a verb all options for reading rows except some, as the dict `reading`."""
    names = [name for name in _READING if name not in without]
    own = inspect.Parameter

    def decorate(verb: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(verb, eval_str=True)
        kept = [each for each in signature.parameters.values() if each.name != "reading"]
        for name in names:
            annotation, default = _READING[name]
            kept.append(own(name, own.KEYWORD_ONLY, default=default, annotation=annotation))

        @wraps(verb)
        def wrapped(**given: Any) -> None:
            reading = {name: given.pop(name) for name in names}
            verb(**given, reading=reading)

        wrapped.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        wrapped.__annotations__ = {each.name: each.annotation for each in kept}
        return wrapped

    return decorate


# Options that all verbs that learn share.
Kernel = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="rbf, laplacian, poly, linear, sigmoid.",
        autocompletion=lambda: ["rbf", "laplacian", "poly", "linear", "sigmoid"],
    ),
]
GAMMA_HELP = "Kernel width: median, 4*median, race (of budgetron), auto or a number."
Scale = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="auto (default), standard or none.",
        autocompletion=lambda: ["standard", "auto", "none"],
    ),
]
Task = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="classification or regression.",
        autocompletion=lambda: ["classification", "regression"],
    ),
]
BUDGET_HELP = "Examples to store, or bytes (256KB)."
Budget = Annotated[str | None, typer.Option("--budget", "-b", metavar="SIZE", help=BUDGET_HELP)]
Processes = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Processes. Default: one per core."),
]
CLUSTER = "Cluster"
Backend = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Where cells run: loky, dask or ray.", rich_help_panel=CLUSTER
    ),
]
ClusterAddress = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Address of the Dask or Ray cluster. Default: a local one.",
        rich_help_panel=CLUSTER,
    ),
]


def check_task(task: str | None) -> None:
    """End the command if there is no such task."""
    if task not in (None, "classification", "regression"):
        fail(f"budgetron: --task is classification or regression, not {task!r}")


def parsed(**typed: str | None) -> dict[str, Any]:
    """Parameters by name, as values; without options that were not given."""
    return {name: parse_value(text) for name, text in typed.items() if text is not None}


def source_options(
    *,
    format: str | None = None,
    label: str | None = None,
    columns: str | None = None,
    categorical: str | None = None,
    numeric: str | None = None,
    text: str | None = None,
    hashed: str | None = None,
    ignore: str | None = None,
    types: str | None = None,
    decimal: str = "auto",
    strict: bool = False,
    delimiter: str | None = None,
    header: bool | None = None,
    rows: int | None = None,
    dtype: str = "float32",
    n_features: int | None = None,
    skip_bad: bool = False,
) -> SourceOptions:
    """The options as `open_stream` takes them; ends the command if one is wrong."""
    from budgetron.streams import SourceOptions
    from budgetron.streams.table.roles import spans

    if dtype not in ("float32", "float64"):
        fail(f"budgetron: --dtype is float32 or float64, not {dtype!r}")
    if n_features is not None and n_features >= 2**31:
        fail(f"budgetron: --n-features must be below 2**31, not {n_features}")
    if delimiter in ("tab", "\\t"):
        delimiter = "\t"
    if delimiter is not None and not (len(delimiter) == 1 and delimiter.isascii()):
        fail(f"budgetron: --delimiter is one ASCII character or tab, not {delimiter!r}")
    try:
        return SourceOptions(
            format=format,
            label=False if label == "none" else label,
            columns=None if columns is None else spans(columns),
            categorical=() if categorical is None else spans(categorical),
            hashed=() if hashed is None else spans(hashed),
            types=_kinds(types, number=numeric, text=text, ignore=ignore) or None,
            decimal=decimal,
            strict=strict,
            ids=False,
            delimiter=delimiter,
            header=header,
            n_features=n_features,
            skip_bad=skip_bad,
            rows=rows,
            dtype=dtype,
        )
    except BudgetronError as error:
        fail(f"budgetron: {error}")


def learning_options(*, labelled: bool | None = True, **typed: Any) -> SourceOptions:
    """`source_options` of a verb that learns: there must be labels; `labelled` None: may be."""
    options = source_options(**typed)
    if labelled is None:
        # --label none: the label's column, if there is one, is left out.
        none = options.label is False
        return replace(
            options, label=None if none else options.label, labelled=False if none else None
        )
    if options.label is False:
        fail("budgetron: learning needs labels; --label none is for rows without labels")
    return options


def _kinds(types: str | None, **listed: str | None) -> dict[str, str]:
    """The kinds of columns, from --types and the lists per kind; ends the command on a conflict."""
    from budgetron.streams.table.roles import spans

    said: list[tuple[str, str]] = []
    for each in (types or "").split(",") if types else ():
        name, equals, kind = each.rpartition("=")
        if not equals:
            fail(f"budgetron: --types takes NAME=KIND separated by commas, not {each!r}")
        said.append((name.strip(), kind.strip()))
    said += [(name, kind) for kind, names in listed.items() for name in spans(names or "")]
    found: dict[str, str] = {}
    for name, kind in said:
        if found.setdefault(name, kind) != kind:
            fail(f"budgetron: column {name!r} cannot be {found[name]} and {kind} at once")
    return found


def is_table(source: str, format: str | None) -> bool:
    """Whether the source has, or may have, named columns."""
    from budgetron.streams.opening import TABLES, format_of, is_live

    return source.startswith("data:") or is_live(source) or format_of(source, format) in TABLES


def as_typed(typed: Mapping[str, Any]) -> list[str]:
    """The options, by their names in `source_options`, as words of a command; without defaults.

    >>> as_typed({"label": "pay", "hashed": "town", "header": False, "skip_bad": True})
    ['--label=pay', '--hash=town', '--no-header', '--skip-bad']
    """
    words = []
    for name, value in typed.items():
        flag = "hash" if name == "hashed" else name.replace("_", "-")
        if value == _READING[name][1]:
            continue
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            words.append(f"--{flag}={value}")
    return words


def readable_twice(source: str) -> bool:
    """Whether the source can be opened again from its start.

    The stream itself refuses a file that cannot be read.
    """
    from budgetron.streams.opening import is_live

    if source == "-" or is_live(source):
        return False
    if source.startswith(("synthetic:", "data:")):
        return True
    try:
        mode = Path(source).stat().st_mode
    except OSError:
        return True
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def full_width(source: str, options: SourceOptions) -> int | None:
    """The number of features of the whole source; None if it can be read only once.

    If the width grows with the rows, this takes one pass over the source.
    """
    from budgetron.streams import open_stream

    if options.n_features is not None:
        return options.n_features
    if not readable_twice(source):
        return None
    with open_stream(source, options) as stream:
        if stream.grows:
            with progress("counting features", stream.bytes_total) as report:
                for _ in stream.skim():
                    report(stream.bytes_read, f"{stream.position:,} rows")
        return max(stream.n_features, 1)


def all_labels(source: str, options: SourceOptions) -> list[Any] | None:
    """All labels of the source, by one pass over it; None if it can be read only once."""
    import numpy as np

    from budgetron.streams import open_stream

    if not readable_twice(source):
        return None
    found: set[Any] = set()
    with (
        open_stream(source, options) as stream,
        progress("finding classes", stream.bytes_total) as report,
    ):
        for _, y in stream:
            found.update(np.unique(y).tolist())
            report(stream.bytes_read, f"{stream.position:,} rows")
    return sorted(found)
