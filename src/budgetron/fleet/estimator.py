"""The base of the fleet's classifier and regressor for scikit-learn: the key is a column of X."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from budgetron.errors import BudgetronError
from budgetron.fleet.fleet import Fleet


class KeyedEstimator(BaseEstimator):  # type: ignore[misc]
    """The settings of a fleet; splits the key column from the others."""

    _task: ClassVar[str]

    def __init__(
        self,
        key: int | str = 0,
        *,
        algorithm: str = "budgetron",
        memory: int | str = "1GB",
        budget: int = 8,
        shared: int | None = 100,
        file: Any = None,
        half_life: float = 1e6,
        caution: float = 30.0,
        random_state: int | None = None,
        parameters: dict[str, Any] | None = None,
    ) -> None:
        self.key = key
        self.algorithm = algorithm
        self.memory = memory
        self.budget = budget
        self.shared = shared
        self.file = file
        self.half_life = half_life
        self.caution = caution
        self.random_state = random_state
        self.parameters = parameters

    def predict(self, X: Any) -> NDArray[Any]:
        """The answer for each row, from the model of its key."""
        return self._fleet.predict(*self._split(X))

    def _learn(self, X: Any, y: Any, **more: Any) -> None:
        """Learn rows; `more` is for the fleet that the first of them make.

        What is refused changes nothing.
        """
        fleet = getattr(self, "fleet_", None)
        if fleet is None:
            given = {k: v for k, v in self.get_params().items() if k not in ("key", "parameters")}
            fleet = Fleet(task=self._task, **given, **more, **(self.parameters or {}))
        keys, rows = self._split(X)
        fleet.learn(keys, rows, y)
        self.fleet_: Fleet = fleet
        if fleet.n_seen_:
            self.n_features_in_: int = rows.shape[1] + 1

    def _learn_anew(self, X: Any, y: Any, **more: Any) -> None:
        """The same, from the start; what was learned before stays if the rows are refused."""
        before = self.__dict__.pop("fleet_", None)
        try:
            self._learn(X, y, **more)
        except BaseException:
            if before is not None:
                self.fleet_ = before
            raise

    @property
    def _fleet(self) -> Fleet:
        if not hasattr(self, "fleet_"):
            what = f"this {type(self).__name__} has learned nothing yet"
            raise NotFittedError(f"{what}: call fit first")
        return self.fleet_

    def _split(self, X: Any) -> tuple[Any, Any]:
        """The key column, and the other columns."""
        names = getattr(X, "columns", None)
        if isinstance(self.key, str):
            if names is None or self.key not in list(names):
                known = "" if names is None else f" (it has {', '.join(map(str, names))})"
                raise BudgetronError(f"X has no column {self.key!r}{known}: pass the key column")
            others = [name for name in names if name != self.key]
            return X[self.key], X[others]
        array = X if names is None else X.to_numpy()
        array = np.asarray(array)
        if array.ndim != 2 or not -array.shape[1] <= self.key < array.shape[1]:
            raise BudgetronError(f"X has no column {self.key}: pass the key column")
        return array[:, self.key], np.delete(array, self.key, axis=1).astype(
            array.dtype if array.dtype.kind == "f" else np.float64
        )
