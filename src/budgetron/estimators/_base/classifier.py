"""Classification: labels to class codes, classes closed or joining, decisions to labels."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from budgetron._batch import Batch
from budgetron._engine import Floats
from budgetron.errors import BudgetronError
from budgetron.estimators._base.coverage import check_coverage
from budgetron.estimators._base.estimator import OnlineEstimator
from budgetron.estimators._base.plain import codes, comparable, numeric
from budgetron.estimators._base.scikit import ClassifierMixin
from budgetron.estimators._base.targets import labels
from budgetron.estimators._base.weights import LARGEST, ClassWeights, product
from budgetron.parts.ranges import OneOf, parameter


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineClassifier(ClassifierMixin, OnlineEstimator):
    """A classifier that learns row by row; any number of classes, labels of any type.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Weights of the classes' rows. "balanced" gives row t the weight n_t / (K_t n_{y,t}),
        from the rows and classes so far and the rows of its class, itself included.
    sets : bool
        Keep the quantiles of the margins so far that ``predict_set`` needs.

    Attributes
    ----------
    classes_ : array
        The labels seen so far, sorted; with ``fit`` or ``classes`` all there will be.
    """

    class_weight: dict[Any, float] | str | None = parameter(None, dict, OneOf("balanced"), None)
    sets: bool = parameter(False, "boolean")

    _task: ClassVar[str] = "classification"
    _fitted: ClassVar[dict[str, type]] = {
        **OnlineEstimator._fitted,
        "classes_": np.ndarray,
        "_class_counts": np.ndarray,
        "_closed": bool,
    }

    # ---- learning --------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Start again and learn the rows `n_epochs` times, in order or shuffled.

        First goes over all rows once to set what depends on the data: the units of scale="auto" and
        gamma="median". Then equals `partial_fit` over the rows in the order of all epochs, except
        that only the first epoch is used to fit probabilities.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d)
        y : labels, shape (n,); their distinct values are the classes, any other later is an error
        sample_weight : numbers >= 0, shape (n,); a row of weight w moves f by w times as much
        """
        y = labels(y)
        self._learn(X, y, sample_weight, classes=np.unique(y), anew=True)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn the rows, in order, after all rows learned before.

        One call with n rows gives the same bits as n calls with one row.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d)
        y : labels, shape (n,)
        classes : all labels there will be, in the first call. Without it classes are added as they
            occur
        sample_weight : numbers >= 0, shape (n,); a row of weight w moves f by w times as much
        """
        self._learn(X, labels(y), sample_weight, classes=classes)
        return self

    def prequential(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Floats:
        """Test, then train, row by row: return the decision for each row before it was learned.

        Learns exactly as `partial_fit` does.

        Returns
        -------
        decisions : (n,) for up to two classes, where >= 0 means ``classes_[1]``; else (n, K) with
            -inf for a class that had not been seen yet
        """
        decisions = self._learn(X, labels(y), sample_weight, classes=classes, record=True)
        assert decisions is not None
        return decisions

    def _prequential_growing(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        *,
        growing: bool = True,
        chances: Floats | None = None,
        spans: tuple[Floats, float] | None = None,
    ) -> Floats:
        """`prequential` for streams whose width grows: a chunk may have more features.

        `chances`, (n,), receives the probability of each row's own class before the row was
        learned; it is unchanged if the class was not known yet, or was the only one. `spans`
        receives two numbers per row, flat, the size of its set and whether its own class was in it,
        and the coverage.
        """
        decisions = self._learn(
            X,
            labels(y),
            None,
            classes=classes,
            record=True,
            growing=growing,
            chances=chances,
            spans=spans,
        )
        assert decisions is not None
        return decisions

    def learn_one(self, x: NDArray[Any], y: Any) -> float | Floats:
        """Learn one row; return the decision before it was learned.

        The fast path: x goes to the compiled round unchanged. It must be a 1-d contiguous array of
        the model's dtype, else TypeError, and of its width, else BudgetronError. NOT checked: that
        it is finite (a row with an infinity, or a NaN without scale="auto", gets some prediction
        and is not learned).
        """
        try:
            code = self._codes[y]
        except (AttributeError, KeyError, TypeError):  # not started, or a new label
            decisions = self.prequential(np.asarray(x)[None, :], np.array([y]))
            return decisions[0] if decisions.ndim > 1 else float(decisions[0])
        self._check_width(x)
        if self._changed:
            with self._unchanged_if_refused():
                self._follow_params()
                return self._learn_known(x, y, code)
        return self._learn_known(x, y, code)

    def _learn_known(self, x: NDArray[Any], y: Any, code: float) -> float | Floats:
        decision: float | Floats
        if self._class_weights is None:
            decision = self._engine.native.learn_one(x, code)
        else:
            native = self._engine.native
            seen = native.seen
            try:
                decision = native.learn_one(x, code, self._class_weights.of_one(y))
            finally:  # a warning may be an error
                if native.seen > seen:  # not if the row is not finite
                    self._class_weights.count(y)
        return decision

    def decision_one(self, x: NDArray[Any]) -> float | Floats:
        """The decision for one row, under `learn_one`'s conditions."""
        native = self._deciding
        self._check_width(x)
        decision: float | Floats = native.predict_one(x)
        return decision

    # ---- deciding --------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Floats:
        """f(x): (n,) for up to two classes, where >= 0 means ``classes_[1]``; else (n, K)."""
        self._deciding  # noqa: B018 (raises if nothing was learned)
        return _of_each(self._answer(self._rows(X))[0])

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each row; of tied classes the first, of two the second."""
        self._deciding  # noqa: B018 (raises if nothing was learned)
        rows = self._rows(X)
        while True:
            classes = self.classes_
            decisions, known = self._answer(rows)
            if known == len(classes):
                return self._choose(_of_each(decisions), classes)
            time.sleep(0)  # another thread has added a class, and is about to name it

    def _choose(self, decisions: Floats, classes: NDArray[Any] | None = None) -> NDArray[Any]:
        classes = self.classes_ if classes is None else classes
        if decisions.ndim > 1:
            codes = decisions.argmax(axis=1)
        elif len(classes) == 1:
            codes = np.zeros(len(decisions), dtype=np.intp)
        else:
            codes = (decisions >= 0).astype(np.intp)
        labels: NDArray[Any] = classes[codes]
        return labels

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class, (n, K), in the order of ``classes_``.

        The predicted class always has the largest; if it would only tie, it gets the next larger
        float. The probability is a sigmoid of the decision, fitted during learning to the decisions
        made before each row was learned, with one line for rows where the class is predicted and
        one for the others; beyond two classes one sigmoid per class, normalised. If `fit` visits
        rows again, only the first visit counts. With `class_weight` or `sample_weight` these are
        the probabilities of the weighted stream.

        Raises
        ------
        NotFittedError
            If no class is known yet: nothing was learned, or all rows had weight 0. All other
            methods that predict do the same.

        Examples
        --------
        >>> import numpy as np
        >>> from budgetron import PerceptronClassifier
        >>> X = np.tile([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], (50, 1))
        >>> model = PerceptronClassifier(gamma=1.0).fit(X, X[:, 0] == X[:, 1])
        >>> model.predict_proba(X[:2]).round(2)
        array([[0.04, 0.96],
               [0.96, 0.04]])
        """
        self._deciding  # noqa: B018 (raises if nothing was learned)
        return self._answer(self._rows(X), probabilities=True)[0]

    def predict_set(self, X: Any, coverage: float = 0.9) -> NDArray[np.bool_]:
        """Whether each class is in the set of the row, (n, K), in the order of ``classes_``.

        The sets hold the row's class for at least the share `coverage` of all rows. The predicted
        class is always in the set. Another class is in it if its margin reaches a threshold, which
        follows the margins that the rows' own classes had before the rows were learned. For the
        first rows, fewer than ``coverage/(1 - coverage)``, the set has all classes.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d)
        coverage : float
            Share of the rows whose class is in its set, from 0.01 to 0.995.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from budgetron import BudgetronClassifier
        >>> X, y = make_classification(3000, n_informative=4, n_classes=3, random_state=0)
        >>> model = BudgetronClassifier(sets=True).fit(X[:2000], y[:2000])
        >>> sets = model.predict_set(X[2000:], coverage=0.95)
        >>> sets.shape, bool(sets[range(1000), y[2000:]].mean() > 0.93)
        ((1000, 3), True)
        """
        self._deciding  # noqa: B018 (raises if nothing was learned)
        self._check_sets(coverage)
        return self._covering(self._rows(X), "set", float(coverage))[0] > 0.0

    def _check_sets(self, coverage: Any) -> None:
        made = self._engine.intervals if hasattr(self, "_engine") else self.sets
        if not made:
            raise BudgetronError(
                "predict_set needs a model made with sets=True, which counts margins while it "
                "learns: start again with it"
            )
        check_coverage(coverage)

    def predict_log_proba(self, X: Any) -> Floats:
        """The logarithm of `predict_proba`; -inf if that is 0."""
        with np.errstate(divide="ignore"):
            logs: Floats = np.log(self.predict_proba(X))
        return logs

    def probabilities_one(self, x: NDArray[Any]) -> Floats:
        """The probability of each class for one row, (K,), under `learn_one`'s conditions."""
        native = self._deciding
        self._check_width(x)
        probabilities: Floats = native.probabilities_one(x)
        return probabilities

    @property
    def _deciding(self) -> Any:
        native = self._native
        if len(self.classes_) == 0:
            raise NotFittedError("no class is known yet: all rows so far had the weight 0")
        return native

    @property
    def n_mistakes_(self) -> int:
        """Number of wrong predictions, each made before the row was learned."""
        return int(self._native.mistakes)

    # ---- inside ----------------------------------------------------------------------------------

    def _ready(
        self,
        X: Any,
        y: NDArray[Any],
        sample_weight: Any,
        *,
        classes: Any = None,
        anew: bool = False,
        growing: bool = False,
        record: bool = False,
        chances: Floats | None = None,
        spans: tuple[Floats, float] | None = None,
    ) -> Batch:
        first = self._starts(anew)
        batch = super()._ready(X, y, sample_weight, anew=anew, growing=growing, record=record)
        batch.chances = chances
        if spans is not None:
            batch.spans, batch.coverage = spans
        if first:
            closed = classes is not None
            known = np.unique(labels(classes, "classes")) if closed else y[:0]
        else:
            closed, known = self._closed, self.classes_
            if classes is not None and not _same(np.unique(labels(classes, "classes")), known):
                raise BudgetronError(
                    f"classes={list(classes)} is not what the first call said: {list(known)}"
                )
        known, batch.y = _all_known(known, y) if closed else _may_join(known, y)
        if first:
            rows = batch.rows
            self._begin(known, rows.shape[1], rows.dtype, closed=closed, growing=growing)
        elif known is not self.classes_:
            self._know(known)  # the same in a type that can be compared with y
        if self._class_weights is not None:
            self._weigh(batch, self._class_weights, anew=anew)
        return batch

    def _weigh(self, batch: Batch, by_class: ClassWeights, *, anew: bool) -> None:
        """Multiply the weights by those of the classes; check class weights that count rows."""
        if not by_class.counts_rows:
            batch.weights = product(batch.weights, by_class.of_rows(batch.y))
        elif batch.weights is not None:
            epochs = self._epochs(len(batch.y)) if anew else 1
            most = by_class.seen + len(batch.y) * epochs
            if batch.weights.max() * most > LARGEST:  # perhaps too large: try
                trial = deepcopy(by_class)
                for rows in self._passes(batch, anew=anew):
                    _balanced(rows, trial)
                    trial.count_rows(_come(rows.y, rows.weights))

    def _begin(
        self,
        known: NDArray[Any],
        width: int,
        dtype: np.dtype[Any],
        *,
        closed: bool,
        growing: bool,
    ) -> None:
        """Build the model for the classes known so far, or all classes if they are closed."""
        self._closed: bool = closed
        self._know(known)
        self._class_weights: ClassWeights | None = None
        if self.class_weight is not None:
            self._class_weights = ClassWeights(self.class_weight)
            if closed:
                self._class_weights.check(known)
        self._start(width, len(known), dtype, growing=growing)

    def _restored(self) -> None:
        super()._restored()
        if not np.array_equal(np.unique(self.classes_), self.classes_):
            raise BudgetronError("classes_ are not in their order")
        if self.classes_.dtype.kind == "f" and not np.isfinite(self.classes_).all():
            raise BudgetronError("classes_ are not finite")
        if self._origin.room.slots and not self._closed:
            raise BudgetronError("a budget in bytes needs all classes")
        self._know(self.classes_)
        rule = self._origin.params.get("class_weight")
        self._class_weights = None if rule is None else ClassWeights(rule)
        if self._class_weights is not None and self._closed:
            self._class_weights.check(self.classes_)
        counts = self.__dict__.pop("_counts_from_file")
        if counts.dtype.kind not in "iu" or len(counts) not in (0, len(self.classes_)):
            raise BudgetronError("the rows of the classes are not counted")
        if any(count < 0 for count in counts.tolist()) or sum(counts.tolist()) >= 2**62:
            raise BudgetronError("the rows of the classes are miscounted")
        if self._class_weights is not None:
            pairs = zip(self.classes_.tolist(), counts.tolist(), strict=False)
            self._class_weights.counts = {label: count for label, count in pairs if count > 0}

    @property
    def _class_counts(self) -> NDArray[np.int64]:
        """Rows learned per class, if class_weight="balanced" counts them."""
        if self._class_weights is None or not self._class_weights.counts:
            return np.zeros(0, dtype=np.int64)
        counts = [self._class_weights.counts.get(label, 0) for label in self.classes_.tolist()]
        return np.array(counts, dtype=np.int64)

    @_class_counts.setter
    def _class_counts(self, counts: NDArray[Any]) -> None:
        self._counts_from_file = counts

    def _know(self, classes: NDArray[Any]) -> None:
        self.classes_ = classes
        self._codes = Codes(classes)

    def _join(self, label: Any) -> None:
        """Add a class: it takes its place in the sorted order, the others keep what they have."""
        known, new = _may_join(self.classes_, np.array([label]))
        place = int(np.searchsorted(known, new)[0])
        after = np.insert(known.astype(np.result_type(known, new)), place, new[0])
        order = [*range(place), -1, *range(place, len(known))]
        native = self._engine.native
        try:
            native.join(len(after), order)
        finally:  # Ctrl-C may come between the two
            if native.classes == len(after):
                self._know(after)

    def _learn_rows(self, batch: Batch) -> Floats | None:
        """Learn rows in runs; a class is added between two runs (closed classes: one run)."""
        if self._class_weights is not None and self._class_weights.counts_rows:
            batch = replace(batch, weights=_balanced(batch, self._class_weights))
        joins = set() if self._closed else self._joining(batch.y, batch.weights)
        runs: list[Run] = []
        for start, end in itertools.pairwise(sorted({0, len(batch.y), *joins})):
            label = batch.y[start] if start in joins else None
            if label is not None:
                self._join(label)
            run = batch[start:end] if joins else batch
            with self._counting(run):
                decisions = self._engine.native.learn(
                    run.coded(self._targets(run.y), unseen=label is not None)
                )
            if decisions is not None:
                runs.append(Run(self.classes_, decisions, label))
        return self._assemble(runs) if batch.record else None

    @contextmanager
    def _counting(self, run: Batch) -> Iterator[None]:
        """Count the rows learned inside; fewer if learning ends early."""
        by_class = self._class_weights
        if by_class is None or not by_class.counts_rows:
            yield
            return
        come = _come(run.y, run.weights)
        before = self.n_seen_
        try:
            yield
        except BaseException:
            come = come[: self.n_seen_ - before]
            raise
        finally:
            by_class.count_rows(come)

    def _joining(self, y: NDArray[Any], weights: Floats | None) -> set[int]:
        """The rows with which a class is added."""
        if codes(y, self.classes_) is not None:
            return set()
        # A row of weight 0 adds no class; it only gets a decision, whatever its code.
        come = np.arange(len(y)) if weights is None else np.flatnonzero(weights)
        labels, firsts = np.unique(y[come], return_index=True)
        new = np.ones(len(labels), dtype=bool)
        if len(self.classes_):
            places = np.searchsorted(self.classes_[1:], labels, side="right")
            new = self.classes_[places] != labels
        return set(come[firsts[new]].tolist())

    def _targets(self, y: NDArray[Any]) -> Floats:
        """The class codes of labels that are all known."""
        two = len(self.classes_) == 2
        codes = y == self.classes_[1] if two else np.searchsorted(self.classes_, y)
        return np.asarray(codes, dtype=np.float64)

    def _assemble(self, runs: list[Run]) -> Floats:
        """The decisions of all runs for the classes known at the end."""
        final = self.classes_
        if len(final) <= 2:
            # A single class was learned as the positive one; it may have become the other.
            turned = [
                len(run.classes) == 1 < len(final) and run.classes[0] == final[0] for run in runs
            ]
            signed = [
                -run.decisions[:, 0] if turn else run.decisions[:, 0]
                for run, turn in zip(runs, turned, strict=True)
            ]
            return signed[0] if len(signed) == 1 else np.concatenate(signed)
        decisions = np.full((sum(len(run.decisions) for run in runs), len(final)), -np.inf)
        start = 0
        for run in runs:
            places = np.searchsorted(final, run.classes)
            rows = decisions[start : start + len(run.decisions)]
            if len(run.classes) > 2:
                rows[:, places] = run.decisions
            elif len(run.classes) == 2:
                rows[:, places] = run.decisions * [-0.5, 0.5]
            else:
                rows[:, places] = run.decisions / 2
            if run.joined is not None:  # not seen before its own first row
                rows[0, np.searchsorted(final, run.joined)] = -np.inf
            start += len(run.decisions)
        return decisions


