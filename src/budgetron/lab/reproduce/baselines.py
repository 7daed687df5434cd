"""What the tables compare with and the library is not: scikit-learn's machines, by name.

`svc` and `nystroem-svc` are batch learners; `sgd` is linear, by stochastic gradient descent on the
hinge, and goes through a stream in small chunks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def svc(random_state: int, **params: Any) -> Any:
    """LIBSVM, of which scikit-learn's `SVC` is a wrapper."""
    from sklearn.svm import SVC

    return SVC(random_state=random_state, cache_size=500, **params)


def nystroem_svc(random_state: int, gamma: float, C: float, n_components: int) -> Any:
    """A linear SVM on Nystrom features, as LLSVM is."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    features = Nystroem(gamma=gamma, n_components=n_components, random_state=random_state)
    return make_pipeline(features, LinearSVC(C=C, random_state=random_state))


# Rows that are predicted before they are learned: a call for each row would take ten milliseconds.
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
        """Test, then train, a chunk at a time; the rows of the first chunk count as mistakes."""
        classes = np.unique(y) if self.n_seen_ == 0 else None
        for start in range(0, len(y), CHUNK):
            rows, labels = X[start : start + CHUNK], y[start : start + CHUNK]
            known = self.n_seen_ > 0
            wrong = self._model.predict(rows) != labels if known else np.ones(len(labels))
            self.n_mistakes_ += int(np.sum(wrong))
            self._model.partial_fit(rows, labels, classes=classes)
            classes = None
            self.n_seen_ += len(labels)


BASELINES: dict[str, Any] = {"svc": svc, "nystroem-svc": nystroem_svc, "sgd": Sgd}
