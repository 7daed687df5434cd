"""What a worker has learned since its base: a `Delta`; and the sum of several deltas.

A delta is a set of arrays by name. The prefix of the name says whether an array is added, averaged
or taken from one worker:

    belief/     natural parameters that add up (belief.py); Budgetron only
    sum/        counts and sums, less those of the base
    mean/       averaged, weighted by the workers' rows
    last/       taken from the worker with the most rows
    largest/    that worker and its rows, in a sum of deltas
    units/      statistics of units (units.py)
    gaps/       missing values, by feature
    example/    stored examples with their coefs (expansion.py); other learners

Deltas are sorted by worker before they are added, so their order changes no bit. If a worker occurs
twice, only its later delta counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetron.errors import BudgetronError
from budgetron.merging import belief, expansion, units
from budgetron.merging.belief import Belief, Floats, State

# Names that add up, and names that are averaged. All others come from one worker. A name that ends
# with a slash is a prefix.
SUMS = (
    "seen",
    "mistakes",
    "updates",
    "calibration/rows",
    "learner/errors",
    "learner/rounds",
    "learner/drift/watched",
    "learner/relevance/",
    "learner/update/",
    "preparation/units/rows",
    "preparation/units/total",
    "preparation/units/shared_weight",
    "race/rows",
    "race/weight_squares",
    "target_units/seen",
    "verdict/blocks",
    "verdict/total",
    "verdict/totals",
)
MEANS = (
    "calibration/",
    "learner/belief_mistakes",
    "learner/drift/fast",
    "learner/drift/slow",
    "learner/mean_error",
    "learner/reflex",
    "learner/reflex_gains",
    "learner/reflex_leads",
    "learner/reflex_mistakes",
    "learner/reflex_rows",
    "learner/reflex_squares",
    "learner/rows_sum",
    "learner/squares_sum",
    "learner/weights",
    "learner/weights_sum",
    "verdict/mean",
)
# Names with their own rule, or that were not learned.
ELSEWHERE = (
    "classes",
    "held/",
    "learner/belief",
    "learner/expansion/",
    "learner/form",
    "learner/suspicion/",
    "learner/prior",
    "learner/straight/features",
    "learner/straight/coordinates",
    "learner/straight/weights",
    "learner/straight/variances",
    "learner/straight/reflex_weights",
    "preparation/gaps/",
    "preparation/units/features",
    "preparation/units/marks",
    "preparation/units/numbers",
    "random/",
    "target_units/window",
)
GAPS = "preparation/gaps/"
WINDOW = "target_units/window"
SUSPICION = "learner/suspicion/rounds"  # when a worker suspected a drift


@dataclass(frozen=True, eq=False)
class Delta:
    """What workers have learned since a base; `model.delta` makes it, `budgetron.merge` uses it.

    Parameters
    ----------
    base : digest of the base, 64 hexadecimal digits
    workers : names of the workers, sorted
    rows : rows that all of them have learned since the base
    estimator : class name of the model
    width : features of the widest row
    classes : known labels; None for a regressor
    arrays : the learned numbers, by name

    Examples
    --------
    >>> import budgetron
    >>> from budgetron.streams import two_gaussians
    >>> X, y = two_gaussians(400)
    >>> base = budgetron.BudgetronClassifier(budget=20).partial_fit(X[:400], y[:400]).base()
    >>> delta = base.snapshot().partial_fit(X[400:], y[400:]).delta(base, "north")
    >>> delta.rows, delta.workers
    (400, ('north',))
    """

    base: str
    workers: tuple[str, ...]
    rows: int
    estimator: str
    width: int
    classes: NDArray[Any] | None = None
    arrays: State = field(default_factory=dict, repr=False)

    @property
    def nbytes(self) -> int:
        """Size of its numbers in bytes."""
        return sum(array.nbytes for array in self.arrays.values())

    def __add__(self, other: Delta) -> Delta:
        """Add the deltas of both; they must know the same classes."""
        return together([self, other])


# ---- one worker ----------------------------------------------------------------------------------


def learned_since(base: State, worker: State) -> State:
    """The arrays of a delta, from two states of one learner with the same classes."""
    arrays: State = {}
    for name, now in worker.items():
        before = base.get(name)
        if _listed(name, ELSEWHERE) or before is None:
            continue
        if _listed(name, SUMS):
            arrays["sum/" + name] = now - _padded(before, len(now))
        elif _listed(name, MEANS):
            arrays["mean/" + name] = now
        elif not np.array_equal(now, before):
            arrays["last/" + name] = now
    if WINDOW in worker:
        arrays["window"] = worker[WINDOW]
    if units.PREFIX + "features" in worker:
        arrays |= units.counted(base, worker)
    if GAPS + "total" in worker:
        arrays |= _gaps(base, worker)
    if "learner/belief" in worker:
        arrays |= _seen(base, worker)
        arrays["mean/suspicion"] = np.array([float(SUSPICION in worker)])
    elif "learner/rank" in worker:  # NOGD: all workers have the same examples
        arrays["mean/learner/expansion/coefs"] = worker["learner/expansion/coefs"]
    elif "learner/expansion/ids" in worker:
        arrays |= expansion.read(worker)
    return arrays


def _listed(name: str, names: tuple[str, ...]) -> bool:
    """Whether it is one of the names, or has one as prefix that ends in a slash."""
    return any(name.startswith(each) if each.endswith("/") else name == each for each in names)


def _padded(array: NDArray[Any], length: int) -> NDArray[Any]:
    return np.pad(array, (0, length - len(array))) if len(array) < length else array


def _gaps(base: State, worker: State) -> State:
    """Missing values since the base, in total and per feature."""
    known = dict(zip(base.get(GAPS + "features", ()), base.get(GAPS + "counts", ()), strict=True))
    features = worker[GAPS + "features"]
    counts = worker[GAPS + "counts"] - np.array([known.get(each, 0) for each in features], np.int64)
    total = worker[GAPS + "total"] - base.get(GAPS + "total", np.zeros(1, np.int64))
    return {"gaps/features": features, "gaps/counts": counts, "gaps/total": total}


def _seen(base: State, worker: State) -> State:
    """What the belief of a worker has gained, in the worker's coordinates."""
    _check_held(base, worker)
    gain = belief.gain(base)
    now = belief.read(worker)
    before = extended(belief.read(base), now.features, prior_precision(base), belief.form_of(base))
    gained = now.precision - before.precision
    information = (before.precision + gain * gained) @ now.mean - before.precision @ before.mean
    arrays: State = {
        "belief/form": np.array([belief.form_of(base)]),
        "belief/features": now.features,
        "belief/precision": gained[np.tril_indices(len(gained))],
        "belief/information": information.ravel(),
    }
    if belief.form_of(base):
        reflex = belief.STRAIGHT + "reflex_weights"
        if reflex in worker:
            arrays["mean/reflex_weights"] = worker[reflex]
    if belief.form_of(base) == belief.DIAGONAL:
        gained = now.straight_precision - before.straight_precision
        together = before.straight_precision + gain * gained
        arrays["belief/straight_precision"] = gained
        arrays["belief/straight_information"] = (
            together[:, None] * now.straight_mean
            - before.straight_precision[:, None] * before.straight_mean
        ).ravel()
    return arrays


