"""One interface for every learner: ours, scikit-learn's `partial_fit`/`predict`, River's `*_one`.

An adapter ("face") answers three questions: the learner's answers if each row is learned right
after (`test_then_train`), its answers without learning (`test`), and how much it holds (`stored`,
`bytes`). Ours run over whole chunks in the compiled loop; any other learner runs row by row, since
only that is test-then-train.
"""

from __future__ import annotations

import inspect
import itertools
import pickle
import sys
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from budgetron.errors import BudgetronError
from budgetron.estimators._base.plain import codes
from budgetron.evaluate.predictions import Answers, nothing_yet, read

_AHEAD = 32  # rows inspected together while no label is asked for
_NARROW = 4096  # River's models get a sparse row up to this width with its zeros


class Face(Protocol):
    """What the evaluation needs from a learner."""

    def test_then_train(self, X: Any, y: NDArray[Any]) -> Answers: ...
    def test(self, x: Any, y: NDArray[Any]) -> Answers:
        """The answers for rows (y is only for the margins)."""

    def train(self, x: Any, y: NDArray[Any]) -> None: ...
    @property
    def stored(self) -> float: ...
    @property
    def bytes(self) -> float: ...


def face(
    model: Any,
    task: str,
    classes: NDArray[Any] | None,
    growing: bool,
    coverage: float | None = None,
    ask: float | None = None,
) -> Face:
    """The adapter for this learner.

    Parameters
    ----------
    model : the learner
    task : "classification", "regression" or "novelty"
    classes : all labels, if known; scikit-learn's classifiers need them
    growing : later chunks may be wider
    coverage : coverage of the intervals or sets of a learner of this library (`spans`)
    ask : the share of rows whose labels a learner with `should_label` asks for, and learns
    """
    if hasattr(model, "test_then_train"):
        found: Face = model
        return found
    if task == "novelty":
        return _Detector(model, task, None, growing)
    if hasattr(model, "prequential"):
        native = _Native(model, task, classes, growing, coverage)
        return native if ask is None else _Asking(native, model, ask)
    if hasattr(model, "partial_fit") and hasattr(model, "predict"):
        return _Batch(model, task, classes)
    if hasattr(model, "learn_one") and hasattr(model, "predict_one"):
        return _River(model, task, classes)
    raise TypeError(
        f"{type(model).__name__} has neither partial_fit and predict nor learn_one and predict_one"
    )


def task_of(model: Any) -> str:
    """The task of a learner: "regression" if it says so, else "classification"."""
    if hasattr(model, "__sklearn_tags__"):
        from sklearn.base import is_regressor

        return "regression" if is_regressor(model) else "classification"
    river = sys.modules.get("river.base")
    regressor = river is not None and isinstance(model, river.Regressor)
    return "regression" if regressor else "classification"


class _RowByRow:
    """Test, then train, with one call each per row."""

    def test_then_train(self: Any, X: Any, y: NDArray[Any]) -> Answers:
        answers = []
        for i in range(len(y)):
            answers.append(self.test(X[i : i + 1], y[i : i + 1]))
            self.train(X[i : i + 1], y[i : i + 1])
        return Answers.joined(answers)


