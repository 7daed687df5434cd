"""The losses, functions of the margin m.

Classification: m = y f(x), in general <u, f(x)>. Regression: m = -|e| with e = target - f(x), and
u = sign(e), so that moving f(x) along u raises m in both.

`slope` is d loss / d m, never positive, so that a gradient step adds (x, -step slope u). The hinge
has slope 0 at its kink m = 1: "has loss" means m < 1, strictly; a regression loss has slope 0
where |e| is 0 or epsilon. Formulas: Le et al. 2017, section 7.
"""

from __future__ import annotations

from math import exp, log1p
from typing import Protocol


class Loss(Protocol):
    @property
    def kinks(self) -> tuple[float, ...]:
        """The margins at which the slope jumps, or becomes 0 so that nothing is stored."""

    def value(self, m: float) -> float: ...

    def slope(self, m: float) -> float: ...


class Hinge:
    kinks = (1.0,)

    def value(self, m: float) -> float:
        return max(0.0, 1 - m)

    def slope(self, m: float) -> float:
        return -1.0 if m < 1 else 0.0


class SmoothHinge:
    """The hinge with its kink rounded over [1 - tau, 1]."""

    def __init__(self, tau: float) -> None:
        self.tau = tau
        self.kinks = (1.0,)

    def value(self, m: float) -> float:
        if m < 1 - self.tau:
            return 1 - m - self.tau / 2
        return max(0.0, 1 - m) ** 2 / (2 * self.tau)

    def slope(self, m: float) -> float:
        if m < 1 - self.tau:
            return -1.0
        return (m - 1) / self.tau if m < 1 else 0.0


class Logistic:
    """log(1 + e^-m), written so that neither sign of m overflows."""

    kinks = ()

    def value(self, m: float) -> float:
        return max(0.0, -m) + log1p(exp(-abs(m)))

    def slope(self, m: float) -> float:
        e = exp(-abs(m))
        return -e / (1 + e) if m > 0 else -1 / (1 + e)


class Squared:
    """e^2/2, shifted so that it is 0 for |e| <= epsilon (section 7 has epsilon = 0)."""

    def __init__(self, epsilon: float) -> None:
        self.epsilon = epsilon
        self.kinks = (-epsilon,)

    def value(self, m: float) -> float:
        return max(0.0, m**2 - self.epsilon**2) / 2

    def slope(self, m: float) -> float:
        return m if m < -self.epsilon else 0.0


class Absolute:
    """|e|."""

    kinks = (0.0,)

    def value(self, m: float) -> float:
        return -m

    def slope(self, m: float) -> float:
        return -1.0 if m < 0 else 0.0


class EpsilonInsensitive:
    """max(0, |e| - epsilon)."""

    def __init__(self, epsilon: float) -> None:
        self.epsilon = epsilon
        self.kinks = (-epsilon,)

    def value(self, m: float) -> float:
        return max(0.0, -m - self.epsilon)

    def slope(self, m: float) -> float:
        return -1.0 if m < -self.epsilon else 0.0


def make_loss(loss: str, tau: float = 0.5, epsilon: float = 0.0) -> Loss:
    """The loss of this name; only "smooth-hinge" uses tau. Of the three regression losses
    "squared" and "epsilon-insensitive" use epsilon.
    """
    losses: dict[str, Loss] = {
        "hinge": Hinge(),
        "smooth-hinge": SmoothHinge(tau),
        "logistic": Logistic(),
        "squared": Squared(epsilon),
        "absolute": Absolute(),
        "epsilon-insensitive": EpsilonInsensitive(epsilon),
    }
    return losses[loss]
