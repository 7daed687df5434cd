"""The one thread that teaches a model: it takes what is queued, logs it, learns it, acknowledges.

    take all that waits  ->  drop what was learned before  ->  log, one sync  ->  learn  ->  answer

A request is acknowledged after its rows are on disk and learned. The thread learns nothing that is
not in the log, so a restart that replays the log has the same model, to the bit. Where the log
cannot be written the model stays as it is and requests are refused, until it can be again.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from budgetron.errors import BudgetronError
from budgetron.serve.errors import Refused, bad
from budgetron.serve.journal import Journal
from budgetron.serve.log import Learned, Log
from budgetron.serve.packed import Packed, unpack
from budgetron.serve.remembered import Remembered
from budgetron.serve.served import Served
from budgetron.serve.settings import Settings
from budgetron.serve.waiting import Waiting
from budgetron.streams.table.roles import Layout

GROUP = 4096  # rows that are logged together
LARGEST_LOG = 256 * 2**20  # bytes after which a checkpoint is due


@dataclass
class Task:
    """A request to learn.

    Parameters
    ----------
    labels : of the rows
    rows : encoded; None: they wait under the key
    key : of the request's id; empty: it has none
    id : as the user has it, to be named in an error
    layout : of a new model, how its table is read
    """

    labels: list[Any]
    rows: Packed | None = None
    key: bytes = b""
    id: str = ""
    layout: Layout | None = None
    done: Future[dict[str, Any]] = field(default_factory=Future)

    @property
    def size(self) -> int:
        """Rows."""
        return len(self.labels)


class Writer:
    """Teaches one model.

    Parameters
    ----------
    served : the model
    settings : of the server
    journal : where to tell what happens

    Attributes
    ----------
    failing : why nothing can be learned; None: it can
    stale : why no checkpoint can be written; None: it can
    waiting : rows that wait for a label
    on_group : called with the rows of a group and the seconds that the log took
    """

    def __init__(self, served: Served, settings: Settings, journal: Journal) -> None:
        self.served, self._settings, self._journal = served, settings, journal
        self.remembered = Remembered(settings.remembered)
        self.failing: str | None = None
        self.stale: str | None = None
        self.repeats = 0
        self.replayed = 0
        self.checkpoints = 0
        self.on_group: Callable[[int, float], None] = lambda rows, seconds: None
        folder = settings.folder
        self.log: Log | None = None
        path = None
        if folder is not None:
            durable, keep = settings.durable, settings.keep_logs
            self.log = Log(folder, served.name, durable=durable, keep=keep)
            path = folder / f"{served.name}.waiting"
            self._recover(self.log)
        self.waiting = Waiting(
            path,
            settings.waiting_bytes,
            settings.waiting_seconds,
            durable=settings.durable,
        )
        for key in [key for key in self.waiting.keys_waiting() if key in self.remembered]:
            self.waiting.learned(key)
        if self.waiting.lost:
            journal.warn("rows that waited for a label are lost", rows=self.waiting.lost)
        self._queue: deque[Task] = deque()
        self._queued = 0
        self._wake = threading.Condition()
        self._stopping = False
        self._rows_since = 0
        self._checked = self._saved = time.monotonic()
        self._thread = threading.Thread(target=self._run, name=f"learn {served.name}", daemon=True)
        self._thread.start()

    # ---- after a start ---------------------------------------------------------------------------

    def _recover(self, log: Log) -> None:
        """The model as it was: the checkpoint's, then what the log holds behind it."""
        start = time.monotonic()
        position = 0
        found = log.checkpoint()
        if found is not None:
            learner, document = found
            extra = document.get("extra")
            kept = extra.get("serve") if isinstance(extra, dict) else None
            if not isinstance(kept, dict):
                what = "a model, but no checkpoint of `budgetron serve`"
                raise BudgetronError(f"{log.place}: {what}: name another folder")
            if kept.get("origin") != self.served.origin:
                what = "its checkpoint is of another model of this name"
                raise BudgetronError(f"{log.place}: {what}: name another folder, or remove it")
            table = extra.get("table") if isinstance(extra, dict) else None
            try:
                self.served.take(learner, None if table is None else Layout.from_json(table))
                self.remembered.restore(kept["recent"])
                self.served.monitor.restore(kept["monitor"])
                position = int(kept["position"])
            except (KeyError, ValueError, TypeError) as error:
                raise BudgetronError(f"{log.place}: damaged: {error}") from None
        try:
            for learned in log.replay(position):
                self._apply(learned)
                self.replayed += len(learned.labels)
            if found is None:
                self._save(log)
        except OSError as error:
            self._fails(error)
        if found is not None or self.replayed:
            self._journal.say(
                "going on",
                model=self.served.name,
                replayed=self.replayed,
                torn_bytes=log.torn,
                seconds=round(time.monotonic() - start, 3),
            )

    def _apply(self, learned: Learned) -> dict[str, Any] | Refused:
        """Learn a record, or say why it is refused: the same after a restart as at first.

        A record that is refused leaves the model as it was, and its id is not remembered.
        """
        if learned.layout is not None and self.served.layout is None:
            self.served.read_by(Layout.from_json(learned.layout))
        try:
            wrong = self.served.learn(unpack(learned.rows), learned.labels)
        except BudgetronError as error:
            return bad(str(error))
        if learned.key:
            self.remembered.add(learned.key)
        return {"learned": len(learned.labels), "mistakes": wrong, "status": "learned"}

    # ---- requests --------------------------------------------------------------------------------

    def submit(self, task: Task) -> Future[dict[str, Any]]:
        """Queue a request; what it returns is done when it has been learned, or refused."""
        with self._wake:
            if self._stopping:
                raise Refused(503, "the server is stopping: try again", 5)
            if self._queued + task.size > self._settings.most_queued:
                what = f"{self._queued:,} rows wait to be learned already"
                raise Refused(503, f"{what}: try again", 1)
            self._queue.append(task)
            self._queued += task.size
            self._wake.notify()
        return task.done

    @property
    def queued(self) -> int:
        """Rows that wait to be learned."""
        return self._queued

    def _take(self) -> list[Task]:
        """What is queued, up to a number of rows; nothing after a while without any."""
        with self._wake:
            if not self._queue and not self._stopping:
                self._wake.wait(0.5)
            group: list[Task] = []
            rows = 0
            while self._queue and rows < GROUP:
                group.append(self._queue.popleft())
                rows += group[-1].size
            self._queued -= rows
            return group

    def _run(self) -> None:
        while True:
            group = self._take()
            try:
                if group:
                    self._commit(group)
                elif self._stopping:
                    break
                self._keep_up()
            except Exception as error:  # a bug: the thread goes on, the requests are told
                self._journal.fault("a group was not learned", error, model=self.served.name)
                for task in group:
                    if not task.done.done():
                        task.done.set_exception(Refused(500, "the server made a mistake"))
        self._stop()

    def _commit(self, group: list[Task]) -> None:
        """Log a group, learn it, and say so."""
        tasks: list[tuple[Task, Learned]] = []
        answers: list[tuple[Task, dict[str, Any] | Refused]] = []
        repeats: list[Task] = []
        keys: set[bytes] = set()
        for task in group:
            if task.key and (task.key in self.remembered or task.key in keys):
                repeats.append(task)
                continue
            learned = self._found(task)
            if isinstance(learned, Refused):
                answers.append((task, learned))
                continue
            tasks.append((task, learned))
            if task.key:
                keys.add(task.key)
        if tasks and self._logged([learned for _, learned in tasks]):
            for task, learned in tasks:
                answers.append((task, self._apply(learned)))
                if task.key in self.remembered:
                    self.waiting.learned(task.key)
                self._rows_since += task.size
        elif tasks:
            why = Refused(503, f"nothing can be learned now: {self.failing}: try again", 5)
            answers += [(task, why) for task, _ in tasks]
        self.repeats += len(repeats)
        for task in repeats:
            known = task.key in self.remembered
            again = Refused(503, "the same request has just been refused: try again", 1)
            answers.append((task, {"learned": 0, "status": "already learned"} if known else again))
        for task, answer in answers:
            if isinstance(answer, Refused):
                task.done.set_exception(answer)
            else:
                task.done.set_result(answer)

    def _found(self, task: Task) -> Learned | Refused:
        """The record of a request, with the rows that waited if it brings none."""
        rows = task.rows
        if rows is None:
            rows = self.waiting.find(task.key)
            if rows is None:
                self.waiting.miss()
                return Refused(404, f"no row waits for a label under the id {task.id!r}")
            if rows.rows != len(task.labels):
                return bad(f"{rows.rows} rows wait under the id, {len(task.labels)} labels came")
        layout = None if task.layout is None else task.layout.to_json()
        return Learned(rows, task.labels, task.key, layout)

    def _logged(self, group: list[Learned]) -> bool:
        """Whether the group is in the log, where there is one."""
        if self.log is None:
            return True
        start = time.perf_counter()
        try:
            self.log.add(group)
        except OSError as error:
            self._fails(error)
            return False
        self._works()
        rows = sum(len(each.labels) for each in group)
        self.on_group(rows, time.perf_counter() - start)
        return True

    def _fails(self, error: OSError) -> None:
        why = (error.strerror or str(error)).lower()
        if self.failing != why:
            self._journal.warn("the log cannot be written", model=self.served.name, why=why)
        self.failing = why

    def _works(self) -> None:
        if self.failing is not None:
            self._journal.say("the log can be written again", model=self.served.name)
        self.failing = None

    # ---- checkpoints -----------------------------------------------------------------------------

    def _keep_up(self) -> None:
        """What is to be done now and then: a checkpoint, rows that wait, a log that failed."""
        now = time.monotonic()
        if self.log is None:
            return
        if self.failing is not None and now - self._checked > 1:
            self._checked = now
            try:
                self.log.probe()
                self._works()
            except OSError as error:
                self._fails(error)
        due = now - self._saved > self._settings.every_seconds and self._rows_since
        due = due or self._rows_since >= self._settings.every_rows or self.log.bytes > LARGEST_LOG
        if due and self.failing is None and (self.stale is None or now - self._checked > 5):
            self._checked = now
            self._save(self.log)

    def _save(self, log: Log) -> None:
        """Write a checkpoint; what keeps it from being written is told, and the log goes on."""
        served = self.served
        extra: dict[str, Any] = {
            "serve": {
                "position": log.position,
                "origin": served.origin,
                "recent": self.remembered.state(),
                "monitor": served.monitor.state(),
            }
        }
        if served.layout is not None:
            extra["table"] = served.layout.to_json()
        try:
            log.cut(served.learner, extra)
        except (OSError, BudgetronError) as error:
            text = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
            if self.stale is None:
                what = "no checkpoint can be written"
                self._journal.warn(what, model=served.name, why=text.lower())
            self.stale = text.lower()
            return
        self.stale = None
        self.checkpoints += 1
        self._rows_since = 0
        self._saved = time.monotonic()

    # ---- the end ---------------------------------------------------------------------------------

    def stop(self) -> None:
        """Learn what is queued, write a last checkpoint, and end."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._thread.join()

    def _stop(self) -> None:
        if self.log is not None:
            if self._rows_since and self.failing is None:
                self._save(self.log)
            self.log.close()
        self.waiting.close()
