"""Regression: numeric targets, predictions before learning; what the regressors share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from budgetron._batch import Batch
from budgetron._engine import Floats, Preparation
from budgetron.estimators._base.estimator import OnlineEstimator
from budgetron.estimators._base.parameters import of
from budgetron.estimators._base.scikit import RegressorMixin
from budgetron.estimators._base.targets import number, numbers
from budgetron.parts import Part, TubeUpdate
from budgetron.parts.ranges import OneOf, parameter


class TargetUnits(NamedTuple):
    """Units of the targets of a regressor: it learns (y - centre)/scale.

    Parameters
    ----------
    centre : median of the targets of the last 1,000 rows or so
    scale : 1.4826 times the median of abs(y - centre), of normal targets their deviation
    changes : how often the scale was set
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
        "auto" learns (y - centre)/scale, the median of the last targets and their deviation from it
        (``target_units_``); answers are in the units of y. None learns y as it is.
    """

    target_scale: str | None = parameter("auto", OneOf("auto"), None)

    _task: ClassVar[str] = "regression"
    # Whether R^2 stays below 0.5 on the 200 rows of ten features that scikit-learn's checks learn
    # once with default parameters. Those that say so name what they reach.
    _poor_on_few_rows: ClassVar[bool] = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = self._poor_on_few_rows
        return tags

    # ---- learning --------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Start anew and learn the rows `n_epochs` times, in their order or shuffled.

        First goes over all rows once to settle what the data decide: the units of scale="auto" and
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
        """Learn the rows, in their order, after all learned before.

        One call with n rows leaves the same bits as n calls with one row.
        """
        self._learn(X, y, sample_weight)
        return self

    def prequential(self, X: Any, y: Any, sample_weight: Any = None) -> Floats:
        """Test, then train, row by row: each row's prediction before it was learned, (n,).

        Learns exactly as `partial_fit` does.
        """
        predictions = self._learn(X, y, sample_weight, record=True)
        assert predictions is not None
        return predictions

    def _prequential_growing(self, X: Any, y: Any) -> Floats:
        """`prequential` for streams whose width grows: a chunk may have more features."""
        predictions = self._learn(X, y, None, record=True, growing=True)
        assert predictions is not None
        return predictions

    def learn_one(self, x: NDArray[Any], y: float) -> float:
        """Learn one row; the prediction before it was learned.

        The quick way in: x goes to the compiled round as it is. It must be a 1-d contiguous array
        of the model's dtype, else TypeError, and of its width, else BudgetronError. NOT checked:
        that it is finite (a row with an infinity, or a NaN without scale="auto", is predicted as it
        may and not learned).
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
        """f(x) of each row, (n,)."""
        check_is_fitted(self)
        return self._answer(self._rows(X))[0][:, 0]

    def prediction_one(self, x: NDArray[Any]) -> float:
        """The prediction for one row, under `learn_one`'s conditions."""
        native = self._native
        self._check_width(x)
        prediction: float = native.predict_one(x)
        return prediction

    # ---- looking inside --------------------------------------------------------------------------

    @property
    def target_units_(self) -> TargetUnits | None:
        """Centre and scale of the targets in force, and how often the scale has changed.

        None with target_scale=None.
        """
        units = self._native.target_units
        return None if units is None else TargetUnits(*units)

    @property
    def dual_coef_(self) -> Floats:
        """Coefs of the stored examples, one row, in the units of the targets.

        ``predict`` answers their sum with kernel values, and adds the centre of the targets.
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
    ) -> Batch:
        first = self._starts(anew)
        batch = super()._ready(
            X, numbers(y), sample_weight, anew=anew, growing=growing, record=record
        )
        if first:
            self._start(batch.rows.shape[1], 1, batch.rows.dtype, growing=growing)
        return batch

    def _targets(self, y: NDArray[Any]) -> Floats:
        return y

    def _learn_rows(self, batch: Batch) -> Floats | None:
        predictions: Floats | None = self._engine.native.learn(batch)
        return None if predictions is None else predictions[:, 0]


@dataclass(eq=False, repr=False, kw_only=True)
class TubeRegressor(OnlineRegressor):
    """A regressor that leaves small errors alone.

    Parameters
    ----------
    epsilon : float
        Errors up to this size are left alone; in units of the targets' deviation
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
