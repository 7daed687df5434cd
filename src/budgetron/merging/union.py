"""Models without a common base: one model over the union of their examples, within a budget.

The model with the most rows leads: the merged model has its units, gamma and metric. The others are
first converted to its coordinates. An example is converted through its value in the units of the
stream. With K the old kernel matrix and K' the new one, the values of f at the examples stay the
same:

    a <- M a ;  P <- M P M' ;  M = (K' + jitter I)^-1 (K + jitter I)

and w and c follow the units of their features. Then each belief learns about the examples of the
others in the way Budgetron admits one: with E = [I, (K + jitter I)^-1 k] the precision is
E' Lambda E plus the new part of the prior. All beliefs now have the same coordinates; the merged
mean is that of the beliefs, each weighted by its precision times its rows:

    mean = (sum_m n_m Lambda_m)^-1 sum_m n_m Lambda_m mean_m
    Lambda = Lambda_prior + sum_m (Lambda_m - Lambda_prior)

A belief that knows nothing about a coordinate leaves it to the others. With a diagonal straight
part the means are weighted only by rows. (A sum, as for workers of one base, would count twice what
both have learned from scratch.) Then examples are removed, the one with the least a_i^2/P_ii first,
each conditioned to 0, until the budget is kept. Other learners: the mean of f by rows, and
P = K^-1 (expansion.py).

Cost: O(n^3) for a union of n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from budgetron._engine import Room
from budgetron.errors import BudgetronError
from budgetron.merging import belief, expansion
from budgetron.merging.belief import DIAGONAL, FULL, Floats, State

Model = TypeVar("Model")
# A merged model has the sums of these counts. All else that is not part of f is the leader's.
COUNTED = ("seen", "mistakes", "updates")
LEAST = 1e-9  # smallest eigenvalue of a precision, to be invertible


@dataclass
class Learned:
    """What one model has learned, in the coordinates of the leader.

    Parameters
    ----------
    rows : number of rows it has learned
    examples : as the leader sees them, (examples, features)
    ids : when each was stored
    precision, mean, reflex : over (1, features, examples); for other learners than Budgetron only
        the mean, over the examples
    """

    rows: float
    examples: Floats
    ids: NDArray[np.int64]
    mean: Floats
    precision: Floats
    reflex: Floats


def merge_models(models: Sequence[Model], budget: int | None = None) -> Model:
    """Merge models that learned separately from the first row on.

    The arguments do not change, and their order does not matter. If the models can start from one
    base, do that (`merge`): that merge is exact.

    Parameters
    ----------
    models : fitted models of one class, with the same number of features; classes may differ
    budget : examples that the merged model may store; None: as the model with the most rows

    Raises
    ------
    BudgetronError
        If the models are of different kinds, or the learner cannot be merged this way.

    Examples
    --------
    >>> import budgetron
    >>> from sklearn.datasets import make_circles
    >>> X, y = make_circles(1200, factor=0.5, noise=0.1, random_state=0)
    >>> one = budgetron.BudgetronClassifier(budget=20).partial_fit(X[:600], y[:600])
    >>> other = budgetron.BudgetronClassifier(budget=20).partial_fit(X[600:], y[600:])
    >>> model = budgetron.merge_models([one, other], budget=20)
    >>> model.n_seen_, model.n_support_ <= 20, round(model.score(X, y), 2)
    (1200, True, 0.99)
    """
    from budgetron.merging import _digest, _with_classes

    several: list[Any] = list(models)
    _check(several)
    several.sort(key=lambda each: (-each.n_seen_, _digest(each)))
    if hasattr(several[0], "classes_"):
        labels = np.unique(np.concatenate([each.classes_ for each in several]))
        several = [_with_classes(each, labels) for each in several]
    lead = several[0].snapshot()
    size = _size(lead, budget)
    lead._engine.native.hold([0, 0, 0, 0])  # its races end
    several[0] = lead
    features = _features(several)
    learned = [_converted(each, lead, features) for each in several]
    state = _united(lead, learned, features, size)
    for name in COUNTED:
        state[name] = np.sum([each._engine.native.save()[name] for each in several], 0)
    merged: Model = _made(lead, state, size, max(each.n_features_in_ for each in several))
    return merged


def _check(models: list[Any]) -> None:
    from budgetron.merging import check_mergeable

    if not models:
        raise BudgetronError("there are no models to merge")
    first = models[0]
    for each in models:
        if not hasattr(each, "_engine"):
            raise BudgetronError(f"a {type(each).__name__} without any rows cannot be merged")
        if type(each) is not type(first):
            raise BudgetronError(
                f"a {type(first).__name__} and a {type(each).__name__} cannot be merged"
            )
        check_mergeable(each)
        native = each._engine.native
        if native.base:
            raise BudgetronError("merge a worker with its base: pass its delta to merge")
        if not native.can_hold:
            raise BudgetronError(
                f"units and gamma are not settled after {native.seen} rows: learn 200 first"
            )
        kinds = [model._engine.spec["kernel"]["kind"] for model in (first, each)]
        if kinds[0] != kinds[1]:
            raise BudgetronError(f"kernels {kinds[0]!r} and {kinds[1]!r} cannot be merged")
        if each._engine.dtype != first._engine.dtype:
            raise BudgetronError("models of float32 and of float64 rows cannot be merged")
        if each.n_features_in_ != first.n_features_in_ and not each._origin.growing:
            raise BudgetronError(
                f"models of {first.n_features_in_} and {each.n_features_in_} features cannot be "
                "merged"
            )
        if "learner/expansion/ids" not in native.save() or each._engine.spec["kind"] == "nogd":
            raise BudgetronError(
                f"{type(each).__name__} models need a common base: start both from one model.base()"
            )


def _size(lead: Any, budget: int | None) -> int:
    """The budget of the merged model; 0 for none."""
    if lead._budget_name not in lead._origin.params:
        if budget is not None:
            raise BudgetronError(f"{type(lead).__name__} has no budget: remove budget")
        return 0
    if budget is None:
        return int(lead.budget_ or 0)
    if isinstance(budget, bool) or not isinstance(budget, int | np.integer) or budget < 1:
        raise BudgetronError(f"budget={budget!r} must be a number of examples, at least 1")
    return int(budget)


# ---- coordinates ---------------------------------------------------------------------------------


def _features(models: list[Any]) -> NDArray[np.int32]:
    """The numbers of all features that an example or a weight uses, or that are centred."""
    found: set[int] = set()
    for each in models:
        native = each._engine.native
        found.update(native.support()[1].tolist())
        state = native.save()
        for name in (belief.STRAIGHT + "features", "preparation/units/features"):
            if name in state:
                found.update(state[name].tolist())
    return np.array(sorted(found), dtype=np.int32)


def _shown(model: Any, features: NDArray[np.int32]) -> Floats:
    """The stored examples as the model sees them, one column per feature."""
    ends, indices, values = model._engine.native.support()
    rows = np.zeros((len(ends) - 1, len(features)))
    at = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    rows[at, np.searchsorted(features, indices)] = values
    return rows


def _units(model: Any, features: NDArray[np.int32]) -> tuple[Floats, Floats, Floats]:
    """Centre and scale of each feature, and the largest absolute value it is clipped to."""
    native = model._engine.native
    centres, sizes, _ = native.units(features)
    relevance, _ = native.relevance()
    roots = np.ones(len(features))
    known = features < len(relevance)
    roots[known] = np.sqrt(relevance[features[known]])
    return centres, sizes, native.clip * roots


def _converted(model: Any, lead: Any, features: NDArray[np.int32]) -> Learned:
    """Convert a model to the coordinates of the leader."""
    state = model._engine.native.save()
    shown = _shown(model, features)
    order = belief.order_of(state)
    ids = state["learner/expansion/ids"][order]
    shown = shown[order]
    centres, sizes, _ = _units(model, features)
    new_centres, new_sizes, clip = _units(lead, features)
    same = np.array_equal(centres, new_centres) and np.array_equal(sizes, new_sizes)
    examples = shown
    with np.errstate(invalid="ignore", divide="ignore"):
        if not same:
            raw = np.where(np.isinf(sizes), centres, shown * sizes + centres)
            scaled = np.where(np.isinf(new_sizes), 0.0, (raw - new_centres) / new_sizes)
            examples = np.clip(scaled, -clip, clip)
        # z = ratio z' + shift; w and c follow
        ratio = np.where(np.isfinite(sizes) & np.isfinite(new_sizes), new_sizes / sizes, 0.0)
        shift = np.where(np.isfinite(sizes), (new_centres - centres) / sizes, 0.0)
    target = _target_scale(model) / _target_scale(lead)
    offset = (_target_centre(model) - _target_centre(lead)) / _target_scale(lead)
    jitter = _jitter(model)
    gram = _gram(model, shown) + jitter * np.eye(len(shown))
    new_gram = _gram(lead, examples) + jitter * np.eye(len(shown))
    plain = same and model._engine.native.gamma == lead._engine.native.gamma
    moved = np.eye(len(shown)) if plain else np.linalg.solve(new_gram, gram)
    rows = float(model.n_seen_)
    if "learner/belief" not in state:
        mean = target * (moved @ belief.coefs_of(state)[order])
        empty = np.zeros((0, 0))
        return Learned(rows, examples, ids, mean, empty, empty)
    known = _wide(state, features)
    count = len(features) + 1
    change = np.eye(len(known.mean))
    change[0, 1:count] = shift
    change[np.arange(1, count), np.arange(1, count)] = ratio
    change[count:, count:] = moved
    mean = target * (change @ known.mean)
    reflex = target * (change @ known.reflex)
    mean[0] += offset
    # A feature with a unit in only one of the two has weight 0 and the precision of the prior.
    fixed = change.copy()
    gone = np.flatnonzero(ratio == 0.0) + 1
    fixed[gone, gone] = 1.0
    back = np.linalg.inv(fixed)
    precision = back.T @ known.precision @ back
    return Learned(rows, examples, ids, mean, precision, reflex)


@dataclass
class _Wide:
    """A belief over (1, all features, examples)."""

    precision: Floats
    mean: Floats
    reflex: Floats


def _wide(state: State, features: NDArray[np.int32]) -> _Wide:
    from budgetron.merging.delta import prior_precision

    known, form = belief.read(state), belief.form_of(state)
    outputs = known.mean.shape[1]
    stored = len(state["learner/expansion/support/ends"])
    first = 1 + len(features)
    size = first + stored
    precision = np.zeros((size, size))
    precision[np.diag_indices(first)] = prior_precision(state)
    precision[0, 0] *= 10.0
    mean, reflex = np.zeros((size, outputs)), np.zeros((size, outputs))
    own = np.concatenate([[0], 1 + np.searchsorted(features, known.features)]).astype(np.intp)
    examples = np.arange(first, size)
    if form == FULL:
        places = np.concatenate([own, examples])
        precision[np.ix_(places, places)] = known.precision
        mean[places] = known.mean
    else:
        precision[np.ix_(examples, examples)] = known.precision
        mean[examples] = known.mean
        if form == DIAGONAL:
            precision[own, own] = known.straight_precision
            mean[own] = known.straight_mean
    if "learner/reflex" in state:
        reflex[examples] = state["learner/reflex"].reshape(stored, -1)
        if form:
            reflex[own] = belief.weights_of(state, "reflex_weights")
    return _Wide(precision, mean, reflex)


def _gram(model: Any, rows: Floats) -> Floats:
    import scipy.sparse

    kernel = dict(model._engine.spec["kernel"])
    if "gamma" in kernel:
        kernel["gamma"] = model._engine.native.gamma
    return expansion.gram_matrix(scipy.sparse.csr_array(rows), kernel)


def _jitter(model: Any) -> float:
    return float(model._engine.spec.get("jitter", 1e-9))


def _target_scale(model: Any) -> float:
    units = model._engine.native.target_units
    return 1.0 if units is None else float(units[1])


def _target_centre(model: Any) -> float:
    units = model._engine.native.target_units
    return 0.0 if units is None else float(units[0])


# ---- the union -----------------------------------------------------------------------------------


def _united(lead: Any, learned: list[Learned], features: NDArray[np.int32], size: int) -> State:
    """The leader's state with what all models have learned."""
    state: State = dict(lead._engine.native.save())
    del state["held/base"]
    examples, places = _union(learned)
    count = len(examples)
    ids = np.zeros(count, np.int64)
    for each, at in zip(learned, places, strict=True):
        ids[at] = np.maximum(ids[at], each.ids)
    gram = _gram(lead, examples)
    if "learner/belief" not in state:
        mean = np.zeros((count, learned[0].mean.shape[1]))
        total = sum(each.rows for each in learned)
        for each, at in zip(learned, places, strict=True):
            mean[at] += each.mean * (each.rows / total)
        kept = np.arange(count)
        if size and count > size:
            kept, mean = expansion.reduced(gram, mean, size)
        _write_examples(state, lead, examples[kept], features, mean, ids[kept])
        expansion.write_gram(state, gram[np.ix_(kept, kept)], mean)
        return state
    return _united_beliefs(state, lead, learned, places, examples, gram, ids, features, size)


