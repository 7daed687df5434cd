"""The statistics behind the units of features (core/model/units.hpp), for several workers.

A state has running sums for each feature: the weight R of the rows in which it was not 0, and
weight Q, mean m and mean square deviation v of its values. What a worker has counted since the base
is a weight, a mean and a sum of squares:

    dQ  = Q_w - Q_0
    m_d = m_0 + (m_w - m_0) Q_w/dQ
    s_d = Q_w v_w - Q_0 v_0 - (m_d - m_0)^2 Q_0 dQ/Q_w

and those of several workers are combined pair by pair (Chan, Golub & LeVeque 1983), so that a large
mean does not swallow a small deviation. All other numbers of a feature (its block, its unit) come
from the worker with the most rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from budgetron.merging.belief import Floats, State

PREFIX = "preparation/units/"
NUMBERS, MARKS = 16, 12  # per feature
WEIGHT, RECENT, MEAN, SQUARE = range(4)  # of the numbers; then
FIRST, SECOND = 6, 7
VALUES = 2  # index of a mark: the number of distinct values, 3 for more
MANY = 3


def read(state: State) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64]]:
    """Features, and the numbers and marks of each."""
    features = state[PREFIX + "features"].astype(np.int64)
    numbers = state[PREFIX + "numbers"].reshape(-1, NUMBERS).astype(np.float64)
    return features, numbers, state[PREFIX + "marks"].reshape(-1, MARKS).astype(np.int64)


def counted(base: State, worker: State) -> State:
    """What a worker has counted since the base, as arrays of a delta."""
    features, numbers, marks = read(worker)
    before = _of_features(base, features)
    gained = numbers[:, RECENT] - before[:, RECENT]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(gained > 0, numbers[:, RECENT] / gained, 0.0)
        mean = before[:, MEAN] + (numbers[:, MEAN] - before[:, MEAN]) * share
        between = (mean - before[:, MEAN]) ** 2 * before[:, RECENT] / share
    squares = numbers[:, RECENT] * numbers[:, SQUARE] - before[:, RECENT] * before[:, SQUARE]
    squares = np.maximum(squares - np.where(share > 0, between, 0.0), 0.0)
    sums = np.stack(
        [numbers[:, WEIGHT] - before[:, WEIGHT], np.maximum(gained, 0.0), mean, squares]
    )
    return {
        "units/features": features,
        "units/sums": np.ascontiguousarray(sums.T).ravel(),
        "units/numbers": numbers.ravel(),
        "units/marks": marks.ravel(),
    }


def pooled(deltas: list[State], first: int) -> State:
    """Combine the counts of several workers; numbers without a sum come from `deltas[first]`."""
    order = [first, *(at for at in range(len(deltas)) if at != first)]
    known: dict[int, int] = {}
    sums: list[Floats] = []
    numbers: list[Floats] = []
    marks: list[NDArray[np.int64]] = []
    for at in order:
        each = deltas[at]
        columns = (each["units/numbers"].reshape(-1, NUMBERS), each["units/marks"])
        for place, feature in enumerate(each["units/features"].tolist()):
            mine = each["units/sums"].reshape(-1, 4)[place].astype(np.float64)
            own, mark = columns[0][place], columns[1].reshape(-1, MARKS)[place]
            if feature not in known:
                known[feature] = len(sums)
                sums.append(mine)
                numbers.append(own.astype(np.float64))
                marks.append(mark.astype(np.int64))
                continue
            slot = known[feature]
            sums[slot] = _together(sums[slot], mine)
            marks[slot] = marks[slot].copy()
            marks[slot][VALUES] = _different(numbers[slot], marks[slot], own, mark)
    return {
        "units/features": np.array(list(known), dtype=np.int64),
        "units/sums": np.array(sums).ravel(),
        "units/numbers": np.array(numbers).ravel(),
        "units/marks": np.array(marks, dtype=np.int64).ravel(),
    }


def write(state: State, base: State, delta: State) -> None:
    """Add the statistics of a delta to those of the base, in a state."""
    features = delta["units/features"].astype(np.int64)
    before = _of_features(base, features)
    numbers = delta["units/numbers"].reshape(-1, NUMBERS).astype(np.float64)
    sums = delta["units/sums"].reshape(-1, 4)
    for place in range(len(features)):
        old = before[place, :4].copy()
        old[SQUARE] *= old[RECENT]
        new = _together(old, sums[place])
        new[SQUARE] = new[SQUARE] / new[RECENT] if new[RECENT] > 0 else 0.0
        numbers[place, :4] = new
    state[PREFIX + "features"] = features.astype(np.int32)
    state[PREFIX + "numbers"] = np.ascontiguousarray(numbers.ravel())
    state[PREFIX + "marks"] = np.ascontiguousarray(delta["units/marks"].astype(np.int64))
    total = state[PREFIX + "total"]
    state[PREFIX + "total"] = np.maximum(total, numbers[:, WEIGHT].max(initial=0.0))


def _of_features(state: State, features: NDArray[np.int64]) -> Floats:
    """The numbers of these features in a state; 0 for features that it lacks."""
    known, numbers, _ = read(state)
    found = np.zeros((len(features), NUMBERS))
    places = {feature: place for place, feature in enumerate(known.tolist())}
    for at, feature in enumerate(features.tolist()):
        if feature in places:
            found[at] = numbers[places[feature]]
    return found


def _together(one: Floats, other: Floats) -> Floats:
    """Combine weight, recent weight, mean and squares of two sets of values."""
    recent = one[RECENT] + other[RECENT]
    if recent == 0 or other[RECENT] == 0:
        return np.array([one[0] + other[0], recent, one[MEAN], one[SQUARE]])
    apart = other[MEAN] - one[MEAN]
    mean = one[MEAN] + apart * (other[RECENT] / recent)
    squares = one[SQUARE] + other[SQUARE] + apart**2 * (one[RECENT] / recent) * other[RECENT]
    return np.array([one[0] + other[0], recent, mean, squares])


def _different(
    one: Floats, marks: NDArray[np.int64], other: Floats, more: NDArray[np.int64]
) -> int:
    """The number of distinct values in two sets together; 3 for more than two."""
    if max(marks[VALUES], more[VALUES]) >= MANY:
        return MANY
    values = {*one[FIRST : FIRST + marks[VALUES]], *other[FIRST : FIRST + more[VALUES]]}
    return min(len(values), MANY)
