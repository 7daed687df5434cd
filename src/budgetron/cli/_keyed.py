"""`budgetron run --key COLUMN`: a fleet, one small model per key, instead of one model."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from budgetron._text import bytes_text, shown
from budgetron.cli import _sources as sources
from budgetron.cli._checkpoint import layout_extra, reason
from budgetron.cli._console import Ticker, fail, note, print_report, progress
from budgetron.errors import BudgetronError

if TYPE_CHECKING:
    from budgetron.streams import SourceOptions

MOST_CLASSES = 1000
WIDEST = 4096  # features: every stored example of every key has this many numbers


def run_keyed(
    file: str,
    key: str,
    algorithm: str,
    parameters: dict[str, Any],
    options: SourceOptions,
    labels: list[Any] | None,
    memory: str,
    save: str | None,
    *,
    regression: bool,
    as_json: bool,
) -> None:
    """Learn the rows of a table with a fleet and report the mistakes made on the way."""
    from budgetron.evaluate import RegressionMetrics
    from budgetron.streams import StreamError, open_stream
    from budgetron.streams.table.columns import LABELS

    if not sources.is_table(file, options.format):
        fail(f"budgetron: --key names a column of a table; {file} has no named columns")
    if key == options.label or (options.label is None and key.strip().lower() in LABELS):
        fail(f"budgetron: --key {key}: this column is the label; add --label COLUMN for another")
    kinds = {**(options.types or {}), key: "ignore"}
    options = replace(options, carry=(key,), types=kinds)
    try:
        if regression:
            parameters = {**parameters, "task": "regression"}
        else:
            parameters = {**parameters, "classes": _classes(file, options, labels)}
        fleet = _make(algorithm, memory, parameters)
        errors = RegressionMetrics(None, None) if regression else None
        start = time.perf_counter()
        now_and_then = Ticker()
        with open_stream(file, options) as stream, progress(stream.name, stream.amount) as report:
            for X, y in stream:
                _learn(fleet, stream.carried[key], X, y, errors)
                if now_and_then():
                    done = stream.amount_done(stream.position, stream.bytes_read)
                    report(done, f"{stream.position:,} rows, {len(fleet):,} keys")
            seconds = time.perf_counter() - start
            if not stream.position:
                fail(f"{stream.name}: no rows to learn from")
    except StreamError as error:
        fail(str(error))
    if save is not None:
        fleet.extra = {"key": key, **layout_extra(stream.layout)}
        try:
            fleet.save(save)
        except OSError as error:
            fail(f"{save}: {reason(error)}")
    if stream.skipped:
        note(stream.skipped)
    result = _result(algorithm, key, fleet, stream, seconds)
    result |= _errors(result["rows"], fleet) if errors is None else errors.values()
    _print(result, as_json=as_json)


def _classes(file: str, options: SourceOptions, labels: list[Any] | None) -> list[Any]:
    """All labels, from --classes or from the file."""
    if labels is None:
        labels = sources.all_labels(file, options)
        _check_whole(file, labels or [])
    if labels is None:
        fail(f"budgetron: a fleet needs all classes; {file} cannot be read twice: pass --classes")
    _check_classes(labels)
    return labels


def _check_whole(file: str, labels: list[Any]) -> None:
    """End the command if the labels found are quantities, not class names."""
    for label in labels:
        if isinstance(label, float) and not label.is_integer():
            what = f"{file}: a label is {label!r}, which is a number to predict, not a class"
            fail(f"{what}: add --task regression; if it is a class, list all with --classes")


def _check_classes(labels: list[Any]) -> None:
    if len(labels) > MOST_CLASSES:
        what = f"budgetron: the label has {len(labels):,} values, and every key gets one model"
        fail(f"{what} per class: --key takes at most {MOST_CLASSES:,} classes")


def fleet_lines(path: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Describe the file of a fleet: its document, and lines for people."""
    from pathlib import Path

    from budgetron.fleet.parts import Reader

    with open(path, "rb") as file:
        header = Reader(file, path).document
    classes = header["classes"]
    labels = [] if classes is None else [shown(str(each)) for each in classes["values"]]
    found = {
        "mistakes": f"{int(header['mistakes']):,}",
        "classes": f"{len(labels)}: {', '.join(labels[:5])}",
    }
    given = {name: header[name] for name in ("budget", "shared", "half_life", "caution")}
    return header, {
        "written by": shown(f"budgetron {header['budgetron']}, a fleet, format {header['format']}"),
        "algorithm": shown(str(header["algorithm"])),
        "parameters": shown(
            ", ".join(f"{k}={v}" for k, v in (given | header["parameters"]).items())
        ),
        "file": bytes_text(Path(path).stat().st_size),
        "memory": bytes_text(int(header["memory"])),
        "rows learned": f"{int(header['seen']):,}",
        **({"task": "regression"} if classes is None else found),
        "keys with a model": f"{int(header['keys']):,}",
        "key": shown(str((header.get("extra") or {}).get("key", "given by the caller"))),
    }


