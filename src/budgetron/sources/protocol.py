"""The protocol of sources: batches of messages, each with a position that a checkpoint can keep.

A source is a class with seven members (`Source`). It returns messages as bytes and knows nothing
about columns, labels or models: `messages.py` turns them into rows. A new source is one file with
such a class and one line in `SCHEMES` of this folder's `__init__.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

from budgetron.streams.base import StreamError

Mark: TypeAlias = dict[str, Any]


ABSENT = "start the server, or choose another host or port"  # never reachable


class Gone(Exception):
    """The source or sink cannot be reached just now; its text says why, in a few words.

    The caller tries again later: nothing is lost.
    """


class Batch(NamedTuple):
    """Messages in order.

    Parameters
    ----------
    values : the messages
    mark : the position behind the last of them; a small dict that JSON can hold
    where : what message i of the batch is called, for people and as an id

    Examples
    --------
    >>> from budgetron.sources import Batch
    >>> batch = Batch([b'{"x": 1}', b'{"x": 2}'], {"line": 2}, lambda i: f"line {i + 1}")
    >>> len(batch.values), batch.where(1)
    (2, 'line 2')
    """

    values: list[bytes]
    mark: Mark
    where: Callable[[int], str]


class Source(Protocol):
    """A source of messages.

    The order of the messages after a mark is always the same. The cut into batches has no meaning.

    Attributes
    ----------
    name : its name, without passwords
    lag : how much waits after the last batch, as far as known; None: unknown
    unit : what the lag counts
    at_end : an empty batch means that all messages were read; False: more are on their way
    """

    name: str
    lag: int | None
    unit: str

    @property
    def at_end(self) -> bool: ...

    def read(self, most: int, seconds: float) -> Batch | None:
        """The next messages, at most `most`; returns at once what has come.

        An empty batch if nothing came within so many seconds. None: the source has ended for good.

        Raises
        ------
        Gone
            If it cannot be reached; the next call tries to reach it again.
        StreamError
            If it will never work.
        """

    def seek(self, mark: Mark) -> None:
        """Continue after the mark of an earlier batch; called before the first `read`."""

    def close(self) -> None: ...


class Sink(Protocol):
    """A sink for answers.

    Attributes
    ----------
    name : its name, without passwords
    """

    name: str

    def write(self, answers: list[tuple[str, bytes]]) -> None:
        """Send answers, each with the id of its row; they may wait in memory until `flush`."""

    def flush(self) -> None:
        """Return when all that was written has arrived; Gone if it cannot be reached."""

    def mark(self) -> Mark:
        """What a checkpoint keeps about it, once flushed."""

    def seek(self, mark: Mark) -> None:
        """Remove what was written after a mark, if that is possible."""

    def close(self) -> None: ...


@dataclass(frozen=True)
class Address:
    """The address of a source: `SCHEME://HOST:PORT/PATH?setting=value`.

    Parameters
    ----------
    name : the whole address, without user and password
    scheme : the part before ``://``
    hosts : hosts with their ports, separated by commas
    path : what follows the hosts, without slashes at the ends
    user : None: no user is named
    password : None: no password is given
    settings : names and values behind the question mark

    Examples
    --------
    >>> address = Address.of("redis://ann:secret@localhost:6379/rows?field=json")
    >>> address.name, address.path, address.settings
    ('redis://localhost:6379/rows?field=json', 'rows', {'field': 'json'})
    """

    name: str
    scheme: str
    hosts: str = ""
    path: str = ""
    user: str | None = None
    password: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> Address:
        parts = urlsplit(text)
        login, _, hosts = parts.netloc.rpartition("@")
        user, _, password = login.partition(":")
        query = f"?{parts.query}" if parts.query else ""
        return cls(
            f"{parts.scheme}://{hosts}{parts.path}{query}",
            parts.scheme,
            hosts,
            unquote(parts.path.strip("/")),
            unquote(user) or None,
            unquote(password) or None,
            dict(parse_qsl(parts.query, keep_blank_values=True)),
        )

    def host(self, default_port: int | None) -> tuple[str, int]:
        """Host and port; an empty host is this machine only."""
        host, _, port = self.hosts.rpartition(":") if ":" in self.hosts else (self.hosts, "", "")
        if not port and default_port is not None:
            return host.strip("[]") or "127.0.0.1", default_port
        if not port.isdigit() or not 0 < int(port) < 65536:
            raise StreamError(self.name, None, f"has no port: {self.scheme}://HOST:PORT")
        return host.strip("[]") or "127.0.0.1", int(port)

    def check(self, **known: tuple[str, ...]) -> None:
        """Raise StreamError for an unknown setting, or a value that is not listed."""
        for name, value in self.settings.items():
            if name not in known:
                have = ", ".join(known) or "none"
                raise StreamError(self.name, None, f"no setting {name!r}; there are {have}")
            if known[name] and value not in known[name]:
                choice = " or ".join(known[name])
                raise StreamError(self.name, None, f"{name} must be {choice}, not {value!r}")
