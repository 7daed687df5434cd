"""Learners of River and Vowpal Wabbit, for the laboratory's loop.

They have the interface of `budgetron.evaluate.adapters`, so that only their own work is timed:
making a row in their format (River: a dict, Vowpal Wabbit: a text), predicting, learning. A missing
value is not in the row. Labels are known before the first row if a learner needs that.

Bytes: River's own count of its objects. Vowpal Wabbit does not report any; its linear learner has a
table of 2^18 features with four numbers of four bytes each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetron.evaluate.predictions import Answers

MODELS = 10  # trees of a forest
VW_BYTES = (1 << 18) * 4 * 4


class RowByRow:
    """Test, then train, row by row."""

    stored = math.nan

    def __init__(self, labels: Sequence[Any] | None) -> None:
        self._labels = labels  # None: regression
        self._n = 0 if labels is None else len(labels)

    # the laboratory's `named` needs it
    def partial_fit(self, X: Any, y: Any) -> RowByRow:
        self.train(X, y)
        return self

    def predict(self, X: Any) -> Any:
        return self.test(X, np.zeros(X.shape[0])).values

    def test_then_train(self, X: Any, y: NDArray[Any]) -> Answers:
        said = []
        for row, label in zip(self._rows(X), y.tolist(), strict=True):
            said.append(self._predict(row))
            self._learn(row, label)
        return self._answers(said, y)

    def test(self, x: Any, y: NDArray[Any]) -> Answers:
        return self._answers([self._predict(row) for row in self._rows(x)], y)

    def train(self, x: Any, y: NDArray[Any]) -> None:
        for row, label in zip(self._rows(x), y.tolist(), strict=True):
            self._learn(row, label)

    def _answers(self, said: list[Any], y: NDArray[Any]) -> Answers:
        """No prediction yet counts as a mistake; in regression it counts as 0."""
        if self._labels is None:
            return Answers.of(np.array([0.0 if each is None else each for each in said]))
        known = np.array([each is not None for each in said])
        values = [other if each is None else each for each, other in zip(said, y, strict=True)]
        nothing = np.full(len(y), math.nan)
        return Answers(np.array(values), known, nothing, nothing, nothing)

    def _rows(self, X: Any) -> list[Any]:
        raise NotImplementedError

    def _predict(self, row: Any) -> Any:
        raise NotImplementedError

    def _learn(self, row: Any, label: Any) -> None:
        raise NotImplementedError


def _dense(X: Any) -> NDArray[Any]:
    return np.asarray(X if isinstance(X, np.ndarray) else X.toarray())


class River(RowByRow):
    """A model of River; those for two classes use the labels False and True."""

    def __init__(self, model: Any, labels: Sequence[Any] | None, two: bool = False) -> None:
        super().__init__(labels)
        self._model = model
        self._two = two

    @property
    def bytes(self) -> float:
        return float(self._model._raw_memory_usage)

    def _rows(self, X: Any) -> list[Any]:
        whole = _dense(X)
        rows = [dict(enumerate(row)) for row in whole.tolist()]
        if np.isnan(whole).any():
            rows = [{j: v for j, v in row.items() if v == v} for row in rows]
        return rows

    def _predict(self, row: Any) -> Any:
        said = self._model.predict_one(row)
        if self._two and said is not None:
            assert self._labels is not None
            return self._labels[bool(said)]
        return said

    def _learn(self, row: Any, label: Any) -> None:
        if self._two:
            assert self._labels is not None
            label = label == self._labels[1]
        self._model.learn_one(row, label)


class VowpalWabbit(RowByRow):
    """A workspace of Vowpal Wabbit, through its text format."""

    def __init__(self, labels: Sequence[Any] | None, arguments: str = "", size: float = VW_BYTES):
        from vowpalwabbit import Workspace

        super().__init__(labels)
        own = ""
        if self._n == 2:
            own = "--loss_function logistic "
        elif self._n > 2:
            own = f"--oaa {self._n} --loss_function logistic "
        self._model = Workspace(f"--quiet {own if '--ksvm' not in arguments else ''}{arguments}")
        self._codes = {label: i for i, label in enumerate(self._labels or ())}
        self.bytes = float(size)

    def _rows(self, X: Any) -> list[Any]:
        whole = _dense(X).tolist()
        return [" ".join([f"{j}:{v:.9g}" for j, v in enumerate(r) if v and v == v]) for r in whole]

    def _predict(self, row: Any) -> Any:
        said = self._model.predict(f"| {row}")
        if self._labels is None:
            return said
        return self._labels[int(said > 0) if self._n == 2 else int(said) - 1]

    def _learn(self, row: Any, label: Any) -> None:
        if self._n == 2:
            label = 2 * self._codes[label] - 1
        elif self._n:
            label = self._codes[label] + 1
        self._model.learn(f"{label} | {row}")


# ---- makers: the laboratory calls them by name -------------------------------------------------


def logistic_regression(labels: Any) -> River:
    """With a scaler; for more than two classes SoftmaxRegression, for numbers LinearRegression."""
    from river import linear_model, preprocessing

    if labels is None:
        model: Any = linear_model.LinearRegression()
    elif len(labels) == 2:
        model = linear_model.LogisticRegression()
    else:
        model = linear_model.SoftmaxRegression()
    two = labels is not None and len(labels) == 2
    return River(preprocessing.StandardScaler() | model, labels, two)


def hoeffding_adaptive_tree(labels: Any) -> River:
    """For regression with a scaler: its leaves have linear models."""
    from river import preprocessing, tree

    if labels is None:
        regressor = tree.HoeffdingAdaptiveTreeRegressor(seed=0)
        return River(preprocessing.StandardScaler() | regressor, None)
    return River(tree.HoeffdingAdaptiveTreeClassifier(seed=0), labels)


def arf(labels: Any) -> River:
    from river import forest, preprocessing

    if labels is None:
        regressor = forest.ARFRegressor(n_models=MODELS, seed=0)
        return River(preprocessing.StandardScaler() | regressor, None)
    return River(forest.ARFClassifier(n_models=MODELS, seed=0), labels)


def srp(labels: Any) -> River:
    from river import ensemble, preprocessing

    if labels is None:
        regressor = ensemble.SRPRegressor(n_models=MODELS, seed=0)
        return River(preprocessing.StandardScaler() | regressor, None)
    return River(ensemble.SRPClassifier(n_models=MODELS, seed=0), labels)


def knn(labels: Any) -> River:
    from river import neighbors, preprocessing

    model = neighbors.KNNRegressor() if labels is None else neighbors.KNNClassifier()
    return River(preprocessing.StandardScaler() | model, labels)


def vw_linear(labels: Any) -> VowpalWabbit:
    return VowpalWabbit(labels)


def vw_ksvm(labels: Any) -> VowpalWabbit:
    """For two classes; it stores as much as it needs."""
    return VowpalWabbit(labels, "--ksvm --kernel rbf", math.nan)


# Label in the tables -> maker.
RIVER: dict[str, Callable[[Any], RowByRow]] = {
    "LogisticRegression": logistic_regression,
    "HoeffdingAdaptiveTree": hoeffding_adaptive_tree,
    "ARF(10)": arf,
    "SRP(10)": srp,
    "KNN": knn,
}
VW: dict[str, Callable[[Any], RowByRow]] = {"VW linear": vw_linear, "VW ksvm": vw_ksvm}


def installed(package: str) -> str:
    """The version of a package that may be missing."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "(not installed)"


def version_of(label: str) -> str:
    """The version of the learner's package, under which its cells are kept."""
    package = "river" if label in RIVER else "vowpalwabbit"
    return f"{package} {installed(package)}"
