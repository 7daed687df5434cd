"""Where rows arrive one by one: growing files, sockets, standard input, Kafka, Redis.

A source hands over messages with a position (`protocol.py` is all there is to know of one); values
of messages become rows in `values.py`, with the place behind each in `messages.py`, and a stream
like any other in `stream.py`. `SCHEMES` has the sources by how their names begin. Another source is
one file and one line there. Uses `streams`, and is used by `open_stream`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from budgetron.sources.protocol import Address, Batch, Gone, Sink, Source

if TYPE_CHECKING:
    from budgetron.sources.messages import Live
    from budgetron.streams.base import Position
    from budgetron.streams.opening import SourceOptions

__all__ = ["SCHEMES", "Address", "Batch", "Gone", "Sink", "Source", "is_live", "open_live"]


def _tail(name: str, tell: Callable[[str], None]) -> Source:
    from budgetron.sources.tail import Tail

    return Tail(name.removeprefix("tail:"), tell)


def _tcp(name: str, tell: Callable[[str], None]) -> Source:
    from budgetron.sources.socket import TcpLines

    return TcpLines(Address.of(name))


def _standard_input(name: str, tell: Callable[[str], None]) -> Source:
    from budgetron.sources.standard_input import StandardInput

    return StandardInput()


def _kafka(name: str, tell: Callable[[str], None]) -> Source:
    from budgetron.sources.kafka import KafkaTopic

    return KafkaTopic(Address.of(name))


def _redis(name: str, tell: Callable[[str], None]) -> Source:
    from budgetron.sources.redis import RedisStream

    return RedisStream(Address.of(name))


# How a source's name begins, and what opens it, given the name and who is told of it.
SCHEMES: dict[str, Callable[[str, Callable[[str], None]], Source]] = {
    "tail:": _tail,
    "stdin:": _standard_input,
    "tcp://": _tcp,
    "kafka://": _kafka,
    "redis://": _redis,
}


def is_live(name: str) -> bool:
    """Whether it names a source of messages.

    >>> is_live("tail:rows.jsonl"), is_live("rows.jsonl")
    (True, False)
    """
    return name.startswith(tuple(SCHEMES))


def without_password(name: str) -> str:
    """A source's name as it may be shown and kept.

    >>> without_password("redis://ann:secret@localhost/rows"), without_password("tail:a@b")
    ('redis://localhost/rows', 'tail:a@b')
    """
    return Address.of(name).name if "://" in name else name


def open_sink(name: str) -> Sink:
    """Where answers go: `kafka://HOST/TOPIC`, `redis://HOST/KEY`, or a file of JSON lines."""
    if name.startswith("kafka://"):
        from budgetron.sources.kafka import KafkaAnswers

        return KafkaAnswers(Address.of(name))
    if name.startswith("redis://"):
        from budgetron.sources.redis import RedisAnswers

        return RedisAnswers(Address.of(name))
    from budgetron.sources.lines_out import LinesFile

    return LinesFile(name)


def _source(name: str, live: Live, label: Any) -> Source:
    """The source, joined with that of the labels if these come later."""

    def opened(name: str) -> Source:
        scheme = next(each for each in SCHEMES if name.startswith(each))
        return SCHEMES[scheme](name, live.tell)

    join, rows = live.join, opened(name)
    if join is None:
        return rows
    from budgetron.sources.joining import Joined

    try:
        labels = opened(join.source)
    except BaseException:
        rows.close()
        raise
    return Joined(rows, labels, join.id, str(label), join.most_bytes, join.seconds)


def open_live(name: str, options: SourceOptions, position: Position) -> Any:
    """The stream of a source of messages."""
    from budgetron.sources.messages import Live, MessageBatches
    from budgetron.sources.stream import LiveStream
    from budgetron.sources.values import format_named
    from budgetron.streams.base import StreamError
    from budgetron.streams.table import arrow
    from budgetron.streams.table.roles import INFER_ROWS

    live = options.live or Live()
    if live.join is not None:
        options = replace(options, label="label" if options.label is None else options.label)
        if options.format not in (None, "jsonl"):
            what = "rows whose labels come later are JSON (--format jsonl)"
            raise StreamError(without_password(name), None, what)
    layout = options.layout
    known = () if layout is None else (each.name for each in layout.encoding.coded)

    def opened(mark: Any) -> MessageBatches:
        shown = without_password(name)
        arrow(shown)
        state = mark.get("format") if mark else None
        format = format_named(shown, options.format, options.delimiter, options.header, state)
        source = _source(name, live, options.label)
        first = min(INFER_ROWS, options.rows or INFER_ROWS) if layout is None else 1
        try:
            return MessageBatches(source, format, live, first, tuple(known), mark)
        except BaseException:
            source.close()
            raise

    return LiveStream(
        opened,
        options,
        options.chunk_rows,
        options.dtype,
        rows=options.rows,
        position=position,
        gaps=options.gaps,
    )
