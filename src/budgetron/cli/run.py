"""`budgetron run`: learn a LIBSVM stream once, testing on each row before learning it."""

from __future__ import annotations

import json
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from budgetron.cli.algorithms import check_parameters, find, jsonable, parse_setting, parse_value
from budgetron.cli.checkpoint import Checkpoint, check_place
from budgetron.cli.console import Ticker, bytes_text, fail, note, output, progress

if TYPE_CHECKING:
    from budgetron.streams import LibsvmStream

# Kernels whose value does not depend on gamma: no need to know the width for "auto".
_WITHOUT_GAMMA = {"linear"}


def run(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="LIBSVM text, plain or .gz/.xz/.bz2; - is stdin."),
    ],
    algorithm: Annotated[
        str, typer.Option("--algorithm", "-a", help="One of `budgetron algorithms`.")
    ],
    budget: Annotated[str | None, typer.Option(help="Most examples to store.")] = None,
    kernel: Annotated[str | None, typer.Option(help="rbf, linear, poly, ...")] = None,
    gamma: Annotated[
        str | None,
        typer.Option(help="Kernel width: a number, auto (1/features) or median (from the rows)."),
    ] = None,
    scale: Annotated[
        str | None, typer.Option(help="Divide by running deviations: standard, auto or none.")
    ] = None,
    degree: Annotated[int | None, typer.Option(help="Of the polynomial kernel.")] = None,
    coef0: Annotated[float | None, typer.Option(help="Of the polynomial kernel.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of the algorithm's random choices.")] = None,
    dtype: Annotated[str, typer.Option(help="float32 or float64.")] = "float32",
    n_features: Annotated[
        int | None,
        typer.Option(min=1, max=2**31 - 1, help="Width of the data, if known beforehand."),
    ] = None,
    classes: Annotated[
        str | None, typer.Option(help="All labels, as in -1,1; others are then errors.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any other parameter; repeatable."),
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Pass over malformed lines, and count them.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of a table.")
    ] = False,
    save: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Write the model here in the end.")
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Keep model and place here; after a kill the same command goes on.",
        ),
    ] = None,
    every: Annotated[int, typer.Option(min=1, help="Rows between checkpoints.")] = 100_000,
) -> None:
    """Learn FILE in one pass and report the mistakes made on the way."""
    found = find(algorithm)
    given = {
        "budget": None if budget is None else parse_value(budget),
        "kernel": kernel,
        "gamma": None if gamma is None else parse_value(gamma),
        "degree": degree,
        "coef0": coef0,
        "random_state": seed,
    }
    parameters = {name: value for name, value in given.items() if value is not None}
    if scale is not None:  # none is a value too
        parameters["scale"] = parse_value(scale)
    parameters.update(parse_setting(text) for text in settings or [])
    check_parameters(found, parameters)
    if dtype not in ("float32", "float64"):
        fail(f"budgetron: --dtype is float32 or float64, not {dtype!r}")
    labels = None if classes is None else _labels(classes)
    if save is not None:
        check_place("--save", save)
    if checkpoint is not None and (file == "-" or not _readable_twice(file)):
        fail(
            "budgetron: standard input cannot be read again, so no checkpoint can resume it: "
            "learn from a file, or leave --checkpoint out"
        )

    from budgetron.streams import LibsvmStream, StreamError

    try:
        n_features = _resolve_width(file, found, parameters, n_features, skip_bad)
        model = _make(algorithm, parameters)
        resume: dict[str, int] = {}
        keep: Checkpoint | None = None
        if checkpoint is not None:
            which: dict[str, Any] = {
                "algorithm": algorithm,
                "dtype": dtype,
                "n_features": n_features,
            }
            which |= {"classes": labels, "skip_bad": skip_bad, **jsonable(parameters)}
            keep = Checkpoint(checkpoint, every, file, which)
            model = model if keep.model is None else keep.model
            resume = {"position": keep.position, "chunk_rows": min(every, 4096)}
        with LibsvmStream(
            file, dtype=dtype, skip_bad=skip_bad, n_features=n_features, **resume
        ) as stream:
            seconds = _learn(model, stream, labels, keep)
    except StreamError as error:
        fail(str(error))
    result = _result(algorithm, model, stream, seconds)
    result["resumed_from"] = resume.get("position", 0)
    if stream.n_bad:
        note(f"{stream.n_bad} bad lines skipped; the first: {stream.bad_messages[0]}")
    if as_json:
        print(json.dumps(result))
    else:
        _print_table(result)
    if save is not None:
        _save(model, save)


def _save(model: Any, path: str) -> None:
    import budgetron

    try:
        budgetron.save(model, path)
    except (budgetron.ModelFileError, OSError) as error:
        fail(f"{path}: {error}")


def _labels(text: str) -> list[float]:
    try:
        return [float(label) for label in text.split(",")]
    except ValueError:
        fail(f"budgetron: --classes takes numbers with commas between, not {text!r}")


