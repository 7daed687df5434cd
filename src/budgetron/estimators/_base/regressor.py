"""Regression: numeric targets, predictions before learning; the base of the regressors."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from budgetron._batch import Batch
from budgetron._engine import Floats, PrecisionWarning, Preparation
from budgetron.errors import BudgetronError
from budgetron.estimators._base.coverage import check_coverage
from budgetron.estimators._base.estimator import OnlineEstimator
from budgetron.estimators._base.parameters import of
from budgetron.estimators._base.scikit import RegressorMixin
from budgetron.estimators._base.targets import number, numbers
from budgetron.parts import Part, TubeUpdate
from budgetron.parts.ranges import OneOf, parameter

LARGEST = 1e60  # of the deviation of targets that the compiled model learns


class TargetUnits(NamedTuple):
    """Units of the targets of a regressor: it learns (y - centre)/scale.

    Parameters
    ----------
    centre : median of about the last 1,000 targets
    scale : 1.4826 times the median of abs(y - centre), the deviation of normal targets
    changes : how many times the scale was set
    """

    centre: float
    scale: float
    changes: int


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineRegressor(RegressorMixin, OnlineEstimator):
    """A regressor that learns row by row; `score` is scikit-learn's R^2.

    Parameters
    ----------
    target_scale : {"auto", None}
        "auto" learns (y - centre)/scale: the median of the last targets and their deviation
        from it (``target_units_``); answers are in the units of y. None learns y unchanged.
    intervals : bool
        Keep the quantiles of the errors so far that ``predict_interval`` needs.
    """

    target_scale: str | None = parameter("auto", OneOf("auto"), None)
    intervals: bool = parameter(True, "boolean")

    _task: ClassVar[str] = "regression"
    # Whether R^2 stays below 0.5 on the 200 rows of ten features that scikit-learn's checks learn
    # once with default parameters. Classes that set it note the R^2 they reach.
    _poor_on_few_rows: ClassVar[bool] = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = self._poor_on_few_rows
        return tags

    # ---- learning --------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Start again and learn the rows `n_epochs` times, in order or shuffled.

        First goes over all rows once to set what depends on the data: the units of scale="auto" and
        target_scale="auto", and gamma="median". Then equals `partial_fit` over the rows in the
        order of all epochs.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d)
        y : finite numbers, shape (n,)
        sample_weight : numbers >= 0, shape (n,); a row of weight w moves f by w times as much
        """
        self._learn(X, y, sample_weight, anew=True)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the rows, in order, after all rows learned before.

        One call with n rows gives the same bits as n calls with one row.
        """
        self._learn(X, y, sample_weight)
        return self

    def prequential(self, X: Any, y: Any, sample_weight: Any = None) -> Floats:
        """Test, then train, row by row: return the prediction for each row before it, (n,).

        Learns exactly as `partial_fit` does.
        """
        predictions = self._learn(X, y, sample_weight, record=True)
        assert predictions is not None
        return predictions

    def prequential_interval(
        self, X: Any, y: Any, coverage: float = 0.9, sample_weight: Any = None
    ) -> Floats:
        """Test, then train, row by row: return the interval of each row before learning it, (n, 2).

        Learns exactly as `partial_fit` does. The interval is that of `predict_interval`; NaN if a
        row has weight 0.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import make_friedman1
        >>> from budgetron import BudgetronRegressor
        >>> X, y = make_friedman1(4000, random_state=0, noise=1.0)
        >>> lower, upper = BudgetronRegressor().prequential_interval(X, y, coverage=0.8).T
        >>> float(np.mean((lower <= y) & (y <= upper)).round(2))
        0.79
        """
        spans = np.full(2 * len(y), np.nan)
        self._check_intervals(coverage)
        self._learn(X, y, sample_weight, record=True, spans=(spans, float(coverage)))
        return spans.reshape(-1, 2)

    def _prequential_growing(
        self,
        X: Any,
        y: Any,
        *,
        growing: bool = True,
        spans: tuple[Floats, float] | None = None,
    ) -> Floats:
        """`prequential` for streams whose width grows: a chunk may have more features.

        `spans` receives the intervals, flat, and their coverage.
        """
        predictions = self._learn(X, y, None, record=True, growing=growing, spans=spans)
        assert predictions is not None
        return predictions

    def learn_one(self, x: NDArray[Any], y: float) -> float:
        """Learn one row; return the prediction before it was learned.

        The fast path: x goes to the compiled round unchanged. It must be a 1-d contiguous array of
        the model's dtype, else TypeError, and of its width, else BudgetronError. NOT checked: that
        it is finite (a row with an infinity, or a NaN without scale="auto", gets some prediction
        and is not learned).
        """
        if not hasattr(self, "_engine"):
            return float(self.prequential(np.asarray(x)[None, :], [y])[0])
        self._check_width(x)
        y = number(y)
        prediction: float
        if self._changed:
            with self._unchanged_if_refused():
                self._follow_params()
                prediction = self._native.learn_one(x, y)
        else:
            prediction = self._native.learn_one(x, y)
        return prediction

    # ---- predicting ------------------------------------------------------------------------------

    def predict(self, X: Any) -> Floats:
        """Predict f(x) for each row, (n,)."""
        check_is_fitted(self)
        return self._answer(self._rows(X))[0][:, 0]

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Floats:
        """Intervals that hold the target with this probability, (n, 2): lower, upper.

        Its width follows the errors made before each row was learned: their recent size, near the
        row (Budgetron) and everywhere, and quantiles that move until the share of targets inside is
        `coverage`. For the first rows, fewer than ``coverage/(1 - coverage)``, the interval is
        infinite. Rows that `fit` visits again do not count.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d)
        coverage : float
            Share of the targets inside, from 0.01 to 0.995.

        Examples
        --------
        >>> import numpy as np
        >>> from budgetron import BudgetronRegressor
        >>> rng = np.random.default_rng(0)
        >>> x = rng.uniform(-2, 2, size=4000)
        >>> y = np.sin(2 * x) + rng.normal(size=4000) * np.where(x > 0, 0.4, 0.1)
        >>> model = BudgetronRegressor().fit(x[:, None], y)
        >>> model.predict_interval([[-1.0], [1.0]]).round(1)
        array([[-1.1, -0.7],
               [ 0.3,  1.7]])
        """
        check_is_fitted(self)
        self._check_intervals(coverage)
        return self._covering(self._rows(X), "interval", float(coverage))[0]

    def _check_intervals(self, coverage: Any) -> None:
        made = self._engine.intervals if hasattr(self, "_engine") else self.intervals
        if not made:
            raise BudgetronError(
                "predict_interval needs a model made with intervals=True, which counts errors "
                "while it learns: start again with it"
            )
        check_coverage(coverage)

    def prediction_one(self, x: NDArray[Any]) -> float:
        """The prediction for one row, under `learn_one`'s conditions."""
        native = self._native
        self._check_width(x)
        prediction: float = native.predict_one(x)
        return prediction

    # ---- looking inside --------------------------------------------------------------------------

    @property
    def target_units_(self) -> TargetUnits | None:
        """Current centre and scale of the targets, and how many times the scale has changed.

        None with target_scale=None.
        """
        units = self._native.target_units
        return None if units is None else TargetUnits(*units)

    @property
    def dual_coef_(self) -> Floats:
        """Coefs of the stored examples, one row, in the units of the targets.

        ``predict`` returns their sum with kernel values, plus the centre of the targets.
        """
        coefs: Floats = super().dual_coef_
        units = self.target_units_
        return coefs if units is None else units.scale * coefs

    # ---- inside ----------------------------------------------------------------------------------

    def _preparation(self, width: int) -> Preparation:
        return replace(super()._preparation(width), target_scale=self.target_scale or "none")

    def _ready(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        anew: bool = False,
        growing: bool = False,
        record: bool = False,
        spans: tuple[Floats, float] | None = None,
    ) -> Batch:
        first = self._starts(anew)
        targets = numbers(y)
        batch = super()._ready(X, targets, sample_weight, anew=anew, growing=growing, record=record)
        if first:
            self._start(batch.rows.shape[1], 1, batch.rows.dtype, growing=growing)
        if spans is not None:
            batch.spans, batch.coverage = spans
        self._warn_if_large(targets)
        return batch

    def _warn_if_large(self, targets: Floats) -> None:
        largest = max(float(targets.max()), -float(targets.min()))
        if largest > LARGEST and self.target_scale is not None and not self._warned:
            self._warned = True
            warnings.warn(
                f"targets reach {largest:.3g}, but only targets up to {LARGEST:g} are learned: "
                "divide them by a constant",
                PrecisionWarning,
                stacklevel=6,
            )

    def _targets(self, y: NDArray[Any]) -> Floats:
        return y

    def _learn_rows(self, batch: Batch) -> Floats | None:
        predictions: Floats | None = self._engine.native.learn(batch)
        return None if predictions is None else predictions[:, 0]


@dataclass(eq=False, repr=False, kw_only=True)
class TubeRegressor(OnlineRegressor):
    """A regressor that ignores small errors.

    Parameters
    ----------
    epsilon : float
        Errors up to this size do not change f; in units of the targets' deviation
        (``target_scale``).
    """

    epsilon: float = of(TubeUpdate, "epsilon")


@dataclass(eq=False, repr=False, kw_only=True)
class SignRegressor(TubeRegressor):
    """A relative of the Perceptron: an error beyond epsilon moves f by `step` at x.

    Parameters
    ----------
    step : float
        Coef that an example enters with, in units of the targets' deviation (``target_scale``).
    """

    step: float = of(TubeUpdate, "step")

    def _update(self) -> Part:
        return TubeUpdate(float(self.step), float(self.epsilon))
