"""`budgetron run kafka://... --workers N`: N processes learn partitions; their models are merged.

Each process reads some partitions, ideally one, parses their messages and learns them as a worker
of the model. budgetron/merging/rounds.py decides when, and when the main process learns alone from
all partitions. A round is `merge_every` rows, with an equal share per process:

    process i:     delta_i, answers, position after its rows  =  learned(base, position_i)
    main process:  model = merge(base, delta_1, ..., delta_N); count the answers

The rows of a partition are learned once each, in the order of their offsets. A process that dies is
started again with the same base and position, and so repeats the same work. A checkpoint follows a
merge; it has the model and the offset of every partition. While messages wait in all partitions,
two runs give the same result. A partition that was read to its end gives a round the rows it has,
after at most LINGER seconds; from then on the rounds depend on when messages arrive.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from budgetron.errors import BudgetronError
from budgetron.streams.base import KEPT

if TYPE_CHECKING:
    from collections.abc import Callable

    from budgetron.cli._checkpoint import Checkpoint
    from budgetron.cli._interruption import Interruption
    from budgetron.evaluate.predictions import Answers
    from budgetron.sources.stream import LiveStream
    from budgetron.streams import SourceOptions
    from budgetron.streams.base import Bookmark

LINGER = 1.0  # seconds that a round waits for messages of a partition read to its end
TRIES = 3  # times that one process may die in one round
MOST = 10**9  # rows


class Job(NamedTuple):
    """A job of a process: learn so many rows after a position as a worker of a base.

    `place` is None if the position is the end of its last job.
    """

    base: Any
    name: str
    rows: int
    linger: float
    place: Bookmark | None


class Reply(NamedTuple):
    """The result: rows, delta (None: no rows), answers and labels, position with counts."""

    rows: int
    delta: Any
    said: list[tuple[Answers, Any]]
    place: Bookmark


class _Said:
    """Replaces a crew when the answers are already known."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def test_then_train(self, face: Any, X: Any, y: Any) -> Answers:
        return self._answers


# ---- worker process ------------------------------------------------------------------------------


