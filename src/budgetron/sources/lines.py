"""Bytes that come in pieces as lines: a message is a line, without its end."""

from __future__ import annotations

from collections import deque

from budgetron.streams.base import StreamError

LONGEST = 4 << 20  # bytes of a line; a longer one is no row
KEPT = 1024  # bytes before a place in a file that it is known by


class Lines:
    r"""Whole lines out of pieces of text; a line without its end waits for it.

    Attributes
    ----------
    taken : bytes of the lines taken so far, with their ends
    last : the last of these bytes, at most KEPT

    Examples
    --------
    >>> lines = Lines("log")
    >>> lines.add(b"one\ntw")
    >>> lines.add(b"o\r\n\nthr")
    >>> lines.take(5), lines.taken, lines.last, lines.rest
    ([b'one', b'two', b''], 10, b'one\ntwo\r\n\n', b'thr')
    """

    def __init__(self, name: str, last: bytes = b"") -> None:
        self._name = name
        self._whole: deque[bytes] = deque()
        self._rest: list[bytes] = []
        self._length = 0  # of the rest
        self._unended = False  # the last line has no end
        self._returns = False  # lines may end with CR and LF
        self.taken = 0
        self.last = last

    def __len__(self) -> int:
        return len(self._whole)

    @property
    def rest(self) -> bytes:
        """The line whose end has not come."""
        return b"".join(self._rest)

    def add(self, piece: bytes) -> None:
        """More text; StreamError if a line is longer than any row."""
        self._returns = self._returns or b"\r" in piece
        head, end, tail = piece.rpartition(b"\n")
        if end:
            text = self.rest + head
            self._whole.extend(text.split(b"\n"))
            self.forget_rest()
        self._rest.append(tail)
        self._length += len(tail)
        if self._length > LONGEST:
            what = f"a line is longer than {LONGEST >> 20} MiB: write a row a line"
            raise StreamError(self._name, None, what)

    def finish(self) -> None:
        """No more text comes: what is left is a line too."""
        if rest := self.rest:
            self._whole.append(rest)
            self._unended = True
        self.forget_rest()

    def forget_rest(self) -> None:
        """The line whose end has not come will never be whole."""
        self._rest = []
        self._length = 0

    def take(self, most: int) -> list[bytes]:
        """The next lines, at most so many."""
        found = [self._whole.popleft() for _ in range(min(most, len(self._whole)))]
        if not found:
            return found
        short = self._unended and not self._whole
        self.taken += sum(map(len, found)) + len(found) - short
        at, size = len(found), 0
        while at and size < KEPT:
            at -= 1
            size += len(found[at]) + 1
        ends = self.last + b"".join(each + b"\n" for each in found[at:])
        self.last = (ends[:-1] if short else ends)[-KEPT:]
        if not self._returns:
            return found
        return [each[:-1] if each[-1:] == b"\r" else each for each in found]
