"""`kafka://HOST:PORT/TOPIC`, the messages of a Kafka topic, by confluent-kafka.

We assign partitions and keep offsets in our checkpoint: there is no consumer group, and nothing is
committed to the server. A message is learned exactly once.

The order is fixed. Partitions take turns, from the lowest number on; a turn is TURN messages of one
partition, in the order of their offsets. A partition that was read to its end is skipped, so its
turn may be shorter. With `?order=strict` we wait for it instead: then the order depends only on the
messages, not on when they came. The position has the offset of every partition and how much of its
turn the current one has used.
"""

from __future__ import annotations

import bisect
import time
from collections import deque
from typing import Any

from budgetron.sources.protocol import ABSENT, Address, Batch, Gone, Mark
from budgetron.streams.base import StreamError

PORT = 9092
TURN = 500  # messages of one partition before the next gets its turn
# Messages fetched at once: fewer objects than start a run of Python's garbage collector. Values
# wait as bytes, which it never scans; it scans the client's objects.
FETCHED = 500
AHEAD = 20_000  # messages fetched ahead per partition; then it is paused
LOOK = 0.2  # seconds between two checks of how much waits
CALLING = 10.0  # seconds until a silent server counts as not reachable
_QUIET = {"log_level": 0}  # librdkafka writes to standard error by itself


def _client(name: str) -> Any:
    try:
        import confluent_kafka
    except ImportError:
        what = "needs confluent-kafka: pip install 'budgetron[kafka]'"
        raise StreamError(name, None, what) from None
    return confluent_kafka


def _login(address: Address) -> dict[str, Any]:
    if address.user is None:
        return {}
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": address.user,
        "sasl.password": address.password or "",
    }


def _servers(address: Address) -> str:
    hosts = [each for each in address.hosts.split(",") if each] or ["127.0.0.1"]
    return ",".join(each if ":" in each else f"{each}:{PORT}" for each in hosts)


