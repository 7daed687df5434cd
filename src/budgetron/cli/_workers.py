"""`budgetron run --workers N`: one file learned on several processors.

Workers are threads that learn parts of each chunk in parallel (learning releases Python's lock).
budgetron/merging/rounds.py decides when they do so and when the model learns alone. Only its row
number decides which worker learns a row, so two runs give the same result.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from budgetron.evaluate.predictions import Answers


class Crew:
    """A model and its workers.

    Parameters
    ----------
    model : learns alone, and takes over what the workers learned
    count : number of workers
    every : rows between two merges; None: `Rounds` decides
    """

    def __init__(self, model: Any, count: int, every: int | None = None) -> None:
        from budgetron.merging.rounds import Rounds

        self.model = model
        self._rounds = Rounds(model, every)
        self._count = count
        self._threads = ThreadPoolExecutor(count, "worker")
        self._workers: list[Any] = []

    @property
    def merges(self) -> int:
        """How many times the workers have been merged."""
        return self._rounds.merges

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown()

    def test_then_train(self, face: Callable[[Any], Any], X: Any, y: Any) -> Answers:
        """Predict and learn the rows; return the answers. `face` is the adapter of the tally."""
        from budgetron.evaluate.predictions import Answers

        rounds = self._rounds
        parts: list[Answers] = []
        start = 0
        while start < len(y):
            if rounds.base is None:
                alone = rounds.rows_alone(len(y) - start)
                if alone:
                    piece = slice(start, start + alone)
                    parts.append(face(self.model).test_then_train(X[piece], y[piece]))
                    start += alone
                    continue
                base = rounds.begin()
                self._workers = [base.snapshot() for _ in range(self._count)]
            end = min(len(y), start + rounds.left)
            parts += self._side_by_side(face, X[start:end], y[start:end])
            rounds.rows += end - start
            start = end
            if not rounds.left:
                self.merge()
        return parts[0] if len(parts) == 1 else Answers.joined(parts)

    def merge(self) -> None:
        """Merge all that the workers have learned into the model, and end the workers."""
        from budgetron.merging.rounds import name_of

        base = self._rounds.base
        if base is None:
            return
        names = map(name_of, range(len(self._workers)))
        self._rounds.end(
            self._threads.map(lambda worker, name: worker.delta(base, name), self._workers, names)
        )
        self._workers = []

    def _side_by_side(self, face: Callable[[Any], Any], X: Any, y: Any) -> list[Answers]:
        from budgetron.merging.rounds import pieces

        def learn(worker: Any, piece: slice) -> Answers | None:
            if piece.start == piece.stop:
                return None
            answers: Answers = face(worker).test_then_train(X[piece], y[piece])
            return answers

        found = self._threads.map(learn, self._workers, pieces(len(y), self._count))
        return [each for each in found if each is not None]