def _check_held(base: State, worker: State) -> None:
    """Check that a worker still has the examples and the form of its base."""
    kept = ("ids", "support/ends", "support/values", "support/indices")
    same = belief.form_of(base) == belief.form_of(worker) and all(
        np.array_equal(base[name], worker[name])
        for name in ("learner/expansion/" + each for each in kept)
    )
    if not same:
        raise BudgetronError(
            "the worker no longer has the stored examples of its base; was its budget lowered?"
        )


def prior_precision(state: State) -> float:
    """1 over the initial variance of a weight of the straight part."""
    square = state.get(belief.STRAIGHT + "mean_square", np.zeros(1)).astype(np.float64)
    return float(np.maximum(5.0, (1.0 + square) / 2.0)[0])  # core/hypothesis/straight_part.hpp


def extended(known: Belief, features: NDArray[Any], prior: float, form: int) -> Belief:
    """A belief with coordinates for these features, which begin with its own.

    New coordinates are uncorrelated with all others, and their weights are 0.
    """
    more = len(features) - len(known.features)
    if form == 0 or more == 0:
        return known
    start = len(known.features) + 1
    if form == belief.DIAGONAL:
        mean = np.vstack([known.straight_mean, np.zeros((more, known.mean.shape[1]))])
        precision = np.concatenate([known.straight_precision, np.full(more, prior)])
        return replace(known, features=features, straight_mean=mean, straight_precision=precision)
    size = len(known.mean) + more
    places = np.r_[0:start, start + more : size]
    precision, mean = np.zeros((size, size)), np.zeros((size, known.mean.shape[1]))
    precision[np.ix_(places, places)] = known.precision
    new = np.arange(start, start + more)
    precision[new, new] = prior
    mean[places] = known.mean
    return replace(known, features=features, precision=precision, mean=mean)


