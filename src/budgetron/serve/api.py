"""The handlers: the Open Inference Protocol, and learn, explain, stats and file.

The event loop answers requests of a few rows itself; a thread answers larger ones, so that other
requests need not wait.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any, TypeVar

import budgetron
from budgetron.serve import arrow, tensors
from budgetron.serve.bodies import Explain, Infer, Learn, checked_id, read, to_json
from budgetron.serve.errors import Refused, bad
from budgetron.serve.exchange import Answer, Asked
from budgetron.serve.guard import Guard
from budgetron.serve.live import overview
from budgetron.serve.metrics import CONTENT_TYPE, Metrics
from budgetron.serve.packed import pack
from budgetron.serve.remembered import key_of
from budgetron.serve.served import Served
from budgetron.serve.settings import Settings
from budgetron.serve.writer import Task, Writer
from budgetron.streams.table.roles import Layout

SMALL = 16_384  # largest body, in bytes, that the event loop handles itself
EXPLAINED = 100  # rows of a request
R = TypeVar("R")


class Api:
    """The handlers.

    Parameters
    ----------
    writers : the writers of the models, by name
    settings, metrics, guard : those of the server
    """

    def __init__(
        self, writers: dict[str, Writer], settings: Settings, metrics: Metrics, guard: Guard
    ) -> None:
        self._writers, self._settings = writers, settings
        self._metrics, self._guard = metrics, guard
        self._first = {name: asyncio.Lock() for name in writers}
        self.stopping = False

    def _model(self, asked: Asked) -> Writer:
        name = asked.path["name"]
        writer = self._writers.get(name)
        if writer is None:
            raise Refused(404, f"there is no model {name[:64]!r}; the models are {self._names}")
        return writer

    @property
    def _names(self) -> str:
        return ", ".join(self._writers)

    # ---- health and descriptions -----------------------------------------------------------------

    async def live(self, asked: Asked) -> Answer:
        """Whether the process answers."""
        return Answer(to_json({"live": True}))

    async def ready(self, asked: Asked) -> Answer:
        """Whether it predicts, and what keeps it from learning."""
        problems = [
            {"model": name, "problem": what, "why": why}
            for name, each in self._writers.items()
            for what, why in (
                ("refuses to learn", each.failing),
                ("writes no checkpoint", each.stale),
                ("does not write rows that wait for a label", each.waiting.failing),
                ("does not read its source", (each.source() or {}).get("problem")),
            )
            if why is not None
        ]
        writers = self._writers.values()
        learns = self._settings.learn or any(each.source() for each in writers)
        learns = learns and all(each.failing is None for each in writers)
        content = {
            "live": True,
            "ready": not self.stopping,
            "learning": learns,
            "problems": problems,
        }
        return Answer(to_json(content), status=503 if self.stopping else 200)

    async def server(self, asked: Asked) -> Answer:
        """The server's name and version."""
        extensions = ["rows", "arrow", "learn", "explain", "stats", "file"]
        content = {"name": "budgetron", "version": budgetron.__version__, "extensions": extensions}
        return Answer(to_json(content))

    async def models(self, asked: Asked) -> Answer:
        """The names of the models."""
        return Answer(to_json({"models": list(self._writers)}))

    async def model(self, asked: Asked) -> Answer:
        """Inputs and outputs of a model."""
        return Answer(to_json(self._model(asked).served.metadata()))

    async def model_ready(self, asked: Asked) -> Answer:
        """Whether a model predicts."""
        served = self._model(asked).served
        content = {"name": served.name, "ready": served.learned and not self.stopping}
        return Answer(to_json(content), status=200 if content["ready"] else 503)

    async def stats(self, asked: Asked) -> Answer:
        """Counts of a model; with ?history=1 also the curve."""
        writer = self._model(asked)
        content = overview(writer)
        if asked.option("history"):
            content["history"] = writer.served.monitor.history()
        return Answer(to_json(content))

    async def metrics(self, asked: Asked) -> Answer:
        """For Prometheus."""
        return Answer(await asyncio.to_thread(self._metrics.text), CONTENT_TYPE)

    async def file(self, asked: Asked) -> Answer:
        """A model file."""
        served = self._model(asked).served
        body = await asyncio.to_thread(served.file)
        name = f'attachment; filename="{served.name}.btn"'.encode()
        kind = "application/octet-stream"
        return Answer(body, kind, headers=[(b"content-disposition", name)])

    # ---- rows ------------------------------------------------------------------------------------

    def _rows(
        self, served: Served, rows: Sequence[Any] | None, inputs: Sequence[Any] | None
    ) -> list[Any]:
        """The rows of a body, as objects or arrays."""
        if (rows is None) == (inputs is None):
            raise bad("send rows, or inputs as tensors")
        most = self._settings.most_rows
        if inputs is not None:
            return tensors.rows_of(inputs, served.reader, most)
        found = list(rows or ())
        if len(found) > most:
            raise Refused(413, f"a request has at most {most:,} rows")
        return found

    async def infer(self, asked: Asked) -> Answer:
        """Predictions."""
        start = time.perf_counter()
        writer = self._model(asked)
        work = self._inferred if not asked.arrow else self._inferred_arrow
        if len(asked.body) <= SMALL:
            answer, rows = work(writer, asked)
        else:
            answer, rows = await asyncio.to_thread(work, writer, asked)
        writer.served.pulse.took(time.perf_counter() - start, rows)
        return answer

    def _inferred(self, writer: Writer, asked: Asked) -> tuple[Answer, int]:
        body = read(Infer, asked.body)
        served = writer.served
        found = self._rows(served, body.rows, body.inputs)
        if not served.learned:
            raise Refused(409, "the model has learned nothing yet: learn some rows first")
        X = served.reader.rows(found)
        labels, chances, classes = served.predict(X)
        content: dict[str, Any] = {"model_name": served.name}
        if body.id is not None:
            content["id"] = checked_id(body.id)
            content["parameters"] = {"kept": self._keep(writer, asked, body.id, X)}
        content["outputs"] = tensors.outputs(labels, chances, classes, body.outputs)
        return Answer(to_json(content)), len(labels)

    def _inferred_arrow(self, writer: Writer, asked: Asked) -> tuple[Answer, int]:
        served = writer.served
        table = arrow.table_in(asked.body, self._settings.most_rows)
        X = served.reader.table(table)
        labels, chances, classes = served.predict(X)
        id = checked_id(asked.option("id"))
        if id is not None:
            self._keep(writer, asked, id, X)
        return Answer(arrow.answer(labels, chances, classes), arrow.TYPES[0]), len(labels)

    def _keep(self, writer: Writer, asked: Asked, id: str, X: Any) -> bool:
        """Keep rows for their label, if the sender may learn; return whether they are kept."""
        key = key_of(id)
        if not self._settings.learn or key in writer.remembered:
            return False
        if not self._guard.shows_token(asked.scope):
            return False
        writer.waiting.keep(key, pack(X))
        return key in writer.waiting  # False if the rows are too large to wait

    # ---- learning --------------------------------------------------------------------------------

    async def learn(self, asked: Asked) -> Answer:
        """Learn rows with labels, or the labels of waiting rows."""
        if not self._settings.learn:
            raise Refused(403, "this server does not learn: start it with --learn")
        writer = self._model(asked)
        source = writer.source()
        if writer.served.reader.new and source is not None and "labels" not in source:
            raise Refused(
                409, "the first rows of this model come from its source: wait for them", 5
            )
        if writer.served.reader.new:  # the first rows fix the columns
            async with self._first[writer.served.name]:
                if writer.served.reader.new:
                    return await self._learned(writer, asked)
        return await self._learned(writer, asked)

    async def _learned(self, writer: Writer, asked: Asked) -> Answer:
        work = self._tasks if not asked.arrow else self._tasks_of_arrow
        if len(asked.body) <= SMALL:
            tasks, content = work(writer, asked)
        else:
            tasks, content = await asyncio.to_thread(work, writer, asked)
        done = [asyncio.wrap_future(writer.submit(task)) for task in tasks]
        waited = asyncio.gather(*done, return_exceptions=True)
        try:
            results = await asyncio.wait_for(
                asyncio.shield(waited), timeout=self._settings.learn_seconds
            )
        except TimeoutError:
            what = "it is not learned yet: send it again with the same id"
            raise Refused(503, what, 1) from None
        answers = []
        for result in results:
            if isinstance(result, BaseException) and (len(results) == 1 or not _one_label(result)):
                raise result
            if isinstance(result, BaseException):
                answers.append({"status": "refused", "learned": 0, "error": str(result)})
            else:
                answers.append(result)
        durable = writer.log is not None and self._settings.durable
        rows = writer.served.learner.n_seen_ if writer.served.learned else 0
        content = {"model_name": writer.served.name, **content, "rows": rows, "durable": durable}
        if len(answers) == 1:
            content |= answers[0]
        else:
            content["learned"] = sum(each["learned"] for each in answers)
            content["results"] = answers
        return Answer(to_json(content))

    def _tasks(self, writer: Writer, asked: Asked) -> tuple[list[Task], dict[str, Any]]:
        body = read(Learn, asked.body)
        served = writer.served
        reader = served.reader
        id = checked_id(body.id)
        if body.label is not None and body.labels is not None:
            raise bad("send label, or labels")
        labels = body.labels if body.label is None else [body.label]
        if not labels:
            raise bad("the label is missing: send rows and labels, or id and label")
        labels = reader.labels(labels)
        if body.ids is not None:
            if len(body.ids) > self._settings.most_rows:
                raise Refused(413, f"a request has at most {self._settings.most_rows:,} ids")
            alone = id is None and body.rows is None and body.inputs is None
            if not alone or len(body.ids) != len(labels):
                raise bad("send as many labels as ids, and nothing else")
            if len(set(body.ids)) < len(body.ids):
                raise bad("ids has the same id twice")
            pairs = zip(body.ids, labels, strict=True)
            return [Task([label], key=_key(each), id=each) for each, label in pairs], {}
        content = {} if id is None else {"id": id}
        if body.rows is None and body.inputs is None:
            if id is None:
                raise bad("send rows and labels, or id and label")
            return [Task(labels, key=_key(id), id=id)], content
        found = self._rows(served, body.rows, body.inputs)
        if len(found) != len(labels):
            raise bad(f"there are {len(found)} rows and {len(labels)} labels")
        layout: Layout | None = None
        if reader.new and found and isinstance(found[0], dict):
            layout = reader.inferred(found)
            reader = type(reader)(served.learner, layout)
        packed = pack(reader.rows(found))
        key = b"" if id is None else _key(id)
        return [Task(labels, packed, key, id or "", layout)], content

    def _tasks_of_arrow(self, writer: Writer, asked: Asked) -> tuple[list[Task], dict[str, Any]]:
        reader = writer.served.reader
        table = arrow.table_in(asked.body, self._settings.most_rows)
        table, labels = arrow.taken_out(table, asked.option("label") or reader.label)
        id = checked_id(asked.option("id"))
        layout: Layout | None = None
        if reader.new:
            layout = reader.inferred(table.to_pylist())
            reader = type(reader)(writer.served.learner, layout)
        packed = pack(reader.table(table))
        key = b"" if id is None else _key(id)
        content = {} if id is None else {"id": id}
        return [Task(reader.labels(labels), packed, key, id or "", layout)], content

    # ---- explaining ------------------------------------------------------------------------------

    async def explain(self, asked: Asked) -> Answer:
        """Explain the predictions for rows."""
        writer = self._model(asked)
        if asked.arrow:
            raise Refused(415, "explain takes JSON")
        return await asyncio.to_thread(self._explained, writer.served, asked)

    def _explained(self, served: Served, asked: Asked) -> Answer:
        body = read(Explain, asked.body)
        found = self._rows(served, body.rows, body.inputs)
        if len(found) > EXPLAINED:
            raise Refused(413, f"explain takes at most {EXPLAINED} rows")
        if not 0 <= body.examples <= 100:
            raise bad("examples is a number from 0 to 100")
        X = served.reader.rows(found)
        objects = isinstance(found[0], dict)
        reasons = served.explain(X, body.examples, found if objects else None)
        return Answer(to_json({"model_name": served.name, "reasons": reasons}))


def _key(id: str) -> bytes:
    checked_id(id)
    return key_of(id)


def _one_label(error: BaseException) -> bool:
    """Whether only this one of several labels is refused; else the whole request is."""
    return isinstance(error, Refused) and error.status in (400, 404)