class KafkaTopic:
    """The messages of a topic, its partitions in a fixed order.

    Parameters
    ----------
    address : `kafka://HOST:PORT,HOST:PORT/TOPIC`; settings are `from`, "start" (the default) or
        "end", where a run without a checkpoint begins; `order`, "turns" or "strict"; and
        `partitions`, their numbers separated by commas, all by default
    """

    unit = "messages"

    def __init__(self, address: Address) -> None:
        address.check(**{"from": ("start", "end"), "order": ("turns", "strict"), "partitions": ()})
        self.name = address.name
        self.lag: int | None = None
        self._kafka = _client(self.name)
        self._topic = _topic(address)
        self._strict = address.settings.get("order") == "strict"
        self._down = ""
        self._consumer = self._kafka.Consumer(
            {
                "bootstrap.servers": _servers(address),
                "group.id": "budgetron",  # required, never joined
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
                "error_cb": self._note_error,
                **_QUIET,
                **_login(address),
            }
        )
        try:
            self._numbers = self._partitions(address.settings.get("partitions"))
            self._next = self._begin(at_end=address.settings.get("from") == "end")
        except BaseException:
            self.close()
            raise
        # per partition, the values and offsets of fetched messages
        self._waiting: dict[int, deque[bytes]] = {each: deque() for each in self._numbers}
        self._offsets: dict[int, deque[int]] = {each: deque() for each in self._numbers}
        self._ends: dict[int, int] = {}  # the known end of each partition
        self._paused: set[int] = set()
        self._at, self._used = 0, 0  # partition whose turn it is; messages used in it
        self._assigned = False
        self._next_look = 0.0

    @property
    def at_end(self) -> bool:
        """Whether all partitions have been read to their ends, as the server said."""
        return all(self._over(each) for each in self._numbers)

    def _over(self, number: int) -> bool:
        """Whether a partition ends at our position, as the server said last.

        An event reports this, but half a second later than the end offset that comes with messages;
        that offset is not reached if the last records are not messages, as with transactions.
        """
        here = self._next[number]
        if self._ends.get(number) == here:
            return True
        return bool(
            self._consumer.get_watermark_offsets(self._place(number), cached=True)[1] == here
        )

    def read(self, most: int, seconds: float) -> Batch | None:
        if not self._assigned:
            self._assign()
        found: list[bytes] = []
        names = _Names(self._mark(), self._numbers)
        until = time.monotonic() + seconds
        while len(found) < most:
            self._take(found, names, most)
            if found and not self._fetch(0.0):
                break
            if not found and not self._fetch(max(0.0, min(0.05, until - time.monotonic()))):
                if self._down:
                    self._look()
                if time.monotonic() >= until:
                    break
        if not found:
            self._next_look = 0.0
        self._count_lag()
        return Batch(found, self._mark(), names)

    def _take(self, found: list[bytes], names: _Names, most: int) -> None:
        """Take fetched messages from the partitions whose turn it is."""
        passed = 0  # partitions skipped in a row
        while len(found) < most and passed < len(self._numbers):
            number = self._numbers[self._at]
            waiting = self._waiting[number]
            if waiting:
                passed = 0
                count = min(len(waiting), most - len(found), TURN - self._used)
                offsets = [self._offsets[number].popleft() for _ in range(count)]
                names.add(len(found), number, offsets, self._used)
                found += [waiting.popleft() for _ in range(count)]
                self._next[number] = names.last + 1
                self._used += count
                if self._used == TURN:
                    self._turn()
                if number in self._paused and len(waiting) < AHEAD // 2:
                    self._paused.discard(number)
                    self._consumer.resume([self._place(number)])
            elif not self._strict and self._over(number):
                passed += 1
                self._turn()
            else:
                return  # it has messages that were not fetched yet

    def _turn(self) -> None:
        self._at = (self._at + 1) % len(self._numbers)
        self._used = 0

    def _fetch(self, seconds: float) -> bool:
        """Fetch messages from the server; return whether some came, or the end of a partition."""
        came = self._consumer.consume(FETCHED, seconds)
        for message in came:
            error = message.error()
            if error is None:
                number = message.partition()
                self._waiting[number].append(message.value() or b"")
                self._offsets[number].append(message.offset())
            elif error.code() == self._kafka.KafkaError._PARTITION_EOF:
                self._ends[message.partition()] = message.offset()
            else:
                self._refuse(error, message)
        if came:
            self._down = ""
            for number, waiting in self._waiting.items():
                if len(waiting) > AHEAD and number not in self._paused:
                    self._paused.add(number)
                    self._consumer.pause([self._place(number)])
        return bool(came)

    def _refuse(self, error: Any, message: Any) -> None:
        kind = self._kafka.KafkaError
        gone = (kind._AUTO_OFFSET_RESET, kind.OFFSET_OUT_OF_RANGE)
        if error.code() in gone:
            number = message.partition()
            first, end = self._consumer.get_watermark_offsets(self._place(number), CALLING)
            what = f"offset {self._next[number]} of partition {number} does not exist: it has"
            what += f" {first} to {end}; remove the checkpoint to start again"
            raise StreamError(self.name, None, what)
        if error.fatal() or not error.retriable():
            raise StreamError(self.name, None, _plain(error))
        self._down = _plain(error)

    def _look(self) -> None:
        """Whether the server answers again."""
        try:
            self._consumer.list_topics(self._topic, timeout=1.0)
        except self._kafka.KafkaException:
            raise Gone(self._down) from None
        self._down = ""

    def _note_error(self, error: Any) -> None:
        kind = self._kafka.KafkaError
        if error.code() in (kind._ALL_BROKERS_DOWN, kind._TRANSPORT):
            self._down = _plain(error)

    def _count_lag(self) -> None:
        if time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + LOOK
        lag = 0
        for number in self._numbers:
            _, end = self._consumer.get_watermark_offsets(self._place(number), cached=True)
            if end < 0:
                return
            lag += max(0, end - self._next[number])
        self.lag = lag

    def _place(self, number: int, offset: int | None = None) -> Any:
        if offset is None:
            return self._kafka.TopicPartition(self._topic, number)
        return self._kafka.TopicPartition(self._topic, number, offset)

    def _partitions(self, wanted: str | None) -> list[int]:
        try:
            found = self._consumer.list_topics(self._topic, timeout=CALLING).topics[self._topic]
        except self._kafka.KafkaException as error:
            raise StreamError(self.name, None, f"{_plain(error.args[0])}: {ABSENT}") from None
        if found.error is not None or not found.partitions:
            what = "no such topic" if found.error is None else _plain(found.error)
            raise StreamError(self.name, None, what)
        there = sorted(found.partitions)
        if wanted is None:
            return there
        try:
            asked = sorted({int(each) for each in wanted.split(",")})
        except ValueError:
            asked = [-1]
        if not set(asked) <= set(there):
            what = f"partitions are {', '.join(map(str, there))}, not {wanted}"
            raise StreamError(self.name, None, what)
        return asked

    def _begin(self, *, at_end: bool) -> dict[int, int]:
        """The offset of every partition to start from."""
        try:
            marks = {
                each: self._consumer.get_watermark_offsets(self._place(each), CALLING)
                for each in self._numbers
            }
        except self._kafka.KafkaException as error:
            raise StreamError(self.name, None, _plain(error.args[0])) from None
        return {each: end if at_end else first for each, (first, end) in marks.items()}

    def _assign(self) -> None:
        self._consumer.assign([self._place(each, self._next[each]) for each in self._numbers])
        self._assigned = True

    def _mark(self) -> Mark:
        offsets = {str(number): offset for number, offset in self._next.items()}
        return {"offsets": offsets, "turn": [self._numbers[self._at], self._used]}

    def seek(self, mark: Mark) -> None:
        try:
            offsets = {int(number): int(each) for number, each in mark["offsets"].items()}
            number, used = map(int, mark["turn"])
            at = self._numbers.index(number)
            if not 0 <= used < TURN or min(offsets.values()) < 0:
                raise ValueError
        except (KeyError, TypeError, ValueError, AttributeError):
            raise StreamError(self.name, None, "the checkpoint has no position in it") from None
        if set(offsets) != set(self._numbers):
            before = ", ".join(map(str, sorted(offsets)))
            what = f"its partitions were {before} at the checkpoint: list them (?partitions=)"
            raise StreamError(self.name, None, what)
        self._next, self._at, self._used = offsets, at, used

    def close(self) -> None:
        self._consumer.close()