def _union(learned: list[Learned]) -> tuple[Floats, list[NDArray[np.intp]]]:
    """All examples, without duplicates, and the positions of each model's examples."""
    known: dict[bytes, int] = {}
    rows: list[Floats] = []
    places = []
    for each in learned:
        mine = []
        for row in each.examples:
            key = row.tobytes()
            if key not in known or known[key] in mine:  # a model may store one row twice
                known[key] = len(rows)
                rows.append(row)
            mine.append(known[key])
        places.append(np.array(mine, dtype=np.intp))
    width = learned[0].examples.shape[1]
    return np.array(rows).reshape(len(rows), width), places


def _united_beliefs(
    state: State,
    lead: Any,
    learned: list[Learned],
    places: list[NDArray[np.intp]],
    examples: Floats,
    gram: Floats,
    ids: NDArray[np.int64],
    features: NDArray[np.int32],
    size: int,
) -> State:
    from budgetron.merging.delta import prior_precision

    count, first = len(examples), 1 + len(features)
    gram = gram + _jitter(lead) * np.eye(count)
    prior = np.zeros((first + count, first + count))
    prior[np.diag_indices(first)] = prior_precision(state)
    prior[0, 0] *= 10.0
    prior[first:, first:] = gram
    gain, diagonal = belief.gain(state), belief.form_of(state) == DIAGONAL
    precision, weighed = prior.copy(), np.zeros_like(prior)
    information = np.zeros((first + count, learned[0].mean.shape[1]))
    reflex = np.zeros_like(information)
    total = sum(each.rows for each in learned)
    for each, at in zip(learned, places, strict=True):
        inside = np.concatenate([np.arange(first), first + at])
        spread = np.zeros((len(inside), first + count))  # E
        spread[np.arange(first), np.arange(first)] = 1.0
        spread[first:, first:] = np.linalg.solve(gram[np.ix_(at, at)], gram[at])
        seen = spread.T @ (each.precision - prior[np.ix_(inside, inside)]) @ spread
        precision += seen
        # Without covariances of w with a, it is unknown which of the two a precision belongs to.
        own = np.eye(len(prior)) if diagonal else prior + gain * seen
        own_mean = np.zeros_like(information)
        own_mean[inside] = each.mean
        share = each.rows / total
        weighed += share * own
        information += share * (own @ own_mean)
        reflex[inside] += share * each.reflex
    precision = _definite(precision, prior)
    weighed = weighed if diagonal else _definite(weighed, prior)
    mean: Floats = np.linalg.solve(weighed, information)
    covariance: Floats = np.linalg.inv(precision)
    kept = np.arange(first + count)
    if count > size:
        kept, mean = expansion.dropped(covariance, mean, size, first)
    stays = kept[first:] - first
    order = np.argsort(ids[stays], kind="stable")
    stays, mean = stays[order], np.vstack([mean[:first], mean[first:][order]])
    inside = np.concatenate([np.arange(first), first + stays])
    inner = gram[np.ix_(stays, stays)]
    projected = np.linalg.solve(inner, gram[stays] @ reflex[first:]) if count else reflex[first:]
    _write_examples(state, lead, examples[stays], features, mean[first:], ids[stays])
    _write_beliefs(state, precision[np.ix_(inside, inside)], mean, inner, features)
    if "learner/reflex" in state:
        state["learner/reflex"] = np.ascontiguousarray(projected.ravel())
        if belief.form_of(state):
            state[belief.STRAIGHT + "reflex_weights"] = reflex[:first].ravel()
    state["learner/raised"] = np.ones_like(state["learner/raised"])  # P is rounded
    return state


