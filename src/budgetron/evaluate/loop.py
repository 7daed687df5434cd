"""The prequential loop: rows in order, labels at once or later, metrics at checkpoints."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetron.errors import BudgetronError
from budgetron.estimators._base.targets import any_labels, numbers
from budgetron.evaluate.adapters import Face, face, task_of
from budgetron.evaluate.metrics import ClassificationMetrics, RegressionMetrics
from budgetron.evaluate.predictions import Answers

CHUNK_ROWS = 4096


@dataclass(frozen=True)
class Evaluation:
    """The result of `prequential`.

    Attributes
    ----------
    task : "classification" or "regression"
    checkpoints : at each, a dict from a metric's name to its value: `rows`, the metrics of
        `ClassificationMetrics` or `RegressionMetrics`, each also with `window_` and `fading_`
        before its name, `seconds` (processor time in the learner), `stored` (examples) and
        `bytes`
    window : rows of the metrics with `window_`; None: unknown

    Examples
    --------
    >>> import budgetron
    >>> from budgetron.evaluate import prequential
    >>> from budgetron.streams import two_gaussians
    >>> found = prequential(budgetron.make("rbp", budget=50), *two_gaussians(500), every=250)
    >>> found.task, found.column("rows").tolist()
    ('classification', [250, 500, 750, 1000])
    """

    task: str
    checkpoints: list[dict[str, float]]
    window: int | None = None

    @property
    def last(self) -> dict[str, float]:
        """The values after the last row."""
        return self.checkpoints[-1]

    def column(self, name: str) -> NDArray[np.float64]:
        """One metric at every checkpoint."""
        return np.array([checkpoint[name] for checkpoint in self.checkpoints])


def prequential(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    task: str | None = None,
    every: int | Sequence[int] = 1000,
    delay: int = 0,
    window: int = 1000,
    fading: float = 0.999,
    classes: Any = None,
    positive: Any = None,
    chunk_rows: int = CHUNK_ROWS,
) -> Evaluation:
    """Test, then train, on every row in order.

    With a delay the first `delay` rows do not count: no label has come, so nothing can be
    predicted. In regression the row after them does not count either, as in `budgetron run`.

    Parameters
    ----------
    model : a learner of this library, anything with `partial_fit` and `predict`, or anything with
        River's `learn_one` and `predict_one`. It continues from its current state
    X, y : rows and labels; or X a stream of chunks (X, y), and y None
    task : "classification" or "regression"; None: that of the model
    every : rows between two checkpoints, or a list of row numbers; the last row is always one
    delay : rows after which a row's label comes. The row is predicted when it arrives and learned
        when its label does, that is, after the prediction of the row `delay` rows later. 0: at
        once. Labels that have not come by the end are not learned
    window, fading : parameters of the sliding-window and the fading metrics
    classes : all labels. None: they are added as they occur; learners that need them before the
        first row get those in y
    positive : the label for precision, recall and F1; None: the larger of two labels, or the mean
        over the classes if there are more
    chunk_rows : rows passed to the learner at once; changes nothing but the seconds

    Raises
    ------
    BudgetronError
        If there are no rows, or the learner refuses some.

    Examples
    --------
    >>> import budgetron
    >>> from budgetron.evaluate import prequential
    >>> from budgetron.streams import two_gaussians
    >>> X, y = two_gaussians(1000)
    >>> found = prequential(budgetron.make("forgetron", budget=50, gamma=0.5), X, y, every=500)
    >>> [int(rows) for rows in found.column("rows")]
    [500, 1000, 1500, 2000]
    >>> found.last["mistake_rate"], found.last["stored"]
    (0.11, 50.0)
    """
    if delay < 0:
        raise BudgetronError(f"delay must be at least 0, not {delay}")
    if chunk_rows < 1:
        raise BudgetronError(f"chunk_rows must be at least 1, not {chunk_rows}")
    task = task or task_of(model)
    whole = y is not None
    checked = numbers if task == "regression" else any_labels
    closed = None if classes is None else np.unique(any_labels(classes, "classes"))
    known = closed
    if known is None and whole and task == "classification" and not hasattr(model, "prequential"):
        known = np.unique(any_labels(y))
    learner = face(model, task, known, growing=not whole)
    tester = _Delayed(learner, delay) if delay else learner
    count = _Counter(task, window, fading, closed, positive, unasked=1)
    chunks: Iterable[Any] = [(_rows(X), y)] if whole else X
    found = Evaluation(task, [], window)
    rows, seconds, ends = 0, 0.0, _ends(every)
    end = next(ends)
    for some, y in chunks:
        targets = checked(y, first=rows) if len(y) else np.empty(0)
        start = 0
        while start < len(targets):
            until = min(end, delay) if rows < delay else end  # what counts starts a chunk
            stop = min(start + chunk_rows, len(targets), start + until - rows)
            before = time.process_time()
            answers = tester.test_then_train(some[start:stop], targets[start:stop])
            seconds += time.process_time() - before
            if rows >= delay:
                count(targets[start:stop], answers)
            rows += stop - start
            start = stop
            if rows == end:
                found.checkpoints.append(_checkpoint(rows, count.metrics, learner, seconds))
                end = next(ends)
    if not rows:
        raise BudgetronError("there are no rows to evaluate on")
    if not found.checkpoints or found.last["rows"] != rows:
        found.checkpoints.append(_checkpoint(rows, count.metrics, learner, seconds))
    return found


def held_out(
    model: Any, train: tuple[Any, Any], test: tuple[Any, Any], *, task: str | None = None
) -> dict[str, float]:
    """Learn rows in order, once, then predict others: every metric of these.

    Parameters
    ----------
    model : as for `prequential`
    train, test : rows and labels, (X, y)
    task : "classification" or "regression"; None: that of the model

    Examples
    --------
    >>> import budgetron
    >>> from budgetron.streams import two_gaussians
    >>> X, y = two_gaussians(1000)
    >>> model = budgetron.make("forgetron", budget=50, gamma=0.5)
    >>> found = held_out(model, (X[:1500], y[:1500]), (X[1500:], y[1500:]))
    >>> 0.05 < found["mistake_rate"] < 0.2
    True
    """
    task = task or task_of(model)
    checked = numbers if task == "regression" else any_labels
    (X, y), (others, targets) = ((_rows(rows), checked(y)) for rows, y in (train, test))
    needed = task == "classification" and not hasattr(model, "prequential")
    classes = np.unique(np.concatenate([y, targets])) if needed else None
    learner = face(model, task, classes, growing=False)
    learner.test_then_train(X, y)
    count = _Counter(task, max(len(targets), 1), 1.0, None)
    count(targets, learner.test(others, targets))
    return count.metrics.values()


class _Delayed:
    """A learner whose labels come later: rows wait for them."""

    def __init__(self, learner: Face, delay: int) -> None:
        self._learner = learner
        self._delay = delay
        self._waiting: deque[tuple[Any, NDArray[Any]]] = deque()

    def test_then_train(self, X: Any, y: NDArray[Any]) -> Answers:
        answers = []
        for i in range(len(y)):
            row = X[i : i + 1], y[i : i + 1]
            answers.append(self._learner.test(*row))
            self._waiting.append(row)
            if len(self._waiting) > self._delay:
                self._learner.train(*self._waiting.popleft())
        return Answers.joined(answers)


class _Counter:
    """Answers to metrics, by task. In regression the first `unasked` rows do not count."""

    def __init__(
        self,
        task: str,
        window: int,
        fading: float,
        labels: Any,
        positive: Any = None,
        unasked: int = 0,
    ) -> None:
        self._unasked = unasked
        self.metrics: ClassificationMetrics | RegressionMetrics
        if task == "regression":
            self.metrics = RegressionMetrics(window, fading)
        elif task == "classification":
            self.metrics = ClassificationMetrics(window, fading, labels, positive)
        else:
            raise BudgetronError(f"task={task!r} is not one of 'classification', 'regression'")

    def __call__(self, targets: NDArray[Any], said: Answers) -> None:
        if isinstance(self.metrics, RegressionMetrics):
            rows = np.arange(self.metrics.rows, self.metrics.rows + len(targets))
            self.metrics.add(targets, said.values, known=rows >= self._unasked)
        else:
            self.metrics.add(
                targets,
                said.values,
                known=said.known,
                margins=said.margins,
                scores=said.scores,
                chances=said.chances,
                outputs=said.outputs,
            )


def _checkpoint(rows: int, metrics: Any, learner: Face, seconds: float) -> dict[str, float]:
    amounts = {"seconds": seconds, "stored": learner.stored, "bytes": learner.bytes}
    return {"rows": rows, **metrics.values(), **amounts}


def _ends(every: int | Sequence[int]) -> Iterator[int]:
    """The row numbers of checkpoints, without end."""
    if isinstance(every, int):
        if every < 1:
            raise BudgetronError(f"every must be at least 1, not {every}")
        yield from iter(range(every, 1 << 62, every))
    else:
        ends = sorted({int(end) for end in every})
        if ends and ends[0] < 1:
            raise BudgetronError(f"every must name rows from 1 on, not {ends[0]}")
        yield from ends
    yield 1 << 62


def _rows(X: Any) -> Any:
    """X in a form from which rows can be cut."""
    return X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
