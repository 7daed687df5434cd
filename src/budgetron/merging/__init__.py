"""Merging: one model from models that learned separately (docs/guide/merge.md, decision 0066).

There are two ways. Workers that start from one base, `model.base()`, keep its stored examples; what
each has learned since then, a `Delta`, can be added: `merge`. Models without a common base have
different examples: `merge_models` (union.py) unites the examples and cuts them to a budget.

This package reads and writes states (`native.save()`, arrays by name); the compiled model checks
what it loads. belief.py has the algebra of Budgetron, expansion.py that of other learners with
stored examples, units.py the statistics of units, delta.py the rule for each number: added,
averaged or taken over. May use the engine and the layers below it, and estimators only by methods.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from budgetron.errors import BudgetronError
from budgetron.merging import belief, expansion, units
from budgetron.merging.belief import State
from budgetron.merging.delta import (
    GAPS,
    SUSPICION,
    WINDOW,
    extended,
    learned_since,
    prior_precision,
    square,
    together,
)
from budgetron.merging.delta import Delta as Delta
from budgetron.merging.union import merge_models as merge_models

Model = TypeVar("Model")
HALF = 0.5  # if workers with this share of the rows suspect a drift, there is one
# Learners whose workers cannot be merged, and why.
NOT_MERGED = {
    "BudgetronAnomaly": "its masses count the rows of one stream",
    "AVM": "its cells cover the rows of one stream",
    "POMDR": "it answers by the last rows of one stream",
}


def merge(base: Model, deltas: Iterable[Delta]) -> Model:
    """Merge what the workers of a base have learned into one model.

    The arguments do not change. The order of the deltas does not matter; if a worker occurs twice,
    only its later delta counts. For a Budgetron the result is, up to rounding, the belief that has
    seen all rows; the merge of one delta is that worker's model. The merge also decides whether the
    stream has drifted, and whether features need new units.

    Parameters
    ----------
    base : the model that the workers started from, made by ``model.base()``
    deltas : made by ``worker.delta(base, name)``, at least one

    Returns
    -------
    model : an ordinary model: it can go on learning, or become the next base

    Raises
    ------
    BudgetronError
        If a delta is damaged or belongs to another base, or there is none.

    Examples
    --------
    >>> import budgetron
    >>> from sklearn.datasets import make_circles
    >>> X, y = make_circles(1200, factor=0.5, noise=0.1, random_state=0)
    >>> base = budgetron.BudgetronClassifier(budget=20).partial_fit(X[:400], y[:400]).base()
    >>> north, south = base.snapshot(), base.snapshot()
    >>> north = north.partial_fit(X[400:800], y[400:800])
    >>> south = south.partial_fit(X[800:], y[800:])
    >>> model = budgetron.merge(base, [north.delta(base, "north"), south.delta(base, "south")])
    >>> model.n_seen_, round(model.score(X, y), 2)
    (1200, 0.99)
    """
    check_base(base)
    several = list(deltas)
    for each in several:
        if not isinstance(each, Delta):
            what = f"{type(each).__name__} is not a delta"
            raise BudgetronError(f"{what}: pass the result of worker.delta(base, name)")
        if each.base != digest_of(base):
            raise BudgetronError(
                f"the delta of worker {each.workers[0]!r} is of base {each.base[:12]}, "
                f"not of this one, {digest_of(base)[:12]}"
            )
    with _blamed(several):
        labels = _all_labels(base, several)
    if labels is not None:
        known = _with_classes(base, labels)
        united = []
        for each in several:
            with _blamed([each]):
                united.append(_with_labels(base, known, each, labels))
        base, several = known, united
    with _blamed(several):
        merged: Model = _loaded(base, together(several), decide=True)
    return merged


@contextmanager
def _blamed(deltas: Sequence[Delta]) -> Iterator[None]:
    """Numbers that do not fit the base are blamed on the deltas, which may come from anyone."""
    try:
        yield
    except BudgetronError:
        raise
    except (ValueError, TypeError, LookupError, ArithmeticError) as error:
        names = ", ".join(repr(name) for each in deltas for name in each.workers)
        raise BudgetronError(f"delta of worker {names}: damaged or of another base") from error


# ---- bases and workers ---------------------------------------------------------------------------


def check_mergeable(model: Any) -> None:
    """Raise BudgetronError if models of this kind cannot be merged."""
    name = type(model).__name__
    for start, reason in NOT_MERGED.items():
        if name.startswith(start):
            raise BudgetronError(f"{name} cannot be merged: {reason}")
    if model.average != "last":
        raise BudgetronError(f"{name} with average={model.average!r} cannot be merged")


def start_base(model: Any) -> None:
    """Make a model the base of workers; raises BudgetronError if it cannot be one."""
    native = model._native
    spec = model._engine.spec
    name = type(model).__name__
    check_mergeable(model)
    if native.base:
        raise BudgetronError("a worker cannot be a base: merge its delta first")
    if not native.can_hold:
        rows = f"{native.seen} rows"
        raise BudgetronError(
            f"units and gamma are not settled after {rows}: learn 200 before base()"
        )
    if spec["kind"] == "nogd" and not native.save()["learner/rank"][0]:
        raise BudgetronError(f"{name} cannot be merged before its budget is full")
    native.hold([0, 0, 0, 0])
    native.hold(np.frombuffer(bytes.fromhex(_digest(model)), dtype="<u8").tolist())


def _digest(model: Any) -> str:
    """A SHA-256 of the whole model, the same whether it is held or not."""
    engine = model._engine
    digest = hashlib.sha256(type(model).__name__.encode())
    parameters = sorted((name, repr(value)) for name, value in model._origin.params.items())
    labels = getattr(model, "classes_", np.zeros(0)).tolist()
    digest.update(repr((parameters, labels, engine.dtype.str, engine.seed)).encode())
    for name, array in sorted(engine.native.save().items()):
        if not name.startswith("held/"):
            digest.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def digest_of(model: Any) -> str:
    """The digest of the base that a model is, or is a worker of; "" if neither."""
    words = model._native.base
    return np.array(words, dtype="<u8").tobytes().hex()


def check_base(base: Any) -> None:
    """Raise BudgetronError unless the model is a base that has learned nothing since."""
    if not hasattr(base, "_engine") or not digest_of(base):
        raise BudgetronError("this is not a base: pass the result of model.base()")
    if _digest(base) != digest_of(base):
        raise BudgetronError("this base has learned rows since: it is a worker; pass its base")


def delta_of(worker: Any, base: Any, name: str) -> Delta:
    """The delta of a worker since its base."""
    if not isinstance(name, str) or not name:
        raise BudgetronError(f"worker={name!r}: name the worker, so that it counts once")
    check_base(base)
    if digest_of(worker) != digest_of(base):
        of = f"of base {digest_of(worker)[:12]}" if digest_of(worker) else "no worker of a base"
        raise BudgetronError(
            f"this model is {of}, not of base {digest_of(base)[:12]}: start it from that base"
        )
    labels = getattr(worker, "classes_", None)
    before = base if labels is None else _with_classes(base, labels)
    arrays = _arrays_since(before, worker)
    return Delta(
        base=digest_of(base),
        workers=(name,),
        rows=int(worker.n_seen_ - base.n_seen_),
        estimator=type(worker).__name__,
        width=int(worker.n_features_in_),
        classes=labels,
        arrays=arrays,
    )


def _arrays_since(base: Any, worker: Any) -> State:
    """The arrays of a delta of two models with the same classes."""
    native = worker._engine.native
    before, now = base._engine.native.save(), native.save()
    arrays = learned_since(before, now)
    counts = getattr(worker, "_class_counts", np.zeros(0))
    if len(counts):
        before = base._class_counts if len(base._class_counts) else np.zeros_like(counts)
        arrays["sum/class_counts"] = counts - before
    return arrays


# ---- classes -------------------------------------------------------------------------------------


def _all_labels(base: Any, deltas: Sequence[Delta]) -> NDArray[Any] | None:
    """All classes that the base and the workers know; None for regressors."""
    if not hasattr(base, "classes_"):
        return None
    known = [base.classes_, *(each.classes for each in deltas if each.classes is not None)]
    labels: NDArray[Any] = np.unique(np.concatenate([each for each in known if len(each)] or known))
    return labels


def _with_classes(model: Any, labels: NDArray[Any]) -> Any:
    """The model, or a copy of it that knows all of these classes."""
    new = [each for each in labels.tolist() if each not in set(model.classes_.tolist())]
    if not new:
        return model
    twin = model.snapshot()
    for each in new:
        twin._join(each)
    return twin


def _with_labels(base: Any, known: Any, delta: Delta, labels: NDArray[Any]) -> Delta:
    """The delta for the base with all classes: classes that the worker lacks are added."""
    if delta.classes is None or len(delta.classes) == len(labels):
        return delta
    worker = _loaded(_with_classes(base, delta.classes), delta, decide=False)
    arrays = _arrays_since(known, _with_classes(worker, labels))
    return replace(delta, classes=labels, arrays=arrays)


# ---- the merged model ----------------------------------------------------------------------------


def _loaded(base: Any, delta: Delta, *, decide: bool) -> Any:
    """A copy of the base plus a delta; it stays a worker unless `decide` is set."""
    model = base.snapshot()
    native = model._engine.native
    before = native.save()
    state = _state(before, delta, model)
    if decide:
        state.pop("held/base", None)
    native.load(state)
    counts = delta.arrays.get("sum/class_counts")
    if counts is not None and model._class_weights is not None:
        _count(model, counts)
    model.n_features_in_ = max(model.n_features_in_, delta.width)
    if decide:
        native.decide_held()
    return model


def _count(model: Any, counts: NDArray[Any]) -> None:
    """Rows per class, from which balanced class weights are computed."""
    known = model._class_weights.counts
    for label, more in zip(model.classes_.tolist(), counts.tolist(), strict=True):
        if more:
            known[label] = known.get(label, 0) + int(more)


def _state(before: State, delta: Delta, model: Any) -> State:
    state = dict(before)
    for name, array in delta.arrays.items():
        kind, _, rest = name.partition("/")
        if rest not in before:
            continue
        if kind == "sum":
            old = before[rest]
            old = np.pad(old, (0, len(array) - len(old))) if len(array) > len(old) else old
            state[rest] = (old + array).astype(before[rest].dtype)
        elif kind in ("mean", "last"):
            state[rest] = np.ascontiguousarray(array.astype(before[rest].dtype))
    if "window" in delta.arrays:
        state[WINDOW] = delta.arrays["window"]
    if "units/features" in delta.arrays:
        units.write(state, before, delta.arrays)
    if "gaps/total" in delta.arrays:
        _write_gaps(state, before, delta.arrays)
    native = model._engine.native
    if "mean/suspicion" in delta.arrays and _drifts(state, delta):
        state[SUSPICION] = np.ones(1, np.int64)
    if "belief/features" in delta.arrays:
        _write_belief(state, before, delta.arrays)
    if "example/coefs" in delta.arrays:
        kernel = {**model._engine.spec["kernel"], "gamma": native.gamma}
        _follow_rate(state, before)
        expansion.write(state, delta.arrays, kernel, capacity_of(model))
    return state


def _drifts(state: State, delta: Delta) -> bool:
    """Whether the stream has drifted: half of the workers say so, or all of them together.

    The rule is that of core/learners/drift.hpp. The mean of W workers with n rows each is as
    certain as W n rows, except for what all of them have from the base.
    """
    if delta.arrays["mean/suspicion"][0] >= HALF:
        return True
    fast, slow, rounds, window = (
        float(state["learner/drift/" + name][0]) for name in ("fast", "slow", "watched", "window")
    )
    workers = len(delta.workers)
    common = np.exp(-delta.rows / workers / 100.0)
    share = common**2 + (1.0 - common) ** 2 / workers
    spread = np.sqrt(share * slow * (1.0 - slow) / 200.0 + 1e-6)
    return bool(rounds > 500 and window == 0 and fast > slow + 4.0 * spread)


def capacity_of(model: Any) -> int:
    """The largest number of examples that a learner stores; 0: no limit."""
    return int(model.budget_) if isinstance(getattr(model, "budget", None), int | str) else 0


def _follow_rate(state: State, before: State) -> None:
    """The t in f = sum_i c_i k(x_i, .)/(lambda t) for the rounds of all workers together."""
    rounds, rate = "learner/update/rounds", "learner/expansion/rate"
    if rounds in state and before[rate][0] != 1.0 and state[rounds][0] > 0:
        state[rate] = before[rate] * (before[rounds] / state[rounds])


def _write_gaps(state: State, before: State, arrays: State) -> None:
    counts = dict(
        zip(before.get(GAPS + "features", ()), before.get(GAPS + "counts", ()), strict=True)
    )
    for feature, count in zip(arrays["gaps/features"], arrays["gaps/counts"], strict=True):
        counts[feature] = counts.get(feature, 0) + count
    state[GAPS + "features"] = np.array(list(counts), np.int32)
    state[GAPS + "counts"] = np.array(list(counts.values()), np.int64)
    state[GAPS + "total"] = before.get(GAPS + "total", np.zeros(1, np.int64)) + arrays["gaps/total"]


def _write_belief(state: State, before: State, arrays: State) -> None:
    form, gain = belief.form_of(before), belief.gain(before)
    features = arrays["belief/features"]
    known = extended(belief.read(before), features, prior_precision(before), form)
    gained = square(arrays["belief/precision"])
    information = arrays["belief/information"].reshape(known.mean.shape)
    precision = belief.positive(known.precision + gained, known.precision)
    moved = (
        precision
        if gain == 1.0
        else belief.positive(known.precision + gain * gained, known.precision)
    )
    found = replace(
        known,
        precision=precision,
        mean=belief.solve(moved, known.precision @ known.mean + information),
    )
    if form == belief.DIAGONAL:
        gained = arrays["belief/straight_precision"]
        informed = arrays["belief/straight_information"].reshape(known.straight_mean.shape)
        old = known.straight_precision[:, None]
        found.straight_precision = np.maximum(known.straight_precision + gained, 1e-12)
        moved = np.maximum(known.straight_precision + gain * gained, 1e-12)[:, None]
        found.straight_mean = (old * known.straight_mean + informed) / moved
    belief.write(state, found)
    if form and "mean/reflex_weights" in arrays:
        state[belief.STRAIGHT + "reflex_weights"] = arrays["mean/reflex_weights"]
