"""`budgetron info`: what is in a model file, from its header alone."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from budgetron._text import bytes_text, shown
from budgetron.cli._console import fail, output
from budgetron.cli._known_columns import FEW, MOST, columns_in, label_in, steps_in
from budgetron.errors import BudgetronError


def info(
    path: Annotated[str, typer.Argument(metavar="PATH", help="A model file or a checkpoint.")],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the header as one JSON object.")
    ] = False,
) -> None:
    """Tell what is in a model file. Reads its header only, so damage behind it goes unnoticed."""
    from budgetron.model_file import ModelFileError, read_header

    try:
        document = read_header(path)
        size = Path(path).stat().st_size
    except ModelFileError as error:
        fail(str(error))
    except OSError as error:
        fail(f"{path}: {(error.strerror or str(error)).lower()}")
    if as_json:
        print(json.dumps(document))
        return
    try:
        lines = _lines(document, size)
        columns = columns_in(document)
    except BudgetronError as error:
        fail(f"{path}: damaged: {error}")
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        what = shown(" ".join(f"{type(error).__name__} {error}".split()))
        fail(f"{path}: damaged: its header is not that of a model ({what})")
    _print(path, lines | _checkpoint(document))
    if columns:
        _print_columns(columns)


def _lines(document: dict[str, Any], size: int) -> dict[str, str]:
    from budgetron.model_file.formats import with_parameters

    earlier = "straight" not in document["params"]
    document = with_parameters(document)
    lines = {
        "written by": as_text(f"budgetron {document['budgetron']}, format {document['format']}"),
        "algorithm": as_text(document["algorithm"] or "parts combined by hand"),
        "estimator": as_text(document["estimator"]),
        "parameters": ", ".join(
            f"{as_text(name)}={as_text(v)}" for name, v in document["params"].items()
        ),
        "file": bytes_text(size),
    }
    if document["estimator"].startswith("Budgetron"):
        lines |= _off(document, earlier)
    steps, label = steps_in(document), label_in(document)
    lines |= {} if steps is None else {"steps": steps}
    lines |= {} if label is None else {"label": as_text(label)}
    learned = document["learned"]
    if learned is None:
        return lines | {"rows learned": "none yet"}
    attributes, counters = learned["attributes"], learned["counters"]
    lines["rows learned"] = f"{counters['seen']:,}, {as_text(learned['dtype'])}"
    if document["task"] == "classification":
        lines["mistakes"] = f"{counters['mistakes']:,}"
        labels = attributes["classes_"]["values"]
        lines["classes"] = f"{len(labels)}: {_listed(labels)}"
    if "missing" in counters:
        lines["missing values"] = _missing(document, counters["missing"])
    lines["updates"] = f"{counters['updates']:,}"
    lines["stored examples"] = "none" if learned["stored"] is None else f"{learned['stored']:,}"
    lines["features"] = f"{attributes['n_features_in_']:,}"
    if "feature_names_in_" in attributes:
        lines["features"] += f": {_listed(attributes['feature_names_in_']['values'])}"
    lines["gamma"] = as_text(learned["gamma"])
    lines["scale"] = as_text(learned["scale"])
    if learned.get("not_learning") is not None:
        lines["warning"] = as_text(learned["not_learning"])
    return lines


def _off(document: dict[str, Any], earlier: bool) -> dict[str, str]:
    """What a Budgetron learns without."""
    params = document["params"]
    parts = {
        "straight part": params["straight"] != "none",
        "floor": params["floor"] != 0.0,
        "metric": params["relevance"],
        "race of widths": params["gamma"] == "race",
        "reflex": params.get("reflex", True),  # regressors have none
    }
    off = ", ".join(name for name, on in parts.items() if not on)
    if earlier:
        return {"off": f"{off}: written before it had them; it learns on without"}
    lines = {"off": off} if off else {}
    if isinstance(params["budget"], str):
        fails = (document["learned"] or {}).get("race") == "no room"
        no_room = ["metric"] * parts["metric"] + ["race of widths"] * fails
        lines |= {"no room for": f"{', '.join(no_room)} in a budget in bytes"} if no_room else {}
    return lines


def _missing(document: dict[str, Any], features: int) -> str:
    """Missing values of the columns, where the file knows these; else of the features."""
    extra = document.get("extra")
    found = extra.get("missing") if isinstance(extra, dict) else None
    if not found:
        return f"{features:,}"
    most = sorted(found.items(), key=lambda each: -each[1])
    listed = ", ".join(f"{as_text(name)} {count:,}" for name, count in most[:FEW])
    return f"{sum(found.values()):,} ({listed}{', ...' if len(most) > FEW else ''})"


def _checkpoint(document: dict[str, Any]) -> dict[str, str]:
    """How far the run had come, if the file is a checkpoint (cli/checkpoint.py)."""
    extra = document.get("extra")
    bookmark = extra.get("bookmark") if isinstance(extra, dict) else None
    rows = bookmark.get("rows") if isinstance(bookmark, dict) else None
    return {"checkpoint": f"after row {rows:,}"} if isinstance(rows, int) else {}


def as_text(written: Any) -> str:
    r"""Anything that JSON can hold as a person would write it, in characters that can be shown.

    >>> as_text({"part": "Halve", "params": {"size": 3, "norm": {"float": "inf"}}})
    'Halve(size=3, norm=inf)'
    >>> as_text({"dict": [["yes", 2.0], ["n\x1bo", 1]]})
    '{yes: 2.0, n\\x1bo: 1}'
    """
    match written:
        case {"part": part, "params": dict(params), **more} if not more:
            inner = ", ".join(f"{as_text(name)}={as_text(each)}" for name, each in params.items())
            return f"{as_text(part)}({inner})"
        case {"float": number, **more} if not more:
            return as_text(number)
        case {"dict": list(pairs), **more} if not more and all(map(_is_pair, pairs)):
            return _in_braces(pairs)
        case dict(named):
            return _in_braces(named.items())
        case list(several):
            return "[" + ", ".join(map(as_text, several)) + "]"
    return shown(str(written))


def _in_braces(pairs: Iterable[Any]) -> str:
    return "{" + ", ".join(f"{as_text(key)}: {as_text(each)}" for key, each in pairs) + "}"


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2


def _listed(names: list[Any], most: int = 8) -> str:
    more = ", ..." if len(names) > most else ""
    return ", ".join(map(as_text, names[:most])) + more


def _print(path: str, lines: dict[str, str]) -> None:
    from rich.table import Table

    table = Table(show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    for name, value in lines.items():
        table.add_row(name, value)
    console = output()
    console.print(path, style="bold")
    console.print(table)


def _print_columns(columns: list[tuple[str, str, str]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for head in ("column", "kind", "values"):
        table.add_column(head, overflow="fold")
    for each in columns[:MOST]:
        table.add_row(*map(Text, each))
    console = output()
    console.print(table)
    if len(columns) > MOST:
        console.print(f"and {len(columns) - MOST:,} more columns (--json has them all)")
