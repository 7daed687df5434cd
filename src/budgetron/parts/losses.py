"""Losses of classification, and of regression with the error e = target - f(x)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from budgetron.parts.part import Part, family
from budgetron.parts.ranges import NOT_NEGATIVE, POSITIVE, parameter


@dataclass(frozen=True)
class Loss(Part):
    """A loss of the margin y f(x)."""


@dataclass(frozen=True)
class RegressionLoss(Part):
    """A loss of the error e."""


@dataclass(frozen=True)
class Hinge(Loss):
    """max(0, 1 - y f(x)).

    Examples
    --------
    >>> from budgetron.parts import Hinge
    >>> Hinge()
    Hinge()
    """

    kind: ClassVar[str] = "hinge"


@dataclass(frozen=True)
class SmoothHinge(Loss):
    """The hinge with its kink rounded over a width of tau.

    Parameters
    ----------
    tau : float
        Width over which the kink is rounded.

    Examples
    --------
    >>> from budgetron.parts import SmoothHinge
    >>> SmoothHinge()
    SmoothHinge(tau=0.5)
    """

    tau: float = parameter(0.5, POSITIVE)
    kind: ClassVar[str] = "smooth-hinge"


@dataclass(frozen=True)
class Logistic(Loss):
    """log(1 + exp(-y f(x))).

    Examples
    --------
    >>> from budgetron.parts import Logistic
    >>> Logistic()
    Logistic()
    """

    kind: ClassVar[str] = "logistic"


@dataclass(frozen=True)
class Squared(RegressionLoss):
    """e^2/2 beyond abs(e) = epsilon, no slope up to there: max(0, e^2 - epsilon^2)/2.

    Parameters
    ----------
    epsilon : float
        Errors up to this cost nothing.

    Examples
    --------
    >>> from budgetron.parts import Squared
    >>> Squared()
    Squared(epsilon=0.1)
    """

    epsilon: float = parameter(0.1, NOT_NEGATIVE)
    kind: ClassVar[str] = "squared"


@dataclass(frozen=True)
class Absolute(RegressionLoss):
    """abs(e).

    Examples
    --------
    >>> from budgetron.parts import Absolute
    >>> Absolute()
    Absolute()
    """

    kind: ClassVar[str] = "absolute"


@dataclass(frozen=True)
class EpsilonInsensitive(RegressionLoss):
    """max(0, abs(e) - epsilon).

    Parameters
    ----------
    epsilon : float
        Errors up to this cost nothing.

    Examples
    --------
    >>> from budgetron.parts import EpsilonInsensitive
    >>> EpsilonInsensitive()
    EpsilonInsensitive(epsilon=0.1)
    """

    epsilon: float = parameter(0.1, NOT_NEGATIVE)
    kind: ClassVar[str] = "epsilon-insensitive"


LOSSES = family(Loss)
REGRESSION_LOSSES = family(RegressionLoss)