def _definite(precision: Floats, prior: Floats) -> Floats:
    """Make it positive definite: up to rounding, observations only add to the prior."""
    values, vectors = np.linalg.eigh((precision + precision.T) / 2 - prior)
    found: Floats = prior + (vectors * np.maximum(values, 0.0)) @ vectors.T
    return found


def _write_examples(
    state: State,
    lead: Any,
    examples: Floats,
    features: NDArray[np.int32],
    coefs: Floats,
    ids: NDArray[np.int64],
) -> None:
    """Put examples into the state in the leader's storage, dense or sparse."""
    widths = state[expansion.SUPPORT + "widths"]
    sparse = lead._sparse or (widths < 0).any()
    rows: list[tuple[Any, Any]] = []
    for row in examples:
        if sparse:
            at = np.flatnonzero(row)
            rows.append((row[at], features[at]))
        else:
            whole = np.zeros(int(widths.max(initial=int(features.max(initial=-1)) + 1)))
            whole[features] = row
            rows.append((whole, np.zeros(0, np.int32)))
    new = np.array([-1 if sparse else len(values) for values, _ in rows], np.int32)
    expansion.write_examples(state, rows, new)
    expansion.write_coefs(state, coefs, expansion._ages(ids))
    norms = np.sqrt((examples**2).sum(1)).max(initial=0.0)
    name = expansion.SUPPORT + "largest_norm"
    state[name] = np.maximum(state[name], norms)


