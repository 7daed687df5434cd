"""The values that the page shows about a model: counted row by row, in bounded memory.

Every row is predicted before it is learned. Its loss (a mistake, or the absolute error) is compared
with that of two baselines: the most frequent label so far (the mean of the targets), and the label
of the previous row. A learner that does not beat them has learned nothing worth its memory.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any, NamedTuple

import numpy as np

from budgetron.evaluate.curve import Curve

BINS = 10  # of the histogram of predicted probabilities
DECAY = 0.9995  # per row, of statistics of recent rows: half the weight is on the last 1,400
MARKS = 200
MISTAKES = 8
CLASSES = 200  # at most counted
COLUMNS = 1000  # at most kept with their changes
SHOWN = ("drift", "units", "rescale", "restart")  # events that the page marks


class Reached(NamedTuple):
    """A point of the curve: sums over the rows so far, and the size of the model."""

    rows: float
    seconds: float
    loss: float
    majority: float
    last: float
    stored: float
    bytes: float


class Monitor:
    """Counts what a served model does.

    Parameters
    ----------
    learner : the model
    """

    def __init__(self, learner: Any) -> None:
        self._learner = learner
        self._regression = learner._task == "regression"
        self.base = int(learner.n_seen_) if hasattr(learner, "_engine") else 0
        self.rows = 0
        self.loss = self.majority = self.last = 0.0
        self.curve: Curve[Reached] = Curve(Reached)
        self.counts: dict[Any, int] = {}
        self._recent: dict[Any, float] = {}
        self._commonest: Any = None
        self._before: Any = None
        self._sum = 0.0
        self._bins = np.zeros((3, BINS))  # weights, probabilities, correct predictions
        self.marks: deque[tuple[int, str]] = deque(maxlen=MARKS)
        self.mistakes: deque[dict[str, Any]] = deque(maxlen=MISTAKES)
        self.columns: dict[str, float] = {}
        self._scale = 1.0  # weight of a new row in decaying sums

    # ---- rows ------------------------------------------------------------------------------------

    def count(self, label: Any, prediction: Any, chance: float | None) -> bool:
        """Count a row that was predicted and learned; return whether it was a mistake.

        `chance` is the probability of the predicted class; None: there was none.
        """
        self.rows += 1
        self._scale /= DECAY
        if self._scale > 1e100:
            self._rescale()
        wrong = (
            self._target(label, prediction) if self._regression else self._label(label, prediction)
        )
        if chance is not None:
            place = min(int(chance * BINS), BINS - 1)
            rows, sure, right = self._bins
            rows[place] += self._scale
            sure[place] += self._scale * chance
            if not wrong:
                right[place] += self._scale
        if self.rows == self.curve.next:
            self.curve.add(self.reached())
        return wrong

    def _label(self, label: Any, prediction: Any) -> bool:
        wrong = bool(prediction is None or prediction != label)
        self.loss += wrong
        self.majority += label != self._commonest
        self.last += label != self._before
        self._before = label
        if label in self.counts or len(self.counts) < CLASSES:
            count = self.counts[label] = self.counts.get(label, 0) + 1
            self._recent[label] = self._recent.get(label, 0.0) + self._scale
            if self._commonest is None or count > self.counts[self._commonest]:
                self._commonest = label
        return wrong

    def _target(self, target: float, prediction: float | None) -> bool:
        """In regression a mistake is an error larger than that of the mean."""
        mean = self._sum / max(self.rows - 1, 1)
        error = abs(target - (0.0 if prediction is None else prediction))
        guess = abs(target - mean)
        self.loss += error
        self.majority += guess
        self.last += abs(target - (mean if self._before is None else self._before))
        self._sum += target
        self._before = target
        return error > guess

    def _rescale(self) -> None:
        self._bins /= self._scale
        self._recent = {label: each / self._scale for label, each in self._recent.items()}
        self._scale = 1.0

    def event(self, event: Any) -> None:
        """Count an event inside the model."""
        if event.kind in SHOWN:
            self.marks.append((int(event.round), event.kind))

    def moved(self, moves: dict[str, float]) -> None:
        """Add an explained decision: how far each column moved it."""
        for name, change in moves.items():
            self.columns[name] = 0.95 * self.columns.get(name, abs(change)) + 0.05 * abs(change)
        if len(self.columns) > COLUMNS:
            kept = sorted(self.columns, key=lambda name: -self.columns[name])[: COLUMNS // 2]
            self.columns = {name: self.columns[name] for name in kept}

    # ---- results ---------------------------------------------------------------------------------

    def reached(self) -> Reached:
        """The current point of the curve."""
        size = self._learner.n_support_ if self._learner._stores_examples else 0
        taken = self._learner.memory_bytes_
        return Reached(self.rows, time.time(), self.loss, self.majority, self.last, size, taken)

    def calibration(self) -> list[list[float]]:
        """For each bin: its share of recent rows, mean probability, share of correct ones."""
        weights, chances, right = self._bins
        total = weights.sum()
        return [
            [float(w / total), float(p / w), float(r / w)]
            for w, p, r in zip(weights, chances, right, strict=True)
            if w > 0
        ]

    def mix(self) -> list[list[Any]]:
        """The classes, the most frequent first: label, rows, share of recent rows."""
        total = sum(self._recent.values()) or 1.0
        order = sorted(self.counts, key=lambda label: -self.counts[label])
        return [[each, self.counts[each], self._recent[each] / total] for each in order[:20]]

    def features(self) -> list[list[Any]]:
        """The columns that moved decisions most: name, mean change over recent explained rows."""
        order = sorted(self.columns, key=lambda name: -self.columns[name])
        return [[name, self.columns[name]] for name in order[:15]]

    def history(self) -> dict[str, Any]:
        """The curve, for drawing: per point the sums so far."""
        points = [*self.curve.points, *([self.reached()] if self.rows else [])]
        return {
            "base": self.base,
            "points": [[float(f"{each:.9g}") for each in point] for point in points],
            "marks": [list(each) for each in self.marks],
        }

    # ---- checkpoints -----------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """The state for `restore`, as JSON."""
        self._rescale()
        return {
            "base": self.base,
            "rows": self.rows,
            "sums": [self.loss, self.majority, self.last, self._sum],
            "before": self._before,
            "commonest": self._commonest,
            "counts": [[label, n, self._recent[label]] for label, n in self.counts.items()],
            "bins": self._bins.tolist(),
            "marks": [list(each) for each in self.marks],
            "columns": self.columns,
            **self.curve.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from such a state; raises an exception for other data."""
        self.curve.restore(state, state["rows"])
        self.base, self.rows = state["base"], state["rows"]
        self.loss, self.majority, self.last, self._sum = state["sums"]
        self._before, self._commonest = state["before"], state["commonest"]
        self.counts = {label: n for label, n, _ in state["counts"]}
        self._recent = {label: each for label, _, each in state["counts"]}
        self._bins = np.array(state["bins"], float).reshape(3, BINS)
        self.marks.extend((int(row), str(kind)) for row, kind in state["marks"])
        self.columns = dict(state["columns"])
