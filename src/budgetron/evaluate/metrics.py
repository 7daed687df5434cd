"""Metrics of a stream of predictions, over all rows, a sliding window, and fading.

Each is given three times: over all rows so far (`mistake_rate`), over the last `window` rows
(`window_mistake_rate`), and with the weight of a row falling by the factor `fading` with every row
after it (`fading_mistake_rate`). Memory is fixed: a window of rows, a block of rows, and sums.

All are exact but the AUC over all rows and the fading one, which are binned (`auc.py` says how far
off they can be); the window's is exact.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from budgetron.errors import BudgetronError
from budgetron.evaluate.auc import Bins, exact_auc
from budgetron.evaluate.sums import ClassificationSums, RegressionSums, Sums

Floats = NDArray[np.float64]
S = TypeVar("S", bound=Sums)

BLOCK = 1024  # rows folded in at once


class _Metrics(Generic[S]):
    """Rows to sums: all, fading, and a window's on demand."""

    _sums: type[S]

    def __init__(self, window: int = 1000, fading: float = 0.999) -> None:
        if window < 1:
            raise BudgetronError(f"window must be at least 1, not {window}")
        if not 0 < fading <= 1:
            raise BudgetronError(f"fading must be above 0 and at most 1, not {fading}")
        self._all = self._sums()
        self._fading = self._sums(fading)
        self._window = np.empty(window, self._sums.dtype)
        self._block = np.empty(BLOCK, self._sums.dtype)
        self.rows = 0

    def _add(self, rows: NDArray[Any]) -> None:
        size = len(self._window)
        last = rows[-size:]
        start = self.rows + len(rows) - len(last)
        self._window[np.arange(start, start + len(last)) % size] = last
        while len(rows):
            filled = self.rows % BLOCK
            part, rows = rows[: BLOCK - filled], rows[BLOCK - filled :]
            self._block[filled : filled + len(part)] = part
            self.rows += len(part)
            if self.rows % BLOCK == 0:
                self._all.fold(self._block)
                self._fading.fold(self._block)

    def values(self) -> dict[str, float]:
        """Every metric by name; nan where there is nothing to compute it from."""
        rest = self._block[: self.rows % BLOCK]
        window = self._window[: self.rows]
        found = self._measure(self._all.with_rows(rest), None)
        in_window = self._measure(self._of_window().fold(window), window)
        fading = self._measure(self._fading.with_rows(rest), None)
        found.update({f"window_{name}": value for name, value in in_window.items()})
        found.update({f"fading_{name}": value for name, value in fading.items()})
        return found

    def _of_window(self) -> S:
        """Sums to fold a window's rows into."""
        return self._sums()

    def _measure(self, sums: S, rows: NDArray[Any] | None) -> dict[str, float]:
        """The metrics from sums, and from all their rows where they are at hand."""
        raise NotImplementedError


class RegressionMetrics(_Metrics[RegressionSums]):
    """RMSE and MAE.

    Parameters
    ----------
    window : rows of the sliding window
    fading : factor by which a row's weight falls with every later row

    Examples
    --------
    >>> metrics = RegressionMetrics()
    >>> metrics.add([1.0, 2.0, 3.0], [1.0, 2.0, 6.0])
    >>> metrics.values()["mae"]
    1.0
    """

    _sums = RegressionSums

    def add(self, targets: Any, predictions: Any) -> None:
        """Count rows: what was so, and what was predicted."""
        targets, predictions = np.asarray(targets), np.asarray(predictions)
        rows = np.empty(len(targets), self._sums.dtype)
        rows["error"] = targets - predictions
        self._add(rows)

    def _measure(self, sums: RegressionSums, rows: NDArray[Any] | None) -> dict[str, float]:
        return {
            "rmse": _ratio(sums.squared, sums.weight) ** 0.5,
            "mae": _ratio(sums.absolute, sums.weight),
        }