class _Native:
    """A learner of this library.

    `spans`: for the last rows tested and trained, (n, 2), if a coverage is given: the ends of their
    intervals, or sizes of sets and 1 if the row's class was in it, else 0; nan if there is none.
    """

    def __init__(
        self,
        model: Any,
        task: str,
        classes: NDArray[Any] | None,
        growing: bool,
        coverage: float | None = None,
    ) -> None:
        self._model = model
        self._coverage = coverage
        self._spans: list[NDArray[np.float64]] = []
        self._regression = task != "classification"
        # gamma="auto" is 1/width: of a stream that grows, the first chunk's would be arbitrary.
        # Then the model itself refuses a wider chunk. A linear kernel has no gamma.
        self._growing = growing and (model.gamma != "auto" or model.kernel == "linear")
        self._learn = model._prequential_growing if self._growing else model.prequential
        self._closed = {} if classes is None else {"classes": classes}

    @property
    def growing(self) -> bool:
        return self._growing

    @property
    def spans(self) -> NDArray[np.float64]:
        return np.concatenate([np.empty(0), *self._spans]).reshape(-1, 2)

    def _span(self, y: NDArray[Any]) -> dict[str, Any]:
        """The arguments that record intervals or sets, if these are wanted."""
        if self._coverage is None:
            return {}
        self._spans.append(np.full(2 * len(y), np.nan))
        return {"spans": (self._spans[-1], self._coverage)}

    def test_then_train(self, X: Any, y: NDArray[Any]) -> Answers:
        self._spans = []
        if self._regression:
            learn = self._model._prequential_growing
            return Answers.of(learn(X, y, growing=self._growing, **self._span(y)))
        if self._closed:
            return self._read(X, y, **self._closed)
        # Cut where a class is added: what was known before its first row is then available.
        bounds = [0, len(y)]
        if codes(y, self._classes) is None:
            labels, firsts = np.unique(y, return_index=True)
            bounds = sorted({*bounds, *firsts[~np.isin(labels, self._classes)].tolist()})
        return Answers.joined(
            [self._run(X[start:end], y[start:end]) for start, end in itertools.pairwise(bounds)]
        )

    def _run(self, X: Any, y: NDArray[Any]) -> Answers:
        """Rows of which at most the first adds a class (rows of weight 0 do not)."""
        before = self._classes
        answers = self._read(X, y)
        if len(before) <= 1 and len(before) < len(self._classes):
            answers.known[0] = len(before) == 1
            answers.values[0] = before[0] if len(before) else answers.values[0]
            answers.scores.setflags(write=True)
            answers.scores[0] = np.nan
        return answers

    def _read(self, X: Any, y: NDArray[Any], **closed: Any) -> Answers:
        chances = np.full(len(y), np.nan)
        learn = self._model._prequential_growing
        how = {"growing": self._growing, "chances": chances, **self._span(y)}
        decisions = learn(X, y, **how, **closed)
        return read(decisions, self._classes, y, chances)

    @property
    def _classes(self) -> NDArray[Any]:
        classes: NDArray[Any] = getattr(self._model, "classes_", np.empty(0))
        return classes

    def test(self, x: Any, y: NDArray[Any]) -> Answers:
        model = self._model
        if not hasattr(model, "_engine"):
            return nothing_yet(y, self._regression)
        decisions, _ = model._answer(model._rows(x, growing=self._growing))
        decisions = decisions[:, 0] if decisions.shape[1] == 1 else decisions
        return Answers.of(decisions) if self._regression else read(decisions, self._classes, y)

    def train(self, x: Any, y: NDArray[Any]) -> None:
        self._learn(x, y, **self._closed)

    @property
    def stored(self) -> float:
        return float(self._model.n_support_) if hasattr(self._model, "_engine") else 0.0

    @property
    def bytes(self) -> float:
        return float(self._model.memory_bytes_) if hasattr(self._model, "_engine") else 0.0


class _Detector(_Native):
    """A detector of this library, which looks at no label."""

    def test_then_train(self, X: Any, y: NDArray[Any]) -> Answers:
        spans = np.full(2 * len(y), np.nan)
        wanted = (spans, self._model._coverage)
        scores = self._model._prequential_growing(X, growing=self._growing, spans=wanted)
        return replace(Answers.of(scores), alarms=spans[::2] > 0.0)


class _Asking:
    """A learner of this library that only learns the rows whose labels it asks for."""

    def __init__(self, native: _Native, model: Any, share: float) -> None:
        self._native, self._model, self._share = native, model, share

    def test_then_train(self, X: Any, y: NDArray[Any]) -> Answers:
        answers = []
        start = 0
        while start < len(y):  # up to the next row that is asked for, the model does not change
            block = X[start : start + _AHEAD]
            count, asked = self._model._ask_ahead(block, self._share, growing=self._native.growing)
            end = start + count
            answers.append(self._native.test(X[start:end], y[start:end]))
            if asked:
                self._native.train(X[end - 1 : end], y[end - 1 : end])
            start = end
        return Answers.joined(answers)

    def test(self, x: Any, y: NDArray[Any]) -> Answers:
        return self._native.test(x, y)

    def train(self, x: Any, y: NDArray[Any]) -> None:
        self._native.train(x, y)

    @property
    def stored(self) -> float:
        return self._native.stored

    @property
    def bytes(self) -> float:
        return self._native.bytes


