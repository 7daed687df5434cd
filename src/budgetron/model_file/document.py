"""A learner as a document and arrays, and back: the content of a model file.

For a pipeline the document is that of its last step, the learner; `pipeline` has the steps before
it (steps.py). For a River model it is that of the estimator inside, and `river` has the rest
(river_models.py).

The document names an estimator of this package, its parameters, and what the engine was built from.
`restore` builds it again from these in the same way as learning does, so parameters are checked;
only then does the core take the arrays, and checks them too. Nothing in a document is executed.
"""

from __future__ import annotations

from dataclasses import asdict, fields
from math import inf
from typing import Any, Protocol

import numpy as np

import budgetron
from budgetron._engine import Room
from budgetron.catalogue import ALL
from budgetron.errors import BudgetronError
from budgetron.estimators._base.byte_budget import WARM_UP_ROWS
from budgetron.estimators._base.classifier import OnlineClassifier
from budgetron.estimators._base.detector import OnlineDetector
from budgetron.estimators._base.estimator import Origin
from budgetron.estimators._base.regressor import OnlineRegressor
from budgetron.merging import digest_of
from budgetron.model_file.limits import Arrays, least_bytes
from budgetron.model_file.plain import PREFIX
from budgetron.model_file.river_models import (
    describe_river,
    estimator_in,
    is_river,
    restore_river,
)
from budgetron.model_file.steps import describe_pipeline, is_pipeline, restore_pipeline
from budgetron.model_file.values import decode, decode_labels, encode, encode_labels
from budgetron.parts import Spec

Document = dict[str, Any]
Estimator = OnlineClassifier | OnlineRegressor | OnlineDetector
_PLAIN = (int, bool, float, str)


class Steps(Protocol):
    """A scikit-learn Pipeline, for types only: scikit-learn has none."""

    steps: list[tuple[str, Any]]

    def predict(self, X: Any) -> Any: ...


class Rows(Protocol):
    """A River model or pipeline, for types only."""

    def predict_one(self, x: Any) -> Any: ...


# ---- to a document -------------------------------------------------------------------------------


def describe(model: Any) -> tuple[Document, Arrays]:
    """The description of a model, and its arrays; TypeError if it cannot be written."""
    if is_pipeline(model):
        before, more = describe_pipeline(model)
        document, arrays = describe(model.steps[-1][1])
        return {**document, "pipeline": before}, {**arrays, **more}
    if is_river(model):
        document, arrays = describe(estimator_in(model))
        around, more = describe_river(model)
        return {**document, "river": around}, {**arrays, **more}
    kind = type(model)
    if _estimator(kind.__name__) is not kind:
        what = f"{kind.__name__} is not an estimator of budgetron: it cannot be saved"
        raise TypeError(f"{what}, nor a pipeline that ends with it")
    model._validate_params()
    with model._turn:
        return _described(model)


def _described(model: Any) -> tuple[Document, Arrays]:
    learned = hasattr(model, "_engine")
    arrays: Arrays = model._engine.native.save() if learned else {}
    document = {
        "estimator": type(model).__name__,
        "algorithm": _algorithm(model),
        "task": model._task,
        "params": _params(model.get_params(deep=False)),
        "learned": _learned(model, arrays) if learned else None,
    }
    return document, arrays


def _learned(model: Any, arrays: Arrays) -> Document:
    """All about a fitted model that is not in its arrays, and a summary of these."""
    stored = arrays.get("learner/expansion/support/ends")
    return {
        "origin": {
            "params": _params(model._origin.params),
            "width": model._origin.width,
            "growing": model._origin.growing,
            **({"room": asdict(model._origin.room)} if model._origin.room.slots else {}),
        },
        "dtype": model._engine.dtype.name,
        "generator": "xoshiro256++",
        "counters": {
            **{name: int(arrays[name][0]) for name in ("seen", "mistakes", "updates")},
            **({"missing": model.n_missing_} if "preparation/gaps/total" in arrays else {}),
        },
        "stored": None if stored is None else len(stored),
        "gamma": None if model.gamma_ is None else encode(model.gamma_),
        "scale": model.scaling_,
        **({"base": digest_of(model)} if "held/base" in arrays else {}),
        # For budgets in bytes; 0: the contenders do not fit.
        **({"race": "no room"} if arrays.get("race/share", np.ones(1))[0] == 0 else {}),
        **({"not_learning": model.not_learning_} if model.not_learning_ else {}),
        "attributes": {
            name: _attribute(name, getattr(model, name))
            for name in model._fitted
            if hasattr(model, name)
        },
    }


