"""How a line of a table is run, and what its value is.

- online: test, then train, in one pass; mistakes in per cent.
- regression: the same; root of the mean squared error of the predictions made before learning.
- batch: learn all rows once, then predict the test rows; correct ones in per cent.
- near: online; the number of rounds with 0 < y f(x) < 1 - epsilon.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from budgetron.catalogue import as_printed
from budgetron.lab.baselines import BASELINES
from budgetron.lab.formulas import needs_p, value
from budgetron.lab.reproduce.data import Split
from budgetron.lab.reproduce.tables import Params, Row

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Number of checkpoints of a run, for the figures.
CHECKPOINTS = 20


@dataclass(frozen=True)
class Outcome:
    """The result of a run.

    Attributes
    ----------
    value : value of the protocol; None if the run was stopped at its limit
    stored : examples at the end
    seconds : time for learning, with the predictions before each row if there are any
    test_seconds : predicting the test rows
    curve : (rows, value, seconds) so far, at the checkpoints
    """

    value: float | None
    stored: int = 0
    seconds: float = 0.0
    test_seconds: float = 0.0
    curve: tuple[tuple[int, float, float], ...] = ()

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Self:
        """From the record of a finished run."""
        return cls(**{**record, "curve": tuple(tuple(point) for point in record["curve"])})


def online(row: Row, setting: Params, rows: Split, seed: int) -> Outcome:
    model = machine(row, setting, rows, seed)

    counted = 0

    def learn(X: Any, y: NDArray[Any]) -> float:
        nonlocal counted
        model.prequential(X, y)
        new, counted = model.n_mistakes_ - counted, model.n_mistakes_
        return float(new)

    return _stream(model, rows, learn, lambda total, n: 100 * total / n)


def regression(row: Row, setting: Params, rows: Split, seed: int) -> Outcome:
    model = machine(row, setting, rows, seed, task="regression")

    def learn(X: Any, y: NDArray[Any]) -> float:
        return float(np.sum((model.prequential(X, y) - y) ** 2))

    return _stream(model, rows, learn, lambda total, n: float(np.sqrt(total / n)))


def near(row: Row, setting: Params, rows: Split, seed: int) -> Outcome:
    model = machine(row, setting, rows, seed)
    bar = 1 - model.epsilon
    positive = np.max(rows.y)

    def learn(X: Any, y: NDArray[Any]) -> float:
        margins = np.where(y == positive, 1.0, -1.0) * model.prequential(X, y)
        return float(np.sum((margins > 0) & (margins < bar)))

    return _stream(model, rows, learn, lambda total, n: total)


def batch(row: Row, setting: Params, rows: Split, seed: int) -> Outcome:
    model = machine(row, setting, rows, seed)
    return _fit(model, rows, lambda predicted, y: 100 * float(np.mean(predicted == y)))


def validation(
    row: Row, setting: Params, rows: Split, seed: int, *, count: int, task: str
) -> Outcome:
    """With the first `count` rows: learn four fifths, predict the others; the error there."""
    count = min(count, len(rows.y))
    cut = 4 * count // 5
    part = Split(rows.X[:cut], rows.y[:cut], rows.X[cut:count], rows.y[cut:count])
    model = machine(row, setting, part, seed, task=task)
    if task == "regression":
        return _fit(model, part, lambda f, y: float(np.sqrt(np.mean((f - y) ** 2))))
    return _fit(model, part, lambda predicted, y: 100 * float(np.mean(predicted != y)))


@dataclass(frozen=True)
class Protocol:
    """A way to run a line; the name and the format of its value."""

    run: Callable[[Row, Params, Split, int], Outcome]
    value: str
    digits: int = 2
    more_is_better: bool = False
    task: str = "classification"
    references: tuple[str, ...] = ()  # baselines without features that can be run this way

    def loss(self, value: float) -> float:
        """The smaller, the better."""
        return -value if self.more_is_better else value


PROTOCOLS = {
    "online": Protocol(online, "mistakes, %", references=("majority class", "last label")),
    "regression": Protocol(
        regression, "RMSE", 4, task="regression", references=("mean", "last label")
    ),
    "batch": Protocol(batch, "accuracy, %", more_is_better=True, references=("majority class",)),
    "near": Protocol(near, "rounds", digits=0),
}


def machine(row: Row, setting: Params, rows: Split, seed: int, task: str = "classification") -> Any:
    """The learner of a line with its parameters, with formulas computed for these rows."""
    formulas = {**row.params, **setting}
    p = _perceptron_stores(rows, formulas["gamma"]) if needs_p(formulas) else None
    T = rows.total or len(rows.y)
    params = {name: value(formula, T, p) for name, formula in formulas.items()}
    if row.learner in BASELINES:
        return BASELINES[row.learner](random_state=seed, **params)
    return as_printed(row.learner, task, random_state=seed, **params)


# The last rows asked for and the result: several lines of a table have the same.
_asked: tuple[Split, float, int] | None = None


def _perceptron_stores(rows: Split, gamma: float) -> int:
    global _asked
    if _asked is None or _asked[0] is not rows or _asked[1] != gamma:
        perceptron = as_printed("perceptron", gamma=gamma).partial_fit(rows.X, rows.y)
        _asked = rows, gamma, int(perceptron.n_support_)
    return _asked[2]


def _stream(
    model: Any,
    rows: Split,
    learn: Callable[[Any, NDArray[Any]], float],
    summary: Callable[[float, int], float],
) -> Outcome:
    """Go through the rows in order; `learn` returns what a chunk adds to the total of `summary`."""
    edges = np.linspace(0, len(rows.y), CHECKPOINTS + 1).astype(int)
    curve = []
    total = seconds = 0.0
    for start, end in pairwise(edges):
        if end == start:
            continue
        X, y = rows.X[start:end], rows.y[start:end]
        begun = time.perf_counter()
        total += learn(X, y)
        seconds += time.perf_counter() - begun
        curve.append((int(end), summary(total, int(end)), seconds))
    return Outcome(curve[-1][1], int(model.n_support_), seconds, curve=tuple(curve))


def _fit(model: Any, rows: Split, score: Callable[[NDArray[Any], NDArray[Any]], float]) -> Outcome:
    begun = time.perf_counter()
    model.fit(rows.X, rows.y)
    learned = time.perf_counter()
    predicted = model.predict(rows.test_X)
    done = time.perf_counter()
    stored = int(np.sum(getattr(model, "n_support_", 0)))
    return Outcome(score(predicted, rows.test_y), stored, learned - begun, done - learned)