class _Batch(_RowByRow):
    """Anything with `partial_fit` and `predict`."""

    def __init__(self, model: Any, task: str, classes: NDArray[Any] | None) -> None:
        self._model = model
        self._regression = task == "regression"
        self._trained = False
        self._first: dict[str, Any] = {}
        if not self._regression and "classes" in inspect.signature(model.partial_fit).parameters:
            if classes is None:
                raise BudgetronError(
                    f"{type(model).__name__} needs all labels before the first row: pass classes="
                )
            self._first = {"classes": classes}

    def test(self, x: Any, y: NDArray[Any]) -> Answers:
        try:
            values = np.asarray(self._model.predict(x)).reshape(-1)
        except Exception:
            if self._trained:
                raise
            return nothing_yet(y, self._regression)
        if self._regression:
            return Answers.of(values)
        classes = np.asarray(getattr(self._model, "classes_", []))
        plain = Answers.of(values)
        if len(classes) > 1 and hasattr(self._model, "decision_function"):
            decided = read(np.asarray(self._model.decision_function(x)), classes, y)
            return replace(decided, values=values, known=plain.known)
        if len(classes) == 2 and hasattr(self._model, "predict_proba"):
            scores = np.asarray(self._model.predict_proba(x))[:, 1]
            return replace(plain, scores=scores)
        return plain

    def train(self, x: Any, y: NDArray[Any]) -> None:
        self._model.partial_fit(x, y, **self._first)
        self._first, self._trained = {}, True

    @property
    def stored(self) -> float:
        return float(getattr(self._model, "n_support_", np.nan))

    @property
    def bytes(self) -> float:
        """The size it reports, or the size of its pickle."""
        said = getattr(self._model, "memory_bytes_", None)
        return float(len(pickle.dumps(self._model)) if said is None else said)


class _River(_RowByRow):
    """Anything with River's `learn_one` and `predict_one`, which take a row as a dict.

    River's classifiers of two classes (`_multiclass` False) know them as False and True only.
    """

    def __init__(self, model: Any, task: str, classes: NDArray[Any] | None) -> None:
        self._model = model
        self._regression = task == "regression"
        self._labels: set[Any] = set()
        self._two: NDArray[Any] | None = None  # the labels for False and True
        if not self._regression and getattr(model, "_multiclass", None) is False:
            if classes is None:
                raise BudgetronError(
                    f"{type(model).__name__} needs its labels before the first row: pass classes="
                )
            if len(classes) > 2:
                what = f"{type(model).__name__} is for two classes, and there are {len(classes)}"
                raise BudgetronError(f"{what}; River's multiclass.OneVsRestClassifier is for more")
            self._two = classes

    def test(self, x: Any, y: NDArray[Any]) -> Answers:
        return Answers.joined([self._test(x[i : i + 1], y[i : i + 1]) for i in range(len(y))])

    def _test(self, x: Any, y: NDArray[Any]) -> Answers:
        row = _as_dict(x)
        value = self._model.predict_one(row)
        if value is None:
            return nothing_yet(y, self._regression)
        if self._two is not None:
            value = self._two[-1] if value else self._two[0]
        answers = Answers.of(np.array([value]))
        if self._regression or len(self._labels) != 2:
            return answers
        try:
            shares = self._model.predict_proba_one(row)
        except (AttributeError, NotImplementedError):
            return answers
        score = np.array([float(shares.get(max(self._labels), 0.0))])
        return replace(answers, scores=score)

    def train(self, x: Any, y: NDArray[Any]) -> None:
        label = y[0].item() if self._two is None else bool(y[0] == self._two[-1])
        self._model.learn_one(_as_dict(x), label)
        if not self._regression:
            self._labels.add(label)

    @property
    def stored(self) -> float:
        return float(getattr(self._model, "n_support_", np.nan))

    @property
    def bytes(self) -> float:
        """River's own count if there is one, or the size of its pickle."""
        said = getattr(self._model, "_raw_memory_usage", None)
        return float(len(pickle.dumps(self._model)) if said is None else said)


def _as_dict(x: Any) -> dict[int, float]:
    """A row for River: feature number to value.

    A sparse row has its zeros too, so that it is learned like the dense row (a River scaler treats
    a missing feature as unknown, not as 0); only a very wide row leaves zeros out.
    """
    if isinstance(x, np.ndarray) or x.shape[1] <= _NARROW:
        row = x if isinstance(x, np.ndarray) else x.toarray()
        return dict(enumerate(row[0].tolist()))
    return dict(zip(x.indices.tolist(), x.data.tolist(), strict=True))