def serve(connection: Connection, source: str, options: SourceOptions, face: Any) -> None:
    """Do jobs until the main process has no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # only the main process handles Ctrl-C
    reader = _Reader(source, options)
    with suppress(EOFError, OSError):
        while True:
            job = connection.recv()
            try:
                connection.send(reader.learn(job, face))
            except BudgetronError as error:
                connection.send(BudgetronError(str(error)))


class _Reader:
    """The partitions of a process."""

    def __init__(self, source: str, options: SourceOptions) -> None:
        self._source, self._options = source, options
        self._stream: LiveStream | None = None
        self._place: Bookmark = {}
        self._counted: Bookmark = {}  # counts of this stream that were reported before

    def learn(self, job: Job, face: Any) -> Reply:
        from budgetron.streams import open_stream

        if job.place is not None:
            self._close()
            self._place = job.place
        if not job.rows:
            return Reply(0, None, [], _cleared(self._place))
        if self._stream is None:
            position = _cleared(self._place)
            self._stream = open_stream(  # type: ignore[assignment]
                self._source, self._options, position=position
            )
            self._counted = {}
        stream: Any = self._stream
        worker, said, rows = job.base.snapshot(), [], 0
        until = time.monotonic() + job.linger
        stream.stop_when(lambda: stream.at_end and time.monotonic() >= until)
        while rows < job.rows:
            chunk = stream.next_chunk(job.rows - rows)
            if chunk is None:
                break
            X, y = chunk
            said.append((face(worker).test_then_train(X, y), y))
            rows += len(y)
        place = stream.exact_bookmark
        if place is None:
            raise BudgetronError(f"{self._source}: no position after row {rows}")
        since, self._counted, self._place = _since(place, self._counted), place, place
        if rows < job.rows:
            self._close()  # a stream that has ended is over
        return Reply(rows, worker.delta(job.base, job.name) if rows else None, said, since)

    def _close(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None


# ---- main process --------------------------------------------------------------------------------


@dataclass
class _Process:
    """A process and its partitions."""

    name: str
    source: str
    partitions: list[str]
    process: Any = None
    pipe: Any = None
    moved: bool = True  # the process does not know its position


class Shards:
    """The processes of a run.

    Parameters
    ----------
    file : the Kafka source
    options : how it is read, with the layout of its columns
    partitions : the partitions of the topic
    count : number of processes
    face : makes the adapter that lets a model predict and learn
    """

    def __init__(
        self, file: str, options: SourceOptions, partitions: list[str], count: int, face: Any
    ) -> None:
        from budgetron.merging.rounds import name_of

        if count > len(partitions):
            what = f"{len(partitions)} partitions, and each is read by one process"
            raise BudgetronError(f"--workers {count}: the topic has {what}: take fewer")
        self._options, self._face = options, face
        self.each = [
            _Process(name_of(i), _with_partitions(file, partitions[i::count]), partitions[i::count])
            for i in range(count)
        ]
        self.restarts = 0

    def learn(self, base: Any, rows: list[int], linger: float, here: Bookmark) -> list[Reply]:
        """Run a round: every process learns so many rows from its part of a position."""
        for each, share in zip(self.each, rows, strict=True):
            self._send(each, base, share, linger, here)
        return [
            self._reply(each, base, share, linger, here)
            for each, share in zip(self.each, rows, strict=True)
        ]

    def move(self) -> None:
        """The next round does not start where the last one ended."""
        for each in self.each:
            each.moved = True

    def _send(self, each: _Process, base: Any, rows: int, linger: float, here: Bookmark) -> None:
        if each.process is None:
            context = multiprocessing.get_context("spawn")
            each.pipe, theirs = context.Pipe()
            each.process = context.Process(
                target=serve, args=(theirs, each.source, self._options, self._face), daemon=True
            )
            each.process.start()
            theirs.close()
            each.moved = True
        place = _part(here, each.partitions) if each.moved else None
        with suppress(OSError):  # the process is dead: `_reply` notices
            each.pipe.send(Job(base, each.name, rows, linger, place))
        each.moved = False

    def _reply(self, each: _Process, base: Any, rows: int, linger: float, here: Bookmark) -> Reply:
        for _ in range(TRIES):
            try:
                found = each.pipe.recv()
            except (EOFError, OSError):
                self._end(each)
                self.restarts += 1
                self._send(each, base, rows, linger, here)
                continue
            if isinstance(found, Exception):
                raise found
            reply: Reply = found
            return reply
        raise BudgetronError(f"a process of partitions {', '.join(each.partitions)} died each time")

    def _end(self, each: _Process) -> None:
        if each.process is not None:
            each.process.kill()
            each.process.join()
            each.pipe.close()
            each.process = None

    def close(self) -> None:
        """End the processes."""
        for each in self.each:
            self._end(each)


def learn_sharded(
    model: Any,
    stream: LiveStream,
    file: str,
    options: SourceOptions,
    tally: Any,
    keep: Checkpoint | None,
    asked: Interruption,
    *,
    workers: int,
    merge_every: int | None,
    report: Callable[[LiveStream | None, int], None],
) -> Bookmark:
    """Learn until the stream ends or a stop is asked for; return the position at the end."""
    from budgetron.merging.rounds import Rounds, pieces
    from budgetron.streams import open_stream
    from budgetron.streams.read_ahead import Place, place_of

    rounds = Rounds(model, merge_every)
    here: Bookmark = keep.bookmark if keep is not None else {"rows": 0}
    rounds.alone = int(here.get("alone", 0))
    idle = options.live.idle
    linger = LINGER if idle is None else min(LINGER, idle)
    shards: Shards | None = None
    opened: LiveStream | None = stream
    came = time.monotonic()
    try:
        while asked.code is None:
            need = rounds.rows_alone(MOST)
            if need:
                if opened is None:
                    opened = open_stream(file, options, position=here)  # type: ignore[assignment]
                assert opened is not None
                opened.stop_when(lambda: asked.code is not None)
                exact, chunk = None, None
                while need > 0 or exact is None:
                    chunk = opened.next_chunk(max(need, 1))
                    if chunk is None:
                        break
                    tally.learn(model, place_of(opened), *chunk)
                    need -= len(chunk[1])
                    exact = opened.exact_bookmark
                    report(opened, opened.position)
                here = opened.exact_bookmark or opened.bookmark
                rounds.alone += max(need, 0) if chunk is None else 0
                layout = opened.layout
                if shards is None:
                    options = replace(options, layout=layout)
                else:
                    shards.move()
                over = chunk is None
            else:
                if shards is None:
                    known = sorted(here["source"]["mark"]["offsets"], key=int)
                    shards = Shards(file, _for_process(options), known, workers, tally.face)
                if opened is not None:
                    opened.close()
                    opened = None
                left = MOST if options.rows is None else options.rows - here["rows"]
                shares = [
                    each.stop - each.start for each in pieces(min(rounds.every, left), workers)
                ]
                replies = shards.learn(rounds.begin(), shares, linger, here)
                deltas = [reply.delta for reply in replies if reply.rows]
                if deltas:
                    came = time.monotonic()
                    rounds.end(deltas)
                else:
                    rounds.drop()
                here = _together(here, shards.each, replies)
                place = Place(stream.name, here["rows"], here, options.layout, 0)
                for reply in replies:
                    for answers, y in reply.said:
                        tally.learn(model, place, None, y, _Said(answers))
                report(None, here["rows"])
                quiet = idle is not None and time.monotonic() - came >= idle
                over = (not deltas and quiet) or left <= sum(reply.rows for reply in replies)
            stops = asked.code is not None or over
            if keep is not None and here["rows"]:
                state = {**here, "alone": rounds.alone}
                keep(model, state, tally.state(), options.layout, last=stops)
            if over:
                break
    finally:
        if shards is not None:
            shards.close()
        if opened is not None:
            opened.close()
    return here


def _for_process(options: SourceOptions) -> SourceOptions:
    """The options of a process: it stops a stream on request and reports nothing itself."""
    from budgetron.sources.messages import Live

    return replace(options, rows=None, live=Live())


def _with_partitions(file: str, partitions: list[str]) -> str:
    """The source with some of its partitions.

    >>> _with_partitions("kafka://host/rows?from=end", ["0", "2"])
    'kafka://host/rows?from=end&partitions=0%2C2'
    """
    parts = urlsplit(file)
    settings = {**dict(parse_qsl(parts.query)), "partitions": ",".join(partitions)}
    return urlunsplit(parts._replace(query=urlencode(settings)))


def _since(place: Bookmark, before: Bookmark) -> Bookmark:
    """A position with the counts since another position of the same stream."""
    found: Bookmark = {"source": place["source"]}
    for name in ("rows", "bad", "malformed"):
        found[name] = place.get(name, 0) - before.get(name, 0)
    for name in ("messages", "malformed_messages"):
        found[name] = place.get(name, [])[len(before.get(name, [])) :]
    found["unparsed"] = Counter(place.get("unparsed", {})) - Counter(before.get("unparsed", {}))
    return found


def _cleared(place: Bookmark) -> Bookmark:
    """A position in the source with the counts of rows and bad rows set to zero."""
    return {"rows": 0, "bad": 0, "source": place["source"]}


def _part(here: Bookmark, partitions: list[str]) -> Bookmark:
    """The part of a position that belongs to some partitions, and which of them is next."""
    source = here["source"]
    offsets = {each: source["mark"]["offsets"][each] for each in partitions}
    turn = source["mark"].get("turns", {}).get(partitions[0], [int(partitions[0]), 0])
    mark = {"offsets": offsets, "turn": turn}
    return {"source": {**source, "mark": mark, "skip": 0}}


def _together(here: Bookmark, shards: list[_Process], replies: list[Reply]) -> Bookmark:
    """The position after the rows that all processes learned, with all counts."""
    found = dict(here)
    offsets = dict(here["source"]["mark"]["offsets"])
    turns = {}
    unparsed: Counter[str] = Counter(here.get("unparsed", {}))
    for each, reply in zip(shards, replies, strict=True):
        mine = reply.place["source"]["mark"]
        offsets |= {number: mine["offsets"][number] for number in each.partitions}
        turns[each.partitions[0]] = mine["turn"]
        for name in ("rows", "bad", "malformed"):
            if reply.place.get(name):
                found[name] = found.get(name, 0) + reply.place[name]
        for name in ("messages", "malformed_messages"):
            if reply.place.get(name):
                found[name] = [*found.get(name, []), *reply.place[name]][:KEPT]
        unparsed.update(reply.place.get("unparsed", {}))
    if unparsed:
        found["unparsed"] = dict(unparsed)
    first = min(offsets, key=int)
    mark = {"offsets": offsets, "turn": [int(first), 0], "turns": turns}
    return {**found, "source": {**here["source"], "mark": mark, "skip": 0}}