# ---- several -------------------------------------------------------------------------------------


def together(deltas: Iterable[Delta]) -> Delta:
    """Add the deltas of all workers; raises BudgetronError if their bases differ."""
    several = _once_each(list(deltas))
    first = several[0]
    for each in several[1:]:
        if each.base != first.base:
            raise BudgetronError(
                f"worker {each.workers[0]!r} started from base {each.base[:12]}, "
                f"{first.workers[0]!r} from {first.base[:12]}: merge only deltas of one base"
            )
        if not np.array_equal(_labels(each), _labels(first)):
            raise BudgetronError(
                f"workers {first.workers[0]!r} and {each.workers[0]!r} know different classes: "
                "their deltas have no sum; pass both to merge"
            )
    if len(several) == 1:
        return first
    sizes = np.array([max(each.rows, 0) for each in several], dtype=np.float64)
    shares = sizes / sizes.sum() if sizes.sum() > 0 else np.full(len(several), 1 / len(several))
    largest = min(range(len(several)), key=lambda at: _largest(several[at]))
    arrays = [each.arrays for each in several]
    one = dict(arrays[largest])
    names = sorted({name for each in arrays for name in each})
    for name in names:
        of_all = [each.get(name) for each in arrays]
        if name.startswith("sum/"):
            one[name] = _sum([each for each in of_all if each is not None])
        elif name.startswith("mean/") and name != "mean/reflex_weights":
            one[name] = np.sum([s * np.asarray(a) for s, a in zip(shares, of_all, strict=True)], 0)
    rows_of, worker = _largest(several[largest])
    one["largest/rows"] = np.array([-rows_of])
    one["largest/worker"] = np.frombuffer(worker, np.uint8)
    if "window" in one:
        one["window"] = _windows([each["window"] for each in arrays])
    if "units/features" in one:
        one |= units.pooled(arrays, largest)
    if "gaps/total" in names:
        one |= _all_gaps([each for each in arrays if "gaps/total" in each])
    if "belief/features" in one:
        one |= _all_seen(arrays, shares)
    if "example/coefs" in one:
        one |= expansion.mixed(arrays, shares)
    workers = tuple(sorted({name for each in several for name in each.workers}))
    rows, width = sum(each.rows for each in several), max(each.width for each in several)
    return replace(first, workers=workers, rows=rows, width=width, arrays=one)


def _largest(delta: Delta) -> tuple[int, bytes]:
    """Sort key: the rows of the worker with the most rows, negative, and its name.

    The sum of several deltas says whose numbers it has, so that brackets do not matter.
    """
    if "largest/rows" in delta.arrays:
        return -int(delta.arrays["largest/rows"][0]), delta.arrays["largest/worker"].tobytes()
    return -delta.rows, delta.workers[0].encode()


def _labels(delta: Delta) -> NDArray[Any]:
    return np.zeros(0) if delta.classes is None else delta.classes


def _once_each(deltas: list[Delta]) -> list[Delta]:
    """Sort deltas by worker; of two deltas of one worker keep the one with more rows."""
    if not deltas:
        raise BudgetronError("there are no deltas to merge")
    by_workers: dict[tuple[str, ...], Delta] = {}
    for each in deltas:
        known = by_workers.get(each.workers)
        if known is None or _rank(each) > _rank(known):
            by_workers[each.workers] = each
    found = [by_workers[name] for name in sorted(by_workers)]
    seen: set[str] = set()
    for each in found:
        twice = seen.intersection(each.workers)
        if twice:
            raise BudgetronError(
                f"worker {min(twice)!r} is in two deltas of several workers: merge it once"
            )
        seen.update(each.workers)
    return found


