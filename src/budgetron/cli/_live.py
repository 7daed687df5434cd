"""What `run` does only for sources of messages: their options, and how they stop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from budgetron.cli._checkpoint import check_place
from budgetron.cli._console import fail, note

if TYPE_CHECKING:
    from budgetron.cli._checkpoint import Checkpoint
    from budgetron.cli._interruption import Interruption
    from budgetron.cli._out import Out
    from budgetron.sources.messages import Join
    from budgetron.sources.stream import LiveStream
    from budgetron.streams import RowStream, SourceOptions
    from budgetron.streams.read_ahead import Place

PANEL = "Messages (tail:, stdin:, tcp://, kafka://, redis://)"

Idle = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="Stop after this time without a row.",
        rich_help_panel=PANEL,
    ),
]
DeadLetters = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Write bad messages to this file.", rich_help_panel=PANEL),
]


OutTo = Annotated[
    str | None,
    typer.Option(
        metavar="DEST",
        help="Send predictions: FILE, kafka:// or redis://.",
        rich_help_panel=PANEL,
    ),
]
Id = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column that names a row.",
        rich_help_panel=PANEL,
    ),
]
LabelsFrom = Annotated[
    str | None,
    typer.Option(
        "--labels",
        metavar="SOURCE",
        help="Source of labels that come later.",
        rich_help_panel=PANEL,
    ),
]
Wait = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="How long a row waits for its label. Default: 3600.",
        hidden=True,
    ),
]
WaitBytes = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Memory for waiting rows. Default: 16MB.",
        hidden=True,
    ),
]


def with_messages(
    file: str, options: SourceOptions, most: int | None, **given: Any
) -> SourceOptions:
    """The options with those for messages; ends the command if the source has no messages.

    Parameters
    ----------
    file : the source
    options : how it is read
    most : rows between two checkpoints; None: no checkpoints
    **given : the options idle, dead_letters, out, id, labels, wait and wait_bytes
    """
    from budgetron.streams.opening import is_live

    if not is_live(file):
        for name, value in given.items():
            if value is not None:
                flag = f"--{name.replace('_', '-')}"
                fail(f"budgetron: {flag} is for sources of messages, such as tail:FILE; not {file}")
        return options
    from budgetron.sources.messages import Live

    for name in ("idle", "wait"):
        if given[name] is not None and not given[name] >= 0:
            fail(f"budgetron: --{name} takes a number of seconds, not {given[name]}")
    if given["dead_letters"] is not None:
        check_place("--dead-letters", given["dead_letters"], file.removeprefix("tail:"))
    if given["out"] is not None and "://" not in given["out"]:
        check_place("--out", given["out"], file.removeprefix("tail:"))
    id = given["id"]
    if id is not None:
        options = replace(options, carry=(id,), types={**(options.types or {}), id: "ignore"})
    rows = min(most, options.chunk_rows) if most is not None else options.chunk_rows
    live = Live(
        given["idle"],
        given["dead_letters"],
        note,
        given["out"] is not None,
        _join(given["labels"], id, given["wait"], given["wait_bytes"]),
    )
    return replace(options, live=live, chunk_rows=rows)


def check_sharded(file: str, **given: str | None) -> None:
    """End the command if several processes cannot learn this source of messages."""
    if not file.startswith("kafka://"):
        fail("budgetron: --workers is for files and for Kafka, whose topics have partitions")
    for name, value in given.items():
        if value is not None:
            flag = f"--{name.replace('_', '-')}"
            fail(f"budgetron: {flag} does not work with --workers: leave one out")


def _join(labels: str | None, id: str | None, wait: float | None, size: str | None) -> Join | None:
    """How late labels find their rows; ends the command if the options conflict."""
    from budgetron.sources.messages import Join
    from budgetron.streams.opening import is_live

    if labels is None:
        if wait is not None or size is not None:
            flag = "--wait" if wait is not None else "--wait-bytes"
            fail(f"budgetron: {flag} is for labels that come later: name their source (--labels)")
        return None
    if not is_live(labels):
        fail(f"budgetron: --labels {labels}: is not a source of messages, such as tail:FILE")
    if id is None:
        fail("budgetron: --labels needs --id, the column that matches labels with rows")
    plain = Join(labels, id)
    return Join(
        labels,
        id,
        plain.most_bytes if size is None else _bytes("--wait-bytes", size),
        plain.seconds if wait is None else wait,
    )


def _bytes(flag: str, size: str) -> int:
    from budgetron.errors import BudgetronError
    from budgetron.estimators._base.sizes import parse_bytes

    try:
        return parse_bytes(size, flag)
    except BudgetronError as error:
        fail(f"budgetron: {error}")


@contextmanager
def sending(
    out: str | None, model: Any, stream: RowStream, keep: Checkpoint | None
) -> Iterator[Out | None]:
    """The sink for answers while the block runs, continued after the checkpoint; None: no sink."""
    joined = getattr(stream, "joined", None)
    if out is None and joined is None:
        yield None
        return
    from budgetron.cli._out import Out
    from budgetron.sources import open_sink

    sink = None if out is None else open_sink(out)
    if sink is not None and keep is not None and isinstance(keep.bookmark.get("out"), dict):
        sink.seek(keep.bookmark["out"])
    answers = Out(sink, model, cast("LiveStream", stream))
    try:
        yield answers
    finally:
        answers.close()


def sent(
    answers: Out | None, place: Place, said: Any, y: Any, keep: Checkpoint | None, *, last: bool
) -> dict[str, Any] | None:
    """Send the answers of a chunk; return what a checkpoint keeps, or None if it cannot."""
    if answers is None:
        return {}
    answers.send(place.ids, said, y)
    if keep is not None and keep.due(place.position, last=last):
        return flushed(answers, place.bookmark)
    return None if answers.gave_up else {}


def flushed(answers: Out | None, bookmark: dict[str, Any]) -> dict[str, Any] | None:
    """What a checkpoint keeps about sent answers, once all have arrived. None: not all have.

    Also None within messages that were joined at once: their rows would be answered again.
    """
    if answers is None:
        return {}
    answers.flush()
    within = answers.joined is not None and bookmark["source"]["skip"] > 0
    return None if answers.gave_up or within else answers.mark()


def tell_joined(stream: RowStream, result: dict[str, Any]) -> None:
    """Report how many late labels found their rows."""
    joined = getattr(stream, "joined", None)
    if joined is None:
        return
    counts = joined.counts
    result["labels"] = {**counts, "waiting": joined.waiting}
    text = f"{counts['joined']:,} rows have their labels, {counts['rows_left']:,} left without"
    text += f", {counts['labels_left']:,} labels without their row, {joined.waiting:,} still wait"
    if counts["answered"] and result["task"] == "classification":
        share = counts["wrong"] / counts["answered"]
        text += f"; {share:.2%} of the predictions at arrival were wrong"
    note(text)


@contextmanager
def stopping(stream: RowStream, asked: Interruption, answers: Out | None) -> Iterator[None]:
    """End a stream that waits for messages at a signal; afterwards the signal ends the command."""
    if not hasattr(stream, "stop_when"):
        yield
        return
    over = False

    def stop() -> bool:
        return over or asked.code is not None

    stream.stop_when(stop)
    if answers is not None:
        answers.stop_when(stop)
    try:
        yield
    finally:
        over = True
