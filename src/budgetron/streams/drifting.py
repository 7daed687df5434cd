"""Streams that change: a checkerboard that is another one after some rows, with label noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

KINDS = ("abrupt", "gradual", "recurring")
NOISE = 0.05  # labels flipped

# A field's width along each axis of a square from -2 to 2, and whether colours are inverted.
_BOARDS = ((2.0, 2.0, False), (2.0, 2.0, True), (1.4, 3.0, False))


def drifting(
    kind: str, rows: int = 60_000, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.int64], list[int]]:
    """Rows uniform on a square, the colours of their fields, and where the board changes.

    Parameters
    ----------
    kind : {"abrupt", "gradual", "recurring"}
        "abrupt": colours invert after a third of the rows, fields are stretched after two thirds.
        "gradual": the same, but over a twelfth of the rows a growing share follows the new board.
        "recurring": the first two boards take turns, six times in all.
    rows : int
    seed : int

    Returns
    -------
    X, y, changes : (rows, 2), (rows,) of 0 and 1, and the rows from which on something changes

    Examples
    --------
    >>> X, y, changes = drifting("abrupt", rows=9000)
    >>> X.shape, changes
    ((9000, 2), [3000, 6000])
    """
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r} is not one of {', '.join(map(repr, KINDS))}")
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(rows, 2))
    pieces = 6 if kind == "recurring" else 3
    boards = [i % 2 if kind == "recurring" else i for i in range(pieces)]
    changes = [rows * i // pieces for i in range(1, pieces)]
    piece = np.searchsorted(changes, np.arange(rows), side="right")
    if kind == "gradual":
        width = rows // 12
        for i, change in enumerate(changes):
            turning = slice(change, change + width)
            late = rng.random(width) >= np.arange(width) / width  # still follows the old board
            piece[turning] = np.where(late, i, i + 1)
    y = np.zeros(rows, dtype=np.int64)
    for i, board in enumerate(boards):
        across, along, inverted = _BOARDS[board]
        fields = np.floor(X[:, 0] / across) + np.floor(X[:, 1] / along)
        here = piece == i
        y[here] = (fields[here] + inverted).astype(np.int64) % 2
    flipped = rng.random(rows) < NOISE
    y[flipped] = 1 - y[flipped]
    return X, y, changes
