"""The one thread that teaches a model: it takes queued rows, logs, learns and acknowledges them.

    take all that waits  ->  drop repeats  ->  log, one sync (group commit)  ->  learn  ->  answer

A request is acknowledged after its rows are on disk and learned. The thread learns only rows that
are in the log, so a restart that replays the log has the same model, to the bit. If the log cannot
be written, the model stays as it is and requests are refused until the log works again.
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

GROUP = 4096  # rows logged together
HURRY = 1000  # if more rows wait, answers get fewer pauses
LARGEST_LOG = 256 * 2**20  # bytes after which a checkpoint is due


@dataclass
class Task:
    """A request to learn.

    Parameters
    ----------
    labels : the labels of the rows
    rows : encoded; None: they wait under the key
    key : hash of the request's id; empty: it has none
    id : the id itself, for error messages
    layout : for a new model, how to read its table
    place : position after the rows in the source they come from
    """

    labels: list[Any]
    rows: Packed | None = None
    key: bytes = b""
    id: str = ""
    layout: Layout | None = None
    place: dict[str, Any] | None = None
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
    settings : the settings of the server
    journal : receives log messages
    labels : labels come from a source, maybe before their rows

    Attributes
    ----------
    failing : why nothing can be learned; None: it can
    stale : why no checkpoint can be written; None: it can
    waiting : rows that wait for a label
    place : position in the source after the last row of the log; None: there is none
    source : reports the state of the source; None: there is none
    on_group : called with the rows of a group and the seconds that the log took
    """

    def __init__(
        self, served: Served, settings: Settings, journal: Journal, *, labels: bool = False
    ) -> None:
        self.served, self._settings, self._journal = served, settings, journal
        self.remembered = Remembered(settings.remembered)
        self.failing: str | None = None
        self.stale: str | None = None
        self._queued = 0
        self.repeats = 0
        self.replayed = 0
        self.checkpoints = 0
        self.place: dict[str, Any] | None = None
        self.source: Callable[[], dict[str, Any] | None] = lambda: None
        self.on_group: Callable[[int, float], None] = lambda rows, seconds: None
        self.folder = folder = settings.folder
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
            labels=labels,
        )
        # A killed process may have learned a row before the file of waiting rows said so.
        for key in [*self.waiting.keys_waiting(), *self.waiting.keys_of_labels()]:
            if key in self.remembered:
                self.waiting.learned(key)
        if self.waiting.lost:
            journal.warn("rows that waited for a label are lost", rows=self.waiting.lost)
        self._queue: deque[Task] = deque()
        self._wake = threading.Condition()
        self._stopping = False
        self._rows_since = 0
        self._checked = self._saved = time.monotonic()
        self._thread = threading.Thread(target=self._run, name=f"learn {served.name}", daemon=True)
        self._thread.start()

    # ---- after a start ---------------------------------------------------------------------------

    def _recover(self, log: Log) -> None:
        """Restore the model: the checkpoint, then the log records after it."""
        start = time.monotonic()
        position = 0
        found = log.checkpoint()
        if found is not None:
            learner, document = found
            extra = document.get("extra")
            kept = extra.get("serve") if isinstance(extra, dict) else None
            if not isinstance(kept, dict):
                what = "a model, but not a checkpoint of `budgetron serve`"
                raise BudgetronError(f"{log.place}: {what}: choose another folder")
            if kept.get("origin") != self.served.origin:
                what = "its checkpoint is of another model of this name"
                raise BudgetronError(f"{log.place}: {what}: choose another folder, or remove it")
            table = extra.get("table") if isinstance(extra, dict) else None
            try:
                self.served.take(learner, None if table is None else Layout.from_json(table))
                self.remembered.restore(kept["recent"])
                self.served.monitor.restore(kept["monitor"])
                position = int(kept["position"])
                self.place = kept.get("place")
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
        """Learn a record, or return why it is refused: the same after a restart as at first.

        A refused record leaves the model as it was, and its id is not remembered.
        """
        first = learned.layout is not None and self.served.layout is None
        if first:
            self.served.read_by(Layout.from_json(learned.layout))
        if learned.place is not None:
            self.place = learned.place
        try:
            hurry = self._queued > HURRY
            wrong = self.served.learn(unpack(learned.rows), learned.labels, hurry)
        except BudgetronError as error:
            if first and not hasattr(self.served.learner, "_engine"):
                self.served.read_by(None)
            return bad(str(error))
        if learned.key:
            self.remembered.add(learned.key)
        return {"learned": len(learned.labels), "mistakes": wrong, "status": "learned"}

    # ---- requests --------------------------------------------------------------------------------

    def submit(self, task: Task) -> Future[dict[str, Any]]:
        """Queue a request; the returned future is done when it has been learned or refused."""
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
        """Take queued requests, up to a number of rows; none after a while without any."""
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
            except Exception as error:  # a bug: the thread goes on, the requests get an error
                self._journal.fault("a group was not learned", error, model=self.served.name)
                for task in group:
                    if not task.done.done():
                        task.done.set_exception(Refused(500, "the server has a bug"))
        self._stop()

    def _commit(self, group: list[Task]) -> None:
        """Log a group, learn it, and acknowledge it."""
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
        """The record of a request, with the waiting rows if it brings none."""
        rows = task.rows
        if rows is None:
            rows = self.waiting.find(task.key)
            if rows is None:
                self.waiting.miss()
                return Refused(404, f"no row waits for a label under the id {task.id!r}")
            if rows.rows != len(task.labels):
                return bad(f"{rows.rows} rows wait under the id, {len(task.labels)} labels came")
        new = task.layout is not None and self.served.layout is None
        layout = task.layout.to_json() if new and task.layout is not None else None
        return Learned(rows, task.labels, task.key, layout, task.place)

    def _logged(self, group: list[Learned]) -> bool:
        """Write the group to the log, if there is one; return whether that worked."""
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
        """Periodic work: a checkpoint, waiting rows, a log that failed."""
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
        """Write a checkpoint; if that fails, report why and continue the log."""
        served = self.served
        extra: dict[str, Any] = {
            "serve": {
                "position": log.position,
                "origin": served.origin,
                "recent": self.remembered.state(),
                "monitor": served.monitor.state(),
            }
        }
        if self.place is not None:
            extra["serve"]["place"] = self.place
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
