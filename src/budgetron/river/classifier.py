"""Classification with River's interface: labels and probabilities of one row or of a frame."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite, nextafter
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river.base import MiniBatchClassifier

from budgetron._csr import sparse_rows
from budgetron._engine import Floats
from budgetron.errors import BudgetronError
from budgetron.estimators._base.targets import check_labels, told_apart
from budgetron.estimators._base.weights import product_one
from budgetron.river.model import FLOAT64, RiverLearner
from budgetron.verdict import NotLearningWarning


class RiverClassifier(RiverLearner, MiniBatchClassifier):
    """A classifier of any number of classes, which are added as they occur unless they are given.

    Before any class is known `predict_one` returns None and `predict_proba_one` an empty dict, like
    River's multiclass classifiers; with ``classes`` there is an answer from the start.
    """

    classes: Any

    _own = RiverLearner._own | {"classes"}

    def __post_init__(self) -> None:
        super().__post_init__()
        self._labels: list[Any] = []  # of the classes that the model knows
        if self.classes is not None and len(self._declared()) < 2:
            raise BudgetronError(
                f"classes={self.classes!r} must name two labels or more, or be None"
            )

    def _declared(self) -> NDArray[Any]:
        return np.unique(_as_array(() if self.classes is None else self.classes))

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def n_mistakes_(self) -> int:
        """Number of wrong predictions, each made before the row was learned."""
        return self._estimator.n_mistakes_ if self._started else 0

    # ---- learning --------------------------------------------------------------------------------

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn one row.

        Parameters
        ----------
        x : features: name to finite number; a feature that is missing in the dict is 0, and with
            scale="auto" one that is None or NaN is a missing value
        y : label
        w : weight, a number >= 0; a row of weight w moves f by w times as much
        """
        if w != 1.0:
            w = self._weight(x, w)
            if w == 0.0:
                return
        estimator = self._estimator
        try:
            code = None if estimator._changed else estimator._codes[y]
        except (AttributeError, KeyError, TypeError):  # not started, or a new label
            code = None
        if code is None:
            self._learn(x, self._row(x), [y], [w])
            return
        by_class = estimator._class_weights
        if by_class is not None:
            w = product_one(w, by_class.of_one(y))
        try:
            estimator._engine.native.learn_named(self._names, x, code, w)
        except NotLearningWarning:  # the user made it an error: the row has been learned
            if by_class is not None and w > 0:
                by_class.count(y)
            raise
        if by_class is not None and w > 0:
            by_class.count(y)

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn the rows of a frame, in order; gives the same bits as `learn_one` on each.

        Parameters
        ----------
        X : pandas DataFrame of finite numbers, with scale="auto" also of missing values
        y : pandas Series of labels
        w : weights, numbers >= 0; None for all 1
        """
        self._learn(X.columns, self._rows(X), list(y), w)

    def _learn(self, names: Iterable[Any], rows: Any, labels: list[Any], weights: Any) -> None:
        try:
            self._learn_rows(names, rows, _as_array(labels), weights)
        finally:  # rows before a Ctrl-C have been learned
            if self._started and len(self._labels) != len(self._estimator.classes_):
                self._labels = self._estimator.classes_.tolist()

    def _begin(self, width: int, *, growing: bool) -> None:
        closed = self.classes is not None
        self._estimator._begin(self._declared(), width, FLOAT64, closed=closed, growing=growing)

    # ---- deciding --------------------------------------------------------------------------------

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """Predict the label of one row; None while no class is known."""
        labels = self._labels
        if len(labels) < 2:
            self._row(x)  # to refuse rows that learning would refuse
            return self._only_label()
        decision = self._estimator._engine.native.predict_named(self._names, x)
        if decision.__class__ is float:
            return labels[decision >= 0]
        return labels[decision.argmax()]

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """The probability of each known class; an empty dict if there is none."""
        labels = self._labels
        if len(labels) < 2:
            self._row(x)
            return self._only_shares()
        shares = self._estimator._engine.native.probabilities_named(self._names, x)
        return dict(zip(labels, shares.tolist(), strict=True))

    def predict_set_one(self, x: dict[Any, Any], coverage: float = 0.9) -> list[Any]:
        """The set of labels that holds the row's own with this probability, in order.

        All labels while too few rows were learned.
        """
        self._estimator._check_sets(coverage)
        labels = self._labels
        if len(labels) < 2:
            self._row(x)
            return labels or self._declared().tolist()
        native = self._estimator._engine.native
        members = native.answer_named(self._names, x, "set", float(coverage))
        return [label for label, member in zip(labels, members, strict=True) if member]

    def predict_many(self, X: Any) -> Any:
        """The label of each row of a frame, as a Series."""
        import pandas as pd

        if len(self._labels) < 2:
            return pd.Series([self._only_label()] * len(X), index=X.index)
        return pd.Series(self._estimator._choose(self._decisions(self._rows(X))), index=X.index)

    def predict_proba_many(self, X: Any) -> Any:
        """The probabilities of the known classes, one row per row of the frame."""
        import pandas as pd

        if len(self._labels) < 2:
            return pd.DataFrame([self._only_shares()] * len(X), index=X.index)
        rows = sparse_rows(self._rows(X))
        shares, _ = self._estimator._answer(rows, probabilities=True)
        return pd.DataFrame(shares, index=X.index, columns=self._labels)

    def _only_label(self) -> Any:
        """The answer for any row while fewer than two classes were learned: as if f were 0."""
        labels = self._labels or self._declared().tolist()
        return labels[len(labels) == 2] if labels else None

    def _only_shares(self) -> dict[Any, float]:
        labels = self._labels or self._declared().tolist()
        shares = dict.fromkeys(labels, 1.0 / max(len(labels), 1))
        if len(labels) > 1:  # the predicted class always has the largest
            shares[self._only_label()] = nextafter(1.0 / len(labels), 1.0)
        return shares

    def _decisions(self, rows: Any) -> Floats:
        decisions: Floats = self._estimator._answer(sparse_rows(rows))[0]
        return decisions[:, 0] if decisions.shape[1] == 1 else decisions


def _as_array(labels: Any) -> NDArray[Any]:
    """Labels as an array of their type; BudgetronError if they are not labels."""
    check_labels(labels)
    for label in labels:
        if not isinstance(label, (str, bool, Real, np.bool_)):
            raise BudgetronError(f"y={label!r}: a label is a text, a number, True or False")
        if isinstance(label, float | np.floating) and not isfinite(label):
            raise BudgetronError(f"y={label!r}: a label must be finite")
    found = told_apart(list(labels), "y") if len(labels) else np.empty(0, dtype=bool)
    if found.dtype.kind == "O":
        label = max(labels, key=abs)
        raise BudgetronError(f"y={label!r}: a label is a text or a number of at most 64 bits")
    return found
