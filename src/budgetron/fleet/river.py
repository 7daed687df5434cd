"""The fleet as a River model: the key is one of the features of a row."""

from __future__ import annotations

from typing import Any

import numpy as np
from river import base

from budgetron._engine import Floats
from budgetron.errors import BudgetronError
from budgetron.fleet.fleet import Fleet


class FleetClassifier(base.Classifier):
    """`Fleet` for River: the row's feature `key` selects the model.

    The first row fixes the features; a feature that a later row lacks is missing there, and a new
    one is an error.

    Parameters
    ----------
    key : name of the feature with the key
    classes : all labels there will be
    **settings : settings of `Fleet`

    Examples
    --------
    >>> from budgetron.fleet.river import FleetClassifier
    >>> model = FleetClassifier(key="user", classes=[False, True], memory="5MB")
    >>> for i in range(600):
    ...     x = {"user": f"user {i % 3}", "size": i % 10, "age": i % 7}
    ...     model.learn_one(x, (i % 10 > 4) == (i % 3 == 0))
    >>> model.predict_one({"user": "user 0", "size": 9, "age": 1})
    True
    """

    def __init__(self, key: Any = "key", classes: Any = (False, True), **settings: Any) -> None:
        self.key = key
        self.classes = classes
        self.settings = settings
        self.fleet = Fleet(classes=list(classes), **settings)
        self._names: list[Any] = []

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Learn one row."""
        before = self._names
        try:
            self.fleet.learn([self._key_of(x)], self._row(x, first=True), [y])
        except BaseException:  # a row that is refused does not name the features
            self._names = before
            raise

    def predict_proba_one(self, x: dict[Any, Any], **_: Any) -> dict[Any, float]:
        """The probability of each class; all equal before the first row is learned."""
        labels = self.fleet.classes_.tolist()
        if not self._names:
            return dict.fromkeys(labels, 1 / len(labels))
        chances = self.fleet.predict_proba([self._key_of(x)], self._row(x))[0]
        return dict(zip(labels, chances.tolist(), strict=True))

    def _key_of(self, x: dict[Any, Any]) -> Any:
        if self.key not in x:
            raise BudgetronError(f"the row has no feature {self.key!r}, which must hold its key")
        return x[self.key]

    def _row(self, x: dict[Any, Any], *, first: bool = False) -> Floats:
        if not self._names and first:
            self._names = [name for name in x if name != self.key]
        strange = next((name for name in x if name != self.key and name not in self._names), None)
        if strange is not None:
            known = ", ".join(map(str, self._names))
            raise BudgetronError(f"feature {strange!r} is new; the first row had {known}")
        row = [x.get(name) for name in self._names]
        return np.array([[np.nan if value is None else float(value) for value in row]])