def _write_beliefs(
    state: State, precision: Floats, mean: Floats, gram: Floats, features: NDArray[np.int32]
) -> None:
    """Write belief, prior and straight part into the state, which already has the examples."""
    form, first = belief.form_of(state), 1 + len(features)
    if "learner/prior" in state and len(state["learner/prior"]):
        state["learner/prior"] = belief.packed_covariance(gram)
    found = belief.Belief(precision, mean, features, mean[:0], np.zeros(0))
    if form != FULL:
        inner = np.linalg.inv(np.linalg.inv(precision)[first:, first:])
        variances = np.linalg.inv(precision).diagonal()[:first]
        found = belief.Belief(inner, mean[first:], features, mean[:first], 1.0 / variances)
    belief.write(state, found)


def _made(lead: Any, state: State, size: int, width: int) -> Any:
    """A model like the leader, with this state and budget."""
    model = lead.snapshot()
    params = {**lead._origin.params, **({lead._budget_name: size} if size else {})}
    model._origin = replace(lead._origin, params=params, room=Room())
    model.set_params(**({lead._budget_name: size} if size else {}))
    model.__dict__.pop("_changed", None)
    native = lead._engine.native
    model._engine = model._build(model._origin, native.classes, lead._engine.dtype)
    model._engine.native.load(state)
    model.n_features_in_ = max(width, model.n_features_in_)
    return model
