"""Where `run` sends its answers: predictions with the row's id, made before the row was learned."""

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
    """Sends answers to a sink, and waits for it if it is gone.

    Parameters
    ----------
    sink : None: answers to rows whose labels come later are only counted
    model : who answers to rows whose labels come later
    stream : whose rows these are

    Attributes
    ----------
    gave_up : the command was stopped while the sink was gone: not all was sent
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
            # Rows that said what the columns are came before there was a model.
            self._write([{"id": id, "prediction": None} for id in self.joined.unanswered])
            self.joined.unanswered = []

    def stop_when(self, asked: Callable[[], bool]) -> None:
        """Give up as soon as `asked` answers yes, if the sink is gone."""
        self._stop = asked

    def send(self, ids: list[Any] | None, answers: Answers | None, y: Any) -> None:
        """The answers to rows of a chunk, with their labels; not where labels come later."""
        if self._sink is None or self.joined is not None or answers is None or ids is None:
            return
        pairs = zip(ids, answers.values.tolist(), answers.known.tolist(), y.tolist(), strict=True)
        lines = []
        for id, value, known, label in pairs:
            said = _written(value) if known else None
            lines.append({"id": id, "prediction": said, "label": _written(label)})
        self._write(lines)

    def flush(self) -> None:
        """All that was sent has arrived, unless it gave up."""
        if self._sink is not None:
            self._try(self._sink.flush)

    def mark(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
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

        def write() -> None:  # what was taken is not written again where only sending failed
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
    """A label or number as JSON has it."""
    written = plain(value) if not isinstance(value, float) else finite(value)
    return int(written) if isinstance(written, float) and written.is_integer() else written
