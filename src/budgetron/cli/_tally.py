"""What `budgetron run` counts: mistakes of a classifier, errors of a regressor, alarms."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from budgetron.cli._console import fail, note

if TYPE_CHECKING:
    from budgetron.cli._coverage import Covered
    from budgetron.cli._workers import Crew
    from budgetron.evaluate import ClassificationMetrics, RegressionMetrics
    from budgetron.evaluate.curve import Curve, Point
    from budgetron.evaluate.predictions import Answers
    from budgetron.streams.read_ahead import Place
    from budgetron.streams.table.labels import Label

CLASSES = 10  # shown in the table of classes; if there are more, the largest
LEAST_SQUARES = 1e-300  # squares of errors whose sum is smaller have lost digits


class _Tally:
    """Lets a model predict and learn rows, and counts the answers: metrics, and a curve over rows.

    `fixed`: no row is wider than the first. `label`: what is known about the labels.
    `answers`: for the rows learned last. `covered`: counts intervals or sets, if there are any.
    `ask`: the share of labels to ask for; None: all labels are learned.
    """

    label: Label | None = None
    answers: Answers | None = None
    covered: Covered | None = None
    ask: float | None = None
    _task: str
    metrics: ClassificationMetrics | RegressionMetrics

    def __init__(self, labels: list[Any] | None, fixed: bool) -> None:
        from budgetron.evaluate.curve import Curve, Point

        self._labels = labels
        self._fixed = fixed
        self.curve: Curve[Point] = Curve(Point)

    def learn(self, model: Any, place: Place, X: Any, y: Any, crew: Crew | None = None) -> None:
        """Test, then train, on the rows of a chunk; a crew's workers do it, if there is one."""
        self._check(model, place, y)
        face_of = self.face
        if crew is None:
            learner: Any = face_of(model)
            self.answers = learner.test_then_train(X, y)
            if self.covered is not None:
                self.covered.count(learner.spans, y)
        else:
            self.answers = crew.test_then_train(face_of, X, y)
        rows = self._count(y, self.answers)
        before, start = self.metrics.rows - len(y), 0
        while start < len(y):
            end = min(len(y), self.curve.next - before)
            self._follow(rows, start, end)
            start = end
            if before + end == self.curve.next:
                self.curve.add(self.point())

    @property
    def face(self) -> partial[Any]:
        """The adapter that makes a model predict and learn."""
        import numpy as np

        from budgetron.evaluate.adapters import face

        return partial(
            face,
            task=self._task,
            classes=None if self._labels is None else np.asarray(self._labels),
            growing=not self._fixed,
            coverage=None if self.covered is None else self.covered.coverage,
            ask=self.ask,
        )

    def state(self) -> dict[str, Any]:
        """The state that a checkpoint keeps beside the model."""
        covered = {} if self.covered is None else {"covered": self.covered.state()}
        return {**self.metrics.state(), **self.curve.state(), **covered}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from such a state."""
        self.metrics.restore(state)
        self.curve.restore(state, self.metrics.rows)
        if self.covered is not None:
            self.covered.restore(state["covered"])

    def check(self, model: Any) -> None:
        """End the command if something that was asked for occurred in no row."""

    def point(self) -> Point:
        """The current point of the curve."""
        raise NotImplementedError

    def _check(self, model: Any, place: Place, y: Any) -> None:
        """End the command if a label does not fit the task."""
        raise NotImplementedError

    def _count(self, y: Any, answers: Answers) -> Any:
        """Count answers; return the rows as the metrics take them."""
        raise NotImplementedError

    def _follow(self, rows: Any, start: int, end: int) -> None:
        """Add these rows to the sums of the curve."""
        raise NotImplementedError


class Mistakes(_Tally):
    """Learns rows as classes; the model counts its mistakes.

    Parameters
    ----------
    labels : all labels; None: the model learns of a label when it first occurs
    fixed : no row is wider than the first
    positive : the class for precision, recall and F1, as the user typed it
    """

    _task = "classification"

    def __init__(
        self, labels: list[Any] | None, fixed: bool = False, positive: str | None = None
    ) -> None:
        from budgetron.evaluate import ClassificationMetrics

        super().__init__(labels, fixed)
        self.metrics: ClassificationMetrics = ClassificationMetrics(None, None)
        self._positive = positive
        self._unsure = positive is not None  # True while it is not known whether this class exists
        self._seen: set[Any] = set()  # labels seen
        self._wrong = 0
        self._rows: Any = None  # per class, by its code
        if positive is not None and labels is not None:
            self._find_positive(labels)

    def learn(self, model: Any, place: Place, X: Any, y: Any, crew: Crew | None = None) -> None:
        before = self.metrics.rows
        if before and self._unsure and self._named(model.classes_) is None:
            rows = f"the first {before:,} rows"
            note(f"warning: --positive {self._positive}: not in {rows}, with classes {self._found}")
        self._unsure &= not before
        super().learn(model, place, X, y, crew)

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
        if self.ask is not None:
            return f"{self._wrong / max(self.metrics.rows, 1):.2%} mistakes"
        return f"{model.n_mistakes_ / max(model.n_seen_, 1):.2%} mistakes"

    def result(self, model: Any) -> dict[str, Any]:
        """The values for the report."""
        if self._positive is not None:
            self.metrics.positive = self._find_positive(model.classes_.tolist())
        values = self.metrics.values()
        names = ("majority_rate", "precision", "recall", "f1", "auc", "log_loss", "kappa")
        two = len(model.classes_) == 2
        of = self.metrics.positive
        of = model.classes_.tolist()[1] if of is None and two else of
        wrong, rows = int(model.n_mistakes_), int(model.n_seen_)
        asked = {}
        if self.ask is not None:
            wrong, rows = self._wrong, self.metrics.rows
            asked = {"labels_asked": model.labels_asked_, "labels_share": self.ask}
        return {
            **asked,
            "mistakes": wrong,
            "mistake_rate": wrong / rows,
            **{name: finite(values[name]) for name in names},
            "positive": None if of is None else plain(of),
            "classes": [plain(label) for label in model.classes_],
            "per_class": [
                {name: _cell(name, value) for name, value in each.items()}
                for each in self.metrics.by_class()
            ],
        }

    def lines(self, result: dict[str, Any]) -> dict[str, str]:
        of = "mean over classes" if result["positive"] is None else str(result["positive"])
        lines = {}
        if "labels_asked" in result:
            asked = result["labels_asked"]
            lines["labels asked for"] = f"{asked:,} ({asked / result['rows']:.1%})"
        lines |= {
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
        """End the command before it learns more classes than a classifier should have."""
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
    """Learns rows as numbers, and sums the errors of the predictions made before learning.

    The first row does not count: nothing can be predicted before a target is seen.
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

    def check(self, model: Any) -> None:
        sums = self.metrics.sums
        if sums.mean_absolute > 0 and sums.mean_squared < LEAST_SQUARES:
            what = "the targets are so small that the squares of errors vanish"
            note(f"warning: {what}, so R2 and RMSE are wrong: multiply the targets by a constant")

    def status(self, model: Any) -> str:
        return f"RMSE {self.metrics.values()['rmse']:.4g}"

    def result(self, model: Any) -> dict[str, Any]:
        """The values for the report."""
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


