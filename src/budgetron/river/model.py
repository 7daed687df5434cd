"""The base of the River classifiers and regressors: an estimator inside, and the path of rows.

A River model holds the scikit-learn estimator of the same name, which has the parts, the classes
and the compiled model. A row of known features goes straight to the compiled round: the core reads
the dict itself (bindings/named_row.hpp). Batches, and rows with something new (the first row, a new
class), go through the estimator, as sparse rows of a stream that grows.

Subclasses are dataclasses made from the estimators' by factory.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import fields
from functools import cache
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from river.base import Estimator

from budgetron import _core
from budgetron.errors import BudgetronError
from budgetron.estimators._base.gaps import FLAGS
from budgetron.estimators._base.weights import LARGEST, sample_weights
from budgetron.events import Listener, log
from budgetron.river.feature_names import LARGEST as LARGEST_NUMBER
from budgetron.river.feature_names import Names

FLOAT64 = np.dtype(np.float64)


class RiverLearner(Estimator):
    """An estimator of this library with River's interface."""

    gamma: float | str
    seed: int | None
    max_features: int | None

    _estimator_class: ClassVar[type]
    _own: ClassVar[frozenset[str]] = frozenset({"seed", "max_features"})  # not the estimator's

    def __post_init__(self) -> None:
        if self.seed is not None and not isinstance(self.seed, Integral):
            raise BudgetronError(f"seed={self.seed!r} must be an integer or None")
        most = self.max_features
        if most is not None and not (isinstance(most, Integral) and most >= 1):
            raise BudgetronError(f"max_features={most!r} must be an integer of at least 1, or None")
        params = {name: self._as_estimators(name, getattr(self, name)) for name in self._shared()}
        self._estimator: Any = self._estimator_class(**params, random_state=self.seed)
        self._estimator._validate_params()
        # Random numbers of a feature depend on its number, a hash of its name. But a model in bytes
        # allocates memory by the width, and needs numbers below it.
        drawn = not self._estimator._stores_examples and not self._estimator.in_bytes
        flags = self._estimator.missing == "flag"  # flags have larger numbers
        self._names = Names(hashed=drawn, most=most, largest=FLAGS if flags else LARGEST_NUMBER)

    @classmethod
    @cache
    def _shared(cls) -> tuple[str, ...]:
        """The parameters of the estimator."""
        return tuple(f.name for f in fields(cls) if f.name not in cls._own)  # type: ignore[arg-type]

    @staticmethod
    def _as_estimators(name: str, value: Any) -> Any:
        return "median" if name == "gamma" and value == "auto" else value

    def __setattr__(self, name: str, value: Any) -> None:
        """Set it; a parameter set later goes to the estimator, as with its set_params."""
        super().__setattr__(name, value)
        if "_estimator" in self.__dict__ and name in self._shared():
            self._estimator.set_params(**{name: self._as_estimators(name, value)})

    @property
    def _mutable_attributes(self) -> set[str]:
        return {self._estimator._budget_name} & {*self._shared()}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"seed": 42}

    @property
    def estimator(self) -> Any:
        """The scikit-learn estimator that does the learning: use it to look inside, or to save."""
        if self._started and not self._names.hashed:  # single rows bypass it
            known = max(self._estimator.n_features_in_, len(self._names))
            self._estimator.n_features_in_ = known
        return self._estimator

    @property
    def n_support_(self) -> int:
        """Number of stored examples."""
        return self._estimator.n_support_ if self._started else 0

    @property
    def n_seen_(self) -> int:
        """Rows learned so far."""
        return self._estimator.n_seen_ if self._started else 0

    @property
    def _raw_memory_usage(self) -> int:
        """Bytes of the Python objects and of the compiled model."""
        size: int = super()._raw_memory_usage
        return size + (self._estimator.memory_bytes_ if self._started else 0)

    @property
    def _started(self) -> bool:
        return hasattr(self._estimator, "_engine")

    @property
    def n_missing_(self) -> int:
        """Missing values (None, NaN) in the rows learned so far."""
        return self._estimator.n_missing_ if self._started else 0

    @property
    def missing_counts_(self) -> dict[Any, int]:
        """Missing values of each feature that had any, by name."""
        counts = self._estimator.missing_counts_ if self._started else {}
        return {name: counts[at] for name, at in self._names.items() if at in counts}

    # ---- among others ----------------------------------------------------------------------------

    def snapshot(self) -> Self:
        """A copy of the current model, which later learning does not change: for serving.

        It answers, and if it learns the same rows continues, to the bit like the model.

        Examples
        --------
        >>> from budgetron.river import make
        >>> model = make("rbp", budget=50, seed=1)
        >>> model.learn_one({"x": 1.0}, "yes")
        >>> served = model.snapshot()
        >>> model.learn_one({"x": -1.0}, "no")
        >>> model.predict_one({"x": -1.0}), served.predict_one({"x": -1.0})
        ('no', 'yes')
        """
        return deepcopy(self, {id(self._estimator): self._estimator.snapshot()})

    def watch(self, listener: Listener | None = log) -> Self:
        """Call `listener` with every `budgetron.events.Event`: evictions, merges, drift.

        The thread that learns calls it, after each row of `learn_one`. The default writes events to
        the logger "budgetron"; None removes the listener.
        """
        self._estimator.watch(listener)
        return self

    # ---- rows ------------------------------------------------------------------------------------

    def _start(self, features: int) -> None:
        """Build the model; the first row has so many features."""
        estimator = self._estimator
        estimator._sparse = True
        # Hashes do not show how many features there are; the first row must.
        growing = self.max_features is None and not self._names.hashed
        estimator.n_features_in_ = max(1, features if growing else self.max_features or features)
        self._begin(estimator.n_features_in_, growing=growing)

    def _begin(self, width: int, *, growing: bool) -> None:
        raise NotImplementedError

    def _learn_rows(self, names: Iterable[Any], rows: Any, y: Any, weights: Any) -> None:
        """Learn rows (CSR) of these features through the estimator.

        A refused call changes nothing; rows of weight 0 are ignored.
        """
        if weights is not None and len(weights) == len(y) == rows.shape[0]:
            weights = sample_weights(weights, len(y))
            kept = weights != 0
            rows, y, weights = rows[kept], np.asarray(y)[kept], weights[kept]
        if len(y) == rows.shape[0] == 0:
            return
        estimator = self._estimator
        with estimator._turn:
            names = self._names.unknown(names)
            numbers = self._names.fresh(names, True)
            with estimator._unchanged_if_refused():
                if not self._started:
                    self._start(len(self._names) + len(names))
                batch = estimator._ready(rows, y, weights, growing=True)
            # Before rows are learned, which Ctrl-C may interrupt.
            self._names.update(zip(names, numbers, strict=True))
            estimator._learn_rows(batch)
            estimator._engine.native.call_alarm()

    def _weight(self, x: dict[Any, Any], w: float) -> float:
        """The weight of a row; a row of weight 0 must be valid, but is not learned."""
        if not 0 <= w <= LARGEST:
            raise BudgetronError(f"w={w!r} must be a number from 0 to {LARGEST:g}")
        if w == 0.0:
            self._row(x)
        return float(w)

    def _row(self, x: dict[Any, Any]) -> Any:
        """One row as CSR."""
        indices, values = _core.named_row(self._names, x, self._estimator._takes_gaps)
        ends = np.array([0, len(values)])
        return scipy.sparse.csr_array((values, indices, ends), shape=(1, _width(indices)))

    def _rows(self, X: Any) -> Any:
        """The rows of a frame as CSR, without zeros; the same numbers as row by row."""
        if not X.columns.is_unique:
            raise BudgetronError("X has two columns of the same name")
        unknown = self._names.unknown(X.columns)
        fresh = dict(zip(unknown, self._names.fresh(unknown, False), strict=True))
        numbers = [fresh[name] if name in fresh else self._names[name] for name in X.columns]
        rows = scipy.sparse.csr_array(_numbers(X, gaps=self._estimator._takes_gaps))
        indices = np.array(numbers, dtype=np.int32)[rows.indices]
        shape = (len(X), _width(indices))
        return scipy.sparse.csr_array((rows.data, indices, rows.indptr), shape=shape)


def _width(indices: Any) -> int:
    return int(indices.max(initial=0)) + 1


def _numbers(X: Any, *, gaps: bool) -> Any:
    """The frame's values as float64; BudgetronError names a feature that is not a number.

    `gaps`: values may be missing (NaN).
    """
    if all(getattr(dtype, "kind", "O") in "biuf" for dtype in X.dtypes):
        values = X.to_numpy(dtype=np.float64, na_value=np.nan)
        if np.isfinite(values).all() or (gaps and not np.isinf(values).any()):
            return values
    names = Names()
    for name in X.columns:
        for value in X[name].tolist():
            _core.named_row(names, {name: value}, gaps)  # reports what is not a number
    return X.to_numpy(dtype=np.float64, na_value=np.nan)
