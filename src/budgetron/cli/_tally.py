"""What `budgetron run` counts: mistakes of a classifier, errors of a regressor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from budgetron.cli._console import fail
from budgetron.errors import BudgetronError

if TYPE_CHECKING:
    from budgetron.streams.read_ahead import Place
    from budgetron.streams.table.labels import Label


class Mistakes:
    """Learns rows as classes; the model counts its mistakes.

    `fixed`: no row is wider than the first. `label`: what is known of the labels.
    """

    label: Label | None = None

    def __init__(self, labels: list[Any] | None, fixed: bool = False) -> None:
        self._labels = labels
        self._fixed = fixed
        self._seen: set[Any] = set()

    def learn(self, model: Any, place: Place, X: Any, y: Any) -> None:
        if self._labels is not None:
            self._check(place, y, self._labels)
        else:
            self._count(model, place, y)
        learn = model.prequential if self._fixed else model._prequential_growing
        learn(X, y, classes=self._labels)

    def state(self) -> dict[str, float]:
        """What a checkpoint keeps beside the model: nothing, the model counts."""
        return {}

    def restore(self, state: dict[str, float]) -> None: ...

    def status(self, model: Any) -> str:
        return f"{model.n_mistakes_ / max(model.n_seen_, 1):.2%} mistakes"

    def result(self, model: Any) -> dict[str, Any]:
        return {
            "mistakes": int(model.n_mistakes_),
            "mistake_rate": model.n_mistakes_ / model.n_seen_,
            "classes": [plain(label) for label in model.classes_],
        }

    def lines(self, result: dict[str, Any]) -> dict[str, str]:
        return {
            "mistakes": f"{result['mistakes']:,}",
            "mistake rate": f"{result['mistake_rate']:.2%}",
        }

    def _count(self, model: Any, place: Place, y: Any) -> None:
        """End the command before more classes are learned than are classes."""
        import numpy as np

        from budgetron.streams.table.labels import refusal

        self._seen = self._seen or set(getattr(model, "classes_", np.zeros(0)).tolist())
        self._seen.update(np.unique(y).tolist())
        refused = refusal(self.label, len(self._seen), numeric=y.dtype.kind != "U")
        if refused:
            fail(f"{place.name}: {refused}")

    def _check(self, place: Place, y: Any, labels: list[Any]) -> None:
        import numpy as np

        strange = ~np.isin(y, labels)
        if strange.any():
            at = int(strange.argmax())
            row = place.position - len(y) + at + 1
            known = ",".join(str(plain(label)) for label in labels)
            what = f"label {plain(y[at])} of row {row} is not among --classes {known}"
            fail(f"{place.name}: {what}")


class Errors:
    """Learns rows as numbers, and sums the errors of the predictions before.

    `fixed`: no row is wider than the first. `label`: what is known of the targets.
    """

    label: Label | None = None

    def __init__(self, fixed: bool = False) -> None:
        self._fixed = fixed
        self.rows = 0
        self._squares = self._sizes = 0.0

    def learn(self, model: Any, place: Place, X: Any, y: Any) -> None:
        import numpy as np

        if y.dtype.kind not in "fiub":
            fail(f"{place.name}: label {y[0]!s} is not a number: regression takes numbers")
        learn = model.prequential if self._fixed else model._prequential_growing
        error = learn(X, y) - y
        self.rows += len(error)
        self._squares += float(np.square(error).sum())
        self._sizes += float(np.abs(error).sum())

    def state(self) -> dict[str, float]:
        """What a checkpoint keeps beside the model."""
        return {"rows": self.rows, "squares": self._squares, "sizes": self._sizes}

    def restore(self, state: dict[str, float]) -> None:
        rows, squares, sizes = state["rows"], float(state["squares"]), float(state["sizes"])
        if type(rows) is not int or rows < 0 or not (squares >= 0 and sizes >= 0):
            raise BudgetronError("the errors were not summed up")
        self.rows, self._squares, self._sizes = rows, squares, sizes

    def status(self, model: Any) -> str:
        return f"RMSE {(self._squares / max(self.rows, 1)) ** 0.5:.4g}"

    def result(self, model: Any) -> dict[str, Any]:
        return {"rmse": (self._squares / self.rows) ** 0.5, "mae": self._sizes / self.rows}

    def lines(self, result: dict[str, Any]) -> dict[str, str]:
        return {"RMSE": f"{result['rmse']:.4g}", "MAE": f"{result['mae']:.4g}"}


def plain(label: Any) -> Any:
    """A label as JSON and people write it: 1, not 1.0; words as they are."""
    if isinstance(label, str):
        return str(label)
    number = float(label)
    return int(number) if number.is_integer() else number
