"""`budgetron export`: a saved model as a C header, an ONNX graph or text."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from budgetron._text import bytes_text
from budgetron.cli._console import fail, note

if TYPE_CHECKING:
    from budgetron.export import Description


class Form(StrEnum):
    c = "c"
    onnx = "onnx"
    json = "json"


class Precision(StrEnum):
    float32 = "float32"
    int8 = "int8"


def export(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model file or a checkpoint.")],
    to: Annotated[Form, typer.Option("--to", help="What to write.")],
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="Where to write it.")],
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="C: prefix of all names; default: from FILE."),
    ] = None,
    precision: Annotated[
        Precision | None, typer.Option(help="C: type of stored numbers; default float32.")
    ] = None,
    reader: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="JSON: also write a JavaScript reader here."),
    ] = None,
) -> None:
    """Write what a model needs to predict, for programs without Python.

    c: one C99 header, no allocation, no library but math.h. onnx: a graph
    of plain operators, for onnxruntime and others. json: a text for any
    language, with a reader in JavaScript. Prints the size and the cost of
    one row.
    """
    from sklearn.exceptions import NotFittedError

    from budgetron.export import describe
    from budgetron.export.description import ExportError
    from budgetron.model_file import ModelFileError, load
    from budgetron.model_file.atomic import write_whole

    for option, value, form in (
        ("--name", name, Form.c),
        ("--precision", precision, Form.c),
        ("--reader", reader, Form.json),
    ):
        if value is not None and to is not form:
            fail(f"{option} is for --to {form.value}, not for --to {to.value}")
    places = [("MODEL", model), ("--out", out), *([("--reader", reader)] if reader else [])]
    real = [os.path.realpath(place) for _, place in places]
    for i, (option, place) in enumerate(places):
        if real[i] in real[:i]:
            fail(f"{option} {place}: is also {places[real.index(real[i])][0]}: name another")
    try:
        learner = load(model)
        described = describe(learner)
        content, lines = _written(described, to, out, name, precision)
        write_whole(out, content)
        if reader is not None:
            from budgetron.export.json_text import javascript

            write_whole(reader, javascript(table=described.table is not None).encode())
    except ModelFileError as error:
        fail(str(error))
    except (ExportError, NotFittedError) as error:
        fail(f"{model}: {error}")
    except OSError as error:
        fail(f"{error.filename or out}: {(error.strerror or str(error)).lower()}")
    print(f"{out}: {described.learner}, {_shape(described)}")
    for line in lines:
        print(f"  {line}")
    if to is Form.onnx and described.table is not None:
        note(f"{out}: its inputs are the features that the table encoder makes from the columns")


def _shape(found: Description) -> str:
    held = f"{len(found.coefs):,} examples"
    if found.frequencies is not None:
        held = f"{found.frequencies.shape[1]:,} frequencies"
    answer = "regression" if found.classes is None else f"{len(found.classes)} classes"
    return f"{held}, {len(found.features):,} features, {answer}"


def _written(
    found: Description, to: Form, out: str, name: str | None, precision: Precision | None
) -> tuple[bytes, list[str]]:
    """The content of the file, and lines with its size and the cost of one row."""
    from budgetron.export.c_header import header, name_of
    from budgetron.export.json_text import to_json

    if to is Form.c:
        kept = precision.value if precision is not None else Precision.float32.value
        made = header(found, name=name or name_of(out), precision=kept)
        lines = [
            f"size: {bytes_text(made.constant_bytes)} of constants, "
            f"about {bytes_text(made.stack_bytes)} of stack",
            f"numbers: {made.stored}",
            f"one row: {made.multiplies:,} multiply-adds, {made.functions:,} {made.function}",
            f"functions: {', '.join(made.calls)}",
        ]
        return made.text.encode(), lines
    content: Any
    if to is Form.json:
        content = to_json(found).encode()
    else:
        from budgetron.export.onnx_graph import to_onnx

        content = to_onnx(found, name=name_of(Path(out).name)).SerializeToString()
    cost = header(found)
    lines = [
        f"size: {bytes_text(len(content))}",
        f"one row: {cost.multiplies:,} multiply-adds, {cost.functions:,} {cost.function}",
    ]
    return content, lines
