"""Anomaly detectors: scores before learning, a threshold that follows; no labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from budgetron._batch import Batch
from budgetron._engine import Floats
from budgetron.errors import BudgetronError
from budgetron.estimators._base.coverage import MOST
from budgetron.estimators._base.estimator import OnlineEstimator
from budgetron.estimators._base.explanation import Explanation
from budgetron.estimators._base.scikit import OutlierMixin, num_samples
from budgetron.parts.ranges import Numbers, OneOf, parameter, whole

LEAST_RATE = round(1.0 - MOST, 6)  # rarer scores have no quantile


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineDetector(OutlierMixin, OnlineEstimator):
    """An anomaly detector that learns row by row, without labels.

    Parameters
    ----------
    alarm_rate : float
        Share of the rows to be called anomalies, from 0.005 to 0.5: the rate of alarms while
        the rows do not change. It can be changed at any time.
    average : {"last"}
        ``predict`` uses the current detector.
    n_epochs : int or "auto"
        How many times ``fit`` learns the rows. "auto" as for other learners; one pass is
        enough. More passes score rows that were learned before, and alarms become too frequent.
    """

    alarm_rate: float = parameter(0.01, Numbers(LEAST_RATE, 0.5, "both"))
    average: str = parameter("last", OneOf("last"))
    n_epochs: int | str = parameter(1, whole(1, None), OneOf("auto"))

    _task: ClassVar[str] = "novelty"

    # ---- learning --------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Start again and learn the rows, in order or shuffled.

        First goes over all rows once to set what depends on the data: the units of scale="auto" and
        gamma="median".

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d)
        y : ignored
        sample_weight : numbers >= 0, shape (n,); a row of weight w counts as w rows
        """
        self._learn(X, _no_targets(X), sample_weight, anew=True)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the rows, in order, after all rows learned before.

        One call with n rows gives the same bits as n calls with one row.
        """
        self._learn(X, _no_targets(X), sample_weight)
        return self

    def prequential(self, X: Any, y: Any = None, sample_weight: Any = None) -> Floats:
        """Score, then learn, row by row: return `score_samples` of each row before it, (n,).

        Learns exactly as `partial_fit` does.
        """
        scores = self._learn(X, _no_targets(X), sample_weight, record=True)
        assert scores is not None
        return -scores

    def prequential_decisions(self, X: Any, y: Any = None, sample_weight: Any = None) -> Floats:
        """The same with `decision_function`: below 0 is an alarm; NaN for a row of weight 0.

        Examples
        --------
        >>> import numpy as np
        >>> from budgetron import BudgetronAnomaly
        >>> X = np.random.default_rng(0).normal(size=(20000, 3))
        >>> decisions = BudgetronAnomaly(alarm_rate=0.05).prequential_decisions(X)
        >>> round(float((decisions < 0).mean()), 3)
        0.05
        """
        targets = _no_targets(X)
        spans = np.full(2 * len(targets), np.nan)
        coverage = self._coverage
        self._learn(X, targets, sample_weight, record=True, spans=(spans, coverage))
        return -spans[::2]

    def _prequential_growing(
        self,
        X: Any,
        y: Any = None,
        *,
        growing: bool = True,
        spans: tuple[Floats, float] | None = None,
    ) -> Floats:
        """For streams whose width grows: of each row -`score_samples` before it was learned, (n,).

        `spans`: takes -`decision_function` at its even places, and is given with `_coverage`.
        """
        targets = _no_targets(X)
        scores = self._learn(X, targets, None, record=True, growing=growing, spans=spans)
        assert scores is not None
        return scores

    def learn_one(self, x: NDArray[Any]) -> float:
        """Learn one row; return its `score_samples` before it was learned.

        The fast path: x goes to the compiled round unchanged. It must be a 1-d contiguous array of
        the model's dtype, else TypeError, and of its width, else BudgetronError. NOT checked: that
        it is finite (a row with an infinity, or a NaN without scale="auto", gets some score and is
        not learned).
        """
        if not hasattr(self, "_engine"):
            return float(self.prequential(np.asarray(x)[None, :])[0])
        self._check_width(x)
        if self._changed:
            with self._unchanged_if_refused():
                self._follow_params()
        return -float(self._native.learn_one(x, 0.0))

    # ---- scoring ---------------------------------------------------------------------------------

    def score_samples(self, X: Any) -> Floats:
        """How similar each row is to the learned ones, (n,): at most 0; lower is more unusual."""
        check_is_fitted(self)
        return -self._answer(self._rows(X))[0][:, 0]

    def decision_function(self, X: Any) -> Floats:
        """`score_samples` minus the threshold, (n,): below 0 for an anomaly.

        The threshold follows the scores that rows had before they were learned: the share
        ``alarm_rate`` of them was beyond it. While fewer than ``1/alarm_rate`` rows were learned,
        such rare scores are unknown, and the result is infinity.
        """
        check_is_fitted(self)
        return self._less_threshold(self._rows(X))

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Predict -1 for each anomaly, 1 for the others, (n,)."""
        return np.where(self.decision_function(X) < 0.0, -1, 1)

    def score_one(self, x: NDArray[Any]) -> float:
        """`score_samples` of one row, under `learn_one`'s conditions."""
        native = self._native
        self._check_width(x)
        return -float(native.predict_one(x))

    @property
    def _coverage(self) -> float:
        """The share of rows without an alarm; the rate may have been set after `fit`."""
        rate = self.alarm_rate
        if not (isinstance(rate, int | float | np.number) and LEAST_RATE <= rate <= 0.5):
            raise BudgetronError(f"alarm_rate={rate!r} must be a number from {LEAST_RATE} to 0.5")
        return 1.0 - float(rate)

    def _less_threshold(self, rows: Any) -> Floats:
        # An interval around the score that reaches as far as the threshold is from 0.
        spans = self._covering(rows, "interval", self._coverage)[0]
        return -spans[:, 0]

    def explain(self, x: Any) -> Explanation:
        """Raise BudgetronError: a score is not a sum of shares."""
        raise BudgetronError(
            f"a score of {type(self).__name__} is not a sum of the examples' shares; "
            "support_vectors_ and masses_ show what it is made of"
        )

    # ---- looking inside --------------------------------------------------------------------------

    @property
    def masses_(self) -> Floats:
        """How many recent rows each stored example represents, ``(n_support_,)``."""
        masses: Floats = self.dual_coef_[0]
        return masses

    @property
    def offset_(self) -> float:
        """The threshold of `score_samples`: ``decision_function = score_samples - offset_``.

        -infinity while too few rows were learned.
        """
        check_is_fitted(self)
        rows = np.zeros((1, self.n_features_in_), dtype=self._engine.dtype)
        return float(-self._answer(rows)[0][0, 0] - self._less_threshold(rows)[0])

    # ---- inside ----------------------------------------------------------------------------------

    @property
    def _keeps_intervals(self) -> bool:
        return True

    def _apart_from_budget(self, params: dict[str, Any]) -> dict[str, Any]:
        kept = super()._apart_from_budget(params)
        kept.pop("alarm_rate", None)  # only predictions use it
        return kept

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
        batch = super()._ready(X, y, sample_weight, anew=anew, growing=growing, record=record)
        if first:
            self._start(batch.rows.shape[1], 1, batch.rows.dtype, growing=growing)
        if spans is not None:
            batch.spans, batch.coverage = spans
        return batch

    def _targets(self, y: NDArray[Any]) -> Floats:
        return y

    def _learn_rows(self, batch: Batch) -> Floats | None:
        scores: Floats | None = self._engine.native.learn(batch)
        return None if scores is None else scores[:, 0]


def _no_targets(X: Any) -> Floats:
    """A target for each row, which detectors ignore."""
    return np.zeros(num_samples(X))
