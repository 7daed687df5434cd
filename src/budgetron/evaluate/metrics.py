"""Metrics of a stream of predictions, over all rows, a sliding window, and fading.

Each comes in three forms: over all rows so far (`mistake_rate`), over the last `window` rows
(`window_mistake_rate`), and with the weight of a row falling by the factor `fading` with every row
after it (`fading_mistake_rate`); without a window or fading only the first. Memory is fixed: a
window of rows, a block of rows, and sums. What is counted over all rows can be saved (`state`) and
restored (`restore`), to the bit.

All are exact except the AUC over all rows and the fading AUC, which are binned (`auc.py` gives
their largest error); the window's AUC is exact.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from budgetron.errors import BudgetronError
from budgetron.evaluate.auc import Bins, binned_auc, exact_auc
from budgetron.evaluate.predictions import Outputs
from budgetron.evaluate.sums import ClassificationSums, RegressionSums, Sums, wider

Floats = NDArray[np.float64]
S = TypeVar("S", bound=Sums)

BLOCK = 1024  # rows added at once


class _Metrics(Generic[S]):
    """Rows to sums: all, fading, and a window's on request."""

    _sums: type[S]

    def __init__(self, window: int | None = 1000, fading: float | None = 0.999) -> None:
        if window is not None and window < 1:
            raise BudgetronError(f"window must be at least 1, not {window}")
        if fading is not None and not 0 < fading <= 1:
            raise BudgetronError(f"fading must be above 0 and at most 1, not {fading}")
        self._all = self._sums()
        self._fading = None if fading is None else self._sums(fading)
        self._window = None if window is None else np.empty(window, self._sums.dtype)
        self._block = np.zeros(BLOCK, self._sums.dtype)
        self.rows = 0

    def _add(self, rows: NDArray[Any]) -> None:
        if self._window is not None:
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
                if self._fading is not None:
                    self._fading.fold(self._block)

    def values(self) -> dict[str, float]:
        """Every metric by name; nan if there is nothing to compute it from."""
        found = self._measure(self.sums, None)
        if self._window is not None:
            window = self._window[: self.rows]
            in_window = self._measure(self._of_window().fold(window), window)
            found.update({f"window_{name}": value for name, value in in_window.items()})
        if self._fading is not None:
            fading = self._measure(self._fading.with_rows(self._rest), None)
            found.update({f"fading_{name}": value for name, value in fading.items()})
        return found

    @property
    def sums(self) -> S:
        """Over all rows."""
        return self._all.with_rows(self._rest)

    @property
    def _rest(self) -> NDArray[Any]:
        """The rows that do not fill a block yet."""
        return self._block[: self.rows % BLOCK]

    def state(self) -> dict[str, Any]:
        """What was counted over all rows, as JSON; without window and fading."""
        numbers = {name: getattr(self._all, name) for name in self._sums.numbers}
        return {"rows": self.rows, "block": packed(self._rest), "sums": packed(numbers)}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state; BudgetronError if it is not one."""
        rows = state["rows"]
        if type(rows) is not int or not 0 <= rows < 2**62:
            raise BudgetronError("the rows were not counted")
        block = unpacked(state["block"], self._sums.dtype)
        numbers = unpacked(state["sums"], np.dtype(np.float64))
        if len(block) != rows % BLOCK or len(numbers) != len(self._sums.numbers):
            raise BudgetronError("the sums of the rows are not whole")
        self.rows = rows
        self._block[: len(block)] = block
        for name, number in zip(self._sums.numbers, numbers.tolist(), strict=True):
            setattr(self._all, name, number)

    def _of_window(self) -> S:
        """Sums to fold a window's rows into."""
        return self._sums()

    def _measure(self, sums: S, rows: NDArray[Any] | None) -> dict[str, float]:
        """The metrics from sums, and from all their rows if these are available."""
        raise NotImplementedError


