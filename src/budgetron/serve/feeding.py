"""A source of messages that a served model learns: a thread reads it, the writer learns it.

    source  ->  rows (sources/)  ->  the writer's queue  ->  log, with the position after them

A log record holds rows and the position in the source after them; the checkpoint holds the position
too. One write keeps both: after a kill the source is read from the position after the last row of
the log, so every message is learned exactly once. A chunk is queued when the one before it is
learned: if the log cannot be written nothing more is read, and messages wait in the source.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

from budgetron.errors import BudgetronError
from budgetron.serve.errors import Refused
from budgetron.serve.journal import Journal
from budgetron.serve.packed import pack
from budgetron.serve.writer import Task, Writer
from budgetron.sources import is_live, without_password
from budgetron.sources.messages import Live
from budgetron.sources.waiting import FIRST, LONGEST
from budgetron.streams import SourceOptions, open_stream
from budgetron.streams.table import arrow
from budgetron.streams.table.roles import Layout
from budgetron.tables.encoding import Encoding, Wishes
from budgetron.tables.kinds import Limits

ROWS = 500  # per log record


@dataclass(frozen=True)
class Feeding:
    """The sources that a model learns from.

    Parameters
    ----------
    source : as for `budgetron run`, for example kafka://HOST/TOPIC; empty, with labels: the rows
        are those that were sent over HTTP with an id
    options : how its messages are read
    dead_letters : file for bad messages; None: they are only counted
    labels : source of labels that come after their rows; None: the rows have their labels
    id : key of a row's id, in the messages of rows and of labels
    """

    source: str
    options: SourceOptions = field(default_factory=SourceOptions)
    dead_letters: str | None = None
    labels: str | None = None
    id: str = "id"

    def __post_init__(self) -> None:
        for each in (self.source, self.labels):
            if each and not is_live(each):
                what = "is not a source of messages, such as tail:FILE or kafka://HOST/TOPIC"
                raise BudgetronError(f"{each}: {what}")
        arrow(self.name)

    @property
    def name(self) -> str:
        """The name of the source without secrets."""
        return without_password(self.source or self.labels or "")


class Feed:
    """Lets a model learn a source until it is stopped.

    Parameters
    ----------
    writer : the writer of the model
    feeding : what to learn
    journal : receives log messages

    Attributes
    ----------
    problem : why nothing is read; None: all is well
    ended : the source has ended for good
    """

    def __init__(self, writer: Writer, feeding: Feeding, journal: Journal) -> None:
        self._writer, self._feeding, self._journal = writer, feeding, journal
        self.name = feeding.name
        self.problem: str | None = None
        self.ended = False
        self._stream: Any = None
        self._refused = 0
        self._stopping = threading.Event()
        self._check_places()
        known = f"feed {writer.served.name}"
        self._thread = threading.Thread(target=self._run, name=known, daemon=True)

    def _check_places(self) -> None:
        """Raise BudgetronError if the folder has a position in another source."""
        self._check(self._writer.place, self.name)
        self._check(self._writer.waiting.place, None)

    def _check(self, place: dict[str, Any] | None, name: str | None) -> None:
        if place is not None and place.get("source") != name:
            what = f"its position is in {place.get('source')}, not in {name or self.name}"
            raise BudgetronError(
                f"{self._writer.folder}: {what}: pass that source, or another folder"
            )

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def stop(self) -> None:
        """Stop reading; rows already read are learned, or read again after the next start."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()

    def status(self) -> dict[str, Any]:
        """What the page, stats and metrics show about the source."""
        stream = self._stream
        lag, unit = (None, "messages") if stream is None else stream.behind
        place = self._writer.place or {}
        return {
            "name": self.name,
            "rows": place.get("bookmark", {}).get("rows", 0),
            "bad": (0 if stream is None else stream.n_bad) + self._refused,
            "lag": lag,
            "unit": unit,
            "problem": self.problem,
            "ended": self.ended,
        }

    # ---- reading ---------------------------------------------------------------------------------

    def _run(self) -> None:
        pause = FIRST
        while not self._stopping.is_set():
            try:
                with self._opened() as stream:
                    self._stream = stream
                    if self._follow(stream):
                        pause = FIRST
                    self.ended = not self._stopping.is_set()
                return
            except BudgetronError as error:
                if self._stopping.is_set():
                    return
                self._fails(str(error))
            except Exception as error:  # a bug: the position is known, so it is read again
                self._journal.fault("a source was not read", error, model=self._model)
                self.problem = "the server has a bug; its log says more"
            self._stream = None
            self._stopping.wait(pause)
            pause = min(2 * pause, LONGEST)

    @property
    def _model(self) -> str:
        return self._writer.served.name

    def _opened(self) -> Any:
        """The stream from the position in the log."""
        served = self._writer.served
        options = self._feeding.options
        layout = served.layout
        if layout is None and served.learned:
            layout = self._of_numbers()
        label = options.label
        if label is None and layout is not None and layout.label is not None:
            label = layout.label.name
        learned = hasattr(served.learner, "_engine")
        words = (
            served.learned and not served.regression and served.learner.classes_.dtype.kind == "U"
        )
        if words and layout is not None and layout.label is None:  # otherwise 1 would be a number
            label = "label" if label is None else label
            options = replace(options, categorical=(str(label),))
        dtype = served.reader.dtype.name if learned else options.dtype
        live = Live(None, self._feeding.dead_letters, self._tell, stop=self._stopping.is_set)
        options = replace(
            options,
            layout=layout,
            label=label,
            dtype=dtype,
            gaps=served.learner._takes_gaps,
            chunk_rows=ROWS,
            ids=False,
            live=live,
        )
        place = self._writer.place
        return open_stream(
            self._feeding.source, options, position=0 if place is None else place["bookmark"]
        )

    def _of_numbers(self) -> Layout:
        """How to read messages for a model that learned numbers, not a table: by feature names."""
        import pyarrow as pa

        reader = self._writer.served.reader
        wishes = Wishes(
            dict.fromkeys(reader.columns, "number"), limits=Limits(more_rows=True, ids=True)
        )
        table = pa.table({name: [0.0, 1.0] for name in reader.columns})
        return Layout.of(Encoding.infer([table], wishes))

    def _follow(self, stream: Any) -> bool:
        """Learn all that comes; return whether anything came."""
        before: Task | None = None
        came = False
        for X, y in stream:
            came = True
            if self.problem is not None:
                self.problem = None
            kept, labels = self._known(stream, y.tolist())
            task = None
            if labels:
                rows = pack(X if kept is None else X[kept])
                task = Task(labels, rows, layout=stream.layout, place=self._place(stream))
            if before is not None and not self._settled(before):
                return came
            before = task
            if self._stopping.is_set() or (task is not None and not self._submit(task)):
                return came
        if before is not None:
            self._settled(before)
        return came

    def _place(self, stream: Any) -> dict[str, Any]:
        return {"source": self.name, "bookmark": stream.bookmark}

    def _known(self, stream: Any, labels: list[Any]) -> tuple[list[int] | None, list[Any]]:
        """The rows whose labels the model can learn, None for all; the others are bad messages."""
        served = self._writer.served
        if not hasattr(served.learner, "_engine"):
            known = served.classes
            bad = [i for i, each in enumerate(labels) if known is not None and each not in known]
        elif getattr(served.learner, "_closed", False):
            bad = [i for i, each in enumerate(labels) if not served.knows(each)]
        else:
            bad = []
        if not bad:
            return None, labels
        stream.refuse(bad, "has a label that the model does not have")
        wrong = set(bad)
        kept = [i for i in range(len(labels)) if i not in wrong]
        return kept, [labels[i] for i in kept]

    # ---- learning --------------------------------------------------------------------------------

    def _submit(self, task: Task) -> bool:
        """Queue a task as soon as there is room; False: it was stopped before."""
        pause = 0.01
        while True:
            try:
                self._writer.submit(task)
                return True
            except Refused:  # HTTP requests have filled the queue
                if self._stopping.wait(pause):
                    return False
                pause = min(2 * pause, 1.0)

    def _settled(self, task: Task) -> bool:
        """Wait until a task is learned; False: it was stopped before."""
        pause = 0.1
        while (error := task.done.exception()) is not None:
            if isinstance(error, Refused) and error.status == 400:  # it is in the log, and skipped
                self._refused += task.size
                what = "rows of a source were refused"
                self._journal.warn(what, model=self._model, why=str(error))
                return True
            if self._stopping.wait(pause):  # the log cannot be written
                return False
            pause = min(2 * pause, 5.0)
            task.done = Future()
            if not self._submit(task):
                return False
        return True

    # ---- reporting -------------------------------------------------------------------------------

    def _tell(self, text: str) -> None:
        self._journal.warn(text, model=self._model)
        self.problem = text if ": not reachable (" in text else None

    def _fails(self, why: str) -> None:
        if self.problem != why:
            self._journal.warn("a source cannot be read", model=self._model, why=why)
        self.problem = why