def _resolve_width(
    file: str, algorithm: Any, parameters: dict[str, Any], n_features: int | None, skip_bad: bool
) -> int | None:
    """The width of the data, where something needs it before the first row, and gamma="auto".

    gamma="auto" is 1/width, and AVM's rectangles have sides of delta/sqrt(width); the stream itself
    tells its width only at the end. It is --n-features or the file's largest index, which takes a
    pass over the file. What cannot be read twice gets gamma="median" instead of "auto".
    """
    from budgetron.streams import LibsvmStream

    choice = {**algorithm.parameters, **parameters}
    automatic = choice.get("gamma") == "auto" and choice.get("kernel") not in _WITHOUT_GAMMA
    if not automatic and choice.get("cover") != "rectangle":
        return n_features
    if n_features is None:
        if file == "-" or not _readable_twice(file):
            if choice.get("cover") == "rectangle":
                fail(
                    f"budgetron: cover=rectangle needs the number of features; {file} cannot be "
                    "read twice to count them: pass --n-features"
                )
            parameters["gamma"] = "median"
            return None
        with (
            LibsvmStream(file, skip_bad=skip_bad) as stream,
            progress("counting features", stream.bytes_total) as report,
        ):
            for _ in stream.skim():
                report(stream.bytes_read, f"{stream.position:,} rows")
            n_features = max(stream.max_index, 1)
    if automatic:
        parameters["gamma"] = 1 / n_features
    return n_features


def _readable_twice(file: str) -> bool:
    """Whether it is a regular file; one that cannot be looked at is for the stream to refuse."""
    try:
        mode = Path(file).stat().st_mode
    except OSError:
        return True
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def _make(algorithm: str, parameters: dict[str, Any]) -> Any:
    import budgetron

    try:
        return budgetron.make(algorithm, **parameters)
    except (ValueError, TypeError) as error:
        fail(f"budgetron: {error}")


def _learn(
    model: Any, stream: LibsvmStream, labels: list[float] | None, keep: Checkpoint | None = None
) -> float:
    """Test, then train, on every row; the seconds it took, those before a checkpoint included."""
    now_and_then = Ticker()
    interrupted = False
    start = time.perf_counter() - (keep.seconds if keep else 0.0)
    with progress(Path(stream.name).name, stream.bytes_total) as report:
        try:
            for X, y in stream:
                if labels is not None:
                    _check_labels(stream, y, labels)
                _learn_chunk(model, X, y, labels)
                if keep is not None:
                    keep(model, stream.position)
                if now_and_then():
                    report(stream.bytes_read, _status(model, time.perf_counter() - start))
        except KeyboardInterrupt:
            interrupted = True
    seconds = time.perf_counter() - start
    if interrupted:
        note(f"interrupted: {_status(model, seconds) if hasattr(model, 'classes_') else '0 rows'}")
        if keep is not None and keep.position:
            note(f"the same command goes on after row {keep.position:,}")
        raise typer.Exit(130)
    if not stream.position:
        fail(f"{stream.name}: no rows to learn from")
    if keep is not None:
        keep(model, stream.position, last=True)
    return seconds


def _learn_chunk(model: Any, X: Any, y: Any, labels: list[float] | None) -> None:
    try:
        model._prequential_growing(X, y, classes=labels)
    except ValueError as error:  # a parameter's value, or labels that are no classes
        fail(f"budgetron: {error}")
    except MemoryError:
        fail("budgetron: the model does not fit into memory; take a smaller budget")


def _check_labels(stream: LibsvmStream, y: Any, labels: list[float]) -> None:
    import numpy as np

    strange = ~np.isin(y, labels)
    if strange.any():
        at = int(strange.argmax())
        row = stream.position - len(y) + at + 1
        known = ",".join(f"{label:g}" for label in labels)
        fail(f"{stream.name}: label {y[at]:g} of row {row} is not among --classes {known}")


def _status(model: Any, seconds: float) -> str:
    rate = model.n_mistakes_ / max(model.n_seen_, 1)
    return (
        f"{model.n_seen_:,} rows · {rate:.2%} mistakes · {model.n_seen_ / seconds:,.0f} rows/s · "
        f"{model.n_support_:,} stored · {bytes_text(model.memory_bytes_)}"
    )


def _result(algorithm: str, model: Any, stream: LibsvmStream, seconds: float) -> dict[str, Any]:
    rows = int(model.n_seen_)
    mistakes = int(model.n_mistakes_)
    return {
        "algorithm": algorithm,
        "source": stream.name,
        "rows": rows,
        "mistakes": mistakes,
        "mistake_rate": mistakes / rows,
        "seconds": seconds,
        "rows_per_second": rows / seconds,
        "n_support": int(model.n_support_),
        "n_updates": int(model.n_updates_),
        "memory_bytes": int(model.memory_bytes_),
        "n_features": stream.max_index,
        "classes": [float(label) for label in model.classes_],
        "gamma": model.gamma_,
        "scale": model.scale_,
        "params": jsonable(model.get_params()),
        "bad_lines": stream.n_bad,
        "bad_messages": stream.bad_messages,
    }


def _print_table(result: dict[str, Any]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False)
    table.add_column(style="dim")
    table.add_column(justify="right")
    lines = {
        "rows": f"{result['rows']:,}",
        "mistakes": f"{result['mistakes']:,}",
        "mistake rate": f"{result['mistake_rate']:.2%}",
        "updates": f"{result['n_updates']:,}",
        "stored examples": f"{result['n_support']:,}",
        "model memory": bytes_text(result["memory_bytes"]),
        "seconds": f"{result['seconds']:.2f}",
        "rows per second": f"{result['rows_per_second']:,.0f}",
    }
    if result["bad_lines"]:
        lines["bad lines skipped"] = f"{result['bad_lines']:,}"
    for name, value in lines.items():
        table.add_row(name, value)
    console = output()
    console.print(Text(f"{result['algorithm']} on {result['source']}", style="bold"))
    console.print(table)
