"""One model learned in the partitions of a table on Spark, and merged.

The model learns the first rows on the driver. Each round then sends it, as a base, to all
partitions; each learns its next part, and the deltas are merged into the base of the next round:

    delta_p = learned(base, piece_p),  base' = merge(base, delta_1, ..., delta_P)

A task is a function of the base and the part, so a repeated task changes nothing, and the model
depends on the rows, on their partitions and on `rounds`, not on the machines. Each round reads the
table once; it sends P bases out and gets P deltas back. Some partitions differ from read to read
(range partitions are drawn from a sample), so the table is persisted meanwhile.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from budgetron.errors import BudgetronError
from budgetron.merging import check_mergeable, merge
from budgetron.scoring import numbers, stacked
from budgetron.spark.missing import spark_module
from budgetron.tables.frames import arrow, check_columns

Model = TypeVar("Model")
Span = tuple[int, int]  # start and end of rows of a partition


def train(
    model: Model,
    table: Any,
    label: str,
    *,
    features: Sequence[str] | str | None = None,
    rounds: int = 4,
    first: int = 7000,
) -> Model:
    """Let a model learn a DataFrame in its partitions, in rounds that are merged.

    Parameters
    ----------
    model : an estimator that can be merged (docs/guide/merge.md); it does not change
    table : a DataFrame. It is read ``rounds + 2`` times, and persisted meanwhile, in memory or on
        the workers' disks, so that partitions have the same rows each time
    label : column of the labels; rows without one are left out
    features : columns of numbers, or one column with an array of numbers per row. None: all others
    rounds : number of rounds; each partition's rows are cut into so many parts
    first : rows of the first partitions that are learned on the driver before: at least 200, unless
        the model has learned already

    Returns
    -------
    model : a model that has learned all rows; it can go on learning

    Raises
    ------
    BudgetronError
        If PySpark is not installed, the learner cannot be merged, a column is missing, or
        partitions had other rows when they were read again, which may happen after a worker was
        lost with its persisted rows.

    Examples
    --------
    >>> import budgetron
    >>> from budgetron.spark import train
    >>> model = budgetron.make("budgetron", budget=100)
    >>> model = train(model, spark.read.parquet("rows/"), "y")  # doctest: +SKIP
    """
    spark_module()
    check_mergeable(model)
    if features is None:
        features = [name for name in table.columns if name != label]
    names = [features] if isinstance(features, str) else list(features)
    check_columns([label, *names], table.columns)
    for name, value, least in (("rounds", rounds, 1), ("first", first, 0)):
        if not isinstance(value, int) or value < least:
            raise BudgetronError(f"{name}={value!r} must be a whole number, {least} at least")
    table = table.select(label, *names).dropna(subset=[label]).persist()
    try:
        found = _trained(
            model, table, label, features if isinstance(features, str) else names, rounds, first
        )
    finally:
        table.unpersist()
    return found


def _trained(
    model: Model, table: Any, label: str, features: list[str] | str, rounds: int, first: int
) -> Model:
    merged: Any = pickle.loads(pickle.dumps(model))
    left = _learn_first(merged, table, _sizes(table), first, label, features)
    for number in range(rounds):
        spans = _pieces(left, number, rounds)
        if not spans:
            continue
        base = merged.base()
        worker = _Worker(base, spans, label, features)
        rows = table.mapInArrow(worker, "rows long, delta binary").collect()
        if sum(row["rows"] for row in rows) != sum(end - start for start, end in spans.values()):
            what = "the partitions had other rows when they were read again"
            raise BudgetronError(f"{what}: write the table to files, and read these")
        merged = merge(base, [pickle.loads(bytes(row["delta"])) for row in rows])
    found: Model = merged
    return found


def _pieces(left: dict[int, Span], number: int, rounds: int) -> dict[int, Span]:
    """The part of each partition in a round; partitions without one are left out."""
    found = {}
    for part, (start, end) in left.items():
        cuts = [start + (end - start) * each // rounds for each in (number, number + 1)]
        if cuts[0] < cuts[1]:
            found[part] = (cuts[0], cuts[1])
    return found


def _sizes(table: Any) -> dict[int, int]:
    """Rows of each partition."""
    counted = table.mapInArrow(_counted, "part int, rows long").collect()
    return {row["part"]: row["rows"] for row in sorted(counted, key=lambda row: row["part"])}


def _learn_first(
    model: Any, table: Any, sizes: dict[int, int], first: int, label: str, features: Any
) -> dict[int, Span]:
    """Learn the first rows here; return the rest of each partition."""
    spans, wanted = {}, first
    for part, rows in sizes.items():
        here = min(rows, wanted)
        wanted -= here
        if here:
            spans[part] = (0, here)
    if spans:
        rows = table.mapInArrow(_Cut(spans), table.schema).toArrow()
        model.partial_fit(*_taken_apart(rows, label, features))
    return {part: (spans.get(part, (0, 0))[1], rows) for part, rows in sizes.items()}


# ---- in the workers ------------------------------------------------------------------------------


def _part() -> int:
    """The number of the partition whose task this is."""
    context = spark_module("pyspark").TaskContext.get()
    return int(context.partitionId())


def _counted(batches: Iterable[Any]) -> Iterator[Any]:
    pa = arrow()
    rows = sum(batch.num_rows for batch in batches)
    yield pa.RecordBatch.from_arrays(
        [pa.array([_part()], pa.int32()), pa.array([rows], pa.int64())], names=["part", "rows"]
    )


class _Cut:
    """The rows of a span of each partition, batch by batch."""

    def __init__(self, spans: dict[int, Span]) -> None:
        self._spans = spans

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        start, end = self._spans.get(_part(), (0, 0))
        at = 0
        for batch in batches:
            if at >= end:
                return
            low, high = max(start - at, 0), min(end - at, batch.num_rows)
            if low < high:
                yield batch.slice(low, high - low)
            at += batch.num_rows


class _Worker:
    """What a worker of a base learns from the part of its partition: one row, with the delta."""

    def __init__(self, base: Any, spans: dict[int, Span], label: str, features: Any) -> None:
        self._base, self._spans, self._label, self._features = base, spans, label, features

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        pa = arrow()
        cut: Callable[[Iterable[Any]], Iterator[Any]] = _Cut(self._spans)
        worker, rows = self._base.snapshot(), 0
        for batch in cut(batches):
            worker.partial_fit(*_taken_apart(batch, self._label, self._features))
            rows += batch.num_rows
        if rows:
            delta = pickle.dumps(worker.delta(self._base, f"partition {_part():06}"))
            yield pa.RecordBatch.from_arrays(
                [pa.array([rows], pa.int64()), pa.array([delta], pa.binary())],
                names=["rows", "delta"],
            )


def _taken_apart(rows: Any, label: str, features: list[str] | str) -> tuple[Any, Any]:
    """Features of Arrow rows, by their names if they have any, and labels."""
    pa = arrow()
    if isinstance(features, str):
        X = stacked(rows.column(features), features)
    else:
        X = pa.table({name: numbers(rows.column(name), name) for name in features})
    return X, np.asarray(rows.column(label).to_pylist())
