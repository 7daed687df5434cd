"""The classification losses, functions of the margin m = y f(x) (in general <u, f(x)>).

`slope` is d loss / d m, never positive, so that a gradient step adds (x, -step slope u). The hinge
has no slope at its kink m = 1: "has loss" means m < 1, strictly. Formulas: avm.txt, section 7.
"""

from __future__ import annotations

from math import exp, log1p
from typing import Protocol


class Loss(Protocol):
    def value(self, m: float) -> float: ...

    def slope(self, m: float) -> float: ...


class Hinge:
    def value(self, m: float) -> float:
        return max(0.0, 1 - m)

    def slope(self, m: float) -> float:
        return -1.0 if m < 1 else 0.0


class SmoothHinge:
    """The hinge with its kink rounded over [1 - tau, 1]."""

    def __init__(self, tau: float) -> None:
        self.tau = tau

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

    def value(self, m: float) -> float:
        return max(0.0, -m) + log1p(exp(-abs(m)))

    def slope(self, m: float) -> float:
        e = exp(-abs(m))
        return -e / (1 + e) if m > 0 else -1 / (1 + e)


def make_loss(loss: str, tau: float) -> Loss:
    """The loss called "hinge", "smooth-hinge" (which uses tau) or "logistic"."""
    losses: dict[str, Loss] = {
        "hinge": Hinge(),
        "smooth-hinge": SmoothHinge(tau),
        "logistic": Logistic(),
    }
    return losses[loss]