def _rank(delta: Delta) -> tuple[int, bytes]:
    """Sort key: of two deltas of one worker the larger is the later, whatever their order."""
    import hashlib

    digest = hashlib.sha256()
    for name in sorted(delta.arrays):
        digest.update(name.encode() + np.ascontiguousarray(delta.arrays[name]).tobytes())
    return delta.rows, digest.digest()


def _sum(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    longest = max(len(each) for each in arrays)
    total: NDArray[Any] = np.sum([_padded(each, longest) for each in arrays], 0)
    return total.astype(arrays[0].dtype)


def _windows(windows: list[NDArray[Any]]) -> NDArray[Any]:
    """The last targets: entry i comes from worker i modulo their number."""
    longest = max(windows, key=len).copy()
    for place in range(len(longest)):
        own = windows[place % len(windows)]
        if place < len(own):
            longest[place] = own[place]
    return longest


def _all_gaps(arrays: list[State]) -> State:
    counts: dict[int, int] = {}
    for each in arrays:
        for feature, count in zip(each["gaps/features"], each["gaps/counts"], strict=True):
            counts[int(feature)] = counts.get(int(feature), 0) + int(count)
    total: NDArray[Any] = np.sum([each["gaps/total"] for each in arrays], 0)
    return {
        "gaps/features": np.array(list(counts), np.int32),
        "gaps/counts": np.array(list(counts.values()), np.int64),
        "gaps/total": total,
    }


def _all_seen(arrays: list[State], shares: Floats) -> State:
    """The gain of all workers, in the coordinates of all of them."""
    lists = [each["belief/features"].tolist() for each in arrays]
    known = _common(lists)
    new = sorted({feature for each in lists for feature in each[len(known) :]})
    features = np.array(known + new, dtype=np.int32)
    form = int(arrays[0]["belief/form"][0])
    found: State = {"belief/features": features}
    gained, information, weights = [], [], []
    straight: list[tuple[Floats, Floats]] = []
    for each, own in zip(arrays, lists, strict=True):
        precision = square(each["belief/precision"])
        outputs = len(each["belief/information"]) // max(len(precision), 1)
        inside = form == belief.FULL
        size = len(precision) + (len(features) - len(own) if inside else 0)
        place = {feature: at for at, feature in enumerate(features.tolist())}
        of_straight = np.array([0, *(1 + place[feature] for feature in own)], dtype=np.intp)
        start = 1 + len(own) if inside else 0
        places = np.r_[of_straight[:start], size - (len(precision) - start) : size].astype(np.intp)
        lifted, moment = np.zeros((size, size)), np.zeros((size, max(outputs, 1)))
        lifted[np.ix_(places, places)] = precision
        moment[places] = each["belief/information"].reshape(len(precision), -1)
        gained.append(lifted)
        information.append(moment)
        if form == belief.DIAGONAL:
            one = np.zeros(1 + len(features))
            one[of_straight] = each["belief/straight_precision"]
            other = np.zeros((len(one), max(outputs, 1)))
            other[of_straight] = each["belief/straight_information"].reshape(len(own) + 1, -1)
            straight.append((one, other))
        if "mean/reflex_weights" in each:
            mine = each["mean/reflex_weights"].reshape(len(own) + 1, -1)
            of_reflex = np.zeros((1 + len(features), mine.shape[1]))
            of_reflex[of_straight] = mine
            weights.append(of_reflex)
    total = np.sum(gained, 0)
    found["belief/precision"] = total[np.tril_indices(len(total))]
    found["belief/information"] = np.sum(information, 0).ravel()
    if straight:
        found["belief/straight_precision"] = np.sum([one for one, _ in straight], 0)
        found["belief/straight_information"] = np.sum([other for _, other in straight], 0).ravel()
    if weights:
        found["mean/reflex_weights"] = np.tensordot(shares, np.array(weights), 1).ravel()
    return found


def _common(lists: list[list[int]]) -> list[int]:
    """The common prefix of all: the features of the base."""
    shortest = min(lists, key=len)
    same = 0
    while same < len(shortest) and all(each[same] == shortest[same] for each in lists):
        same += 1
    return shortest[:same]


def square(packed: NDArray[Any]) -> Floats:
    """A symmetric matrix from its lower triangle."""
    size = (int(np.sqrt(8 * len(packed) + 1)) - 1) // 2
    matrix = np.zeros((size, size))
    matrix[np.tril_indices(size)] = packed
    matrix = matrix + np.tril(matrix, -1).T
    return matrix
