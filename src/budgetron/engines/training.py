"""One model learned in shards of a table, on Dask or Ray, and merged.

The rounds are those of `budgetron run --workers` (budgetron/merging/rounds.py): the model learns
the first rows alone, in this process; then come rounds of `every` rows, taken from the table in
order and cut into one part per worker. A task learns a part: a function of the base and the part,
which returns the delta:

    delta_i = learned(base, piece_i),  model = merge(base, delta_1, ..., delta_W)

So a task whose process died is run again with the same result, and the merged model depends on the
order of the rows, on `workers` and on `every`, not on the machines. A round sends the base to each
worker and gets as many deltas back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from budgetron.engines.protocol import Died, Engine
from budgetron.errors import BudgetronError
from budgetron.merging import check_mergeable
from budgetron.merging.rounds import Rounds, name_of, pieces
from budgetron.tables.frames import check_columns

Model = TypeVar("Model")


class _Cut(NamedTuple):
    """Rows from `start` to before `end` of a block."""

    block: Any
    start: int
    end: int


class Table:
    """A table in blocks that are elsewhere, read from the front.

    Parameters
    ----------
    engine : has the blocks
    blocks : references to frames, in order
    """

    def __init__(self, engine: Engine, blocks: Iterator[Any]) -> None:
        self._engine = engine
        self._blocks = blocks
        self._here: deque[_Cut] = deque()

    def take(self, rows: int) -> list[_Cut]:
        """The next rows, so many unless the table ends."""
        found: list[_Cut] = []
        while rows:
            if not self._here:
                block = next(self._blocks, None)
                if block is None:
                    break
                length = self._engine.result(self._engine.submit(_length, block))
                if length:
                    self._here.append(_Cut(block, 0, length))
                continue
            block, start, end = self._here.popleft()
            cut = min(end, start + rows)
            found.append(_Cut(block, start, cut))
            rows -= cut - start
            if cut < end:
                self._here.appendleft(_Cut(block, cut, end))
        return found


def learn_in_shards(
    model: Model,
    engine: Engine,
    blocks: Iterator[Any],
    label: str,
    *,
    features: Sequence[str] | None = None,
    workers: int | None = None,
    every: int | None = None,
) -> Model:
    """Let a model learn a table; see `budgetron.dask.train` and `budgetron.ray.train`."""
    check_mergeable(model)
    if workers is not None and workers < 1:
        raise BudgetronError(f"workers={workers} must be 1 at least")
    if every is not None and (not isinstance(every, int) or every < 1):
        raise BudgetronError(f"merge_every={every!r} must be a whole number, 1 at least")
    count = workers or engine.count
    columns = None if features is None else list(features)
    table, rounds = Table(engine, blocks), Rounds(model, every)
    try:
        while True:
            alone = rounds.rows_alone(rounds.every)
            if alone:
                cuts = table.take(alone)
                if not cuts:
                    break
                spans = [cut[1:] for cut in cuts]
                blocks_here = [cut.block for cut in cuts]
                X, y = engine.result(engine.submit(_cut_out, spans, columns, label, *blocks_here))
                rounds.model.partial_fit(X, y)
                continue
            cuts = table.take(rounds.left)
            if not cuts:
                break
            base = engine.put(rounds.begin())
            tasks = [
                engine.submit(
                    _learn,
                    base,
                    name_of(number),
                    [cut[1:] for cut in piece],
                    columns,
                    label,
                    *[cut.block for cut in piece],
                )
                for number, piece in enumerate(_dealt(cuts, count))
                if piece
            ]
            rounds.end([engine.result(task) for task in tasks])
    except Died as error:
        raise BudgetronError(f"a shard's process died, each time it was tried ({error})") from None
    return model


def _dealt(cuts: Sequence[_Cut], count: int) -> Iterator[list[_Cut]]:
    """The rows in one piece per worker."""
    waiting = deque(cuts)
    for piece in pieces(sum(cut.end - cut.start for cut in cuts), count):
        left, found = piece.stop - piece.start, []
        while left:
            block, start, end = waiting.popleft()
            cut = min(end, start + left)
            found.append(_Cut(block, start, cut))
            left -= cut - start
            if cut < end:
                waiting.appendleft(_Cut(block, cut, end))
        yield found


# ---- in the workers ------------------------------------------------------------------------------


def _length(block: Any) -> int:
    return len(block)


def _cut_out(
    spans: Sequence[tuple[int, int]], columns: list[str] | None, label: str, *blocks: Any
) -> tuple[Any, Any]:
    """Rows of pandas frames, and their labels."""
    import pandas as pd

    parts = [block.iloc[start:end] for (start, end), block in zip(spans, blocks, strict=True)]
    frame = parts[0] if len(parts) == 1 else pd.concat(parts, ignore_index=True)
    check_columns([label, *(columns or [])], frame.columns)
    X = frame.drop(columns=label) if columns is None else frame[columns]
    return X, frame[label].to_numpy()


def _learn(
    base: Any,
    name: str,
    spans: Sequence[tuple[int, int]],
    columns: list[str] | None,
    label: str,
    *blocks: Any,
) -> Any:
    """The delta that a worker of the base learns from a part."""
    worker = base.snapshot()
    worker.partial_fit(*_cut_out(spans, columns, label, *blocks))
    return worker.delta(base, name)
