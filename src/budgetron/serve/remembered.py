"""Ids of learned requests, up to a limit: they identify a retry.

An id is kept as 12 bytes of its BLAKE2b hash, so memory does not depend on its length. Two of
100,000 ids have the same hash with a probability below 10^-18.
"""

from __future__ import annotations

import base64
import hashlib
from collections import deque

from budgetron.errors import BudgetronError

BYTES = 12


def key_of(id: str) -> bytes:
    """The hash of an id."""
    return hashlib.blake2b(id.encode("utf-8", "surrogatepass"), digest_size=BYTES).digest()


class Remembered:
    """The most recent keys, up to a limit; the oldest are forgotten first.

    Examples
    --------
    >>> known = Remembered(2)
    >>> for id in ("a", "b", "c"):
    ...     known.add(key_of(id))
    >>> key_of("a") in known, key_of("c") in known
    (False, True)
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: set[bytes] = set()
        self._order: deque[bytes] = deque()

    def __contains__(self, key: bytes) -> bool:
        return key in self._known

    def __len__(self) -> int:
        return len(self._known)

    def add(self, key: bytes) -> None:
        """Remember a key."""
        if key in self._known:
            return
        self._known.add(key)
        self._order.append(key)
        if len(self._order) > self._most:
            self._known.remove(self._order.popleft())

    def state(self) -> str:
        """All keys as text, for JSON."""
        return base64.b64encode(b"".join(self._order)).decode()

    def restore(self, state: str) -> None:
        """Continue from such a text; raises BudgetronError or binascii.Error for other text."""
        data = base64.b64decode(state, validate=True)
        if len(data) % BYTES:
            raise BudgetronError("the ids are incomplete")
        self._known.clear()
        self._order.clear()
        for i in range(0, len(data), BYTES):
            self.add(data[i : i + BYTES])
