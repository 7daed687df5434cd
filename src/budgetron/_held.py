"""Values by key, with a limit in bytes and one in seconds: the oldest leave first.

An ordered dictionary: inserting, finding and removing cost O(1), and so does each value that
leaves. Ages use a monotonic clock.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class _Entry(NamedTuple, Generic[V]):
    value: V
    size: int
    since: float


class Held(Generic[K, V]):
    """Values by key, the oldest first.

    Parameters
    ----------
    most_bytes, most_seconds : limits for all values, and for each
    clock : seconds since some moment

    Attributes
    ----------
    bytes : size of all values

    Examples
    --------
    >>> held = Held(most_bytes=10, most_seconds=60.0)
    >>> for key in "abc":
    ...     held.put(key, key.upper(), 4)
    >>> list(held.leaving()), list(held), held.bytes
    ([('a', 'A')], ['b', 'c'], 8)
    >>> held.pop("c"), held.pop("c")
    ('C', None)
    """

    def __init__(
        self,
        most_bytes: int,
        most_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most_bytes, self._most_seconds = most_bytes, most_seconds
        self._clock = clock
        self._entries: OrderedDict[K, _Entry[V]] = OrderedDict()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[K]:
        return iter(self._entries)

    def __contains__(self, key: K) -> bool:
        return key in self._entries

    def put(self, key: K, value: V, size: int, age: float = 0.0) -> None:
        """Insert a value as the newest; it replaces one under the same key."""
        self.pop(key)
        self._entries[key] = _Entry(value, size, self._clock() - max(0.0, age))
        self.bytes += size

    def get(self, key: K) -> V | None:
        """The value under a key; None if there is none."""
        found = self._entries.get(key)
        return None if found is None else found.value

    def pop(self, key: K) -> V | None:
        """Remove and return the value under a key; None if there is none."""
        found = self._entries.pop(key, None)
        if found is None:
            return None
        self.bytes -= found.size
        return found.value

    def items(self) -> Iterator[tuple[K, V, float]]:
        """Keys, values and their ages in seconds."""
        now = self._clock()
        for key, entry in self._entries.items():
            yield key, entry.value, now - entry.since

    def leaving(self) -> Iterator[tuple[K, V]]:
        """Remove, one by one, values that are too old, and the oldest ones beyond the limit."""
        now = self._clock()
        while self._entries:
            key, entry = next(iter(self._entries.items()))
            if self.bytes <= self._most_bytes and now - entry.since <= self._most_seconds:
                return
            self.pop(key)
            yield key, entry.value
