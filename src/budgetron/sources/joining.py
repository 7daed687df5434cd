"""Rows whose labels come later, from another source: joined by an id.

A row waits for its label, a label for its row; then the row with its label is a message like any
other. Waiting entries have a limit in bytes and one in seconds: the oldest leaves first and is
counted.

The order is fixed. The two sources take turns: TURN rows, which are answered, then TURN labels;
completed pairs are learned before the next turn. A source that was read to its end is skipped, so
its turn may be shorter; while labels still come and waiting entries use half of the limit, no row
is read. So a run over existing messages depends only on the messages, and a run resumed from a
checkpoint ends like one that was never stopped.

The position contains all waiting entries: a killed run loses none of them and learns no row twice.
Messages of both sources are JSON.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from budgetron._held import Held
from budgetron.sources.protocol import Batch, Mark, Source
from budgetron.streams.base import StreamError
from budgetron.streams.table.json_lines import object_of

TURN = 500  # messages of one source before the other gets its turn
ROWS, LABELS = 0, 1
COUNTS = ("joined", "rows_left", "labels_left", "answered", "wrong")


class Joined:
    """Rows of one source with the labels of another.

    Parameters
    ----------
    rows, labels : the sources
    id, label : keys of a row's id, in both, and of its label
    most_bytes, seconds : limits of what may wait, and how long

    Attributes
    ----------
    answer : called with the ids and messages of new rows; returns the model's answer for each
    unanswered : ids of rows that came before `answer` was set
    counts : pairs; rows and labels that left alone; answers given on arrival whose labels are known
        by now, and how many of these were wrong
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
        # (rows or labels, id) -> the row and its answer, or the label, as JSON
        self._held: Held[tuple[int, str], tuple[str, Any]] = Held(most_bytes, seconds)
        self._ready: list[tuple[str, bytes]] = []  # id and message
        self._marks: list[Mark | None] = [None, None]
        self._turn = ROWS  # the source whose turn it is
        self._came: list[tuple[str, bytes]] = []  # in this turn: name and message
        self._mark_of_turn: Mark | None = None
        self._rows_came = 0
        self._ended = [False, False]
        self._more_labels = False
        self.counts = dict.fromkeys(COUNTS, 0)
        self.unanswered: list[str] = []
        self.answer: Callable[[list[str], list[bytes]], list[Any]] = self._no_answer

    @property
    def waiting(self) -> int:
        """Number of rows and labels whose counterpart has not come."""
        return len(self._held)

    @property
    def at_end(self) -> bool:
        """Whether both sources are."""
        return self._rows.at_end and self._labels.at_end

    def read(self, most: int, seconds: float) -> Batch | None:
        if not self._ready:  # otherwise ready pairs are learned first, and then answer
            self._take_turns(seconds)
        if not self._ready and all(self._ended) and not self._came:
            return None
        lags = (self._rows.lag, self._labels.lag)
        self.lag = None if None in lags else sum(each or 0 for each in lags)
        found, self._ready = self._ready[:most], self._ready[most:]
        ids = [id for id, _ in found]
        return Batch([value for _, value in found], self._mark(), lambda i: ids[i])

    def _take_turns(self, seconds: float) -> None:
        """One turn of rows and one of labels; an unfinished turn continues in the next call."""
        if self._turn == ROWS:
            full = self._more_labels and 2 * self._held.bytes > self._most
            if not full and not self._gather(self._rows, seconds if not self._rows.at_end else 0.0):
                return
            self._rows_came = len(self._came)
            self._use_rows()
            self._turn = LABELS
        if not self._gather(self._labels, 0.0 if self._rows_came else seconds):
            return
        self._more_labels = bool(self._came)
        self._use_labels()
        self._turn = ROWS
        for (half, _), _ in self._held.leaving():
            self.counts["rows_left" if half == ROWS else "labels_left"] += 1

    def _gather(self, source: Source, seconds: float) -> bool:
        """Read the messages of a turn; False: more are on their way."""
        while len(self._came) < TURN and not self._ended[self._turn]:
            wait = 0.0 if self._came and source.at_end else seconds
            batch = source.read(TURN - len(self._came), wait)
            if batch is None:
                self._ended[self._turn] = True
            elif batch.values:
                self._mark_of_turn = batch.mark
                self._came += [(batch.where(i), each) for i, each in enumerate(batch.values)]
            else:
                return source.at_end
        if self._ended[self._turn] and not self._came:
            time.sleep(min(seconds, 0.05))
        return True

    def _taken(self) -> list[tuple[str, bytes]]:
        """End the turn; return its messages."""
        if self._came:
            self._marks[self._turn] = self._mark_of_turn
        came, self._came = self._came, []
        return came

    def _use_rows(self) -> None:
        come: dict[str, bytes] = {}
        for where, value in self._taken():
            id = self._id_of(value)
            if id is None:  # not a row: it is counted where rows are read
                self._ready.append((where, b"no id: " + value))
                continue
            self.counts["rows_left"] += id in come
            come[id] = value
        answers = self.answer(list(come), list(come.values())) if come else []
        for (id, value), answer in zip(come.items(), answers, strict=True):
            early = self._held.pop((LABELS, id))
            if self._held.pop((ROWS, id)) is not None:
                self.counts["rows_left"] += 1  # the same id again: its label is unclear
            if early is None:
                self._hold(ROWS, id, value.decode(), answer)
            else:
                self._join(id, value.decode(), answer, early[0])

    def _use_labels(self) -> None:
        for where, value in self._taken():
            id, found = self._id_of(value), object_of(value)
            if id is None or found is None or self._label not in found:
                self._ready.append((where, b"no label: " + value))
                continue
            label = json.dumps(found[self._label])
            row = self._held.pop((ROWS, id))
            if row is not None:
                self._join(id, row[0], row[1], label)
            else:
                self._hold(LABELS, id, label, None)

    def _hold(self, half: int, id: str, text: str, answer: Any, age: float = 0.0) -> None:
        self._held.put((half, id), (text, answer), len(text.encode()) + len(id), age)

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

    def _mark(self) -> Mark:
        now = time.time()
        return {
            "rows": self._marks[ROWS],
            "labels": self._marks[LABELS],
            "turn": self._turn,
            "more_labels": self._more_labels,
            "held": [
                [half, id, text, answer, now - age]
                for (half, id), (text, answer), age in self._held.items()
            ],
            "ready": [[id, value.decode(errors="surrogateescape")] for id, value in self._ready],
            "counts": dict(self.counts),
        }

    def seek(self, mark: Mark) -> None:
        now = time.time()
        try:
            for half, id, text, answer, when in mark["held"]:
                self._hold(int(half), str(id), str(text), answer, age=now - float(when))
            self._ready = [
                (str(id), str(value).encode(errors="surrogateescape"))
                for id, value in mark["ready"]
            ]
            self.counts = {name: int(mark["counts"][name]) for name in COUNTS}
            self._marks = [mark["rows"], mark["labels"]]
            self._turn, self._more_labels = int(mark["turn"]), bool(mark["more_labels"])
        except (KeyError, TypeError, ValueError):
            raise StreamError(self.name, None, "the checkpoint has no position in it") from None
        for source, each in zip((self._rows, self._labels), self._marks, strict=True):
            if each is not None:
                source.seek(each)

    def close(self) -> None:
        self._rows.close()
        self._labels.close()


def _equal(answer: Any, truth: Any) -> bool:
    """Whether a predicted label equals the one that came: 1 is 1.0 and "1".

    >>> _equal(1, 1.0), _equal("a", "b"), _equal(1, "1")
    (True, False, True)
    """
    try:
        return float(answer) == float(truth)
    except (TypeError, ValueError):
        return str(answer).strip() == str(truth).strip()