class _Names:
    """The names of a batch's messages, partition and offset, and the mark after each.

    Parameters
    ----------
    before : the mark before the first message
    numbers : numbers of the partitions, in the order of their turns
    """

    def __init__(self, before: Mark, numbers: list[int]) -> None:
        self._before, self._numbers = before, numbers
        self._starts: list[int] = []
        self._runs: list[tuple[int, list[int], int]] = []

    def add(self, start: int, number: int, offsets: list[int], used: int) -> None:
        """Add messages of a partition, from message `start` of the batch on.

        `used` messages of its turn came before them.
        """
        self._starts.append(start)
        self._runs.append((number, offsets, used))

    def mark(self, count: int) -> Mark:
        """The mark after so many messages of the batch."""
        offsets, turn = dict(self._before["offsets"]), self._before["turn"]
        for start, (number, run, used) in zip(self._starts, self._runs, strict=True):
            taken = min(len(run), count - start)
            if taken <= 0:
                break
            offsets[str(number)] = run[taken - 1] + 1
            turn = [number, used + taken]
            if turn[1] == TURN:
                at = self._numbers.index(number) + 1
                turn = [self._numbers[at % len(self._numbers)], 0]
        return {"offsets": offsets, "turn": turn}

    @property
    def last(self) -> int:
        """The offset of the last message."""
        return self._runs[-1][1][-1]

    def __call__(self, i: int) -> str:
        at = bisect.bisect_right(self._starts, i) - 1
        number, offsets, _ = self._runs[at]
        return f"{number}:{offsets[i - self._starts[at]]}"


def _topic(address: Address) -> str:
    if not address.path or "/" in address.path:
        raise StreamError(address.name, None, "has no topic: kafka://HOST:PORT/TOPIC")
    return address.path


def _plain(error: Any) -> str:
    """The error of librdkafka, without its own prefixes."""
    text = " ".join(str(error.str()).split())
    return text[:1].lower() + text[1:]


class KafkaAnswers:
    """Answers as messages of a topic, keyed by the id of their row.

    Each arrives at least once: a resumed run repeats what was sent after its last checkpoint.
    """

    def __init__(self, address: Address) -> None:
        address.check()
        self.name = address.name
        self._topic = _topic(address)
        kafka = _client(self.name)
        self._down = "it does not answer"
        self._refused = ""
        self._producer = kafka.Producer(
            {
                "bootstrap.servers": _servers(address),
                "acks": "all",
                "message.timeout.ms": 0,  # we wait ourselves
                "linger.ms": 5,
                "error_cb": self._note_error,
                **_QUIET,
                **_login(address),
            }
        )
        try:
            self._producer.list_topics(timeout=CALLING)
        except kafka.KafkaException as error:
            raise StreamError(self.name, None, f"{_plain(error.args[0])}: {ABSENT}") from None

    def write(self, answers: list[tuple[str, bytes]]) -> None:
        for id, line in answers:
            while True:
                try:
                    self._producer.produce(self._topic, line, id, on_delivery=self._delivered)
                    break
                except BufferError:  # its queue is full: wait
                    self._producer.poll(0.1)
        self._producer.poll(0)

    def flush(self) -> None:
        left = self._producer.flush(CALLING)
        if self._refused:
            raise StreamError(self.name, None, self._refused)
        if left:
            raise Gone(self._down)

    def _delivered(self, error: Any, message: Any) -> None:
        if error is not None:
            self._refused = _plain(error)

    def _note_error(self, error: Any) -> None:
        self._down = _plain(error)

    def mark(self) -> Mark:
        return {}

    def seek(self, mark: Mark) -> None: ...

    def close(self) -> None: ...
