"""The reader of models: from a fitted learner to the description of what `predict` needs.

All comes from the compiled model: its hypothesis (also averaged, and for learners that keep
examples beside the budget), its units, its metric, its straight part, its fit of probabilities. A
learner of a kind that is not listed here is refused, and so is a description that does not decide
like the model: it is tested on rows first.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from budgetron._csr import sparse_rows
from budgetron.estimators._base.estimator import OnlineEstimator
from budgetron.estimators.table_encoder import TableEncoder
from budgetron.export.description import (
    Description,
    ExportError,
    Floats,
    Kernel,
    Link,
    Units,
)
from budgetron.tables.encoding import Encoding

# Learners of the core (core/learners/registry.cpp) that a description can express.
KINDS = frozenset(
    {"round", "fogd", "nogd", "avm", "forgetron", "projectron-plus", "pomdr", "budgetron"}
)
TASKS = ("classification", "regression")
MOST = 20_000_000  # numbers in the examples or the feature map: a larger file is useless
RAMP = 0.01  # of the usual margin (core/model/calibration.hpp)
STEEPEST = 1e30  # slope of a line: a steeper one is a step
TRIED = 200  # rows
# Largest difference of decisions, relative to the largest and to the sum, by the rows' dtype.
APART = {"float64": (1e-7, 1e-11), "float32": (1e-4, 1e-4)}


def describe(model: Any) -> Description:
    """Describe what `predict` needs of a fitted model.

    Parameters
    ----------
    model : a learner of this package or of `budgetron.river`; one that was learned from a table by
        `budgetron run`; a Pipeline of a TableEncoder and a learner

    Raises
    ------
    ExportError
        If it cannot be described, in one line.
    NotFittedError
        If it has learned nothing yet.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetron import BudgetronClassifier
    >>> from budgetron.export import describe
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> model = BudgetronClassifier(budget=20).fit(X, X[:, 0] * X[:, 1] > 0)
    >>> found = describe(model)
    >>> found.examples.shape, found.kernel.kind
    ((20, 2), 'rbf')
    >>> bool(np.allclose(found.decide(X)[:, 0], model.decision_function(X)))
    True
    """
    learner, table = _parts_of(model)
    if isinstance(learner, OnlineEstimator):
        names = getattr(learner, "feature_names_in_", None)
        width = learner.n_features_in_ if hasattr(learner, "_engine") else 0
        named = [f"x{j}" for j in range(width)] if names is None else names.tolist()
        return _described(learner, np.arange(width, dtype=np.int32), named, table)
    inner = getattr(learner, "_estimator", None)  # of a model of River
    known = getattr(learner, "_names", None)
    if not isinstance(inner, OnlineEstimator) or known is None:
        what = f"{type(model).__name__} cannot be exported"
        raise ExportError(f"{what}: it is not a learner of budgetron, nor one after a TableEncoder")
    pairs = sorted((number, name) for name, number in dict(known).items())
    numbers = np.array([number for number, _ in pairs], np.int32)
    return _described(inner, numbers, [str(name) for _, name in pairs], None)


def _parts_of(model: Any) -> tuple[Any, Encoding | None]:
    """The learner, and the encoding of the table before it."""
    if isinstance(model, Pipeline):
        steps = [each for _, each in model.steps if each not in (None, "passthrough")]
        if len(steps) == 2 and isinstance(steps[0], TableEncoder):
            return steps[1], _this_versions(steps[0]._encoding)
        strange = next((each for each in steps[:-1] if not isinstance(each, TableEncoder)), model)
        if len(steps) != 1:
            what = f"a pipeline with {type(strange).__name__} cannot be exported so"
            how = "skl2onnx converts it after `import budgetron.onnx`"
            raise ExportError(f"{what}: a learner can, alone or after one TableEncoder; {how}")
        model = steps[0]
    table = getattr(model, "_table", None)
    return model, None if table is None else _this_versions(table.encoder._encoding)


def _this_versions(table: Encoding) -> Encoding:
    """The encoding, unless an early version made it."""
    if table.places is not None or any(each.kind == "checksum" for each in table.coded):
        what = "the columns of its table are coded as early versions did"
        raise ExportError(f"the model cannot be exported: {what}; train it again")
    return table


def _described(
    learner: Any, numbers: NDArray[np.int32], names: list[str], table: Encoding | None
) -> Description:
    """The description of an estimator; `numbers` are the core's numbers of its features."""
    native = learner._deciding  # raises if nothing was learned
    kind, task = learner._engine.spec["kind"], learner._task
    if task == "novelty":
        raise ExportError("a detector of strange rows cannot be exported")
    if kind not in KINDS or task not in TASKS:
        what = f"{type(learner).__name__} cannot be exported"
        raise ExportError(f"{what}: the exporter does not know how a {kind!r} answers a {task} row")
    flags = learner._engine.preparation.flags
    every = np.append(numbers, numbers + np.int32(flags)) if flags else numbers
    parts, coefs, scale, constant = native.answering()
    mapped = native.feature_map(every[:1])
    size = len(every) * (len(coefs) if mapped is None else mapped[0].shape[1])
    stored = len(parts[2]) if mapped is None else size
    if max(stored, len(every)) > MOST or (mapped is not None and size > MOST):
        most = f"{MOST:,} numbers, the most that are exported"
        raise ExportError(f"{type(learner).__name__} with {len(names):,} features has over {most}")
    mapped = native.feature_map(every)
    found = Description(
        learner=type(learner).__name__,
        classes=learner.classes_.tolist() if task == "classification" else None,
        features=names,
        dtype=str(learner._engine.dtype),
        units=_units(native, every, len(names), flagged=flags > 0),
        kernel=None if mapped is not None else _kernel(learner._engine.spec["kernel"], native),
        examples=None if mapped is not None else _examples(parts, every),
        frequencies=None if mapped is None else mapped[0].astype(np.float64),
        coefs=scale * (coefs if mapped is None else mapped[1]),
        straight=_straight(native, every, scale),
        intercept=np.full(native.outputs, float(constant)),
        link=_link(native) if task == "classification" else None,
        table=table,
    )
    part = native.straight()
    if part is not None:
        found = replace(found, intercept=found.intercept + scale * part[2])
    _try(found, learner, native, numbers)
    return found


