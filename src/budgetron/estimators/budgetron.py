"""Budgetron, the library's own learner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from budgetron._engine import Floats
from budgetron.estimators._base.classifier import OnlineClassifier
from budgetron.estimators._base.estimator import OnlineEstimator
from budgetron.estimators._base.parameters import BYTES, of
from budgetron.estimators._base.regressor import OnlineRegressor
from budgetron.estimators._base.widths import RACE, WidthText, median_factor
from budgetron.parts import Budgetron, Gaussian, Learner, Part


class _Open(OnlineEstimator):
    """What both say of f, so that it can be computed from their attributes, and of changes.

    In units, Z = clip((X - center_)/scale_, clip_), and S = (support_vectors_ - center_)/scale_:

        f(X) = Z coef_' + intercept_ + k(Z, S) dual_coef_'

    with kernels of sqrt(feature_relevance_) times Z and S (docs/guide/hypothesis.md).
    """

    relevance: bool

    @property
    def _learns_metric(self) -> bool:
        """Whether a metric may be learned; what it is found from is counted only then."""
        follows = self.scale == "auto" and median_factor(self.gamma) is not None
        return bool(self.relevance and follows and self.kernel == "rbf" and self.average == "last")

    @property
    def drift_log_(self) -> NDArray[np.int64]:
        """The rows, counted from 0, at which it saw the stream change; at most the last 100."""
        rounds: NDArray[np.int64] = self._native.drifts()
        return rounds

    @property
    def coef_(self) -> Floats:
        """w, one row an output, a column for each of ``support_vectors_``, of rows in units.

        The weighed mean of belief and reflex. All 0 without a straight part.
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
        """c, one number an output."""
        part = self._native.straight()
        intercept: Floats = np.zeros(self._native.outputs) if part is None else part[2]
        return intercept

    @property
    def feature_relevance_(self) -> Floats:
        """How much f depends on each feature; all 1 while no metric was learned.

        The kernel is exp(-gamma sum_j relevance_j (z_j - s_j)^2) with z and s in units.
        """
        found, _ = self._native.relevance()
        columns, _ = self._columns(np.arange(found.size, dtype=np.int32))
        relevance = np.ones(self._features_of_columns().size)
        relevance[columns] = found
        return relevance

    @property
    def center_(self) -> Floats:
        """What is subtracted from the value of each feature; of a constant, the constant."""
        centres: Floats = self._native.units(self._features_of_columns())[0]
        return centres

    @property
    def scale_(self) -> Floats:  # type: ignore[override]
        """What is then divided by; infinite for a feature that has no unit, which is shown as 0."""
        sizes: Floats = self._native.units(self._features_of_columns())[1]
        return sizes * np.sqrt(self.feature_relevance_)

    @property
    def clip_(self) -> float:
        """A value in units is at most so far from 0; infinite where none is clipped."""
        return float(self._native.clip)

    @property
    def support_vectors_(self) -> Any:
        """The stored examples, (n_support_, n_features_in_); sparse if the first batch was.

        In the units of the rows: what was clipped is where it was clipped, and what was missing is
        the mean that stood in for it. As float64, unless rows are shown as they come. With
        missing="flag" the flag of each feature follows all features, 1 or 0.
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
        """A 0 that was centred and comes back is at most so large."""
        eps = float(np.finfo(self._engine.dtype).eps)
        return eps * np.abs(centres)

    def _features_of_columns(self) -> NDArray[np.int32]:
        """The number that each column of ``support_vectors_`` has in the compiled model."""
        features = np.arange(self.n_features_in_, dtype=np.int32)
        flags = self._engine.preparation.flags
        return np.append(features, features + np.int32(flags)) if flags else features


@dataclass(eq=False, repr=False, kw_only=True)
class BudgetronClassifier(_Open, OnlineClassifier):
    """Budgetron: a confidence-weighted kernel machine on a budget.

    Holds a Gaussian belief over the coefs of its stored examples, a mean and a covariance. A row
    with loss moves every coef by as much as it is uncertain, and makes it more certain. Stores
    mistakes until the budget is full, and after that replaces examples if the stream has changed.
    Needs no tuning: give it a budget. The covariance takes ``4 * budget**2`` bytes beside the
    examples, and as many again unless ``replace`` is "never" and ``reflex`` False.

    Parameters
    ----------
    r : float
        Variance of the noise a row is taken to have; the larger, the smaller the steps.
    jitter : float
        Added to k(x, x) of stored examples, so that similar ones stay distinct.
    replace : {"auto", "never", "always"}
        What a mistake does when the budget is full. "never": it is learned from but not stored.
        "always": it takes the place of the example whose coef is the least certain not to be 0,
        which helps on clean streams and ruins noisy ones. "auto": as "never", but in the 500 rows
        after the mistake rate has risen as "always"; ``drift_log_`` says when. Also while the
        reflex has more weight than the belief: then the oldest example leaves.
    straight : {"auto", "full", "diagonal", "none"}
        The straight part w.x + c of f(x) = w.x + c + sum_i a_i k(x_i, x), learned with the coefs.
        "full": the covariance is over weights and coefs together, d + 1 rows and columns more.
        "diagonal": every weight has a variance of its own. "none": f has no straight part. "auto":
        "full" while at most budget - 1 features have been seen, "diagonal" when there are more,
        and "none" where rows have more non-zeros than the budget has examples. With the linear
        kernel, and where ``average`` is not "last", always "none".
    floor : float
        No row makes the variance of f at it less than this, so that learning never ends. 0: none.
    reflex : bool
        Keep a second set of coefs and weights, which learns for ever as fast as in the first row.
        The answer is the mean of both, weighed by the mistakes that each would have made of late:
        so a stream that keeps changing is followed, and one that does not loses nothing. Not where
        ``average`` is not "last".
    relevance : bool
        Learn a metric: at rows 400, 800, 1600, ... features that f depends on are stretched and
        others shrunk, if kernel values then differ much (``feature_relevance_``). With scale="auto"
        and gamma "race" or "median", the kernel "rbf", no budget in bytes, and at most budget - 1
        features.
    kernel : {"rbf", "laplacian", "poly", "linear"}
    gamma : float, "race", "median", a multiple as "4*median", or "auto"
        Width of the kernel. "race": as "median", while learners with 4 and 16 times that gamma and
        half of the budget learn beside it for at most 6,000 rows; one that is clearly better takes
        its place. With a budget in bytes they have what the first rows have freed, and there is no
        race where that is too little. Not where ``average`` is not "last".

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