@dataclass(frozen=True)
class Run:
    """Rows learned with the same known classes."""

    classes: NDArray[Any]
    decisions: Floats
    joined: Any  # the label that was added with the first row, or None


class Codes(dict[Any, float]):
    """Label -> class code; a label is looked up on first use.

    Parameters
    ----------
    classes : the labels, sorted
    """

    def __init__(self, classes: NDArray[Any]) -> None:
        super().__init__()
        self.classes = classes

    def __reduce__(self) -> tuple[Any, ...]:
        return Codes, (self.classes,)  # the cache is not part of the model

    def __missing__(self, label: Any) -> float:
        one = np.array([label])
        found = codes(one, self.classes) if one.ndim == 1 else None
        if found is None or self.classes[found].tolist()[0] != label:  # as Python compares: exactly
            raise KeyError(label)
        self[label] = code = float(found[0])
        return code


def _same(classes: NDArray[Any], known: NDArray[Any]) -> bool:
    if classes.dtype == known.dtype:
        return np.array_equal(classes, known)
    return bool(classes.tolist() == known.tolist())  # as Python compares: exactly


def _all_known(classes: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Declared classes and their labels, comparable; BudgetronError if one is not."""
    if codes(y, classes) is None:
        known = set(classes.tolist())
        strange = next((label for label in y.tolist() if label not in known), None)
        if strange is not None:
            raise BudgetronError(
                f"label {strange!r} is not among the classes {classes.tolist()}; "
                "pass every class in the first call, or none to add classes later"
            )
    return comparable(classes, y) or (classes, y)


def _may_join(classes: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Classes and labels that may be new, comparable; BudgetronError if they cannot be."""
    pair = comparable(classes, y)
    if pair is None:
        one, other = y.tolist()[0], classes.tolist()[0]
        if numeric(y) != numeric(classes):
            raise BudgetronError(
                f"labels like {one!r} cannot join classes like {other!r}: "
                "all are numbers or none is"
            )
        largest = max(y.tolist() + classes.tolist(), key=abs)
        raise BudgetronError(
            f"labels of type {y.dtype} cannot join classes of type {classes.dtype}: no type holds "
            f"all exactly, {largest!r} among them; pass labels of one type, or text"
        )
    return pair


def _come(y: NDArray[Any], weights: Floats | None) -> NDArray[Any]:
    """The labels of rows that count: rows of weight 0 are ignored."""
    return y if weights is None else y[weights > 0]


def _balanced(batch: Batch, by_class: ClassWeights) -> Floats:
    """The weights of rows times those that balance their classes."""
    counted = None if batch.weights is None else batch.weights > 0
    return product(batch.weights, by_class.of_rows(batch.y, counted))


def _of_each(decisions: Floats) -> Floats:
    """Decisions as they are returned: one number per row if there is one output."""
    return decisions[:, 0] if decisions.shape[1] == 1 else decisions