class ClassificationMetrics(_Metrics[ClassificationSums]):
    """Mistake rate, hinge loss, precision, recall, F1, AUC and Cohen's kappa.

    Precision, recall and F1 are those of the positive class; if none is named, of the larger of two
    labels, and beyond two classes the mean over the classes that occur (scikit-learn's "macro"). A
    row without a prediction counts as a mistake. The AUC is of two classes only, over the rows that
    have a score, that is, after both classes are known; it does not depend on which is positive.

    Parameters
    ----------
    window : rows of the sliding window
    fading : factor by which a row's weight falls with every later row
    classes : labels known beforehand; others join as they occur
    positive : the label whose precision, recall and F1 are given

    Examples
    --------
    >>> metrics = ClassificationMetrics()
    >>> metrics.add([1, 1, -1, -1], [1, -1, -1, -1])
    >>> values = metrics.values()
    >>> values["mistake_rate"], values["recall"], values["kappa"]
    (0.25, 0.5, 0.5)
    """

    _sums = ClassificationSums

    def __init__(
        self,
        window: int = 1000,
        fading: float = 0.999,
        classes: Any = None,
        positive: Any = None,
    ) -> None:
        super().__init__(window, fading)
        self._positive = positive
        self._codes: dict[Any, int] = {}
        self._bins = Bins()
        if classes is not None:
            self._encode(np.asarray(classes))

    def add(
        self,
        labels: Any,
        predicted: Any,
        *,
        known: Any = True,
        margins: Any = np.nan,
        scores: Any = np.nan,
    ) -> None:
        """Count rows.

        Parameters
        ----------
        labels, predicted : (n,) what was so, and what was predicted
        known : (n,) False where there was no prediction
        margins : (n,) y f(x), or beyond two classes f_y - max f_z, for the hinge loss
        scores : (n,) larger the surer it is the larger label, for the AUC
        """
        labels, predicted = np.asarray(labels), np.asarray(predicted)
        rows = np.empty(len(labels), self._sums.dtype)
        there = np.broadcast_to(np.asarray(known, dtype=bool), labels.shape)
        rows["truth"] = self._encode(labels)
        rows["guess"] = -1
        rows["guess"][there] = self._encode(predicted[there])
        rows["margin"] = margins
        rows["score"] = scores
        rows["bin"] = self._bins.numbers(rows["score"])
        self._add(rows)

    def _encode(self, labels: NDArray[Any]) -> NDArray[np.intp]:
        """Codes of labels, in the order in which labels first occurred."""
        distinct, firsts, inverse = np.unique(labels, return_index=True, return_inverse=True)
        distinct = distinct.tolist()
        for place in np.argsort(firsts):
            self._codes.setdefault(distinct[place], len(self._codes))
        codes = np.array([self._codes[label] for label in distinct], dtype=np.intp)
        encoded: NDArray[np.intp] = codes[inverse]
        return encoded

    def _of_window(self) -> ClassificationSums:
        return self._sums(binned=False)

    def _measure(self, sums: ClassificationSums, rows: NDArray[Any] | None) -> dict[str, float]:
        sums.grow(len(self._codes))
        order = [self._codes[label] for label in sorted(self._codes)]
        two = len(order) == 2
        auc = float("nan")
        if two and rows is not None:
            scored = rows[~np.isnan(rows["score"])]
            auc = exact_auc(scored["truth"] == order[1], scored["score"])
        elif two:
            auc = sums.auc(order[1], self._bins.order)
        confusion = sums.confusion[np.ix_(order, [*order, -1])]
        positive = 1 if two else None
        if self._positive is not None:  # -1: it has not occurred yet
            code = self._codes.get(self._positive, -1)
            positive = order.index(code) if code in order else -1
        return {
            **_of_confusion(confusion, positive),
            "hinge_loss": _ratio(sums.hinge, sums.margins),
            "auc": auc,
        }


def _of_confusion(confusion: Floats, positive: int | None) -> dict[str, float]:
    """Metrics of a confusion matrix (last column: no prediction); None: the mean over classes."""
    right = np.diag(confusion)
    actual = confusion.sum(axis=1)
    predicted = confusion[:, :-1].sum(axis=0)
    n = float(actual.sum())
    which = actual + predicted > 0 if positive is None else np.arange(len(right)) == positive
    agreement = _ratio(float(right.sum()), n)
    chance = _ratio(float((actual * predicted).sum()), n * n)
    return {
        "mistake_rate": _ratio(n - float(right.sum()), n),
        "precision": _mean_ratio(right[which], predicted[which]),
        "recall": _mean_ratio(right[which], actual[which]),
        "f1": _mean_ratio(2 * right[which], (actual + predicted)[which]),
        "kappa": _ratio(agreement - chance, 1 - chance),
    }


def _ratio(top: float, bottom: float) -> float:
    return top / bottom if bottom else float("nan")


def _mean_ratio(top: Floats, bottom: Floats) -> float:
    """The mean of top/bottom, 0 where bottom is 0 (as scikit-learn has it by default)."""
    if not len(top):
        return float("nan")
    return float(np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0).mean())
