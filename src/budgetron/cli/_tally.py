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
    from budgetron.streams.table.labels import Label

CLASSES = 10  # that the table of classes shows; of more the largest


class _Tally:
    """Has a model answer and learn rows, and counts the answers: metrics, and a curve over rows.

    `fixed`: no row is wider than the first. `label`: what is known of the labels.
    `answers`: to the rows learned last.
    """

    label: Label | None = None
    answers: Answers | None = None
    _task: str
    metrics: ClassificationMetrics | RegressionMetrics

    def __init__(self, labels: list[Any] | None, fixed: bool) -> None:
        from budgetron.evaluate.curve import Curve, Point

        self._labels = labels
        self._fixed = fixed
        self.curve: Curve[Point] = Curve(Point)

    def learn(self, model: Any, place: Place, X: Any, y: Any) -> None:
        """Test, then train, on the rows of a chunk."""
        import numpy as np

        from budgetron.evaluate.adapters import face

        self._check(model, place, y)
        labels = None if self._labels is None else np.asarray(self._labels)
        learner = face(model, self._task, labels, growing=not self._fixed)
        self.answers = learner.test_then_train(X, y)
        rows = self._count(y, self.answers)
        before, start = self.metrics.rows - len(y), 0
        while start < len(y):
            end = min(len(y), self.curve.next - before)
            self._follow(rows, start, end)
            start = end
            if before + end == self.curve.next:
                self.curve.add(self.point())

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps beside the model."""
        return {**self.metrics.state(), **self.curve.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from such a state."""
        self.metrics.restore(state)
        self.curve.restore(state, self.metrics.rows)

    def check(self, model: Any) -> None:
        """End the command if what was asked for did not come in any row."""

    def point(self) -> Point:
        """Where the curve stands now."""
        raise NotImplementedError

    def _check(self, model: Any, place: Place, y: Any) -> None:
        """End the command where a label is none for this task."""
        raise NotImplementedError

    def _count(self, y: Any, answers: Answers) -> Any:
        """Count answers; the rows as the metrics have them."""
        raise NotImplementedError

    def _follow(self, rows: Any, start: int, end: int) -> None:
        """Move the curve's sums on over these rows."""
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
        self._unsure = positive is not None  # whether there is such a class
        self._seen: set[Any] = set()  # labels
        self._wrong = 0
        self._rows: Any = None  # of each class, by its code
        if positive is not None and labels is not None:
            self._find_positive(labels)

    def learn(self, model: Any, place: Place, X: Any, y: Any) -> None:
        before = self.metrics.rows
        if before and self._unsure and self._named(model.classes_) is None:
            rows = f"the first {before:,} rows"
            note(f"warning: --positive {self._positive}: not in {rows}, which have {self._found}")
        self._unsure &= not before
        super().learn(model, place, X, y)

    def check(self, model: Any) -> None:
        if self._positive is not None:
            self._find_positive(model.classes_.tolist())

    def point(self) -> Point:
        from budgetron.evaluate.curve import Point

        rows = int(self._rows.sum())
        return Point(rows, rows, self._wrong, rows - int(self._rows.max()))

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        sums = self.metrics.sums
        self._rows = sums.actual.astype(int)
        self._wrong = int(sums.actual.sum() - sums.right.sum())

    def status(self, model: Any) -> str:
        return f"{model.n_mistakes_ / max(model.n_seen_, 1):.2%} mistakes"

    def result(self, model: Any) -> dict[str, Any]:
        """What is reported."""
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
        if len(result["classes"]) > 1:
            many = len(result["classes"]) > 2
            lines["AUC (one against the rest)" if many else "AUC"] = digits(result["auc"])
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

    def _check(self, model: Any, place: Place, y: Any) -> None:
        if self._labels is None:
            self._check_number(model, place, y)
        else:
            self._check_known(place, y, self._labels)

    def _check_number(self, model: Any, place: Place, y: Any) -> None:
        """End the command before more classes are learned than are classes."""
        import numpy as np

        from budgetron.streams.table.labels import refusal

        self._seen = self._seen or set(getattr(model, "classes_", np.zeros(0)).tolist())
        self._seen.update(np.unique(y).tolist())
        refused = refusal(self.label, len(self._seen), numeric=y.dtype.kind != "U")
        if refused:
            fail(f"{place.name}: {refused}")

    def _check_known(self, place: Place, y: Any, labels: list[Any]) -> None:
        import numpy as np

        strange = ~np.isin(y, labels)
        if strange.any():
            at = int(strange.argmax())
            row = place.position - len(y) + at + 1
            known = ",".join(str(plain(label)) for label in labels)
            what = f"label {plain(y[at])} of row {row} is not among --classes {known}"
            fail(f"{place.name}: {what}")

    def _count(self, y: Any, answers: Answers) -> Any:
        return self.metrics.add(
            y,
            answers.values,
            known=answers.known,
            margins=answers.margins,
            scores=answers.scores,
            chances=answers.chances,
            outputs=answers.outputs,
        )

    def _follow(self, rows: Any, start: int, end: int) -> None:
        import numpy as np

        truth = rows["truth"][start:end]
        self._wrong += int((truth != rows["guess"][start:end]).sum())
        before = 0 if self._rows is None else len(self._rows)
        counted = np.bincount(truth, minlength=before)
        if before:
            counted[:before] += self._rows
        self._rows = counted


class Errors(_Tally):
    """Learns rows as numbers, and sums the errors of the predictions before.

    The first row does not count: before any target is seen nothing can be predicted.
    """

    _task = "regression"

    def __init__(self, fixed: bool = False) -> None:
        from budgetron.evaluate import RegressionMetrics

        super().__init__(None, fixed)
        self.metrics: RegressionMetrics = RegressionMetrics(None, None)
        self._rows = 0
        self._squares = self._of_mean = 0.0

    def state(self) -> dict[str, Any]:
        from budgetron.evaluate.metrics import packed

        return {**super().state(), "squares": packed([self._squares, self._of_mean])}

    def restore(self, state: dict[str, Any]) -> None:
        import numpy as np

        from budgetron.evaluate.metrics import unpacked

        super().restore(state)
        self._rows = self.metrics.rows
        self._squares, self._of_mean = unpacked(state["squares"], np.dtype(float)).tolist()

    def point(self) -> Point:
        from budgetron.evaluate.curve import Point

        return Point(self._rows, max(self._rows - 1, 0), self._squares, self._of_mean)

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

    def _check(self, model: Any, place: Place, y: Any) -> None:
        if y.dtype.kind not in "fiub":
            fail(f"{place.name}: label {y[0]!s} is not a number: regression takes numbers")

    def _count(self, y: Any, answers: Answers) -> Any:
        import numpy as np

        known = np.arange(len(y)) + self.metrics.rows > 0
        return self.metrics.add(y, answers.values, known=known)

    def _follow(self, rows: Any, start: int, end: int) -> None:
        self._rows += end - start
        self._squares = added(self._squares, rows["error"][start:end], rows["known"][start:end])
        self._of_mean = added(self._of_mean, rows["of_mean"][start:end], rows["known"][start:end])


def added(total: float, errors: Any, known: Any) -> float:
    """The total with these errors squared, one after the other: the same bits in any pieces."""
    import numpy as np

    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.where(known, np.square(errors), 0.0)
        return float(np.cumsum(np.append(total, squares))[-1])


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