class RegressionMetrics(_Metrics[RegressionSums]):
    """R2, RMSE and MAE, and those of the mean of the targets before (`mean_rmse`).

    R2 is scikit-learn's, 1 minus the squared errors over those of the mean of all targets. A row
    without a prediction does not count.

    Parameters
    ----------
    window : rows of the sliding window; None: no window
    fading : factor by which a row's weight falls with every later row; None: no fading metrics

    Examples
    --------
    >>> metrics = RegressionMetrics()
    >>> _ = metrics.add([1.0, 2.0, 3.0], [1.0, 2.0, 6.0])
    >>> metrics.values()["mae"]
    1.0
    """

    _sums = RegressionSums

    def __init__(self, window: int | None = 1000, fading: float | None = 0.999) -> None:
        super().__init__(window, fading)
        self._total = 0.0  # of the targets

    def add(self, targets: Any, predictions: Any, *, known: Any = True) -> NDArray[Any]:
        """Count rows: targets and predictions; `known` False: there was no prediction yet.

        Returns the rows as they are counted (`sums.REGRESSED`).
        """
        targets, predictions = np.asarray(targets, np.float64), np.asarray(predictions)
        rows = np.empty(len(targets), self._sums.dtype)
        rows["target"] = targets
        rows["known"] = known
        with np.errstate(over="ignore", invalid="ignore"):
            rows["error"] = targets - predictions
            # One row after the other: the same bits for any chunk size.
            totals = np.cumsum(np.append(self._total, targets))
            seen = np.arange(self.rows, self.rows + len(targets))
            rows["of_mean"] = targets - totals[:-1] / np.maximum(seen, 1)
        self._total = float(totals[-1])
        self._add(rows)
        return rows

    def state(self) -> dict[str, Any]:
        return {**super().state(), "total": packed(self._total)}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        (self._total,) = unpacked(state["total"], np.dtype(np.float64)).tolist()

    def _measure(self, sums: RegressionSums, rows: NDArray[Any] | None) -> dict[str, float]:
        return {
            "rmse": _ratio(sums.squared, sums.scored) ** 0.5,
            "mae": _ratio(sums.absolute, sums.scored),
            "r2": 1 - _ratio(sums.squared, sums.spread),
            "mean_rmse": _ratio(sums.mean_squared, sums.scored) ** 0.5,
            "mean_mae": _ratio(sums.mean_absolute, sums.scored),
        }


