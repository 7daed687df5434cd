"""Classification: labels to class codes, classes closed or joining, decisions to labels."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from budgetron.engine import Floats, csr_parts
from budgetron.estimators.base import OnlineEstimator
from budgetron.estimators.plain import codes, numeric
from budgetron.estimators.shared import in_turn
from budgetron.estimators.targets import labels
from budgetron.estimators.weights import ClassWeights, product, sample_weights


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineClassifier(ClassifierMixin, OnlineEstimator):  # type: ignore[misc]
    """A classifier that learns row by row; any number of classes, labels of any type.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Weight of each class's rows. "balanced" gives row t n_t / (K_t n_{y,t}): the rows and
        classes so far, and the rows of its class, itself included.
    """

    class_weight: dict[Any, float] | str | None = None

    _task: ClassVar[str] = "classification"
    _fitted: ClassVar[dict[str, type]] = {
        **OnlineEstimator._fitted,
        "classes_": np.ndarray,
        "_class_counts": np.ndarray,
        "_closed": bool,
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineEstimator._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    # ---- learning --------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Start anew and learn the rows `n_epochs` times, in their order or shuffled.

        Equals `partial_fit` over the rows in the order of all epochs, but that only the first epoch
        says something of probabilities.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d)
        y : labels, shape (n,); their distinct values are the classes, another one later is an error
        sample_weight : numbers >= 0, shape (n,); a row of weight w moves f by w times as much
        """
        y = labels(y)
        self._learn(X, y, sample_weight, classes=np.unique(y), anew=True)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn the rows, in their order, after all learned before.

        One call with n rows leaves the same bits as n calls with one row.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d)
        y : labels, shape (n,)
        classes : all labels there will be, in the first call. Without it classes join as they occur
        sample_weight : numbers >= 0, shape (n,); a row of weight w moves f by w times as much
        """
        self._learn(X, labels(y), sample_weight, classes=classes)
        return self

    def prequential(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Floats:
        """Test, then train, row by row: each row's decision before it was learned.

        Learns exactly as `partial_fit` does.

        Returns
        -------
        decisions : (n,) for up to two classes, where >= 0 stands for ``classes_[1]``; else (n, K)
            with -inf where a class had not been seen yet
        """
        decisions = self._learn(X, labels(y), sample_weight, classes=classes, record=True)
        assert decisions is not None
        return decisions

    def _prequential_growing(self, X: Any, y: Any, classes: Any = None) -> Floats:
        """`prequential` for streams whose width grows: a chunk may have more features."""
        decisions = self._learn(X, labels(y), None, classes=classes, record=True, growing=True)
        assert decisions is not None
        return decisions

    def learn_one(self, x: NDArray[Any], y: Any) -> float | Floats:
        """Learn one row; the decision before it was learned.

        The quick way in: x goes to the compiled round as it is. It must be a 1-d contiguous array
        of the model's dtype, else TypeError, and of its width, else ValueError. NOT checked: that
        it is finite (a row with a NaN or an infinity is predicted as it may and not learned).
        """
        try:
            code = self._codes[y]
        except (AttributeError, KeyError, TypeError):  # not started, or a label not seen yet
            decisions = self.prequential(np.asarray(x)[None, :], np.array([y]))
            return decisions[0] if decisions.ndim > 1 else float(decisions[0])
        self._check_width(x)
        if self._changed:
            self._follow_params()
        if self._class_weights is None:
            return self._engine.native.learn_one(x, code)
        decision = self._engine.native.learn_one(x, code, self._class_weights.of_one(y))
        self._class_weights.count(y)
        return decision

    def decision_one(self, x: NDArray[Any]) -> float | Floats:
        """The decision on one row, under `learn_one`'s conditions."""
        native = self._native
        self._check_width(x)
        decision: float | Floats = native.predict_one(x)
        return decision

    # ---- deciding --------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Floats:
        """f(x): (n,) for up to two classes, where >= 0 stands for ``classes_[1]``; else (n, K)."""
        self._native  # noqa: B018 (raises if nothing was learned)
        return _of_each(self._predict(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row; of tied classes the first, of two the second."""
        self._native  # noqa: B018 (raises if nothing was learned)
        rows = self._rows(X, first=False)
        while True:
            classes = self.classes_
            decisions, known = self._answer(rows)
            if known == len(classes):
                return self._choose(_of_each(decisions), classes)
            time.sleep(0)  # in another thread a class has joined, and is about to have its name

    def _choose(self, decisions: Floats, classes: NDArray[Any] | None = None) -> NDArray[Any]:
        classes = self.classes_ if classes is None else classes
        if len(classes) == 0:
            raise ValueError("no class is known yet: all rows so far had the weight 0")
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

        A sigmoid of the decision, fitted while learning to the decisions made before each row was
        learned; beyond two classes one a class, normalised. The offset of the sigmoid need not be
        0, so the likeliest class may be another than `predict`'s, which goes by f alone. Of rows
        that `fit` visits again only the first visit counts. With `class_weight` or `sample_weight`
        probabilities are those of the weighted stream.

        Examples
        --------
        >>> import numpy as np
        >>> from budgetron import PerceptronClassifier
        >>> X = np.tile([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], (50, 1))
        >>> model = PerceptronClassifier(gamma=1.0).fit(X, X[:, 0] == X[:, 1])
        >>> model.predict_proba(X[:2]).round(2)
        array([[0.08, 0.92],
               [0.92, 0.08]])
        """
        check_is_fitted(self)
        return self._predict(X, probabilities=True)

    def predict_log_proba(self, X: Any) -> Floats:
        """The logarithm of `predict_proba`; -inf where that is 0."""
        with np.errstate(divide="ignore"):
            logs: Floats = np.log(self.predict_proba(X))
        return logs

    def probabilities_one(self, x: NDArray[Any]) -> Floats:
        """The probability of each class for one row, (K,), under `learn_one`'s conditions."""
        native = self._native
        self._check_width(x)
        probabilities: Floats = native.probabilities_one(x)
        return probabilities

    @property
    def n_mistakes_(self) -> int:
        """Wrong predictions among the rows learned, each made before the row was learned."""
        return int(self._native.mistakes)

    # ---- inside ----------------------------------------------------------------------------------

    @in_turn
    def _learn(
        self,
        X: Any,
        y: NDArray[Any],
        sample_weight: Any,
        *,
        classes: Any = None,
        record: bool = False,
        anew: bool = False,
        growing: bool = False,
    ) -> Floats | None:
        with self._unchanged_if_refused():
            X = self._prepare(X, y, classes=classes, anew=anew, growing=growing)
            weights = sample_weights(sample_weight, len(y), some=anew)
        decisions = None
        for epoch, piece in self._passes(len(y)) if anew else [(0, None)]:
            new = epoch == 0
            if piece is None:
                decisions = self._learn_rows(X, y, weights, record=record, calibrate=new)
            else:
                own = None if weights is None else weights[piece]
                self._learn_rows(X[piece], y[piece], own, record=False, calibrate=new)
        self._warn_if_coarse()
        return decisions

    def _prepare(self, X: Any, y: NDArray[Any], *, classes: Any, anew: bool, growing: bool) -> Any:
        """Check everything about a call and, the first time, build the model; the rows to learn."""
        X, first = self._checked(X, y, anew=anew, growing=growing)
        if first:
            closed = classes is not None
            known = np.unique(labels(classes, "classes")) if closed else y[:0]
        else:
            closed, known = self._closed, self.classes_
            if classes is not None and not np.array_equal(
                np.unique(labels(classes, "classes")), known
            ):
                raise ValueError(
                    f"classes={list(classes)} is not what the first call said: {list(known)}"
                )
        alike = numeric(known) == numeric(y)
        if closed and codes(y, known) is None:
            text = "U" in (known.dtype.kind, y.dtype.kind)
            strangers = y if text and not alike else np.setdiff1d(y, known)  # where 0 is "0"
            if strangers.size:
                raise ValueError(
                    f"label {strangers.tolist()[0]!r} is not among the classes {known.tolist()}; "
                    "name every class in the first call, or none to let classes join"
                )
        elif known.size and y.size and not alike:
            raise ValueError(
                f"labels like {y.tolist()[0]!r} cannot join classes like {known.tolist()[0]!r}: "
                "all are numbers or none is"
            )
        if first:
            self._sparse = not isinstance(X, np.ndarray)
            self._begin(known, X.shape[1], X.dtype, closed=closed, growing=growing)
        return X

    def _begin(
        self,
        known: NDArray[Any],
        width: int,
        dtype: np.dtype[Any],
        *,
        closed: bool,
        growing: bool,
    ) -> None:
        """Build the model for the classes known so far, all there will be if they are closed."""
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
            raise ValueError("classes_ are not in their order")
        if self.classes_.dtype.kind == "f" and not np.isfinite(self.classes_).all():
            raise ValueError("classes_ are not finite")
        if self._origin.room.slots and not self._closed:
            raise ValueError("a budget in bytes needs all classes")
        self._know(self.classes_)
        rule = self._origin.params.get("class_weight")
        self._class_weights = None if rule is None else ClassWeights(rule)
        if self._class_weights is not None and self._closed:
            self._class_weights.check(self.classes_)
        counts = self.__dict__.pop("_counts_from_file")
        if counts.dtype.kind not in "iu" or len(counts) not in (0, len(self.classes_)):
            raise ValueError("the rows of the classes are not counted")
        if any(count < 0 for count in counts.tolist()) or sum(counts.tolist()) >= 2**62:
            raise ValueError("the rows of the classes are miscounted")
        if self._class_weights is not None:
            pairs = zip(self.classes_.tolist(), counts.tolist(), strict=False)
            self._class_weights.counts = {label: count for label, count in pairs if count > 0}

    @property
    def _class_counts(self) -> NDArray[np.int64]:
        """Rows learned of each class, where class_weight="balanced" counts them."""
        if self._class_weights is None or not self._class_weights.counts:
            return np.zeros(0, dtype=np.int64)
        counts = [self._class_weights.counts.get(label, 0) for label in self.classes_.tolist()]
        return np.array(counts, dtype=np.int64)

    @_class_counts.setter
    def _class_counts(self, counts: NDArray[Any]) -> None:
        self._counts_from_file = counts

    def _know(self, classes: NDArray[Any]) -> None:
        self.classes_ = classes
        self._codes = {label: float(code) for code, label in enumerate(classes.tolist())}

    def _join(self, label: Any) -> None:
        """A class joins: it takes its place in the sorted order, the others keep what they have."""
        before = self.classes_.tolist()
        after = np.unique(np.append(self.classes_, label))
        order = [before.index(name) if name in before else -1 for name in after.tolist()]
        self._engine.native.join(len(after), order)
        self._know(after)

    def _learn_rows(
        self, X: Any, y: NDArray[Any], weights: Floats | None, *, record: bool, calibrate: bool
    ) -> Floats | None:
        """Learn X in runs of rows between which a class joins (closed classes: one run)."""
        if self._class_weights is not None:
            by_class = self._class_weights.of_rows(y, None if weights is None else weights > 0)
            weights = product(weights, by_class)
        joins = [] if self._closed else self._joining(y, weights)
        bounds = sorted({0, len(y), *joins})
        rows = csr_parts(X) if scipy.sparse.issparse(X) else X  # once for all runs
        runs: list[Run] = []
        for start, end in itertools.pairwise(bounds):
            joined = start in joins
            if joined:
                self._join(y[start])
            targets = self._targets(y[start:end])
            own = None if weights is None else weights[start:end]
            decisions = self._engine.learn(
                rows, targets, own, start=start, record=record, unseen=joined, calibrate=calibrate
            )
            if decisions is not None:
                runs.append(Run(self.classes_, decisions, y[start] if joined else None))
        return self._assemble(runs) if record else None

    def _joining(self, y: NDArray[Any], weights: Floats | None) -> list[int]:
        """The rows with which a class joins."""
        if codes(y, self.classes_) is not None:
            return []
        # A row of weight 0 joins no class; it is only decided, whatever its code.
        come = np.arange(len(y)) if weights is None else np.flatnonzero(weights)
        labels, firsts = np.unique(y[come], return_index=True)
        first: list[int] = np.sort(come[firsts[~np.isin(labels, self.classes_)]]).tolist()
        return first

    def _targets(self, y: NDArray[Any]) -> Floats:
        """The class codes of labels that are all known."""
        two = len(self.classes_) == 2
        codes = y == self.classes_[1] if two else np.searchsorted(self.classes_, y)
        return np.asarray(codes, dtype=np.float64)

    def _assemble(self, runs: list[Run]) -> Floats:
        """The decisions of all runs in terms of the classes known at the end."""
        final = self.classes_
        if len(final) <= 2:
            # A class that was alone was learned as the positive one; it may have become the other.
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
    """Rows learned with the same classes known."""

    classes: NDArray[Any]
    decisions: Floats
    joined: Any  # the label that joined with the first row, or None


def _of_each(decisions: Floats) -> Floats:
    """Decisions as they are given out: one number a row where there is one output."""
    return decisions[:, 0] if decisions.shape[1] == 1 else decisions
