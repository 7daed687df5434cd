"""Access to the compiled model inside an estimator: the only place in the tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from budgetron._batch import Batch
from budgetron._csr import sparse_rows
from budgetron._engine import Engine
from budgetron.checks.same import same_values

__all__ = [
    "Engine",
    "StandIn",
    "engine_of",
    "has_learned",
    "learn_rows",
    "native_of",
    "native_of_fleet",
    "predict_rows",
    "same_state",
    "state_of",
]


def has_learned(model: Any) -> bool:
    """Whether an estimator has an engine yet."""
    return hasattr(model, "_engine")


def engine_of(model: Any) -> Any:
    """The engine of an estimator: its compiled model, spec, seed and dtype."""
    return model._engine


def native_of(model: Any) -> Any:
    """The compiled model of an estimator."""
    return model._engine.native


def native_of_fleet(fleet: Any) -> Any:
    """The compiled fleet of a `Fleet`."""
    return fleet._native


def state_of(model: Any) -> dict[str, NDArray[Any]]:
    """The saved state of an estimator's compiled model, by name."""
    state: dict[str, NDArray[Any]] = model._engine.native.save()
    return state


def same_state(first: Any, second: Any, *, but: str | None = None) -> None:
    """The compiled states of two estimators are equal to the bit, except this piece (`but`)."""
    one, other = (
        {name: value for name, value in state_of(model).items() if not name.startswith(f"{but}/")}
        for model in (first, second)
    )
    same_values(one, other, ("in the first", "in the second"))


def learn_rows(
    model: Any,
    rows: Any,
    targets: NDArray[np.float64],
    weights: NDArray[np.float64] | None = None,
    **flags: bool,
) -> Any:
    """Let a compiled model learn checked rows; returns the decisions before if `record` is set."""
    return model.learn(Batch(_readable(rows), targets, weights, **flags))


def predict_rows(model: Any, rows: Any, **how: Any) -> Any:
    """The answers of a compiled model to checked rows: outputs, or `probabilities`."""
    return model.predict(_readable(rows), **how)[0]


class StandIn:
    """A compiled model with some methods replaced, for tests."""

    def __init__(self, model: Any, **methods: Any) -> None:
        self._model = model
        self.__dict__.update(methods)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)


def _readable(rows: Any) -> Any:
    return sparse_rows(rows) if scipy.sparse.issparse(rows) else rows
