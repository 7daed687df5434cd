"""`redis://HOST:PORT/KEY`, the entries of a Redis stream.

Our checkpoint keeps the id of the last entry read; there is no consumer group, and nothing is
acknowledged or deleted. An entry is learned exactly once.

An entry's fields are the columns of a row. With `?field=NAME` the value of one field is the message
instead: JSON, a line of CSV, or Arrow.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from budgetron.sources.protocol import ABSENT, Address, Batch, Gone, Mark
from budgetron.streams.base import StreamError

PORT = 6379
CALLING = 5.0  # seconds until a silent server counts as not reachable
LOOK = 1.0  # seconds between two checks of the stream's length


def _client(address: Address) -> Any:
    try:
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry
    except ImportError:
        what = "needs redis: pip install 'budgetron[redis]'"
        raise StreamError(address.name, None, what) from None
    host, port = address.host(PORT)
    db = address.settings.get("db", "0")
    if not db.isdigit():
        raise StreamError(address.name, None, f"db must be a number, not {db!r}")
    return redis.Redis(
        host=host,
        port=port,
        db=int(db),
        username=address.user,
        password=address.password,
        socket_connect_timeout=CALLING,
        socket_timeout=CALLING,
        health_check_interval=30,
        retry=Retry(NoBackoff(), 0),
        protocol=2,
    )


def _key(address: Address) -> str:
    if not address.path:
        raise StreamError(address.name, None, "has no stream: redis://HOST:PORT/KEY")
    return address.path


def ask(name: str, key: str, call: Callable[[], Any]) -> Any:
    """The server's answer; Gone or StreamError if there is none."""
    import redis

    try:
        return call()
    except redis.exceptions.BusyLoadingError as error:
        raise _gone(error) from None
    except redis.ResponseError as error:
        what = f"{key} is not a stream" if "WRONGTYPE" in str(error) else str(error)
        raise StreamError(name, None, what) from None
    except redis.AuthenticationError as error:
        raise StreamError(name, None, str(error)) from None
    except (redis.ConnectionError, redis.TimeoutError, OSError) as error:
        raise _gone(error) from None


def _gone(error: Exception) -> Gone:
    text = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return Gone(text[:1].lower() + text[1:])


class RedisStream:
    """The entries of a stream, in the order of their ids.

    Parameters
    ----------
    address : `redis://USER:PASSWORD@HOST:PORT/KEY`; settings are `field`, `db`, a number, and
        `from`, "start" (the default) or "end", where a run without a checkpoint begins
    """

    unit = "messages"
    at_end = True

    def __init__(self, address: Address) -> None:
        address.check(**{"field": (), "db": (), "from": ("start", "end")})
        self.name = address.name
        self.lag: int | None = None
        self._key = _key(address)
        field = address.settings.get("field")
        self._field = None if field is None else field.encode()
        self._client = _client(address)
        self._last, self._read = "0-0", 0
        self._before: int | None = None  # entries added before the first one read
        self._next_look = 0.0
        try:
            found = self._info()
        except Gone as reason:
            self.close()
            raise StreamError(self.name, None, f"{reason}: {ABSENT}") from None
        if found is not None:
            at_end = address.settings.get("from") == "end"
            added = found.get("entries-added")
            if added is not None:
                self._before = int(added) - (0 if at_end else int(found["length"]))
            if at_end:
                self._last = found["last-generated-id"].decode()

    def read(self, most: int, seconds: float) -> Batch | None:
        # 0 milliseconds would mean for ever
        block = max(1, min(int(1000 * seconds), int(500 * CALLING)))
        found = ask(
            self.name,
            self._key,
            lambda: self._client.xread({self._key: self._last}, count=most, block=block),
        )
        entries = found[0][1] if found else []
        ids = [each[0].decode() for each in entries]
        if ids:
            self._last = ids[-1]
            self._read += len(ids)
        values = [self._value(each[1]) for each in entries]
        if time.monotonic() >= self._next_look:
            self._look()
        mark = {"id": self._last, "read": self._read, "before": self._before}
        return Batch(values, mark, _at(ids))

    def _value(self, fields: dict[bytes, bytes] | None) -> bytes:
        if fields is None:  # it was deleted
            return b""
        if self._field is not None:
            return fields.get(self._field, b"")
        try:
            return json.dumps(
                {name.decode(): value.decode() for name, value in fields.items()}
            ).encode()
        except UnicodeDecodeError:
            return b" ".join(each for pair in fields.items() for each in pair)

    def _look(self) -> None:
        """Count what waits; check that the stream is still the same."""
        self._next_look = time.monotonic() + LOOK
        found = self._info()
        if found is None:
            return
        newest = found["last-generated-id"].decode()
        if _number(newest) < _number(self._last):
            what = f"started again: its newest id is {newest}, but {self._last} was read; remove"
            raise StreamError(self.name, None, f"{what} the checkpoint to start again")
        added = found.get("entries-added")
        if newest == self._last:
            self.lag = 0
        elif added is not None and self._before is not None:
            self.lag = max(0, int(added) - self._before - self._read)

    def _info(self) -> dict[str, Any] | None:
        """The server's information about the stream; None if it does not exist yet."""
        import redis

        def info() -> Any:
            try:
                return self._client.xinfo_stream(self._key)
            except redis.ResponseError as error:
                if "no such key" in str(error).lower():
                    return None
                raise

        found: dict[str, Any] | None = ask(self.name, self._key, info)
        return found

    def seek(self, mark: Mark) -> None:
        try:
            self._last, self._read = str(mark["id"]), int(mark["read"])
            _number(self._last)
            self._before = None if mark["before"] is None else int(mark["before"])
        except (KeyError, TypeError, ValueError):
            raise StreamError(self.name, None, "the checkpoint has no position in it") from None

    def close(self) -> None:
        self._client.close()


def _number(id: str) -> tuple[int, int]:
    """An entry's id as numbers, which sort like it."""
    milliseconds, _, sequence = id.partition("-")
    return int(milliseconds), int(sequence)


def _at(ids: list[str]) -> Any:
    return lambda i: ids[i]


class RedisAnswers:
    """Answers as entries of a stream with the fields `id` and `json`.

    Each arrives at least once: a resumed run repeats what was sent after its last checkpoint.
    """

    def __init__(self, address: Address) -> None:
        address.check(db=())
        self.name = address.name
        self._key = _key(address)
        self._client = _client(address)
        self._waiting: list[tuple[str, bytes]] = []
        try:
            ask(self.name, self._key, self._client.ping)
        except Gone as reason:
            raise StreamError(self.name, None, f"{reason}: {ABSENT}") from None

    def write(self, answers: list[tuple[str, bytes]]) -> None:
        self._waiting += answers
        self.flush()

    def flush(self) -> None:
        if not self._waiting:
            return
        pipe = self._client.pipeline(transaction=True)  # all of them or none
        for id, line in self._waiting:
            pipe.xadd(self._key, {"id": id, "json": line})
        ask(self.name, self._key, pipe.execute)
        self._waiting = []

    def mark(self) -> Mark:
        return {}

    def seek(self, mark: Mark) -> None: ...

    def close(self) -> None:
        self._client.close()