def _attribute(name: str, value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return encode(value)
    try:
        return encode_labels(value)
    except TypeError as error:
        raise TypeError(f"{name}: {error}; a model file holds str, bool, int and float") from None


def _params(params: dict[str, Any]) -> Document:
    written = {}
    for name, value in params.items():
        try:
            written[name] = encode(value)
        except TypeError as error:
            hint = "; use an int or None" if name == "random_state" else ""
            raise TypeError(f"parameter {name}: {error} to a model file{hint}") from None
    return written


def _algorithm(model: Any) -> str | None:
    """Its name in the catalogue, by class and what the name fixes; None for none."""
    for name, entry in ALL.items():
        here = f"budgetron.estimators.{entry.module}" == type(model).__module__
        known = here and model._task in entry.tasks
        fixed = all(getattr(model, key, None) == value for key, value in entry.fixed.items())
        if known and fixed and type(model) is entry.estimator(model._task):
            return name
    return None


def _estimator(name: str) -> type[Estimator] | None:
    """The estimator of this name, if it is one of those this package exports."""
    if name not in budgetron.__all__ or not name.endswith(("Classifier", "Regressor", "Anomaly")):
        return None
    kind = getattr(budgetron, name)
    return kind if issubclass(kind, Estimator) else None


# ---- and back ------------------------------------------------------------------------------------


def restore(document: Document, arrays: Arrays, most: float = inf) -> Any:
    """The model, or any exception if document and arrays are not one.

    A model that would take more than `most` bytes is not built.
    """
    before = {name: array for name, array in arrays.items() if name.startswith(PREFIX)}
    own = {name: array for name, array in arrays.items() if name not in before}
    if "pipeline" in document:
        return restore_pipeline(document["pipeline"], before, _restored(document, own, most))
    if "river" in document:
        return restore_river(document["river"], before, _restored(document, own, most))
    return _restored(document, arrays, most)


def _restored(document: Document, arrays: Arrays, most: float) -> Estimator:
    kind = _estimator(document["estimator"])
    if kind is None:
        raise BudgetronError(f"there is no estimator {document['estimator']!r}")
    model = kind(**_decode_params(document["params"], kind))
    model._validate_params()
    if document["task"] != model._task:
        raise BudgetronError(f"{kind.__name__} is not of the task {document['task']!r}")
    learned = document["learned"]
    if learned is None:
        return model
    for name, wanted in model._fitted.items():
        if name in learned["attributes"]:
            setattr(model, name, _decode_attribute(name, learned["attributes"][name], wanted))
        elif name not in model._optional:
            raise BudgetronError(f"{name} is missing")
    origin = learned["origin"]
    width, growing = origin["width"], origin["growing"]
    if type(width) is not int or type(growing) is not bool or not 1 <= width < 2**31:
        raise BudgetronError("the width is not valid")
    params = _decode_params(origin["params"], kind)
    shown = width * (2 if params.get("missing") == "flag" else 1)
    room = _decode_room(origin["room"], shown) if "room" in origin else Room()
    missing = {field.name for field in fields(kind)} - params.keys() - {"random_state"}
    if missing:
        raise BudgetronError(f"the parameter {min(missing)!r} that it was made with is missing")
    model._origin = Origin(params, width, growing, room)
    model._restored()
    if learned["dtype"] not in ("float32", "float64"):
        raise BudgetronError("rows are float32 or float64")
    classes = len(model.classes_) if isinstance(model, OnlineClassifier) else 1
    dtype = np.dtype(learned["dtype"])

    def refuse(spec: Spec) -> None:
        asked = least_bytes(spec, classes if classes > 2 else 1, dtype.itemsize, room, arrays)
        if asked > most:
            raise BudgetronError(
                f"the model needs {asked:,} bytes, far more than its file suggests; if right, "
                f"load it with max_bytes={asked}"
            )

    model._engine = model._build(model._origin, classes, dtype, refuse)
    model._engine.native.load(arrays)
    columns = model._engine.native.support()[1]
    if flags := model._engine.preparation.flags:
        columns = columns % flags
    if columns.max(initial=-1) >= model.n_features_in_:
        raise BudgetronError("a stored example is wider than the rows")
    _check_agrees(learned, _learned(model, arrays))
    return model


def _check_agrees(written: Any, restored: Any, name: str = "learned") -> None:
    """Check that saving the restored model would write the same."""
    if not isinstance(written, dict) or not isinstance(restored, dict):
        if written != restored or isinstance(written, bool) != isinstance(restored, bool):
            raise BudgetronError(f"{name} is not that of the model")
        return
    for key, inner in written.items():
        if key not in restored:
            raise BudgetronError(f"{name} has no {key!r:.40}")
        _check_agrees(inner, restored[key], key)


def _decode_room(written: Document, width: int) -> Room:
    room = Room(**written)
    numbers = list(asdict(room).values())
    if any(type(number) is not int or not 0 <= number < 2**62 for number in numbers):
        raise BudgetronError("the room is not valid")
    if not (room.limit > 0 and 0 < room.slots <= width and 2 <= room.warmup_rows <= WARM_UP_ROWS):
        raise BudgetronError("the room does not fit the rows")
    if room.warmup_values > room.warmup_rows * width:
        raise BudgetronError("the room is larger than the rows")
    return room


def _decode_params(written: Document, kind: Any) -> dict[str, Any]:
    known = {field.name for field in fields(kind)}
    if not written.keys() <= known:
        raise BudgetronError(f"{kind.__name__} has no parameter {min(written.keys() - known)!r}")
    return {name: decode(value) for name, value in written.items()}


def _decode_attribute(name: str, written: Any, wanted: type) -> Any:
    if wanted is np.ndarray:
        return decode_labels(written)
    value = decode(written)
    if type(value) is not wanted or wanted not in _PLAIN:
        raise BudgetronError(f"{name} is not a {wanted.__name__}")
    return value
