"""Where `run` sends its answers: each prediction, with the row's id, from before learning it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from budgetron.cli._console import note
from budgetron.cli._tally import finite, plain

if TYPE_CHECKING:
    from budgetron.evaluate.predictions import Answers
    from budgetron.sources.protocol import Sink
    from budgetron.sources.stream import LiveStream


class Out:
    """Sends answers to a sink, and waits if the sink is not reachable.

    Parameters
    ----------
    sink : None: answers for rows with late labels are only counted
    model : the model that answers rows with late labels
    stream : the stream of these rows

    Attributes
    ----------
    gave_up : the command was stopped while the sink was not reachable: not all was sent
    """

    def __init__(self, sink: Sink | None, model: Any, stream: LiveStream) -> None:
        from budgetron.sources.waiting import Patience

        self._sink, self._model, self._stream = sink, model, stream
        self._stop: Callable[[], bool] = lambda: False
        self.gave_up = False
        self.joined = stream.joined
        if sink is not None:
            self._patience = Patience(sink.name, note, lambda: self._stop())
        if self.joined is not None:
            self.joined.answer = self._to_rows_without_labels
            # The first rows, which define the columns, came before there was a model.
            self._write([{"id": id, "prediction": None} for id in self.joined.unanswered])
            self.joined.unanswered = []

    def stop_when(self, asked: Callable[[], bool]) -> None:
        """Give up as soon as `asked` returns True, if the sink is not reachable."""
        self._stop = asked

    def send(self, ids: list[Any] | None, answers: Answers | None, y: Any) -> None:
        """Send the answers for the rows of a chunk, with their labels; not if labels come late."""
        if self._sink is None or self.joined is not None or answers is None or ids is None:
            return
        pairs = zip(ids, answers.values.tolist(), answers.known.tolist(), y.tolist(), strict=True)
        lines = []
        for id, value, known, label in pairs:
            said = _written(value) if known else None
            lines.append({"id": id, "prediction": said, "label": _written(label)})
        if answers.alarms is not None:
            for line, alarm in zip(lines, answers.alarms.tolist(), strict=True):
                line["alarm"] = alarm
        self._write(lines)

    def flush(self) -> None:
        """Wait until all that was sent has arrived, unless it gave up."""
        if self._sink is not None:
            self._try(self._sink.flush)

    def mark(self) -> dict[str, Any]:
        """The state that a checkpoint keeps."""
        return {} if self._sink is None else {"out": self._sink.mark()}

    def close(self) -> None:
        if self._sink is not None:
            self._sink.close()

    def _to_rows_without_labels(self, ids: list[str], rows: list[bytes]) -> list[Any]:
        found: list[Any] = [None] * len(rows)
        if hasattr(self._model, "n_seen_"):
            X, origin = self._stream.unlabelled(rows)
            if len(origin):
                values = self._model.predict(X).tolist()
                for at, value in zip(origin.tolist(), values, strict=True):
                    found[at] = _written(value)
        pairs = zip(ids, found, strict=True)
        self._write([{"id": id, "prediction": value} for id, value in pairs])
        return found

    def _write(self, lines: list[dict[str, Any]]) -> None:
        sink = self._sink
        if sink is None:
            return
        sent = [(str(each["id"]), json.dumps(each).encode()) for each in lines]
        left = [sent]

        def write() -> None:  # if only sending failed, lines already taken are not written again
            if left:
                sink.write(left.pop())
            else:
                sink.flush()

        self._try(write)

    def _try(self, act: Callable[[], None]) -> None:
        def done() -> bool:
            act()
            return True

        if not self.gave_up and self._patience(done) is None:
            self.gave_up = True


def _written(value: Any) -> Any:
    """A label or a number for JSON."""
    written = plain(value) if not isinstance(value, float) else finite(value)
    return int(written) if isinstance(written, float) and written.is_integer() else written
