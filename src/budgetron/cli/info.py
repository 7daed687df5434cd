"""`budgetron info`: the content of a model file, from its header only."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from budgetron._text import bytes_text, shown
from budgetron.cli._console import fail, output
from budgetron.cli._keyed import fleet_lines
from budgetron.cli._keyed_model import is_fleet
from budgetron.cli._known_columns import FEW, MOST, columns_in, label_in, steps_in
from budgetron.errors import BudgetronError


def info(
    path: Annotated[str, typer.Argument(metavar="PATH", help="A model, a checkpoint or a delta.")],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the header as one JSON object.")
    ] = False,
) -> None:
    """Show what is in a model file. Only the header is read; damage after it goes unnoticed."""
    from budgetron.model_file import ModelFileError, read_header

    if is_fleet(path):
        try:
            document, lines = fleet_lines(path)
        except (BudgetronError, LookupError, TypeError, ValueError) as error:
            fail(f"{path}: damaged: {error}")
        print(json.dumps(document)) if as_json else _print(path, lines)
        return
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
        delta = "delta" in document
        lines = _of_delta(document, size) if delta else _lines(document, size)
        columns = [] if delta else columns_in(document)
    except BudgetronError as error:
        fail(f"{path}: damaged: {error}")
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        what = shown(" ".join(f"{type(error).__name__} {error}".split()))
        fail(f"{path}: damaged: its header does not describe a model ({what})")
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
    if document["estimator"] in ("BudgetronClassifier", "BudgetronRegressor"):
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
    if "base" in learned:
        lines["worker of base"] = _digest(learned["base"])
    lines["gamma"] = as_text(learned["gamma"])
    lines["scale"] = as_text(learned["scale"])
    if learned.get("not_learning") is not None:
        lines["warning"] = as_text(learned["not_learning"])
    return lines


def _of_delta(document: dict[str, Any], size: int) -> dict[str, str]:
    """The description in a worker's delta."""
    delta = document["delta"]
    lines = {
        "written by": as_text(f"budgetron {document['budgetron']}, format {document['format']}"),
        "delta of": ", ".join(as_text(name) for name in delta["workers"]),
        "estimator": as_text(delta["estimator"]),
        "base": _digest(delta["base"]),
        "rows learned": f"{delta['rows']:,} since the base",
        "file": bytes_text(size),
    }
    if delta["classes"] is not None:
        labels = delta["classes"]["values"]
        lines["classes"] = f"{len(labels)}: {_listed(labels)}"
    return lines


def _digest(written: Any) -> str:
    """A digest with a place to break the line."""
    text = as_text(written)
    return f"{text[:32]} {text[32:]}".strip()


def _off(document: dict[str, Any], earlier: bool) -> dict[str, str]:
    """The parts of a Budgetron that are off."""
    params = document["params"]
    parts = {
        "straight part": params["straight"] != "none",
        "floor": params["floor"] != 0.0,
        "metric": params["relevance"],
        "race of widths": params["gamma"] == "race",
        "reflex": params["reflex"],
    }
    off = ", ".join(name for name, on in parts.items() if not on)
    if earlier:
        return {"off": f"{off}: the file is older than these parts; it learns without them"}
    lines = {"off": off} if off else {}
    if isinstance(params["budget"], str):
        fails = (document["learned"] or {}).get("race") == "no room"
        no_room = ["metric"] * parts["metric"] + ["race of widths"] * fails
        lines |= {"no room for": f"{', '.join(no_room)} in a budget in bytes"} if no_room else {}
    return lines


def _missing(document: dict[str, Any], features: int) -> str:
    """Missing values per column, if the file knows the columns; else per feature."""
    extra = document.get("extra")
    found = extra.get("missing") if isinstance(extra, dict) else None
    if not found:
        return f"{features:,}"
    most = sorted(found.items(), key=lambda each: -each[1])
    listed = ", ".join(f"{as_text(name)} {count:,}" for name, count in most[:FEW])
    return f"{sum(found.values()):,} ({listed}{', ...' if len(most) > FEW else ''})"


def _checkpoint(document: dict[str, Any]) -> dict[str, str]:
    """The rows that a run had learned, if the file is a checkpoint (cli/_checkpoint.py)."""
    extra = document.get("extra")
    bookmark = extra.get("bookmark") if isinstance(extra, dict) else None
    rows = bookmark.get("rows") if isinstance(bookmark, dict) else None
    return {"checkpoint": f"after row {rows:,}"} if isinstance(rows, int) else {}


def as_text(written: Any) -> str:
    r"""Any JSON value as a person would write it, in printable characters.

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
