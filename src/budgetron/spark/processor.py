"""Learning on Spark: a stateful processor that keeps one fleet per bucket of keys.

The state of a bucket is one value: the fleet as bytes (`Fleet.to_bytes`), the last sequence number
of each key (`sequences`), and counts. A micro-batch reads it, learns, and writes it; Spark commits
the states of a micro-batch together with its position in the stream, so after a crash each row has
been learned once. Nothing is kept beside the state.

The rows of a bucket are learned in the order of their sequence numbers, and rows with the same
number in the order of their keys' bytes, however Spark distributed them. A repeated task gives the
same bits.

Cost per micro-batch and bucket: the state is read and written once, plus the cost of the rows.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetron.fleet import Fleet
from budgetron.fleet.keys import encode
from budgetron.spark.packing import Columns, Rows, unpacked
from budgetron.spark.sequences import Sequences

STATE = "fleet"  # its name in the checkpoint
STATE_SCHEMA = (
    "fleet binary, sequences binary, rows long, mistakes long, repeated long, bad long, "
    "batches long"
)
COUNTS = ("rows", "mistakes", "repeated", "bad", "batches")
TOTALS = (
    "bucket int, rows long, mistakes long, repeated long, bad long, batches long, "
    "keys long, state_bytes long"
)


class FleetProcessor:
    """One fleet per bucket of keys, for `transformWithStateInPandas`.

    It has the methods of a `StatefulProcessor`. `budgetron.spark.learn_fleet` makes one.

    Parameters
    ----------
    fleet : an empty fleet, the start of each bucket
    columns : columns of the table, which name the predictions
    output : "totals", one row per bucket with its counts so far; or "rows", one row per row learned
        with the prediction from before
    remember : number of keys per bucket whose last sequence number is kept
    """

    def __init__(self, fleet: Fleet, columns: Columns, output: str, remember: int) -> None:
        self._fresh = fleet
        self._columns, self._output, self._remember = columns, output, remember

    def init(self, handle: Any) -> None:
        """Start with the state of a partition."""
        self._state = handle.getValueState(STATE, STATE_SCHEMA)

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
        """Set the first fleet of a bucket, in the first micro-batch."""
        data = bytes(initialState["fleet"].iloc[0])
        self._state.update((data, b"", *(0 for _ in COUNTS)))

    def handleInputRows(self, key: Any, rows: Iterable[Any], timerValues: Any) -> Iterator[Any]:
        """Learn the rows of a bucket, which come as packs."""
        import pandas as pd

        (bucket,) = key
        packs, bad = [], 0
        for frame in rows:
            packs += [bytes(each) for each in frame["rows"]]
            bad += int(frame["bad"].sum())
        state = self._state.get() or (None, b"", *(0 for _ in COUNTS))
        fleet_bytes, sequences, *rest = state
        count = dict(zip(COUNTS, map(int, rest), strict=True))
        fresh = fleet_bytes is None
        fleet = copy.deepcopy(self._fresh) if fresh else Fleet.from_bytes(bytes(fleet_bytes))
        known = Sequences(bytes(sequences), most=self._remember)

        come, odd = unpacked(packs, fleet.n_features_in_ if fleet.n_seen_ else None)
        bad += odd
        taken = in_order(come, known, count["batches"])
        before, decisions = fleet.n_mistakes_, None
        if len(taken.numbers):
            labels = fleet.classes_[taken.labels]
            decisions = fleet.prequential(taken.keys, taken.features, labels)
        count["rows"] += len(taken.numbers)
        count["mistakes"] += fleet.n_mistakes_ - before
        count["repeated"] += len(come.numbers) - len(taken.numbers)
        count["bad"] += bad
        count["batches"] += 1
        written = fleet.to_bytes() if fleet.n_seen_ else fleet_bytes
        self._state.update((written, known.to_bytes(), *count.values()))

        if self._output == "totals":
            size = len(written or b"") + len(known.to_bytes())
            yield pd.DataFrame(
                [{"bucket": int(bucket), **count, "keys": len(fleet), "state_bytes": size}]
            )
        elif decisions is not None:
            one = decisions.ndim == 1
            chosen = (decisions >= 0).astype(np.intp) if one else decisions.argmax(axis=1)
            yield pd.DataFrame(
                {
                    self._columns.key: taken.keys.to_pandas(),
                    self._columns.sequence: taken.numbers,
                    self._columns.label: labels,
                    "prediction": fleet.classes_[chosen],
                }
            )

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Any]:
        """Do nothing: no timer is set."""
        return iter(())

    def close(self) -> None:
        """Do nothing: nothing is open."""


def in_order(rows: Rows, known: Sequences, seen: int) -> Rows:
    """The rows to learn, in order; `known` knows them from then on.

    The order does not depend on how they came: of rows with the same key and number, the one with
    the smallest label and features is used.
    """
    ids, numbers = encode(rows.keys), rows.numbers
    alike = np.lexsort((numbers, ids[:, 1], ids[:, 0]))
    same = (ids[alike[1:]] == ids[alike[:-1]]).all(axis=1)
    if (same & (numbers[alike[1:]] == numbers[alike[:-1]])).any():
        rows = _taken(rows, np.lexsort((*rows.features.T[::-1], rows.labels)))
        ids = encode(rows.keys)
    return _taken(rows, known.accept(ids, rows.numbers, seen))


def _taken(rows: Rows, which: NDArray[np.intp]) -> Rows:
    return Rows(
        rows.keys.take(which), rows.numbers[which], rows.labels[which], rows.features[which]
    )
