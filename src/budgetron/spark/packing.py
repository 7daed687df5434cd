"""Rows packed for the fleet of their bucket: the rows of one bucket in a batch become one row.

Spark passes rows to a stateful operator one by one, as Python objects; packed, thousands pass as
one. A pack is an Arrow stream of the columns key, number, label (the index of its class) and
features (an array of float64 per row). Rows that cannot be learned are counted here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from budgetron import _core
from budgetron.errors import BudgetronError
from budgetron.fleet.keys import encode
from budgetron.scoring import numbers, stacked
from budgetron.tables.frames import arrow

PACKED = "bucket int, bad long, rows binary"
LONGEST = 100_000  # rows per pack


class Columns(NamedTuple):
    """The columns that a fleet learns from; `features` is a list, or one column of arrays."""

    key: str
    sequence: str
    label: str
    features: tuple[str, ...] | str

    @property
    def names(self) -> list[str]:
        """All of them."""
        several = [self.features] if isinstance(self.features, str) else self.features
        return list(dict.fromkeys([self.key, self.sequence, self.label, *several]))


class Rows(NamedTuple):
    """Unpacked rows."""

    keys: Any  # an Arrow array
    numbers: NDArray[np.int64]
    labels: NDArray[np.int64]
    features: NDArray[np.float64]


class Packer:
    """Packs batches of a table; it can be pickled, and `mapInArrow` calls it.

    Parameters
    ----------
    columns : columns of the table
    classes : classes of the fleet
    buckets : number of buckets
    gaps : whether a feature may be missing
    width : features of a row of the fleet; None: it has learned nothing, and the commonest length
        of the arrays of a batch is taken. A row with an array of another length is a bad one
    """

    def __init__(
        self,
        columns: Columns,
        classes: Sequence[Any],
        buckets: int,
        *,
        gaps: bool,
        width: int | None = None,
    ) -> None:
        self.columns, self.classes, self.buckets, self.gaps = columns, classes, buckets, gaps
        self.width = width

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Record batches of the schema `PACKED`."""
        pa = arrow()
        for batch in batches:
            table = pa.Table.from_batches([batch]).select(self.columns.names)
            if not table.num_rows:
                continue
            found = [
                (bucket, bad, pack)
                for start in range(0, table.num_rows, LONGEST)
                for bucket, bad, pack in self._packs(table.slice(start, LONGEST).combine_chunks())
            ]
            names = [each.split(" ")[0] for each in PACKED.split(", ")]
            kinds = (pa.int32(), pa.int64(), pa.binary())
            columns = [
                pa.array(each, kind)
                for each, kind in zip(zip(*found, strict=True), kinds, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, names=names)

    def _packs(self, table: Any) -> Iterator[tuple[int, int, bytes]]:
        pa = arrow()
        columns = self.columns
        keys = table.column(columns.key)
        has_key = ~_flags(keys.is_null(nan_is_null=True))
        # A row without a key is counted in bucket 0.
        where = np.zeros(table.num_rows, dtype=np.int64)
        where[has_key] = _core.fleet_buckets(encode(keys.filter(pa.array(has_key))), self.buckets)
        sequence = table.column(columns.sequence)
        if not pa.types.is_integer(sequence.type):
            what = f"column {columns.sequence!r} holds {sequence.type}"
            raise BudgetronError(f"{what}: sequence numbers are whole numbers")
        whole = np.ones(table.num_rows, dtype=bool)
        if isinstance(columns.features, str):
            X, whole = _arrays(table.column(columns.features), columns.features, self.width)
        else:
            X = np.column_stack([numbers(table.column(n), n) for n in columns.features])
        labels = self._codes(table.column(columns.label))
        good = whole & has_key & ~_flags(sequence.is_null()) & (labels >= 0)
        good &= ~np.isinf(X).any(axis=1) if self.gaps else np.isfinite(X).all(axis=1)
        order = np.argsort(where, kind="stable")
        edges = np.flatnonzero(np.diff(where[order])) + 1
        for rows in np.split(order, edges):
            learned = rows[good[rows]]
            taken = pa.table(
                {
                    "key": keys.take(learned),
                    "number": sequence.take(learned).cast(pa.int64()),
                    "label": labels[learned],
                    "features": pa.FixedSizeListArray.from_arrays(X[learned].ravel(), X.shape[1]),
                }
            )
            yield int(where[rows[0]]), len(rows) - len(learned), _written(taken)

    def _codes(self, labels: Any) -> NDArray[np.int64]:
        """The index of each label among the classes; -1 if it is not one of them."""
        import pyarrow.compute as pc

        pa = arrow()
        text = isinstance(self.classes[0], str)
        kind = labels.type
        is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        if text != is_text:
            what = f"column {self.columns.label!r} holds {kind}"
            raise BudgetronError(f"{what}, and the classes of the fleet are {self.classes}")
        if not text:
            labels = labels.cast(pa.int8()) if pa.types.is_boolean(kind) else labels
            labels = labels.cast(pa.float64())
        known = pa.array(self.classes if text else [float(each) for each in self.classes])
        found = pc.index_in(labels, known.cast(labels.type), skip_nulls=True)
        return np.asarray(found.fill_null(-1).to_numpy(), dtype=np.int64)


def unpacked(packs: Iterable[bytes], width: int | None = None) -> tuple[Rows, int]:
    """The rows of packs, one after the other, and how many of another width were left out.

    `width` None: that of the most rows, of the tied the least.
    """
    pa = arrow()
    tables = [pa.ipc.open_stream(each).read_all() for each in packs]
    counts: Counter[int] = Counter()
    for each in tables:
        counts[each.schema.field("features").type.list_size] += len(each)
    if width is None:
        width = min(counts, key=lambda size: (-counts[size], size))
    kept = [each for each in tables if each.schema.field("features").type.list_size == width]
    left_out = sum(counts.values()) - counts[width]
    table = pa.concat_tables(kept) if kept else tables[0].slice(0, 0)
    features = table.column("features")
    rows = Rows(
        keys=table.column("key").combine_chunks(),
        numbers=table.column("number").to_numpy(),
        labels=table.column("label").to_numpy(),
        features=stacked(features, "features") if len(features) else np.zeros((0, 0)),
    )
    return rows, left_out


def _arrays(
    column: Any, name: str, width: int | None
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """A column with an array per row, as rows, and which of these are there and of the width."""
    import pyarrow.compute as pc

    pa = arrow()
    listed = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    listed = listed.storage if isinstance(listed, pa.ExtensionArray) else listed
    try:
        lengths = pc.list_value_length(listed).fill_null(-1).to_numpy(zero_copy_only=False)
    except pa.ArrowException:  # no arrays at all
        return stacked(column, name), np.ones(len(column), dtype=bool)
    sizes, counts = np.unique(lengths[lengths >= 0], return_counts=True)
    if width is None:
        width = int(sizes[counts.argmax()]) if len(sizes) else 1
    whole = np.asarray(lengths == width)
    X = np.full((len(listed), width), np.nan)
    if whole.any():
        X[whole] = stacked(listed.filter(pa.array(whole)), name)
    return X, whole


def _written(table: Any) -> bytes:
    pa = arrow()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


def _flags(column: Any) -> NDArray[np.bool_]:
    return np.asarray(column.to_numpy(), dtype=bool)