def _make(algorithm: str, memory: str, parameters: dict[str, Any]) -> Any:
    import budgetron

    try:
        return budgetron.Fleet(algorithm, memory=memory, **parameters)
    except BudgetronError as error:
        fail(f"budgetron: {error}")


def _learn(fleet: Any, keys: list[Any], X: Any, y: Any, errors: Any) -> None:
    if X.shape[1] > WIDEST:
        fail(
            f"budgetron: rows have {X.shape[1]:,} features, and every key would have all of them; "
            f"leave text out (--ignore): a fleet takes at most {WIDEST:,}"
        )
    try:
        if errors is None:
            fleet.learn(keys, X, y)
        else:
            errors.add(y, fleet.prequential(keys, X, y))
    except BudgetronError as error:
        fail(f"budgetron: {error}")


def _result(algorithm: str, key: str, fleet: Any, stream: Any, seconds: float) -> dict[str, Any]:
    counts = fleet.info()
    rows = counts["seen"]
    return {
        "algorithm": algorithm,
        "key": key,
        "source": stream.name,
        "rows": rows,
        "keys": len(fleet),
        "examples": counts["examples"],
        "left": counts["left"],
        "lost": counts["lost"],
        "memory": counts["memory"],
        "memory_bytes": counts["bytes"],
        "bytes_a_key": fleet.key_bytes_,
        "seconds": seconds,
        "rows_per_second": rows / seconds,
        "bad_lines": stream.n_bad,
    }


def _errors(rows: int, fleet: Any) -> dict[str, Any]:
    return {
        "mistakes": fleet.n_mistakes_,
        "mistake_rate": fleet.n_mistakes_ / rows,
        "shared_mistakes": int(fleet.shared_.n_mistakes_),
        "shared_mistake_rate": fleet.shared_.n_mistakes_ / rows,
    }


def _print(result: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(result))
        return
    lines = {"rows": f"{result['rows']:,}"}
    if "mistakes" in result:
        lines["mistakes"] = f"{result['mistakes']:,} ({result['mistake_rate']:.2%})"
        lines["mistakes of the shared model alone"] = f"{result['shared_mistake_rate']:.2%}"
    else:
        lines |= {name: f"{result[name.lower()]:.4g}" for name in ("RMSE", "MAE", "R2")}
    lines |= {
        "keys with a model": f"{result['keys']:,}",
        "stored examples": f"{result['examples']:,}",
        "memory": f"{bytes_text(result['memory_bytes'])} of {bytes_text(result['memory'])}",
        "bytes per key": f"{result['bytes_a_key']:,.0f} bytes",
        "seconds": f"{result['seconds']:.2f}",
        "rows per second": f"{result['rows_per_second']:,.0f}",
    }
    if result["left"]:
        lines["examples removed to make room"] = f"{result['left']:,}"
    if result["bad_lines"]:
        lines["bad rows skipped"] = f"{result['bad_lines']:,}"
    print_report(f"{result['algorithm']} per {result['key']} on {result['source']}", lines)
