"""What the tables compare with and the library is not: scikit-learn's machines, by name.

`svc` and `nystroem-svc` are batch learners; `sgd` is linear, by stochastic gradient descent on the
hinge, and goes through a stream row by row.
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


class Sgd:
    """A linear SVM that learns one row at a time, with the counters of our estimators."""

    def __init__(self, random_state: int, **params: Any) -> None:
        from sklearn.linear_model import SGDClassifier

        self._model = SGDClassifier(random_state=random_state, **params)
        self.n_mistakes_ = 0
        self.n_seen_ = 0
        self.n_support_ = 0

    def prequential(self, X: NDArray[Any], y: NDArray[Any]) -> None:
        """Test, then train; the first row of all counts as a mistake."""
        classes = np.unique(y) if self.n_seen_ == 0 else None
        for i in range(len(y)):
            row, label = X[i : i + 1], y[i : i + 1]
            if self.n_seen_ == 0 or self._model.predict(row)[0] != label[0]:
                self.n_mistakes_ += 1
            self._model.partial_fit(row, label, classes=classes)
            classes = None
            self.n_seen_ += 1


BASELINES: dict[str, Any] = {"svc": svc, "nystroem-svc": nystroem_svc, "sgd": Sgd}
