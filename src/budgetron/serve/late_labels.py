"""Labels from a separate source, and the rows that wait for them.

    rows   ->  encoded, kept under their ids (waiting.py), with the position after them
    labels ->  the writer's queue  ->  log, with the position after them  ->  learned

Rows come from a source, or were sent over HTTP with an id. The two sources take turns of TURN
messages; while labels still come and the waiting rows use half of their memory, no row is read. A
label that comes before its row waits for it, and is on disk before the log's position passes it.

Every row is learned once, whatever is killed. Rows that were not yet written are read again, as are
labels after the log's position: the ids of learned rows are remembered, so none is learned twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack
from typing import Any

from budgetron.serve.bodies import LONGEST_ID
from budgetron.serve.errors import Refused
from budgetron.serve.feeding import Feed
from budgetron.serve.packed import Packed, pack
from budgetron.serve.remembered import key_of
from budgetron.serve.served import UNLEARNED
from budgetron.serve.writer import Task
from budgetron.sources import open_source, without_password
from budgetron.sources.dead_letters import DeadLetters
from budgetron.sources.messages import SECONDS
from budgetron.sources.protocol import Batch, Gone, Source
from budgetron.sources.waiting import FIRST, LONGEST
from budgetron.streams.table.json_lines import object_of

TURN = 500  # messages of one source before the other gets its turn
CELLS = (str, int, float, bool, type(None))


class Half:
    """One of the two sources; if it is unreachable, it is tried again after pauses.

    Parameters
    ----------
    source : the source
    tell : receives a line for people

    Attributes
    ----------
    problem : why it is not read; None: all is well
    ended : nothing more comes from it
    """

    def __init__(self, source: Source, tell: Callable[[str], None]) -> None:
        self.source, self._tell = source, tell
        self.problem: str | None = None
        self.ended = False
        self._pause, self._again = FIRST, 0.0

    def read(self, seconds: float) -> Batch | None:
        """The next messages; None if there are none now."""
        if self.ended or time.monotonic() < self._again:
            return None
        name = self.source.name
        try:
            batch = self.source.read(TURN, seconds)
        except Gone as gone:
            if self.problem is None:
                self._tell(f"{name}: not reachable ({gone}): waiting for it")
            self.problem = f"{name}: not reachable ({gone})"
            self._again = time.monotonic() + self._pause
            self._pause = min(2 * self._pause, LONGEST)
            return None
        if self.problem is not None:
            self._tell(f"{name}: back")
        self.problem, self._pause = None, FIRST
        self.ended = batch is None
        return batch if batch is not None and batch.values else None


class Both:
    """The two sources while they are open.

    Parameters
    ----------
    rows, labels : names of the sources; empty: rows come over HTTP
    tell : receives a line for people
    """

    def __init__(self, rows: str, labels: str, tell: Callable[[str], None]) -> None:
        self._open = ExitStack()
        try:
            self.rows = self._opened(rows, tell) if rows else None
            self.labels = self._opened(labels, tell)
        except BaseException:
            self._open.close()
            raise
        self.halves = [each for each in (self.rows, self.labels) if each is not None]

    def _opened(self, name: str, tell: Callable[[str], None]) -> Half:
        source = open_source(name, tell)
        self._open.callback(source.close)
        return Half(source, tell)

    def __enter__(self) -> Both:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def behind(self) -> tuple[int | None, str]:
        """The number of waiting messages of both, as far as known, and its unit."""
        lags = [each.source.lag for each in self.halves]
        known = [each for each in lags if each is not None]
        units = {each.source.unit for each in self.halves}
        whole = len(known) == len(lags) and len(units) == 1
        return sum(known) if whole else None, units.pop() if len(units) == 1 else "messages"


class LateLabels(Feed):
    """Lets a model learn rows when their labels come, until it is stopped.

    Parameters
    ----------
    writer : the writer of the model
    feeding : the sources
    journal : receives log messages
    """

    _stream: Both | None
    _bad = 0
    _learned = 0

    # ---- positions -------------------------------------------------------------------------------

    def _check_places(self) -> None:
        assert self._feeding.labels is not None
        self._labels = without_password(self._feeding.labels)
        source = self._feeding.source
        self._rows = without_password(source) if source else None
        self._check(self._writer.place, f"labels of {self._labels}")
        if self._rows is not None:
            self._check(self._writer.waiting.place, self._rows)

    def _opened(self) -> Both:
        both = Both(self._feeding.source, self._feeding.labels or "", self._tell)
        try:
            for half, place in (
                (both.rows, self._writer.waiting.place),
                (both.labels, self._writer.place),
            ):
                if half is not None and place is not None:
                    half.source.seek(place["mark"])
            self._letters = DeadLetters(self._feeding.dead_letters)
        except BaseException:
            both.__exit__()
            raise
        return both

    def status(self) -> dict[str, Any]:
        """What the page, stats and metrics show about the sources."""
        both = self._stream
        lag, unit = (None, "messages") if both is None else both.behind
        problems = [] if both is None else [each.problem for each in both.halves if each.problem]
        return {
            "name": self._rows or self._labels,
            "labels": self._labels,
            "rows": self._learned,
            "bad": self._bad + self._refused,
            "early": self._writer.waiting.labels,
            "lag": lag,
            "unit": unit,
            "problem": problems[0] if problems else self.problem,
            "ended": self.ended,
        }

    def _tell(self, text: str) -> None:
        self._journal.warn(text, model=self._model)

    # ---- turns -----------------------------------------------------------------------------------

    def _follow(self, both: Both) -> bool:
        """Take turns until both sources end, and no label waits for a row of a request."""
        came, more_labels = False, False
        waiting = self._writer.waiting
        most = waiting.most_bytes
        try:
            while not self._stopping.is_set() and not self._over(both):
                if not self._writer.served.learned:
                    self.problem = UNLEARNED
                    self._stopping.wait(SECONDS)
                    continue
                self.problem = None
                full = (more_labels and 2 * waiting.size > most) or waiting.failing is not None
                rows = both.rows is not None and not full and self._keep_rows(both.rows)
                start = time.monotonic()
                labels = self._use_labels(both.labels, 0.0 if rows else SECONDS)
                if labels is None:  # it was stopped
                    return came
                more_labels = labels
                came = came or rows or labels
                if not rows and not labels and time.monotonic() - start < SECONDS / 2:
                    self._stopping.wait(SECONDS / 4)
        finally:
            self._letters.close()
        return came

    def _over(self, both: Both) -> bool:
        """Whether nothing more can be learned."""
        waits = both.rows is None and self._writer.waiting.has_labels
        return not waits and all(each.ended for each in both.halves)

    def _read(self, batch: Batch) -> list[tuple[int, str, dict[str, Any]]]:
        """The JSON objects of messages: number, id and object; other messages are bad."""
        found = []
        for i, value in enumerate(batch.values):
            row = object_of(value)
            id = None if row is None else row.get(self._feeding.id)
            if row is None:
                self._refuse(batch, i, "is not a JSON object")
            elif id is None or not 0 < len(str(id)) <= LONGEST_ID:
                self._refuse(batch, i, f"has no id of 1 to {LONGEST_ID} characters")
            else:
                found.append((i, str(id), row))
        return found

    def _refuse(self, batch: Batch, i: int, why: str) -> None:
        self._bad += 1
        self._letters.write(batch.where(i), why, batch.values[i])
        self._letters.flush()

    # ---- rows ------------------------------------------------------------------------------------

    def _keep_rows(self, half: Half) -> bool:
        """One turn of rows: they wait for their labels. Returns whether any came."""
        batch = half.read(0.0)
        if batch is None:
            return False
        columns = self._writer.served.reader.columns
        numbers: list[int] = []
        keys: list[bytes] = []
        rows: list[dict[str, Any]] = []
        for i, id, row in self._read(batch):
            key = key_of(id)
            if key in self._writer.remembered:
                continue
            cells = {name: row[name] for name in columns if name in row}
            if any(type(each) not in CELLS for each in cells.values()):
                self._refuse(batch, i, "has a list or an object in a column")
                continue
            numbers.append(i)
            keys.append(key)
            rows.append(cells)
        found = self._encoded(batch, numbers, rows)
        kept = [(key, each) for key, each in zip(keys, found, strict=True) if each is not None]
        self._writer.waiting.keep_all(kept, {"source": self._rows, "mark": batch.mark})
        return True

    def _encoded(
        self, batch: Batch, numbers: list[int], rows: list[dict[str, Any]]
    ) -> list[Packed | None]:
        """The rows as the model takes them; None for rows that it cannot take, which are bad."""
        if not rows:
            return []
        reader = self._writer.served.reader
        try:
            X = reader.rows(rows)
            return [pack(X[j : j + 1]) for j in range(len(rows))]
        except Refused:
            found: list[Packed | None] = []
            for i, row in zip(numbers, rows, strict=True):
                try:
                    found.append(pack(reader.rows([row])))
                except Refused as refused:
                    self._refuse(batch, i, str(refused))
                    found.append(None)
            return found

    # ---- labels ----------------------------------------------------------------------------------

    def _use_labels(self, half: Half, seconds: float) -> bool | None:
        """One turn of labels, learned if their rows wait.

        Returns whether any came; None: it was stopped.
        """
        writer, waiting = self._writer, self._writer.waiting
        batch = half.read(seconds)
        tasks: list[Task] = []
        early = False
        for i, id, message in [] if batch is None else self._read(batch):
            assert batch is not None
            try:
                label = self._label(message)
            except Refused as refused:
                self._refuse(batch, i, str(refused))
                continue
            key = key_of(id)
            if key in waiting or key in writer.remembered:
                tasks.append(Task([label], key=key, id=id))
            else:
                waiting.keep_label(key, label)
                early = True
        if early and not self._written():
            return None
        tasks = [*(Task([label], key=key) for key, label in waiting.whole()), *tasks]
        last = tasks[-1:]
        if not self._learn(tasks[:-1]):  # the position passes them, so they are learned first
            return None
        if last and batch is not None:
            last[0].place = {"source": f"labels of {self._labels}", "mark": batch.mark}
        return batch is not None if self._learn(last) else None

    def _learn(self, tasks: list[Task]) -> bool:
        """Let tasks be learned; tasks that the log cannot take now are repeated. False: stopped."""
        pause = 0.1
        while tasks:
            for task in tasks:
                if not self._submit(task):
                    return False
            tasks = [task for task in tasks if not self._done(task)]
            if tasks and self._stopping.wait(pause):
                return False
            pause = min(2 * pause, 5.0)
            for task in tasks:
                task.done = Future()
        return True

    def _done(self, task: Task) -> bool:
        """Wait for a task; False: it has to be tried again."""
        error = task.done.exception()
        if error is None:
            self._learned += int(task.done.result()["learned"])
        elif not isinstance(error, Refused) or error.status not in (400, 404):
            return False
        elif error.status == 400:  # it is in the log, and skipped; 404: its row has left
            self._refused += 1
            what = "a row of a source was refused"
            self._journal.warn(what, model=self._model, why=str(error))
        return True

    def _label(self, message: dict[str, Any]) -> Any:
        """The label in a message; raises Refused if the model cannot learn it."""
        served = self._writer.served
        name = self._feeding.options.label
        name = served.reader.label if name is None else str(name)
        if name not in message:
            raise Refused(400, f"has no {name!r}")
        [label] = served.reader.labels([message[name]])
        if getattr(served.learner, "_closed", False) and not served.knows(label):
            raise Refused(400, "has a label that the model does not have")
        return label

    def _written(self) -> bool:
        """Wait until labels that came before their rows are on disk; False: it was stopped."""
        pause = 0.1
        while True:
            self._writer.waiting.write()
            if self._writer.waiting.failing is None:
                return True
            if self._stopping.wait(pause):
                return False
            pause = min(2 * pause, 5.0)
