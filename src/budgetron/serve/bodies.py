"""The JSON of requests, checked while it is decoded, and answers as JSON."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from budgetron.serve.errors import bad
from budgetron.serve.rows import Cell

LONGEST_ID = 256  # characters
Row = dict[str, Cell] | list[float | None]


class Tensor(msgspec.Struct):
    """A tensor of the Open Inference Protocol."""

    name: str
    shape: list[int]
    datatype: str
    data: list[Any]
    parameters: dict[str, Any] | None = None


class Wanted(msgspec.Struct):
    """A requested output."""

    name: str
    parameters: dict[str, Any] | None = None


class Infer(msgspec.Struct):
    """A request for predictions: tensors, or rows."""

    inputs: list[Tensor] | None = None
    rows: list[Row] | None = None
    id: str | None = None
    outputs: list[Wanted] | None = None
    parameters: dict[str, Any] | None = None


class Learn(msgspec.Struct):
    """Rows with labels; or the label of rows that wait under an id; or labels for several ids."""

    rows: list[Row] | None = None
    inputs: list[Tensor] | None = None
    labels: list[Any] | None = None
    label: Any = None
    id: str | None = None
    ids: list[str] | None = None


class Explain(msgspec.Struct):
    """Rows whose predictions should be explained."""

    rows: list[Row] | None = None
    inputs: list[Tensor] | None = None
    examples: int = 3


B = TypeVar("B", Infer, Learn, Explain)
_DECODERS = {kind: msgspec.json.Decoder(kind) for kind in (Infer, Learn, Explain)}
_encoder = msgspec.json.Encoder(enc_hook=str)


def read(kind: type[B], body: bytes) -> B:
    """The body of a request."""
    try:
        found: B = _DECODERS[kind].decode(body)  # type: ignore[assignment]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise bad(f"the body does not fit: {error}") from None
    return found


def checked_id(id: str | None) -> str | None:
    """An id of a request; an empty or very long id is refused."""
    if id is not None and not 0 < len(id) <= LONGEST_ID:
        raise bad(f"an id must have 1 to {LONGEST_ID} characters")
    return id


def to_json(answer: Any) -> bytes:
    """An answer as JSON. A number that is not finite is null."""
    return _encoder.encode(answer)
