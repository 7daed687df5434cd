"""One way to talk to every learner: ours, scikit-learn's `partial_fit`/`predict`, River's `*_one`.

A face answers three questions: what does the learner say to these rows if each is learned right
after (`test_then_train`), what does it say to rows as it is (`test`), and how much does it hold
(`stored`, `bytes`). Ours run over whole chunks in the compiled loop; any other learner is asked row
by row, since only that is test-then-train.
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

_NARROW = 4096  # a sparse row up to this width goes to River's models with its zeros


class Face(Protocol):
    """What the evaluation asks of a learner."""

    def test_then_train(self, X: Any, y: NDArray[Any]) -> Answers: ...
    def test(self, x: Any, y: NDArray[Any]) -> Answers:
        """What it says to rows (y is only for the margins)."""

    def train(self, x: Any, y: NDArray[Any]) -> None: ...
    @property
    def stored(self) -> float: ...
    @property
    def bytes(self) -> float: ...


def face(model: Any, task: str, classes: NDArray[Any] | None, growing: bool) -> Face:
    """The face for this learner.

    Parameters
    ----------
    model : the learner
    task : "classification" or "regression"
    classes : all labels, if known; scikit-learn's classifiers need them
    growing : later chunks may be wider
    """
    if hasattr(model, "test_then_train"):
        found: Face = model
        return found
    if hasattr(model, "prequential"):
        return _Native(model, task, classes, growing)
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
    """Test, then train, by one call each a row."""

    def test_then_train(self: Any, X: Any, y: NDArray[Any]) -> Answers:
        answers = []
        for i in range(len(y)):
            answers.append(self.test(X[i : i + 1], y[i : i + 1]))
            self.train(X[i : i + 1], y[i : i + 1])
        return Answers.joined(answers)


class _Native:
    """A learner of this library."""

    def __init__(self, model: Any, task: str, classes: NDArray[Any] | None, growing: bool) -> None:
        self._model = model
        self._regression = task == "regression"
        # gamma="auto" is 1/width: of a stream that grows, the first chunk's would be arbitrary.
        # Then the model itself refuses a wider chunk. A linear kernel has no gamma.
        self._growing = growing and (model.gamma != "auto" or model.kernel == "linear")
        self._learn = model._prequential_growing if self._growing else model.prequential
        self._closed = {} if classes is None else {"classes": classes}

    def test_then_train(self, X: Any, y: NDArray[Any]) -> Answers:
        if self._regression:
            return Answers.of(self._learn(X, y))
        if self._closed:
            return self._read(X, y, **self._closed)
        # Cut where a class joins: what was known before its first row is then at hand.
        bounds = [0, len(y)]
        if codes(y, self._classes) is None:
            labels, firsts = np.unique(y, return_index=True)
            bounds = sorted({*bounds, *firsts[~np.isin(labels, self._classes)].tolist()})
        return Answers.joined(
            [self._run(X[start:end], y[start:end]) for start, end in itertools.pairwise(bounds)]
        )

    def _run(self, X: Any, y: NDArray[Any]) -> Answers:
        """Rows of which at most the first is of a class that joins (of weight 0 none does)."""
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
        decisions = learn(X, y, growing=self._growing, chances=chances, **closed)
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
        """What it says of itself, or the size of its pickle."""
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
        self._two: NDArray[Any] | None = None  # what False and True stand for
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
        """River's own count where there is one, or the size of its pickle."""
        said = getattr(self._model, "_raw_memory_usage", None)
        return float(len(pickle.dumps(self._model)) if said is None else said)


def _as_dict(x: Any) -> dict[int, float]:
    """A row as River has it: feature number to value.

    A sparse row has its zeros too, so that it is learned as the dense row is (a scaler of River's
    takes a missing feature for unknown, not for 0); only a very wide one has what is there.
    """
    if isinstance(x, np.ndarray) or x.shape[1] <= _NARROW:
        row = x if isinstance(x, np.ndarray) else x.toarray()
        return dict(enumerate(row[0].tolist()))
    return dict(zip(x.indices.tolist(), x.data.tolist(), strict=True))