@dataclass(eq=False, repr=False, kw_only=True)
class BudgetronRegressor(_Open, OnlineRegressor):
    """Budgetron for regression: recursive least squares over the coefs of the stored examples.

    Holds a Gaussian belief over the coefs, a mean and a covariance, and learns from every row.
    Stores rows whose error is above the mean of the last 1000, until the budget is full, and after
    that replaces examples if the stream has changed. The covariance takes ``4 * budget**2`` bytes
    beside the examples, and as many again unless ``replace`` is "never".

    Parameters
    ----------
    r : float
        Variance of the noise in the targets, in terms of the variance of f where nothing is known.
    jitter : float
        Added to k(x, x) of stored examples, so that similar ones stay distinct.
    replace : {"auto", "never", "always"}
        What a row with a large error does when the budget is full. "never": it is learned from but
        not stored. "always": it takes the place of the example whose coef is the least certain not
        to be 0. "auto": as "never", but in the 500 rows after the errors have risen as "always",
        and what was learned before is uncertain again; ``drift_log_`` says when.
    straight : {"auto", "full", "diagonal", "none"}
        The straight part w.x + c of f(x) = w.x + c + sum_i a_i k(x_i, x), learned with the coefs.
        "full": the covariance is over weights and coefs together, d + 1 rows and columns more.
        "diagonal": every weight has a variance of its own. "none": f has no straight part. "auto":
        "full" while at most budget - 1 features have been seen, "diagonal" when there are more,
        and "none" where rows have more non-zeros than the budget has examples. With the linear
        kernel, and where ``average`` is not "last", always "none".
    floor : float
        No row makes the variance of f at it less than this, so that learning never ends, and c
        follows the level of the targets over about 200 rows. 0: neither.
    relevance : bool
        Learn a metric: at rows 400, 800, 1600, ... features that f depends on are stretched and
        others shrunk, if kernel values then differ much (``feature_relevance_``). With scale="auto"
        and gamma "race" or "median", the kernel "rbf", no budget in bytes, and at most budget - 1
        features.
    kernel : {"rbf", "laplacian", "poly", "linear"}
    gamma : float, "race", "median", a multiple as "4*median", or "auto"
        Width of the kernel. "race": as "median", while learners with 4 and 16 times that gamma and
        half of the budget learn beside it for at most 6,000 rows; one that is clearly better takes
        its place. With a budget in bytes they have what the first rows have freed, and there is no
        race where that is too little. Not where ``average`` is not "last".

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
            reflex=False,
            relevance=self._learns_metric,
        )

    @property
    def coef_(self) -> Floats:
        """w, one row, of rows in units, in the units of the targets."""
        units = self.target_units_
        return super().coef_ * (1.0 if units is None else units.scale)

    @property
    def intercept_(self) -> Floats:
        """c, with the centre of the targets: what ``predict`` adds to w.x and the kernel part."""
        units = self.target_units_
        if units is None:
            return super().intercept_
        return super().intercept_ * units.scale + units.centre
