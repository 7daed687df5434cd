"""What `budgetron run` counts: mistakes of a classifier, errors of a regressor."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from budgetron.cli._console import fail, note

if TYPE_CHECKING:
    from budgetron.evaluate import ClassificationMetrics, RegressionMetrics
    from budgetron.evaluate.curve import Curve, Point
    from budgetron.evaluate.predictions import Answers
    from budgetron.streams.read_ahead import Place

CLASSES = 10  # that the table of classes shows; of more the largest


class _Tally:
    """Has a model answer and learn rows, and counts the answers: metrics, and a curve over rows.

    `fixed`: no row is wider than the first.
    """

    _task: str
    metrics: ClassificationMetrics | RegressionMetrics

    def __init__(self, labels: list[Any] | None, fixed: bool) -> None:
        from budgetron.evaluate.curve import Curve

        self._labels = labels
        self._fixed = fixed
        self.curve: Curve = Curve()

    def learn(self, model: Any, place: Place, X: Any, y: Any) -> None:
        """Test, then train, on the rows of a chunk."""
        import numpy as np

        from budgetron.evaluate.adapters import face

        self._check(place, y)
        labels = None if self._labels is None else np.asarray(self._labels)
        learner = face(model, self._task, labels, growing=not self._fixed)
        answers = learner.test_then_train(X, y)
        start = 0
        while start < len(y):
            end = min(len(y), start + self.curve.next - self.metrics.rows)
            self._count(y, answers, slice(start, end))
            start = end
            if self.metrics.rows == self.curve.next:
                self.curve.add(self.point())

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps beside the model."""
        return {**self.metrics.state(), **self.curve.state()}

    def restore(self, state: dict[str, Any]) -> None:
        self.metrics.restore(state)
        self.curve.restore(state, self.metrics.rows)

    def point(self) -> Point:
        """Where the curve stands now."""
        raise NotImplementedError

    def _check(self, place: Place, y: Any) -> None:
        """End the command where a label is none for this task."""
        raise NotImplementedError

    def _count(self, y: Any, answers: Answers, rows: slice) -> None:
        raise NotImplementedError


class Mistakes(_Tally):
    """Learns rows as classes; the model counts its mistakes.

    Parameters
    ----------
    labels : all there are; None: they join as they occur
    fixed : no row is wider than the first
    positive : the class whose precision, recall and F1 are given, as it is typed
    """

    _task = "classification"

    def __init__(
        self, labels: list[Any] | None, fixed: bool = False, positive: str | None = None
    ) -> None:
        from budgetron.evaluate import ClassificationMetrics

        super().__init__(labels, fixed)
        self.metrics: ClassificationMetrics = ClassificationMetrics(None, None)
        self._positive = positive
        if positive is not None and labels is not None:
            self._find_positive(labels)

    def learn(self, model: Any, place: Place, X: Any, y: Any) -> None:
        first = self.metrics.rows == 0
        super().learn(model, place, X, y)
        if first and self._positive is not None and self._named(model.classes_) is None:
            rows = f"the first {self.metrics.rows:,} rows"
            note(f"warning: --positive {self._positive}: not in {rows}, which have {self._found}")

    def point(self) -> Point:
        from budgetron.evaluate.curve import Point

        sums = self.metrics.sums
        rows = float(sums.actual.sum())
        return Point(rows, rows, rows - float(sums.right.sum()), rows - float(sums.actual.max()))

    def status(self, model: Any) -> str:
        return f"{model.n_mistakes_ / max(model.n_seen_, 1):.2%} mistakes"

    def result(self, model: Any) -> dict[str, Any]:
        """What is reported; ends the command if the positive class never came."""
        if self._positive is not None:
            self.metrics.positive = self._find_positive(model.classes_.tolist())
        values = self.metrics.values()
        names = ("majority_rate", "precision", "recall", "f1", "auc", "log_loss", "kappa")
        two = len(model.classes_) == 2
        of = self.metrics.positive
        of = model.classes_.tolist()[1] if of is None and two else of
        return {
            "mistakes": int(model.n_mistakes_),
            "mistake_rate": model.n_mistakes_ / model.n_seen_,
            **{name: finite(values[name]) for name in names},
            "positive": None if of is None else plain(of),
            "classes": [plain(label) for label in model.classes_],
            "per_class": [
                {name: _cell(name, value) for name, value in each.items()}
                for each in self.metrics.by_class()
            ],
        }

    def lines(self, result: dict[str, Any]) -> dict[str, str]:
        of = "mean of the classes" if result["positive"] is None else str(result["positive"])
        lines = {
            "mistakes": f"{result['mistakes']:,}",
            "mistake rate": f"{result['mistake_rate']:.2%}",
            "majority rate": f"{result['majority_rate']:.2%}",
            f"F1 ({of})": digits(result["f1"]),
        }
        if len(result["classes"]) == 2:
            lines["AUC"] = digits(result["auc"])
        return lines | {"log loss": digits(result["log_loss"]), "kappa": digits(result["kappa"])}

    @property
    def _found(self) -> str:
        return listed([each["label"] for each in self.metrics.by_class()])

    def _named(self, labels: Any) -> Any:
        wanted = str(self._positive).strip()
        return next((each for each in labels if str(plain(each)).strip() == wanted), None)

    def _find_positive(self, labels: list[Any]) -> Any:
        found = self._named(labels)
        if found is None:
            fail(f"--positive {self._positive}: no such class; there are {listed(labels)}")
        return found

    def _check(self, place: Place, y: Any) -> None:
        import numpy as np

        if self._labels is None:
            return
        strange = ~np.isin(y, self._labels)
        if strange.any():
            at = int(strange.argmax())
            row = place.position - len(y) + at + 1
            known = ",".join(str(plain(label)) for label in self._labels)
            what = f"label {plain(y[at])} of row {row} is not among --classes {known}"
            fail(f"{place.name}: {what}")

    def _count(self, y: Any, answers: Answers, rows: slice) -> None:
        self.metrics.add(
            y[rows],
            answers.values[rows],
            known=answers.known[rows],
            margins=answers.margins[rows],
            scores=answers.scores[rows],
            chances=answers.chances[rows],
        )


