"""Sources whose rows arrive one by one: growing files, sockets, standard input, Kafka, Redis.

A source returns messages with a position (`protocol.py` is its whole interface); `values.py` turns
messages into rows, `messages.py` adds the position after each row, and `stream.py` makes an
ordinary stream. `SCHEMES` lists the sources by the prefix of their names. A new source is one file
and one line there. Uses `streams`; `open_stream` uses this.
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


# The prefix of a source's name, and a function of the name and `tell` that opens it.
SCHEMES: dict[str, Callable[[str, Callable[[str], None]], Source]] = {
    "tail:": _tail,
    "stdin:": _standard_input,
    "tcp://": _tcp,
    "kafka://": _kafka,
    "redis://": _redis,
}


def is_live(name: str) -> bool:
    """Whether it names a source of messages.

    Parameters
    ----------
    name : what a user names: a file, or a source

    Examples
    --------
    >>> from budgetron.sources import is_live
    >>> is_live("tail:rows.jsonl"), is_live("rows.jsonl")
    (True, False)
    """
    return name.startswith(tuple(SCHEMES))


def without_password(name: str) -> str:
    """A source's name without secrets, to show and to store.

    >>> without_password("redis://ann:secret@localhost/rows"), without_password("tail:a@b")
    ('redis://localhost/rows', 'tail:a@b')
    """
    return Address.of(name).name if "://" in name else name


def open_sink(name: str) -> Sink:
    """The sink for answers: `kafka://HOST/TOPIC`, `redis://HOST/KEY`, or a file of JSON lines."""
    if name.startswith("kafka://"):
        from budgetron.sources.kafka import KafkaAnswers

        return KafkaAnswers(Address.of(name))
    if name.startswith("redis://"):
        from budgetron.sources.redis import RedisAnswers

        return RedisAnswers(Address.of(name))
    from budgetron.sources.lines_out import LinesFile

    return LinesFile(name)


def open_source(name: str, tell: Callable[[str], None]) -> Source:
    """Open a source by its name; `tell` receives a line for people."""
    scheme = next(each for each in SCHEMES if name.startswith(each))
    return SCHEMES[scheme](name, tell)


def _source(name: str, live: Live, label: Any) -> Source:
    """The source, joined with the source of labels if these come later."""
    join, rows = live.join, open_source(name, live.tell)
    if join is None:
        return rows
    from budgetron.sources.joining import Joined

    try:
        labels = open_source(join.source, live.tell)
    except BaseException:
        rows.close()
        raise
    return Joined(rows, labels, join.id, str(label), join.most_bytes, join.seconds)


def open_live(name: str, options: SourceOptions, position: Position) -> Any:
    r"""Open the stream of a source of messages; `open_stream` calls it for such names.

    Parameters
    ----------
    name : as ``tail:rows.jsonl`` or ``kafka://HOST/TOPIC``
    options : how rows are read
    position : where to go on

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from budgetron.sources import open_live
    >>> from budgetron.sources.messages import Live
    >>> from budgetron.streams import SourceOptions
    >>> file = Path(tempfile.mkdtemp()) / "rows.jsonl"
    >>> _ = file.write_text('{"a": 1.5, "label": "no"}\n{"a": 2.5, "label": "yes"}\n')
    >>> options = SourceOptions(label="label", live=Live(idle=0.01))
    >>> stream = open_live(f"tail:{file}", options, 0)
    >>> X, y = next(iter(stream))
    >>> X.ravel().tolist(), y.tolist()
    ([1.5, 2.5], ['no', 'yes'])
    """
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
            what = "late labels need JSON rows (--format jsonl)"
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