class ClassificationMetrics(_Metrics[ClassificationSums]):
    """Mistake rate, hinge and log loss, precision, recall, F1, AUC and Cohen's kappa.

    Precision, recall and F1 are those of the positive class; if none is given, of the larger of two
    labels, and beyond two classes the mean over the classes that occur (scikit-learn's "macro"). A
    row without a prediction counts as a mistake. The AUC is over the rows that have a score, that
    is, after both classes are known; it does not depend on which is positive. Beyond two classes it
    is the mean over the classes of one against the rest, by the learner's output for the class,
    over the rows at which it was known; only over all rows. The log loss is over the rows that have
    a probability, that is, whose class is known and not the only one. `majority_rate` is the
    mistake rate of always predicting the most frequent class of all these rows.

    Parameters
    ----------
    window : rows of the sliding window; None: no window
    fading : factor by which a row's weight falls with every later row; None: no fading metrics
    classes : labels known beforehand; others are added as they occur
    positive : the label for precision, recall and F1

    Examples
    --------
    >>> metrics = ClassificationMetrics()
    >>> _ = metrics.add([1, 1, -1, -1], [1, -1, -1, -1])
    >>> values = metrics.values()
    >>> values["mistake_rate"], values["recall"], values["kappa"]
    (0.25, 0.5, 0.5)
    """

    _sums = ClassificationSums

    def __init__(
        self,
        window: int | None = 1000,
        fading: float | None = 0.999,
        classes: Any = None,
        positive: Any = None,
    ) -> None:
        super().__init__(window, fading)
        self.positive = positive
        self._codes: dict[Any, int] = {}
        self._bins = Bins()
        self._leads = OneAgainstRest()
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
        chances: Any = np.nan,
        outputs: Sequence[Outputs] = (),
    ) -> NDArray[Any]:
        """Count rows.

        Parameters
        ----------
        labels, predicted : (n,) the true and the predicted labels
        known : (n,) False if there was no prediction
        margins : (n,) y f(x), or beyond two classes f_y - max f_z, for the hinge loss
        scores : (n,) larger if the larger label is more likely, for the AUC
        chances : (n,) predicted probability of the label, for the log loss
        outputs : beyond two classes, runs of rows with their classes and outputs, for the AUC

        Returns
        -------
        rows : the rows as they are counted (`sums.CLASSIFIED`)
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
        rows["chance"] = chances
        self._add(rows)
        self._leads.add(labels, outputs)
        return rows

    def values(self) -> dict[str, float]:
        found = super().values()
        return found | {"auc": self._leads.auc()} if len(self._codes) > 2 else found

    def _encode(self, labels: NDArray[Any]) -> NDArray[np.intp]:
        """Codes of labels, in the order in which labels first occurred."""
        distinct, firsts, inverse = np.unique(labels, return_index=True, return_inverse=True)
        distinct = distinct.tolist()
        for place in np.argsort(firsts):
            self._codes.setdefault(distinct[place], len(self._codes))
        codes = np.array([self._codes[label] for label in distinct], dtype=np.intp)
        encoded: NDArray[np.intp] = codes[inverse]
        return encoded

    def by_class(self) -> list[dict[str, Any]]:
        """Per class, in the order of labels: rows, precision, recall and F1, over all rows."""
        sums = self.sums
        sums.grow(len(self._codes))
        return [
            {
                "label": label,
                "rows": int(sums.actual[code]),
                "predicted": int(sums.predicted[code]),
                **_of_classes(sums, [code]),
            }
            for label, code in sorted(self._codes.items())
        ]

    def state(self) -> dict[str, Any]:
        sums = self._all
        return {
            **super().state(),
            "labels": list(self._codes),
            "counts": [packed(each) for each in (sums.actual, sums.predicted, sums.right)],
            "scores": packed(sums.scores),
            "bins": packed(self._bins.used),
            **self._leads.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        labels = state["labels"]
        kinds = {type(each) for each in labels} if isinstance(labels, list) else {list}
        if not (kinds <= {str} or kinds <= {bool, int, float}):
            raise BudgetronError("the labels are none")
        sums, f8 = self._all, np.dtype(np.float64)
        actual, predicted, right = (unpacked(each, f8) for each in state["counts"])
        scores = unpacked(state["scores"], f8)
        self._codes = {label: code for code, label in enumerate(labels)}
        self._bins = Bins(unpacked(state["bins"], np.dtype(np.uint32)))
        whole = {len(actual), len(predicted), len(right)} == {len(actual)}
        rest = self._rest
        sound = (
            whole
            and len(self._codes) == len(labels) >= len(actual)
            and all(np.isfinite(each).all() for each in (actual, predicted, right, scores))
            and len(scores) % 2 == 0
            and len(scores) <= 2 * len(self._bins)
            and all(0 <= each < len(labels) for each in rest["truth"].tolist())
            and all(-1 <= each < len(labels) for each in rest["guess"].tolist())
            and all(-1 <= each < len(self._bins) for each in rest["bin"].tolist())
        )
        if not sound:
            raise BudgetronError("the rows of the classes are not whole")
        self._leads.restore(state, labels)
        sums.actual, sums.predicted, sums.right = actual, predicted, right
        sums.scores = scores.reshape(2, -1)

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
        which = [order[1]] if two else [code for code in order if _occurs(sums, code)]
        if self.positive is not None:
            code = self._codes.get(self.positive)
            which = [] if code is None else [code]  # empty: it has not occurred yet
        n = float(sums.actual.sum())
        agreement = _ratio(float(sums.right.sum()), n)
        chance = _ratio(float((sums.actual * sums.predicted).sum()), n * n)
        return {
            "mistake_rate": _ratio(n - float(sums.right.sum()), n),
            "majority_rate": _ratio(n - float(sums.actual.max(initial=0.0)), n),
            **_of_classes(sums, which),
            "kappa": _ratio(agreement - chance, 1 - chance),
            "hinge_loss": _ratio(sums.hinge, sums.margins),
            "log_loss": _ratio(sums.logs, sums.chances),
            "auc": auc,
        }


class OneAgainstRest:
    """Per class, how many of its rows, and of the others, have an output in each bin.

    Memory is 16 bytes for each class and used bin, of which there are some thousands.
    """

    def __init__(self) -> None:
        self._bins = Bins()
        self._counts: dict[Any, Floats] = {}  # per label, (2, bins): the others', its own

    def add(self, labels: NDArray[Any], outputs: Sequence[Outputs]) -> None:
        """Count the outputs of rows with these labels."""
        start = 0
        for rows, classes, values in outputs:
            truth, start = labels[start : start + rows], start + rows
            for label, output in (
                () if classes is None or values is None else zip(classes, values.T, strict=True)
            ):
                there = np.isfinite(output)
                numbers = self._bins.numbers(output[there])
                own = truth[there] == label
                size = len(self._bins)
                new = np.bincount(numbers + size * own, minlength=2 * size).astype(np.float64)
                before = self._counts.get(label.item())
                found = new.reshape(2, size)
                if before is not None:
                    found[:, : before.shape[1]] += before
                self._counts[label.item()] = found

    def auc(self) -> float:
        """The mean over the classes that have rows of their own and others; nan without any."""
        order = self._bins.order
        found = [binned_auc(*wider(each, len(order))[:, order])[0] for each in self._by_label()]
        known = [each for each in found if not np.isnan(each)]
        return sum(known) / len(known) if known else float("nan")

    def _by_label(self) -> list[Floats]:
        return [self._counts[label] for label in sorted(self._counts)]

    def state(self) -> dict[str, Any]:
        """The state as JSON."""
        if not self._counts:
            return {}
        counts = [packed(wider(each, len(self._bins))) for each in self._by_label()]
        return {"lead_bins": packed(self._bins.used), "leads": [sorted(self._counts), counts]}

    def restore(self, state: dict[str, Any], labels: list[Any]) -> None:
        """Continue from a state; without one, as in older files, from nothing."""
        if "leads" not in state:
            return
        self._bins = Bins(unpacked(state["lead_bins"], np.dtype(np.uint32)))
        names, texts = state["leads"]
        counts = [unpacked(each, np.dtype(np.float64)) for each in texts]
        size = 2 * len(self._bins)
        if not set(names) <= set(labels) or len(names) != len(counts):
            raise BudgetronError("the outputs of the classes are not whole")
        if not all(len(each) == size and np.isfinite(each).all() for each in counts):
            raise BudgetronError("the outputs of the classes are not whole")
        self._counts = {name: each.reshape(2, -1) for name, each in zip(names, counts, strict=True)}


def _occurs(sums: ClassificationSums, code: int) -> bool:
    return bool(sums.actual[code] + sums.predicted[code] > 0)


def _of_classes(sums: ClassificationSums, which: list[int]) -> dict[str, float]:
    """Precision, recall and F1, the mean over these classes."""
    right, actual, predicted = sums.right[which], sums.actual[which], sums.predicted[which]
    return {
        "precision": _mean_ratio(right, predicted),
        "recall": _mean_ratio(right, actual),
        "f1": _mean_ratio(2 * right, actual + predicted),
    }


def packed(numbers: Any) -> str:
    """Numbers, an array of them or a dict's values, as text that keeps every bit."""
    values = list(numbers.values()) if isinstance(numbers, dict) else numbers
    return b64encode(np.asarray(values).tobytes()).decode()


def unpacked(text: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The numbers that `packed` wrote; BudgetronError for anything else."""
    try:
        return np.frombuffer(b64decode(text, validate=True), dtype).copy()
    except (TypeError, ValueError):
        raise BudgetronError("numbers were not written whole") from None


def _ratio(top: float, bottom: float) -> float:
    return top / bottom if bottom else float("nan")


def _mean_ratio(top: Floats, bottom: Floats) -> float:
    """The mean of top/bottom, 0 if bottom is 0 (scikit-learn's default)."""
    if not len(top):
        return float("nan")
    return float(np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0).mean())