class Errors(_Tally):
    """Learns rows as numbers, and sums the errors of the predictions before.

    The first row does not count: before any target is seen nothing can be predicted.
    """

    _task = "regression"

    def __init__(self, fixed: bool = False) -> None:
        from budgetron.evaluate import RegressionMetrics

        super().__init__(None, fixed)
        self.metrics: RegressionMetrics = RegressionMetrics(None, None)

    def point(self) -> Point:
        from budgetron.evaluate.curve import Point

        sums = self.metrics.sums
        return Point(sums.weight, sums.scored, sums.squared, sums.mean_squared)

    def status(self, model: Any) -> str:
        return f"RMSE {self.metrics.values()['rmse']:.4g}"

    def result(self, model: Any) -> dict[str, Any]:
        """What is reported."""
        return {name: finite(value) for name, value in self.metrics.values().items()}

    def lines(self, result: dict[str, Any]) -> dict[str, str]:
        return {
            "R2": digits(result["r2"]),
            "RMSE": digits(result["rmse"]),
            "RMSE of the mean": digits(result["mean_rmse"]),
            "MAE": digits(result["mae"]),
            "MAE of the mean": digits(result["mean_mae"]),
        }

    def _check(self, place: Place, y: Any) -> None:
        if y.dtype.kind not in "fiub":
            fail(f"{place.name}: label {y[0]!s} is not a number: regression takes numbers")

    def _count(self, y: Any, answers: Answers, rows: slice) -> None:
        import numpy as np

        known = np.arange(rows.start, rows.stop) + self.metrics.rows > rows.start
        self.metrics.add(y[rows], answers.values[rows], known=known)


def plain(label: Any) -> Any:
    """A label as JSON and people write it: 1, not 1.0; words as they are."""
    if isinstance(label, str):
        return str(label)
    number = float(label)
    return int(number) if number.is_integer() else number


def finite(value: float) -> float | None:
    """A number as JSON has it: None where there is none."""
    return value if math.isfinite(value) else None


def digits(value: float | None) -> str:
    """Four digits of a number; a dash where there is none."""
    return "-" if value is None else f"{value:.4g}"


def listed(labels: list[Any]) -> str:
    """The labels with commas between; of many the first."""
    more = f" and {len(labels) - CLASSES} more" if len(labels) > CLASSES else ""
    return ", ".join(str(plain(each)) for each in labels[:CLASSES]) + more


def _cell(name: str, value: Any) -> Any:
    if name == "label":
        return plain(value)
    return finite(value) if isinstance(value, float) else value
