"""Rows whose labels come later, on a source of their own: joined by an id.

A row waits until its label comes, a label until its row does; then the row, with the label in it,
is a message like any other. What waits has a limit in bytes and one in seconds: whatever is oldest
leaves first and is counted. Rows are read before labels; where so much waits that half of the limit
is used and labels still come, no row is read.

All that waits is in the position: a run that is killed loses none of it and learns no row twice.
Messages of both sources are JSON.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from budgetron.sources.protocol import Batch, Mark, Source
from budgetron.streams.base import StreamError
from budgetron.streams.table.json_lines import object_of

COUNTS = ("joined", "rows_left", "labels_left", "answered", "wrong")


class Joined:
    """Rows of one source with the labels of another.

    Parameters
    ----------
    rows, labels : the sources
    id, label : keys of a row's id, in both, and of its label
    most_bytes, seconds : how much may wait, and how long

    Attributes
    ----------
    answer : is called with the ids and messages of rows that have come; what the model says to each
    unanswered : ids of rows that came before somebody set `answer`
    counts : pairs; rows and labels that left alone; answers made when the row came whose labels are
        known by now, and how many of these were wrong
    """

    unit = "messages"

    def __init__(
        self,
        rows: Source,
        labels: Source,
        id: str,
        label: str,
        most_bytes: int,
        seconds: float,
    ) -> None:
        self.name = rows.name
        self.lag: int | None = None
        self._rows, self._labels = rows, labels
        self._id, self._label = id, label
        self._most, self._seconds = most_bytes, seconds
        self._waiting: dict[str, tuple[str, float, Any]] = {}  # id -> row, when, answer
        self._early: dict[str, tuple[str, float]] = {}  # id -> label as JSON, when
        self._ready: list[tuple[str, bytes]] = []  # id and message
        self._marks: list[Mark | None] = [None, None]
        self._bytes = 0
        self._ended = [False, False]
        self._more_labels = False
        self.counts = dict.fromkeys(COUNTS, 0)
        self.unanswered: list[str] = []
        self.answer: Callable[[list[str], list[bytes]], list[Any]] = self._no_answer

    @property
    def waiting(self) -> int:
        """Rows and labels whose other half has not come."""
        return len(self._waiting) + len(self._early)

    def read(self, most: int, seconds: float) -> Batch | None:
        if len(self._ready) < most:
            full = self._more_labels and 2 * self._bytes > self._most
            came = 0 if full else self._take_rows(most)
            wait = 0.0 if came or self._ready else seconds
            self._take_labels(most, wait)
            self._let_go()
        if not self._ready and all(self._ended):
            return None
        lags = (self._rows.lag, self._labels.lag)
        self.lag = None if None in lags else sum(each or 0 for each in lags)
        found, self._ready = self._ready[:most], self._ready[most:]
        ids = [id for id, _ in found]
        return Batch([value for _, value in found], self._mark(), lambda i: ids[i])

    def _take_rows(self, most: int) -> int:
        batch = None if self._ended[0] else self._rows.read(most, 0.0)
        if batch is None:
            self._ended[0] = True
            return 0
        self._marks[0] = batch.mark
        now = time.time()
        come: dict[str, bytes] = {}
        for at, value in enumerate(batch.values):
            id = self._id_of(value)
            if id is None:  # no row: it is counted where rows are read
                self._ready.append((batch.where(at), b"no id: " + value))
                continue
            self.counts["rows_left"] += id in come
            come[id] = value
        answers = self.answer(list(come), list(come.values())) if come else []
        for (id, value), answer in zip(come.items(), answers, strict=True):
            early = self._early.pop(id, None)
            if id in self._waiting:  # the same id again: nobody could tell whose label it is
                self._leave(id)
            if early is None:
                self._waiting[id] = (value.decode(), now, answer)
                self._bytes += len(value) + len(id)
            else:
                self._bytes -= len(early[0]) + len(id)
                self._join(id, value.decode(), answer, early[0])
        return len(batch.values)

    def _take_labels(self, most: int, seconds: float) -> None:
        batch = None if self._ended[1] else self._labels.read(most, seconds)
        self._more_labels = batch is not None and bool(batch.values)
        if batch is None:
            if not self._ended[1]:
                self._ended[1] = True
            elif not self._ready:
                time.sleep(min(seconds, 0.05))
            return
        self._marks[1] = batch.mark
        now = time.time()
        for at, value in enumerate(batch.values):
            id, found = self._id_of(value), object_of(value)
            if id is None or found is None or self._label not in found:
                self._ready.append((batch.where(at), b"no label: " + value))
                continue
            label = json.dumps(found[self._label])
            waiting = self._waiting.pop(id, None)
            if waiting is not None:
                self._bytes -= len(waiting[0].encode()) + len(id)
                self._join(id, waiting[0], waiting[2], label)
            else:
                before = self._early.pop(id, None)
                self._bytes += len(label) + len(id)
                if before is not None:
                    self._bytes -= len(before[0]) + len(id)
                self._early[id] = (label, now)

    def _no_answer(self, ids: list[str], rows: list[bytes]) -> list[Any]:
        self.unanswered += ids
        return [None] * len(rows)

    def _id_of(self, value: bytes) -> str | None:
        row = object_of(value)
        id = None if row is None else row.get(self._id)
        try:
            value.decode()
        except UnicodeDecodeError:
            return None
        return None if id is None else str(id)

    def _join(self, id: str, row: str, answer: Any, label: str) -> None:
        self.counts["joined"] += 1
        truth = json.loads(label)
        if answer is not None:
            self.counts["answered"] += 1
            self.counts["wrong"] += not _equal(answer, truth)
        message = {**json.loads(row), self._label: truth}
        self._ready.append((id, json.dumps(message).encode()))

    def _let_go(self) -> None:
        """Let what is too old, or too much, leave; the oldest first."""
        now = time.time()
        while self._waiting or self._early:
            row = next(iter(self._waiting), None)
            label = next(iter(self._early), None)
            row_since = now if row is None else self._waiting[row][1]
            label_since = now if label is None else self._early[label][1]
            late = now - min(row_since, label_since) > self._seconds
            if not late and self._bytes <= self._most:
                return
            if label is None or (row is not None and row_since <= label_since):
                assert row is not None
                self._leave(row)
            else:
                self._bytes -= len(self._early.pop(label)[0]) + len(label)
                self.counts["labels_left"] += 1

    def _leave(self, id: str) -> None:
        self._bytes -= len(self._waiting.pop(id)[0].encode()) + len(id)
        self.counts["rows_left"] += 1

    def _mark(self) -> Mark:
        return {
            "rows": self._marks[0],
            "labels": self._marks[1],
            "waiting": list(self._waiting.items()),
            "early": list(self._early.items()),
            "ready": [(id, value.decode(errors="replace")) for id, value in self._ready],
            "counts": dict(self.counts),
        }

    def seek(self, mark: Mark) -> None:
        try:
            self._waiting = {
                str(id): (str(row), float(when), answer)
                for id, (row, when, answer) in mark["waiting"]
            }
            self._early = {
                str(id): (str(label), float(when)) for id, (label, when) in mark["early"]
            }
            self._ready = [(str(id), str(value).encode()) for id, value in mark["ready"]]
            self.counts = {name: int(mark["counts"][name]) for name in COUNTS}
            self._marks = [mark["rows"], mark["labels"]]
        except (KeyError, TypeError, ValueError):
            raise StreamError(self.name, None, "the checkpoint has no place in it") from None
        self._bytes = sum(len(row.encode()) + len(id) for id, (row, _, _) in self._waiting.items())
        self._bytes += sum(len(label) + len(id) for id, (label, _) in self._early.items())
        for source, each in zip((self._rows, self._labels), self._marks, strict=True):
            if each is not None:
                source.seek(each)

    def close(self) -> None:
        self._rows.close()
        self._labels.close()


def _equal(answer: Any, truth: Any) -> bool:
    """Whether a predicted label is the one that came: 1 is 1.0 and "1".

    >>> _equal(1, 1.0), _equal("a", "b"), _equal(1, "1")
    (True, False, True)
    """
    try:
        return float(answer) == float(truth)
    except (TypeError, ValueError):
        return str(answer).strip() == str(truth).strip()