def _units(native: Any, every: NDArray[np.int32], width: int, *, flagged: bool) -> Units:
    centers, sizes, means = native.units(every)
    relevance = native.relevance()[0]
    stretch = np.ones(len(every))
    known = every < len(relevance)
    stretch[known] = np.sqrt(relevance[every[known]])
    sizes = sizes * stretch  # the core's sizes include the metric
    with np.errstate(divide="ignore"):
        inverse = np.where(np.isinf(sizes), 0.0, 1.0 / sizes)
    missing = means[:width] if native.takes_gaps else None
    return Units(centers, inverse, float(native.clip), stretch, missing, flagged)


def _kernel(spec: dict[str, Any], native: Any) -> Kernel:
    given = {name: spec[name] for name in ("coef0", "degree") if name in spec}
    return Kernel(spec["kind"], float(native.gamma) if "gamma" in spec else 1.0, **given)


def _places(features: NDArray[Any], every: NDArray[np.int32]) -> NDArray[np.int64]:
    """Positions of features among those of the rows; some learners keep features that rows lost."""
    places = np.searchsorted(every, features)
    if (places >= len(every)).any() or (every[places] != features).any():
        raise ExportError("the model stores a feature that its rows do not have")
    return places


def _examples(parts: Any, every: NDArray[np.int32]) -> Any:
    indptr, indices, values = parts
    shape = (len(indptr) - 1, len(every))
    return scipy.sparse.csr_array((values, _places(indices, every), indptr), shape=shape)


def _straight(native: Any, every: NDArray[np.int32], scale: float) -> Floats | None:
    part = native.straight()
    if part is None:
        return None
    features, weights, _ = part
    straight = np.zeros((len(every), native.outputs))
    straight[_places(features, every)] = scale * weights
    return straight


def _link(native: Any) -> Link:
    state = native.save()
    of = {name: state[f"calibration/{name}"] for name in ("slope", "offset", "squares", "weight")}
    usual = np.sqrt(of["squares"] / np.where(of["weight"] > 0, of["weight"], 1.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        ramp = np.where(of["offset"] > 0, of["offset"] / (RAMP * usual), 0.0)
    steep = np.minimum(of["slope"] + np.nan_to_num(ramp, posinf=STEEPEST), STEEPEST)
    lines = np.stack([of["slope"], of["offset"], steep], axis=1)
    return Link(lines[0::2], lines[1::2])


def trial_rows(found: Description) -> Floats:
    """Some rows to test a description on: around the examples, and around the centre."""
    random = np.random.default_rng(0)
    units, width = found.units, len(found.features)
    inverse, center = units.inverse[:width], units.center[:width]
    sizes = np.divide(1.0, inverse, out=np.ones(width), where=inverse != 0)
    rows = min(TRIED, max(2, MOST // 10 // max(1, width * len(found.coefs))))
    X = random.normal(size=(rows, width))
    if found.examples is not None and found.examples.shape[0]:
        some = random.integers(found.examples.shape[0], size=rows // 2)
        stored = found.examples[some].toarray()[:, :width] / units.stretch[:width]
        X[: rows // 2] = stored + 0.1 * X[: rows // 2]
    X = (center + X * sizes).astype(found.dtype).astype(np.float64)
    if units.missing is not None:
        X[1::2][random.random((len(X[1::2]), width)) < 0.1] = np.nan
    return X


def _try(found: Description, learner: Any, native: Any, numbers: NDArray[np.int32]) -> None:
    """Compare the description with the model."""
    X = trial_rows(found)
    given = scipy.sparse.csr_array(X)  # keeps NaN
    held = scipy.sparse.csr_array(
        (given.data.astype(found.dtype), numbers[given.indices], given.indptr),
        shape=(len(X), int(numbers[-1]) + 1),
    )
    truth = native.predict(sparse_rows(held), 1, False)[0]
    ours = found.decide(X)
    both = np.isfinite(truth).all(axis=1) & np.isfinite(ours).all(axis=1)
    apart = np.abs(ours - truth)[both].max(initial=0.0)
    largest = np.abs(truth[both]).max(initial=0.0)
    summed = np.abs(found.values(found.units.show(X[both]))) @ np.abs(found.coefs)
    close, rounding = APART[found.dtype]
    if apart > close * largest + rounding * summed.max(initial=0.0):
        what = f"{type(learner).__name__} cannot be exported"
        raise ExportError(f"{what}: it does not answer as an expansion or a feature map would")
