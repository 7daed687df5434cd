"""`budgetron merge`: merge models that learned separately into one."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from budgetron._text import bytes_text
from budgetron.cli._checkpoint import check_place, reason
from budgetron.cli._console import fail, output
from budgetron.errors import BudgetronError


def merge(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Models; with --base: workers or deltas."),
    ],
    out: Annotated[str, typer.Option(metavar="MODEL", help="Write the merged model to this file.")],
    base: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="The base that all workers started from."),
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Examples that the merged model may store."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Merge models that learned separately into one.
    Models without a common base: their examples are united and cut to the budget. With --base the
    files are workers of that base, or their deltas; what each of them learned is added to the base.
    """  # one paragraph: Typer would keep the line breaks of a second one
    for path in files if base is None else [*files, base]:
        check_place("--out", out, path)
    if base is not None and budget is not None:
        fail("budgetron: --budget is for models without a base; a base has its own")
    if base is None and len(files) < 2:
        fail("budgetron: there is only one model; pass two or more, or a worker and its --base")
    found = [_load(path) for path in files]
    try:
        model = (
            _of_strangers(files, found, budget)
            if base is None
            else _of_workers(files, found, _load(base))
        )
    except BudgetronError as error:
        fail(f"budgetron: {error}")
    _save(model, out)
    result: dict[str, Any] = {
        "files": files,
        "out": out,
        "rows": int(model.n_seen_),
        "n_support": int(model.n_support_),
        "memory_bytes": int(model.memory_bytes_),
    }
    if as_json:
        print(json.dumps(result))
        return
    console = output()
    console.print(
        f"{out}: {result['rows']:,} rows learned, {result['n_support']:,} examples stored, "
        f"{bytes_text(result['memory_bytes'])}"
    )


def _load(path: str) -> Any:
    from budgetron.model_file import ModelFileError, load

    try:
        return load(path)
    except ModelFileError as error:
        fail(str(error))
    except OSError as error:
        fail(f"{path}: {reason(error)}")


def _of_strangers(files: list[str], found: list[Any], budget: int | None) -> Any:
    from budgetron.merging import Delta, merge_models

    for path, each in zip(files, found, strict=True):
        if isinstance(each, Delta):
            raise BudgetronError(f"{path} is the delta of a worker: pass its base with --base")
        _check_estimator(path, each)
    return merge_models(found, budget)


def _of_workers(files: list[str], found: list[Any], base: Any) -> Any:
    from budgetron.merging import Delta
    from budgetron.merging import merge as merged

    deltas = []
    for path, each in zip(files, found, strict=True):
        if not isinstance(each, Delta):
            _check_estimator(path, each)
            each = each.delta(base, path)
        deltas.append(each)
    return merged(base, deltas)


def _check_estimator(path: str, model: Any) -> None:
    if not hasattr(model, "delta"):
        kind = type(model).__name__
        raise BudgetronError(f"{path} is a {kind}: merge only the learners, not the steps")


def _save(model: Any, path: str) -> None:
    from budgetron.model_file import ModelFileError, save

    try:
        save(model, path)
    except ModelFileError as error:
        fail(f"{path}: {error}")
    except OSError as error:
        fail(f"{path}: {reason(error)}")