def strange(label: Any, positive: str | None) -> int | None:
    """1 for the label of strange rows, 0 for that of others, -1 for a missing one; None: neither.

    Without `positive`, the label of strange rows as it is typed, labels are 0 and 1 or no and yes.
    """
    text = "" if label is None else str(label if isinstance(label, str) else plain(label)).strip()
    if text in ("", "nan"):
        return -1
    if positive is not None:
        return int(text == positive.strip())
    return {"0": 0, "1": 1, "false": 0, "true": 1}.get(text.lower())


NOT_STRANGE = "is not 0 or 1 (strange): name the label of strange rows with --positive"


class Alarms(_Tally):
    """Learns rows without their labels; counts alarms, and compares them with labels if there are.

    Parameters
    ----------
    rate : the share of alarms that is asked for
    fixed : no row is wider than the first
    positive : the label of strange rows, as it is typed; None: labels are 0 and 1, which is strange
    labelled : False: labels are not looked at
    """

    _task = "novelty"

    def __init__(
        self, rate: Any, fixed: bool = False, positive: str | None = None, labelled: bool = True
    ) -> None:
        from budgetron.evaluate import ClassificationMetrics

        super().__init__(None, fixed)
        self.metrics: ClassificationMetrics = ClassificationMetrics(None, None, [0, 1], 1)
        self._rate, self._positive = rate, positive
        self._labelled = labelled
        self._rows = self._alarms = 0
        # Of the rows with a label: all, strange ones, alarms, strange ones with an alarm.
        self._known = [0, 0, 0, 0]

    def state(self) -> dict[str, Any]:
        return {**super().state(), "known": self._known}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self._known = [int(each) for each in state["known"]]
        self._rows = self.metrics.rows
        self._alarms = self.metrics.by_class()[1]["predicted"]

    def point(self) -> Point:
        from budgetron.evaluate.curve import Point

        return Point(self._rows, self._rows, self._alarms, self._rate * self._rows)

    def check(self, model: Any) -> None:
        if self._positive is not None and not self._known[1]:
            fail(f"--positive {self._positive}: no row has this label")

    def status(self, model: Any) -> str:
        return f"{self._alarms / max(self._rows, 1):.2%} alarms"

    def result(self, model: Any) -> dict[str, Any]:
        """What is reported."""
        known, of_strange, alarms, caught = self._known
        against = {
            "strange": of_strange,
            "auc": finite(self.metrics.values()["auc"]),
            "precision": caught / alarms if alarms else None,
            "recall": caught / of_strange if of_strange else None,
        }
        return {
            "alarms": self._alarms,
            "alarm_rate": self._alarms / self._rows,
            "alarm_rate_asked": float(self._rate),
            **(against if known else dict.fromkeys(against)),
        }

    def lines(self, result: dict[str, Any]) -> dict[str, str]:
        lines = {
            "alarms": f"{result['alarms']:,}",
            f"alarm rate (of {100 * result['alarm_rate_asked']:g}%)": f"{result['alarm_rate']:.2%}",
        }
        if result["strange"] is None:
            return lines
        return lines | {
            "strange rows": f"{result['strange']:,}",
            "strange rows with an alarm": digits(result["recall"]),
            "alarms that are strange": digits(result["precision"]),
            "AUC": digits(result["auc"]),
        }

    def _truth(self, y: Any) -> Any:
        """1 for strange rows, 0 for others, -1 without a label; also a label that is neither."""
        import numpy as np

        labels, codes = np.unique(y, return_inverse=True)
        found = [strange(each, self._positive) for each in labels.tolist()]
        odd = plain(labels[found.index(None)]) if None in found else None
        return np.array([-1 if each is None else each for each in found], int)[codes], odd

    def _check(self, model: Any, place: Place, y: Any) -> None:
        if not self._labelled:
            return
        truth, odd = self._truth(y)
        if self._positive is not None and not self._known[0] and (truth < 0).all():
            fail(f"{place.name}: --positive names a label: where are they? Add --label COLUMN")
        if odd is not None:
            fail(f"{place.name}: label {odd!r} {NOT_STRANGE}, or look at no labels: --label none")

    def _count(self, y: Any, answers: Answers) -> Any:
        import numpy as np

        assert answers.alarms is not None
        truth = self._truth(y)[0] if self._labelled else np.full(len(y), -1)
        known, of_strange, alarms = truth >= 0, truth == 1, answers.alarms
        counts = (known, of_strange, known & alarms, of_strange & alarms)
        self._known = [k + int(each.sum()) for k, each in zip(self._known, counts, strict=True)]
        scores = np.where(known, answers.values, np.nan)
        return self.metrics.add(of_strange.astype(int), alarms.astype(int), scores=scores)

    def _follow(self, rows: Any, start: int, end: int) -> None:
        self._rows += end - start
        self._alarms += int((rows["guess"][start:end] == 1).sum())


Tally: TypeAlias = Mistakes | Errors | Alarms


def added(total: float, errors: Any, known: Any) -> float:
    """The total plus these squared errors, added in order: the same bits for any chunk size."""
    import numpy as np

    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.where(known, np.square(errors), 0.0)
        return float(np.cumsum(np.append(total, squares))[-1])


def plain(label: Any) -> Any:
    """A label as JSON and people write it: 1, not 1.0; text stays as it is."""
    if isinstance(label, str):
        return str(label)
    number = float(label)
    return int(number) if number.is_integer() else number


def finite(value: float) -> float | None:
    """A number for JSON: None if it is not finite."""
    return value if math.isfinite(value) else None


def digits(value: float | None) -> str:
    """A number with four digits; a dash if there is none."""
    return "-" if value is None else f"{value:.4g}"


def listed(labels: list[Any]) -> str:
    """The labels, separated by commas; only the first ones if there are many."""
    more = f" and {len(labels) - CLASSES} more" if len(labels) > CLASSES else ""
    return ", ".join(str(plain(each)) for each in labels[:CLASSES]) + more


def _cell(name: str, value: Any) -> Any:
    if name == "label":
        return plain(value)
    return finite(value) if isinstance(value, float) else value
