"""Lines from pieces of bytes: a message is a line, without its end."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

LONGEST = 4 << 20  # bytes of a line; a longer one is not a row
KEPT = 1024  # bytes before a position that identify it in a file
# Replaces a line that is too long: neither JSON nor CSV, so it becomes a bad message.
STAND_IN = b'"a line longer than %d MiB' % (LONGEST >> 20)


class _Cut(NamedTuple):
    """A line that was too long: its number from 0, its size, and its last bytes."""

    number: int
    size: int
    end: bytes


class Lines:
    r"""Whole lines from pieces of text; an incomplete line waits for its end.

    A line that is longer than any row is replaced by a text that is not a row either.

    Attributes
    ----------
    taken : bytes of the lines taken so far, with their ends
    last : the last of these bytes, at most KEPT

    Examples
    --------
    >>> lines = Lines()
    >>> lines.add(b"one\ntw")
    >>> lines.add(b"o\r\n\nthr")
    >>> lines.take(5), lines.taken, lines.last, lines.rest
    ([b'one', b'two', b''], 10, b'one\ntwo\r\n\n', b'thr')
    """

    def __init__(self, last: bytes = b"") -> None:
        self._whole: deque[bytes] = deque()
        self._cut: deque[_Cut] = deque()  # those of the whole lines that were too long
        self._given = 0  # lines taken
        self._rest: list[bytes] = []
        self._length = 0  # length of the rest
        self._unended = False  # the last line has no end
        self._returns = False  # lines may end with CR and LF
        self.taken = 0
        self.last = last

    def __len__(self) -> int:
        return len(self._whole)

    @property
    def rest(self) -> bytes:
        """The incomplete line; if it is too long, its last bytes."""
        return b"".join(self._rest)

    def add(self, piece: bytes) -> None:
        """More text."""
        self._returns = self._returns or b"\r" in piece
        head, end, tail = piece.rpartition(b"\n")
        if end:
            first, *others = head.split(b"\n")
            self._lengthen(first)
            self._end_line()
            if len(head) <= LONGEST:
                self._whole.extend(others)
            else:
                for each in others:
                    self._lengthen(each)
                    self._end_line()
        self._lengthen(tail)

    def _lengthen(self, part: bytes) -> None:
        self._rest.append(part)
        self._length += len(part)
        if self._length > LONGEST:
            self._rest = [b"".join(self._rest)[-KEPT:]]

    def _end_line(self) -> None:
        text = self.rest
        if self._length > LONGEST:
            self._cut.append(_Cut(self._given + len(self._whole), self._length, text))
            text = STAND_IN
        self._whole.append(text)
        self.forget_rest()

    def finish(self) -> None:
        """End the text: the rest is a line too."""
        if self._length:
            self._end_line()
            self._unended = True

    def forget_rest(self) -> None:
        """Drop the incomplete line, which will never be complete."""
        self._rest = []
        self._length = 0

    def take(self, most: int) -> list[bytes]:
        """The next lines, at most so many."""
        found = [self._whole.popleft() for _ in range(min(most, len(self._whole)))]
        if not found:
            return found
        short = self._unended and not self._whole
        self.taken += sum(map(len, found)) + len(found) - short
        texts = found.copy()
        while self._cut and self._cut[0].number < self._given + len(found):
            cut = self._cut.popleft()
            texts[cut.number - self._given] = cut.end
            self.taken += cut.size - len(STAND_IN)
        self._given += len(found)
        at, size = len(texts), 0
        while at and size < KEPT:
            at -= 1
            size += len(texts[at]) + 1
        ends = self.last + b"".join(each + b"\n" for each in texts[at:])
        self.last = (ends[:-1] if short else ends)[-KEPT:]
        if not self._returns:
            return found
        return [each[:-1] if each[-1:] == b"\r" else each for each in found]
