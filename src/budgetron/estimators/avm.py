"""AVM, the approximation vector machine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

from budgetron._engine import Preparation
from budgetron.estimators._base.estimator import OnlineEstimator
from budgetron.estimators._base.gradient import (
    REGRESSION_LOSS,
    GradientClassifier,
    regression_loss,
)
from budgetron.estimators._base.parameters import BYTES, of
from budgetron.estimators._base.regressor import TubeRegressor
from budgetron.parts import Avm, Learner, Part, Squared
from budgetron.parts.ranges import SIZE, OneOf, parameter

# delta="auto" is this many median distances: docs/develop/decisions/0046.
AUTO = 0.5


@dataclass(eq=False, repr=False, kw_only=True)
class Covering(OnlineEstimator):
    """The base of AVM's classifier and regressor.

    Parameters
    ----------
    regularization : float
        lambda of the step 1 / (lambda t).
    delta : float or "auto"
        Diameter of a cell, in the units in which rows are learned. "auto" is a share of the
        median distance between the rows that give gamma="median", and changes with it: core
        points that then lie in one cell are merged. `budgetron.suggest_delta` suggests a range
        of numbers for scale=None.
    cover : {"sphere", "rectangle"}
        Cells are spheres of radius ``delta / 2``, a row belonging to the nearest core point, or
        boxes reaching ``delta / sqrt(n_features)`` to each side, a row belonging to the oldest.
    beta, rho : float
        Row t is rounded with probability ``max(0, 1 - beta / t**rho)`` and becomes a core point
        itself otherwise.
    budget : int, str or None
        Largest number of core points; beyond it the nearest one is used. None: no limit.
    kernel : {"rbf", "laplacian"}
        Must be a function of x - z.
    degree, coef0 : int, float
        Not used.
    random_state : int, RandomState instance or None
        Seed of ``shuffle`` and of the random choices if ``beta`` is not 0. None is 0.
    """

    regularization: float = of(Avm, "regularization")
    delta: float | str = of(  # type: ignore[assignment]  # it cannot be merged
        Avm, "delta", OneOf("auto"), default="auto"
    )
    cover: str = of(Avm, "cover")
    beta: float = of(Avm, "beta")
    rho: float = of(Avm, "rho")
    budget: Any = parameter(None, SIZE, BYTES, None)

    def _machine(self: Any, kernel: Part) -> Learner:
        return Avm(
            kernel,
            int(self.n_features_in_),
            regularization=float(self.regularization),
            delta=AUTO * sqrt(self.n_features_in_) if self.delta == "auto" else float(self.delta),
            cover=self.cover,
            beta=float(self.beta),
            rho=float(self.rho),
            budget=0 if self.budget is None else int(self.budget),
            loss=self._loss(),
        )

    def _preparation(self, width: int) -> Preparation:
        given = super()._preparation(width)
        return replace(given, delta_factor=AUTO) if self.delta == "auto" else given

    @property
    def delta_(self) -> float:
        """The current diameter of a cell.

        With delta="auto" it changes after rows 2, 4, 8, ..., 128 and 200, and with scale="auto"
        whenever units change.
        """
        native, given = self._native, self._origin.params["delta"]
        return float(native.delta if given == "auto" else given)


@dataclass(eq=False, repr=False, kw_only=True)
class AVMClassifier(Covering, GradientClassifier):
    """AVM: Pegasos whose rows are rounded to the core points of cells that cover the data.

    A row in a cell moves the coef of the cell's core point; a row in no cell opens one and is its
    core point. The number of cells is bounded by the data's extent and ``delta``, not by the length
    of the stream.

    References
    ----------
    Le, Nguyen, Nguyen and Phung, "Approximation Vector Machines for Large-scale Online Learning",
    JMLR 18, 2017.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import AVMClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = AVMClassifier(delta=0.5, average="suffix").partial_fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (30, 38)
    """


@dataclass(eq=False, repr=False, kw_only=True)
class AVMRegressor(Covering, TubeRegressor):
    """AVM for regression: Pegasos whose rows are rounded to the core points of cells.

    With the squared loss and ``regularization`` at most 1, f stays within the ball of radius
    ``max(abs(y)) / sqrt(regularization)``, with the largest target (y_max) of the rows so far, in
    units of the targets' deviation (``target_scale``).

    Parameters
    ----------
    regularization : float
        lambda of the step 1 / (lambda t). A smaller lambda fits more closely, but the first
        ``1 / lambda`` steps are above 1 and move f away from the targets: it needs several
        times as many rows.
    loss : {"squared", "absolute", "epsilon-insensitive"}
        Half the squared error, the error's size, or its size beyond epsilon.
    epsilon : float
        The epsilon-insensitive loss ignores errors up to this size, in units of the targets'
        deviation (``target_scale``); the other losses learn from all errors.

    References
    ----------
    Le, Nguyen, Nguyen and Phung, "Approximation Vector Machines for Large-scale Online Learning",
    JMLR 18, 2017, section 9.5.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from budgetron import AVMRegressor
    >>> X, y = make_friedman1(1000, n_features=5, random_state=0)
    >>> model = AVMRegressor(delta=0.5, regularization=0.01, average="suffix").partial_fit(X, y)
    >>> model.n_support_, round(model.score(X, y), 2)
    (425, 0.86)
    """

    # The classifier's 1e-4 diverges: the slope of the squared loss grows with the error.
    regularization: float = 0.03
    loss: str = parameter(Squared.kind, REGRESSION_LOSS)

    def _loss(self) -> Part:
        # Section 7's squared loss has no dead zone.
        epsilon = 0.0 if self.loss == Squared.kind else self.epsilon
        return regression_loss(self.loss, epsilon)
