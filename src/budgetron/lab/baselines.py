"""Learners that the tables compare with, and that are not part of the library.

`MajorityClass`, `Mean` and `LastLabel` use no feature: a learner that does not beat them has
learned nothing. `svc`, `nystroem-svc` and `sgd` are scikit-learn's machines in the papers' tables:
two batch learners, and a linear one by stochastic gradient descent on the hinge loss, which reads a
stream in small chunks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from budgetron.evaluate.predictions import Answers, nothing_yet

if TYPE_CHECKING:
    from numpy.typing import NDArray


class _Constant:
    """A learner that predicts one value until it learns another.

    It answers whole chunks (`budgetron.evaluate` only needs `test_then_train`, `test` and `train`),
    each row from the rows before it.
    """

    stored = 0.0
    n_support_ = 0
    n_mistakes_ = 0
    regression = False
    value: Any = None  # the current prediction; None: it knows nothing

    @property
    def bytes(self) -> float:
        return 8.0

    def partial_fit(self, X: Any, y: NDArray[Any]) -> _Constant:
        self.train(X, y)
        return self

    fit = partial_fit

    def predict(self, X: Any) -> NDArray[Any]:
        return np.full(X.shape[0], self.value)

    def prequential(self, X: Any, y: NDArray[Any]) -> NDArray[Any]:
        """Test, then train; return the answers."""
        answers = self.test_then_train(X, y)
        self.n_mistakes_ += int(np.sum(~answers.known | (answers.values != y)))
        return answers.values

    def test(self, x: Any, y: NDArray[Any]) -> Answers:
        if self.value is None:
            return nothing_yet(y, self.regression)
        return Answers.of(np.full(len(y), self.value))

    def train(self, x: Any, y: NDArray[Any]) -> None:
        self.test_then_train(x, y)

    def test_then_train(self, X: Any, y: NDArray[Any]) -> Answers:
        """The answer for every row, after learning those before it."""
        first = self.test(X[:1], y[:1])
        after = self._values(y)
        self.value = after[-1]
        return Answers.joined([first, Answers.of(after[:-1])]) if len(y) > 1 else first

    def _values(self, y: NDArray[Any]) -> NDArray[Any]:
        """The prediction after each row."""
        raise NotImplementedError


class LastLabel(_Constant):
    """Predicts the last label."""

    def _values(self, y: NDArray[Any]) -> NDArray[Any]:
        return y


class Mean(_Constant):
    """Predicts the mean of all targets so far."""

    regression = True

    def __init__(self) -> None:
        self._sum, self._rows = 0.0, 0

    def _values(self, y: NDArray[Any]) -> NDArray[Any]:
        sums = self._sum + np.cumsum(y, dtype=np.float64)
        rows = self._rows + np.arange(1, len(y) + 1)
        self._sum, self._rows = float(sums[-1]), int(rows[-1])
        means: NDArray[Any] = sums / rows
        return means


class MajorityClass(_Constant):
    """Predicts the most frequent class so far; of tied classes the smallest label."""

    def __init__(self) -> None:
        self._counts: dict[Any, int] = {}

    @property
    def bytes(self) -> float:
        return 16.0 * len(self._counts)

    def _values(self, y: NDArray[Any]) -> NDArray[Any]:
        labels = np.array(sorted({*self._counts, *np.unique(y).tolist()}))
        before = np.array([self._counts.get(label, 0) for label in labels.tolist()])
        counts = before + np.cumsum(y[:, None] == labels, axis=0)
        self._counts = dict(zip(labels.tolist(), counts[-1].tolist(), strict=True))
        majority: NDArray[Any] = labels[counts.argmax(axis=1)]
        return majority


def svc(random_state: int, **params: Any) -> Any:
    """LIBSVM; scikit-learn's `SVC` is a wrapper of it."""
    from sklearn.svm import SVC

    return SVC(random_state=random_state, cache_size=500, **params)


def nystroem_svc(random_state: int, gamma: float, C: float, n_components: int) -> Any:
    """A linear SVM on Nystrom features, like LLSVM."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    features = Nystroem(gamma=gamma, n_components=n_components, random_state=random_state)
    return make_pipeline(features, LinearSVC(C=C, random_state=random_state))


# Rows predicted before they are learned: one call per row would take ten milliseconds.
CHUNK = 50


class Sgd:
    """A linear SVM that learns in the order of the rows, with the counters of our estimators."""

    def __init__(self, random_state: int, **params: Any) -> None:
        from sklearn.linear_model import SGDClassifier

        self._model = SGDClassifier(shuffle=False, random_state=random_state, **params)
        self.n_mistakes_ = 0
        self.n_seen_ = 0
        self.n_support_ = 0

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> Sgd:
        """The rows in order, as in a stream."""
        self.prequential(X, y)
        return self

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        labels: NDArray[Any] = self._model.predict(X)
        return labels

    def prequential(self, X: NDArray[Any], y: NDArray[Any]) -> None:
        """Test, then train, chunk by chunk; the rows of the first chunk count as mistakes."""
        classes = np.unique(y) if self.n_seen_ == 0 else None
        for start in range(0, len(y), CHUNK):
            rows, labels = X[start : start + CHUNK], y[start : start + CHUNK]
            known = self.n_seen_ > 0
            wrong = self._model.predict(rows) != labels if known else np.ones(len(labels))
            self.n_mistakes_ += int(np.sum(wrong))
            self._model.partial_fit(rows, labels, classes=classes)
            classes = None
            self.n_seen_ += len(labels)


BASELINES: dict[str, Any] = {
    "svc": svc,
    "nystroem-svc": nystroem_svc,
    "sgd": Sgd,
    "majority class": lambda random_state: MajorityClass(),
    "mean": lambda random_state: Mean(),
    "last label": lambda random_state: LastLabel(),
}
# Per task: the learners that use no feature.
REFERENCES = {
    "classification": {"majority class": "MajorityClass", "last label": "LastLabel"},
    "regression": {"mean": "Mean", "last label": "LastLabel"},
}
