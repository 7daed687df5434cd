"""An estimator used by several threads: locks, snapshots, listeners.

The compiled model has a shared lock: any number of threads may predict, one row at a time, or one
may learn, a few hundred rows of a batch at a time. This module guards what an estimator keeps
beside it (classes, widths): calls that learn hold an exclusive lock (`_turn`), and a snapshot waits
for it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from copy import deepcopy
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from budgetron._engine import Engine
from budgetron.errors import BudgetronError, as_budgetron_error
from budgetron.estimators._base.scikit import BaseEstimator
from budgetron.events import Listener, Relay, log

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound="Shared")
_PRIVATE = ("_turn_lock", "_listener")  # not copied, pickled or saved


def in_turn(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """A method of an estimator that only one thread at a time may run."""

    @wraps(method)
    def waiting(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._turn:
            return method(self, *args, **kwargs)

    return waiting


class Shared(BaseEstimator):
    """The part of an estimator that lets others use and watch it."""

    _engine: Engine
    _listener: Relay | None = None

    @property
    def _turn(self) -> Any:
        """A lock for calls that learn, or copy what others learn.

        A process that forks while another thread holds it would leave the child a lock that is
        never released: each process has its own. The core knows whether the model is valid there.
        """
        process, lock = self.__dict__.setdefault("_turn_lock", (os.getpid(), threading.RLock()))
        if process != os.getpid():
            self.__dict__["_turn_lock"] = (os.getpid(), threading.RLock())
            lock = self.__dict__["_turn_lock"][1]
        return lock

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, as in the constructor."""
        with as_budgetron_error():
            return super().set_params(**params)

    def _validate_params(self) -> None:
        with as_budgetron_error():
            super()._validate_params()

    def __getstate__(self) -> dict[str, Any]:
        with self._turn:
            state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name not in _PRIVATE}

    @in_turn
    def snapshot(self) -> Self:
        """A copy of the current model, which later learning does not change: for serving.

        Its answers equal the model's to the bit; if it learns the same rows, it stays equal to the
        bit. It has its own memory, as much as the model, and no listener. While another thread
        learns, it waits for that call to end.

        Examples
        --------
        >>> from sklearn.datasets import make_circles
        >>> from budgetron import ForgetronClassifier
        >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
        >>> model = ForgetronClassifier(budget=20, gamma=1.0).partial_fit(X[:200], y[:200])
        >>> served = model.snapshot()
        >>> model.partial_fit(X[200:], y[200:]).n_seen_, served.n_seen_
        (400, 200)
        """
        engine = getattr(self, "_engine", None)
        known = {} if engine is None else {id(engine): engine.copy()}
        return deepcopy(self, known)

    def watch(self, listener: Listener | None = log) -> Self:
        """Call `listener` with every event inside the model: evictions, merges, drift.

        The thread that learns calls it, every 256 rows of a batch and at its end. It may look into
        the model. If it raises, the batch is first learned to its end, without further calls. A
        watched model learns the same, to the bit; the listener is not saved, pickled, cloned or
        copied. There is one at a time.

        Parameters
        ----------
        listener : called with each `budgetron.events.Event`; the default writes them to the logger
            "budgetron", drift as INFO, the rest as DEBUG. None removes the listener.

        Examples
        --------
        >>> from collections import Counter
        >>> from sklearn.datasets import make_circles
        >>> from budgetron import BSGDClassifier
        >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
        >>> seen = Counter()
        >>> model = BSGDClassifier(budget=20, gamma=1.0, maintenance="merge")
        >>> model = model.watch(lambda event: seen.update([event.kind])).fit(X, y)
        >>> sorted(seen)
        ['merge']
        """
        if listener is not None and not callable(listener):
            raise BudgetronError(f"listener={listener!r} must be a function of an event, or None")
        self._listener = None if listener is None else Relay(listener)
        if hasattr(self, "_engine"):
            self._engine.native.listen(self._listener)
        return self

    def _watched(self, engine: Engine) -> Engine:
        """The engine, with the listener of this estimator."""
        if self._listener is not None:
            engine.native.listen(self._listener)
        return engine
