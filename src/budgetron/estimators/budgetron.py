"""Budgetron, the library's own learner."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from budgetron._engine import Floats
from budgetron.errors import BudgetronError
from budgetron.estimators._base.asking import LEAST, MOST, Asking, check_share
from budgetron.estimators._base.classifier import OnlineClassifier
from budgetron.estimators._base.estimator import OnlineEstimator
from budgetron.estimators._base.parameters import BYTES, of
from budgetron.estimators._base.regressor import OnlineRegressor
from budgetron.estimators._base.scikit import check_array
from budgetron.estimators._base.widths import RACE, WidthText, median_factor
from budgetron.parts import Budgetron, Gaussian, Learner, Part


class _Open(OnlineEstimator):
    """Attributes of both, from which f can be computed, and the log of changes.

    In units, Z = clip((X - center_)/scale_, clip_), and S = (support_vectors_ - center_)/scale_:

        f(X) = Z coef_' + intercept_ + k(Z, S) dual_coef_'

    with kernels of sqrt(feature_relevance_) times Z and S (docs/guide/hypothesis.md).
    """

    relevance: bool
    _warm_up_share: ClassVar[int] = 16  # few rows are enough for units and width, and leave room

    @property
    def _learns_metric(self) -> bool:
        """Whether a metric may be learned; its statistics are counted only then."""
        follows = self.scale == "auto" and median_factor(self.gamma) is not None
        return bool(self.relevance and follows and self.kernel == "rbf" and self.average == "last")

    @property
    def drift_log_(self) -> NDArray[np.int64]:
        """The rows, from 0, at which it saw the stream change; at most the last 100."""
        rounds: NDArray[np.int64] = self._native.drifts()
        return rounds

    @property
    def coef_(self) -> Floats:
        """w, one row per output, one column per column of ``support_vectors_``, for rows in units.

        The weighted mean of belief and reflex. All 0 without a straight part.
        """
        part, outputs = self._native.straight(), self._native.outputs
        relevance = self.feature_relevance_
        coefs = np.zeros((outputs, relevance.size))
        if part is not None:
            features, weights, _ = part
            columns, _ = self._columns(features)
            coefs[:, columns] = weights.T
        return coefs * np.sqrt(relevance)

    @property
    def intercept_(self) -> Floats:
        """c, one number per output."""
        part = self._native.straight()
        intercept: Floats = np.zeros(self._native.outputs) if part is None else part[2]
        return intercept

    @property
    def feature_relevance_(self) -> Floats:
        """How much f depends on each feature; all 1 before a metric is learned.

        The kernel is exp(-gamma sum_j relevance_j (z_j - s_j)^2) with z and s in units.
        """
        found, _ = self._native.relevance()
        columns, _ = self._columns(np.arange(found.size, dtype=np.int32))
        relevance = np.ones(self._features_of_columns().size)
        relevance[columns] = found
        return relevance

    @property
    def center_(self) -> Floats:
        """What is subtracted from the value of each feature; for a constant feature its value."""
        centres: Floats = self._native.units(self._features_of_columns())[0]
        return centres

    @property
    def scale_(self) -> Floats:  # type: ignore[override]
        """What is then divided by; infinite for a feature without a unit, which is seen as 0."""
        sizes: Floats = self._native.units(self._features_of_columns())[1]
        return sizes * np.sqrt(self.feature_relevance_)

    @property
    def clip_(self) -> float:
        """Largest absolute value in units; infinite if nothing is clipped."""
        return float(self._native.clip)

    @property
    def support_vectors_(self) -> Any:
        """The stored examples, ``(n_support_, n_features_in_)``; sparse if the first batch was.

        In the units of the rows: clipped values stay clipped, and a missing value is the mean that
        replaced it. As float64, unless rows are used unscaled. With missing="flag" the flag of each
        feature, 1 or 0, follows all features.
        """
        rows = self._shown_examples()
        centres, sizes, _ = self._native.units(self._features_of_columns())
        if (centres == 0).all() and (sizes == 1).all():
            return rows
        sizes = np.where(np.isinf(sizes), 0.0, sizes)
        if not isinstance(rows, np.ndarray):
            values = scipy.sparse.csr_array(rows, dtype=np.float64)
            values.data *= sizes[values.indices]
            moved = np.flatnonzero(centres)
            indptr = moved.size * np.arange(rows.shape[0] + 1)
            to = np.tile(centres[moved], rows.shape[0]), np.tile(moved, rows.shape[0]), indptr
            values = scipy.sparse.csr_array(values + scipy.sparse.csr_array(to, shape=rows.shape))
            values.data[np.abs(values.data) <= self._rounding(centres[values.indices])] = 0.0
            values.eliminate_zeros()
            return values
        values = rows.astype(np.float64) * sizes + centres
        values[np.abs(values) <= self._rounding(centres)] = 0.0
        return values

    def _rounding(self, centres: Floats) -> Floats:
        """The largest size of a 0 that was centred and converted back."""
        eps = float(np.finfo(self._engine.dtype).eps)
        return eps * np.abs(centres)

    def _features_of_columns(self) -> NDArray[np.int32]:
        """The number of each column of ``support_vectors_`` in the compiled model."""
        features = np.arange(self.n_features_in_, dtype=np.int32)
        flags = self._engine.preparation.flags
        return np.append(features, features + np.int32(flags)) if flags else features


@dataclass(eq=False, repr=False, kw_only=True)
class BudgetronClassifier(_Open, OnlineClassifier):
    """Budgetron: a confidence-weighted kernel machine on a budget.

    Holds a Gaussian belief over the coefs of its stored examples: a mean and a covariance. A row
    with loss moves every coef in proportion to its uncertainty, and reduces this. Stores mistakes
    until the budget is full, and then replaces examples only if the stream has changed. Needs no
    tuning: give it a budget. The covariance of float32 rows takes ``2 * budget**2`` bytes beside
    the examples, and the same again unless ``replace`` is "never" and ``reflex`` False.

    Parameters
    ----------
    r : float
        Assumed variance of the noise in a row; a larger one makes smaller steps.
    jitter : float
        Added to k(x, x) of stored examples, so that similar ones stay distinct.
    replace : {"auto", "never", "always", "recent"}
        What a mistake does when the budget is full. "never": the model learns from it but does
        not store it. "always": it replaces the example whose coef is the least certain to
        differ from 0, which helps on clean streams and ruins noisy ones. "auto": as "never",
        but as "always" in the 500 rows after the mistake rate has risen; ``drift_log_`` has
        these rows. Also while the reflex has more weight than the belief: then the oldest
        example leaves. "recent": every row with loss, mistake or not, replaces the oldest
        example. With "auto" and gamma="race" a learner with "recent" and without a straight part
        learns beside it at rows 400, 800, 1600, ... and after a drift; if it is clearly better,
        it replaces it, until one that keeps the most useful examples is better again.
    straight : {"auto", "full", "diagonal", "none"}
        The straight part w.x + c of f(x) = w.x + c + sum_i a_i k(x_i, x), learned with the coefs.
        "full": the covariance is over weights and coefs together, d + 1 rows and columns more.
        "diagonal": every weight has its own variance. "none": f has no straight part. "auto":
        "full" while at most budget - 1 features have been seen, "diagonal" when there are more,
        and "none" if rows have more than 100 non-zeros and at most ``2 * budget``; then a
        learner with a straight part races against it, if ``gamma`` is "race". With the linear
        kernel, and if ``average`` is not "last", always "none".
    floor : float
        No row reduces the variance of f at it below this, so that learning never ends. 0: off.
    reflex : bool
        Keep a second set of coefs and weights, which always learns as fast as in the first row.
        The answer is the mean of both, weighted by the mistakes that each would have made
        recently: so the model follows a stream that keeps changing, and loses nothing on one
        that does not. Off if ``average`` is not "last".
    relevance : bool
        Learn a metric: at rows 400, 800, 1600, ... features that f depends on are stretched and
        others shrunk, if this changes kernel values much (``feature_relevance_``). Needs
        scale="auto", gamma "race" or "median", the kernel "rbf", a budget not in bytes, and at
        most budget - 1 features.
    kernel : {"rbf", "laplacian", "poly", "linear"}
    gamma : float, "race", "median", a multiple as "4*median", or "auto"
        Width of the kernel. "race": as "median", while learners with 4 and 16 times that gamma
        and half of the budget learn beside it for at most 6,000 rows; one that is clearly
        better replaces it. With a budget in bytes they use the memory that the first rows have
        freed; if that is too little there is no race. Off if ``average`` is not "last".

    References
    ----------
    The update is that of Crammer, Kulesza and Dredze, "Adaptive Regularization of Weight Vectors",
    NIPS 2009, on coefs instead of weights.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import BudgetronClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = BudgetronClassifier(budget=20).fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (8, 9)
    """

    gamma: float | str = of(Gaussian, "gamma", WidthText(races=True), default=RACE)
    budget: Any = of(Budgetron, "budget", BYTES)
    r: float = of(Budgetron, "r")
    jitter: float = of(Budgetron, "jitter")
    replace: str = of(Budgetron, "replace")
    straight: str = of(Budgetron, "straight")
    floor: float = of(Budgetron, "floor")
    reflex: bool = of(Budgetron, "reflex")
    relevance: bool = of(Budgetron, "relevance")

    def _machine(self, kernel: Part) -> Learner:
        return Budgetron(
            kernel,
            int(self.budget),
            float(self.r),
            float(self.jitter),
            self.replace,
            straight=self.straight,
            floor=float(self.floor),
            reflex=bool(self.reflex),
            relevance=self._learns_metric,
        )

    _fitted: ClassVar[dict[str, type]] = {**OnlineClassifier._fitted, "_asking": np.ndarray}
    _optional: ClassVar[frozenset[str]] = frozenset({"feature_names_in_", "_asking"})

    def should_label(self, X: Any, share: float = 0.1) -> NDArray[np.bool_]:
        """Whether to have each row labelled, (n,), if only a share of the rows can be.

        Asks for rows whose margin is small beside the belief's deviation, for a third of the labels
        at even distances, and for the first 100 rows. The order of the rows matters: ask about each
        row once, and learn the labelled ones before you ask about the next rows. What is learned in
        between changes what is asked for; one call with many rows uses the current model for all of
        them.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d)
        share : float
            Labels per row. At most this share is asked for, except for the first 100 rows,
            which are saved later.

        Examples
        --------
        >>> import numpy as np
        >>> from budgetron import BudgetronClassifier
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(3000, 2))
        >>> y = X[:, 0] * X[:, 1] > 0
        >>> model, asked = BudgetronClassifier(), 0
        >>> for start in range(0, 3000, 10):
        ...     rows = slice(start, start + 10)
        ...     ask = model.should_label(X[rows], share=0.1)
        ...     asked += ask.sum()
        ...     if ask.any():
        ...         _ = model.partial_fit(X[rows][ask], y[rows][ask])
        >>> bool(300 <= asked <= 400), bool(np.mean(model.predict(X) == y) > 0.95)
        (True, True)
        """
        check_share(share)
        certain = self._certain(X)
        return self._asks_made().choose(certain, float(share))

    def _ask_ahead(self, X: Any, share: float, *, growing: bool) -> tuple[int, bool]:
        """The number of rows up to the first asked for, or to the end; whether there is one."""
        asking = self._asks_made()
        for count, size in enumerate(self._certain(X, growing=growing).tolist(), start=1):
            if asking.asks(size, share):
                return count, True
        return X.shape[0], False

    def _start(self, *where: Any, **how: Any) -> None:
        if hasattr(self, "_engine"):  # it starts again
            self.__dict__.pop("_asks", None)
        super()._start(*where, **how)

    def _asks_made(self) -> Asking:
        found: Asking = self.__dict__.setdefault("_asks", Asking())
        return found

    def _certain(self, X: Any, *, growing: bool = False) -> Floats:
        """Margins of rows divided by the deviation of f(x) and noise; 0 before two classes."""
        if not hasattr(self, "_engine") or len(self.classes_) < 2:
            checked = check_array(X, accept_sparse="csr", ensure_all_finite="allow-nan")
            return np.zeros(checked.shape[0])
        answers = self._covering(self._rows(X, growing=growing), "deviation")[0]
        outputs, deviation = answers[:, :-1], answers[:, -1]
        if outputs.shape[1] == 1:
            margins = np.abs(outputs[:, 0])
        else:
            two = np.partition(outputs, -2, axis=1)[:, -2:]
            margins = two[:, 1] - two[:, 0]
        found: Floats = margins / np.sqrt(1.0 + deviation**2)
        return found

    @property
    def labels_asked_(self) -> int:
        """Number of rows that `should_label` has asked for."""
        return self.__dict__["_asks"].asked if "_asks" in self.__dict__ else 0

    @property
    def _asking(self) -> Floats:
        """The state of `should_label`, for a model file; AttributeError before the first row."""
        if "_asks" not in self.__dict__:
            raise AttributeError("_asking")
        return np.array(astuple(self.__dict__["_asks"]), dtype=np.float64)

    @_asking.setter
    def _asking(self, numbers: Any) -> None:
        if numbers.shape != (4,) or numbers.dtype != np.float64 or not (numbers >= 0).all():
            raise BudgetronError("the state of should_label is damaged")
        threshold, rows, asked, due = numbers.tolist()
        if not (LEAST <= threshold <= MOST and asked <= rows < 2**53 and due < 2.0):
            raise BudgetronError("the state of should_label is damaged")
        self.__dict__["_asks"] = Asking(threshold, int(rows), int(asked), due)


@dataclass(eq=False, repr=False, kw_only=True)
class BudgetronRegressor(_Open, OnlineRegressor):
    """Budgetron for regression: recursive least squares over the coefs of the stored examples.

    Holds a Gaussian belief over the coefs, a mean and a covariance, and learns from every row.
    Stores rows whose error is above the mean of the last 1000, until the budget is full, and then
    replaces examples only if the stream has changed. The covariance of float32 rows takes ``2 *
    budget**2`` bytes beside the examples, and the same again unless ``replace`` is "never" and
    ``reflex`` False.

    Parameters
    ----------
    r : float
        Variance of the noise in the targets, relative to the prior variance of f.
    jitter : float
        Added to k(x, x) of stored examples, so that similar ones stay distinct.
    replace : {"auto", "never", "always", "recent"}
        What a row with a large error does when the budget is full. "never": the model learns
        from it but does not store it. "always": it replaces the example whose coef is the least
        certain to differ from 0. "auto": as "never", but as "always" in the 500 rows after the
        errors have risen, and what was learned before becomes uncertain again; ``drift_log_``
        has these rows. "recent": it always replaces the oldest example.
    straight : {"auto", "full", "diagonal", "none"}
        The straight part w.x + c of f(x) = w.x + c + sum_i a_i k(x_i, x), learned with the coefs.
        "full": the covariance is over weights and coefs together, d + 1 rows and columns more.
        "diagonal": every weight has its own variance. "none": f has no straight part. "auto":
        "full" while at most budget - 1 features have been seen, "diagonal" when there are more,
        and "none" if rows have more than 100 non-zeros and at most ``2 * budget``; then a
        learner with a straight part races against it, if ``gamma`` is "race". With the linear
        kernel, and if ``average`` is not "last", always "none".
    floor : float
        No row reduces the variance of f at it below this, so that learning never ends, and c
        follows the level of the targets over about 200 rows. 0: off.
    reflex : bool
        Keep a second set of coefs and weights, which always learns as fast as in the first row.
        The answer is the mean of both, with the weights that would have given the least squared
        error over about the last 500 rows: the model follows a changing stream faster, but
        outliers among the first targets hurt longer. Off if ``average`` is not "last".
    relevance : bool
        Learn a metric: at rows 400, 800, 1600, ... features that f depends on are stretched and
        others shrunk, if this changes kernel values much (``feature_relevance_``). Needs
        scale="auto", gamma "race" or "median", the kernel "rbf", a budget not in bytes, and at
        most budget - 1 features.
    kernel : {"rbf", "laplacian", "poly", "linear"}
    gamma : float, "race", "median", a multiple as "4*median", or "auto"
        Width of the kernel. "race": as "median", while learners with 4 and 16 times that gamma
        and half of the budget learn beside it for at most 6,000 rows; one that is clearly
        better replaces it. With a budget in bytes they use the memory that the first rows have
        freed; if that is too little there is no race. Off if ``average`` is not "last".

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from budgetron import BudgetronRegressor
    >>> X, y = make_friedman1(1000, n_features=5, random_state=0)
    >>> model = BudgetronRegressor().fit(X, y)
    >>> model.n_support_, round(model.score(X, y), 2)
    (100, 0.99)
    """

    gamma: float | str = of(Gaussian, "gamma", WidthText(races=True), default=RACE)
    budget: Any = of(Budgetron, "budget", BYTES)
    r: float = of(Budgetron, "r")
    jitter: float = of(Budgetron, "jitter")
    replace: str = of(Budgetron, "replace")
    straight: str = of(Budgetron, "straight")
    floor: float = of(Budgetron, "floor")
    reflex: bool = of(Budgetron, "reflex", default=False)
    relevance: bool = of(Budgetron, "relevance")

    def _machine(self, kernel: Part) -> Learner:
        return Budgetron(
            kernel,
            int(self.budget),
            float(self.r),
            float(self.jitter),
            replace=self.replace,
            admission="error",
            straight=self.straight,
            floor=float(self.floor),
            reflex=bool(self.reflex),
            relevance=self._learns_metric,
        )

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict f(x) for each row, (n,); with `return_std` also its deviation, (n,).

        The deviation combines the noise, measured over about the last 1,000 rows, and the belief's
        deviation of f(x): larger where little is known. It does not know where targets are noisier
        than elsewhere; `predict_interval` does.

        Examples
        --------
        >>> import numpy as np
        >>> from budgetron import BudgetronRegressor
        >>> x = np.random.default_rng(0).normal(size=(2000, 1))
        >>> y = np.sin(2 * x[:, 0]) + np.random.default_rng(1).normal(size=2000) / 10
        >>> model = BudgetronRegressor().fit(x, y)
        >>> prediction, deviation = model.predict([[0.0], [6.0]], return_std=True)
        >>> deviation.round(2)
        array([0.11, 0.26])
        """
        if not return_std:
            return super().predict(X)
        check_is_fitted(self)
        self._check_intervals(0.9)
        both = self._covering(self._rows(X), "deviation")[0]
        return both[:, 0], both[:, 1]

    @property
    def coef_(self) -> Floats:
        """w, one row, for rows in units, in the units of the targets."""
        units = self.target_units_
        return super().coef_ * (1.0 if units is None else units.scale)

    @property
    def intercept_(self) -> Floats:
        """c, with the centre of the targets: what ``predict`` adds to w.x and the kernel part."""
        units = self.target_units_
        if units is None:
            return super().intercept_
        return super().intercept_ * units.scale + units.centre
