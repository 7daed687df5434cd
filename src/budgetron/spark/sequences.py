"""The last sequence number learned for each key, to recognise repeated and late rows.

Keys are the 16 bytes of `fleet.keys`, sorted, so that a batch of m rows is looked up in
O(m log n) and new keys are merged in O(n). A key takes 32 bytes. There are at most `most` keys:
the keys that were not seen for the longest time are forgotten first; if one of their rows comes
again, it is learned again.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from budgetron.fleet.keys import Ids

Whole = NDArray[np.int64]
_RECORD = np.dtype([("high", "<u8"), ("low", "<u8"), ("last", "<i8"), ("seen", "<i8")])


class Sequences:
    """The last sequence number of each key.

    Parameters
    ----------
    data : from `to_bytes`; None: no key was seen
    most : number of keys that are kept
    """

    def __init__(self, data: bytes | None = None, *, most: int = 1_000_000) -> None:
        self._known = np.frombuffer(data or b"", dtype=_RECORD)
        self._most = most

    def __len__(self) -> int:
        return len(self._known)

    def to_bytes(self) -> bytes:
        """All that is known; equal for equal histories."""
        return self._known.tobytes()

    def accept(self, ids: Ids, numbers: Whole, seen: int) -> NDArray[np.intp]:
        """The rows to learn, in order; their numbers are known from now on.

        Rows are sorted by number, rows with the same number by key. A row is left out unless its
        number is above the last one of its key. Of rows with the same key and number the first one
        is used.

        Parameters
        ----------
        ids : (n, 2), of `fleet.keys.encode`
        numbers : (n,)
        seen : a count that grows from call to call

        Examples
        --------
        >>> import numpy as np
        >>> from budgetron.fleet.keys import encode
        >>> from budgetron.spark.sequences import Sequences
        >>> known = Sequences()
        >>> known.accept(encode(["a", "b", "a", "a"]), np.array([7, 5, 6, 7]), 0).tolist()
        [1, 2, 0]
        >>> known.accept(encode(["a", "a", "b"]), np.array([7, 8, 4]), 1).tolist()
        [1]
        """
        if not len(ids):
            return np.zeros(0, dtype=np.intp)
        order = np.lexsort((np.arange(len(ids)), numbers, ids[:, 1], ids[:, 0]))
        keys, sorted_numbers = ids[order], numbers[order]
        starts = np.append(True, (keys[1:] != keys[:-1]).any(axis=1))
        distinct = keys[starts]
        place, is_known = self._find(distinct)
        least = np.iinfo(np.int64).min
        before = np.full(len(distinct), least)
        before[is_known] = self._known["last"][place[is_known]]
        group = np.cumsum(starts) - 1
        again = np.append(False, sorted_numbers[1:] == sorted_numbers[:-1]) & ~starts
        taken = (~is_known[group] | (sorted_numbers > before[group])) & ~again
        ends = np.append(np.flatnonzero(starts)[1:], len(keys)) - 1
        last = np.maximum(before, sorted_numbers[ends])
        self._remember(distinct, last, place, is_known, seen)
        rows: NDArray[np.intp] = order[taken]
        return rows[np.lexsort((ids[rows, 1], ids[rows, 0], numbers[rows]))]

    def _find(self, distinct: Ids) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """The positions of sorted keys among the known ones; and whether they are known."""
        known = _bytes(np.column_stack([self._known["high"], self._known["low"]]))
        keys = _bytes(distinct)
        place = np.searchsorted(known, keys)
        inside = place < len(known)
        inside[inside] = known[place[inside]] == keys[inside]
        return place, inside

    def _remember(
        self,
        distinct: Ids,
        last: Whole,
        place: NDArray[np.intp],
        is_known: NDArray[np.bool_],
        seen: int,
    ) -> None:
        kept = self._known.copy()
        old = place[is_known]
        kept["last"][old] = last[is_known]
        kept["seen"][old] = seen
        new = np.zeros(int((~is_known).sum()), dtype=_RECORD)
        new["high"], new["low"] = distinct[~is_known, 0], distinct[~is_known, 1]
        new["last"], new["seen"] = last[~is_known], seen
        kept = np.insert(kept, place[~is_known], new)
        if len(kept) > self._most:
            longest = np.argsort(-kept["seen"], kind="stable")[: self._most]
            kept = kept[np.sort(longest)]
        self._known = kept


def _bytes(ids: Ids) -> NDArray[np.bytes_]:
    """Ids as text of 16 bytes and one more, which sorts like their pairs of numbers."""
    whole = np.empty((len(ids), 17), dtype=np.uint8)
    whole[:, :16] = np.ascontiguousarray(ids).astype(">u8").view(np.uint8).reshape(-1, 16)
    whole[:, 16] = 1  # NumPy drops zeros at the end of such a text
    return whole.view("S17").reshape(-1)
