"""Probabilities from decisions: one line per side of a class, fitted online, in plain NumPy.

    log odds that a side is right = slope |m| + offset

The margin of a class is m_k = f_k - max_j f_j over the others. Its side above 0 (the class is
predicted) is right if the row is of the class, its side below 0 if the row is not. Two classes: one
output, m = f(x), and the two sides of the second class. More classes: the answers of all classes
are divided by their sum. Each side counts margins from before their rows were learned.

The predicted class always has the highest probability:

    two classes   log odds = min(steep |f|, max(slope |f| + offset, 0.001 slope |f|)), where
                  steep = slope + max(offset, 0)/(0.01 root mean square of f)
    more          the predicted class and the likelier ones get the mean of their probabilities
    ties          the predicted class gets the next larger float

J. C. Platt, *Probabilistic outputs for support vector machines and comparisons to regularized
likelihood methods*, 1999: the sigmoid of a line.
T. S. Jaakkola, M. I. Jordan, *Bayesian parameter estimation via variational methods*, 2000: with
c(z) = tanh(z/2)/(2 z) the log likelihood has a quadratic bound, whose maximum is the solution of

    [ sum c m m   sum c m ] [ slope  ]   [ sum (t - 1/2) m ]
    [ sum c m     sum c   ] [ offset ] = [ sum (t - 1/2)   ]

Here m is |m|, and t is 1 if the side was right, else 0.

Our additions: the sides, and sums that are updated row by row and forgotten slowly; see
core/model/calibration.hpp for the reasons.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

WINDOW = 1000.0  # the most rows that the sums of a side keep, about
SHARE = 1 / 6  # the share of its rows that they keep before that
EACH = 256  # rows after each of which the lines are solved, and then ...
BLOCK = 32  # ... every so many rows
PRIOR = 1.0  # weight of the prior, in rows
LEAST_SLOPE = 1e-3  # times 1/(root mean square of m)
RAMP = 0.01  # times the root mean square of m
SUMS = ("weight", "squares", "curve_mm", "curve_m", "curve", "pull_m", "pull")


def bend(z: float) -> float:
    """tanh(z/2)/(2 z) to one part in 10,000: a rational approximation; tanh = 1 from 10 on."""
    x = abs(z) / 2
    if x >= 5:
        return 1 / (4 * x)
    s = x**2
    over = 135135 + 17325 * s + 378 * s**2 + s**3
    return over / (135135 + 62370 * s + 3150 * s**2 + 28 * s**3) / 4


class Side:
    """One side of a class: its line and the sums of its rows. Margins are absolute values."""

    def __init__(self) -> None:
        self.rows = self.fresh = 0
        self.sums = dict.fromkeys(SUMS, 0.0)
        self.slope, self.offset = 1.0, 0.0

    def learn(self, m: float, right: bool, weight: float) -> None:
        c, pull = bend(self.slope * m + self.offset), 0.5 if right else -0.5
        counted = (1.0, m**2, c * m**2, c * m, c, pull * m, pull)
        for name, number in zip(SUMS, counted, strict=True):
            self.sums[name] += weight * number
        self.fresh += 1

    def solve(self) -> None:
        """Solve for the line, then forget a share of the sums; does nothing without a new row."""
        if not self.fresh:
            return
        n = self.sums
        square = n["squares"] / n["weight"]
        matrix = np.array([[n["curve_mm"], n["curve_m"]], [n["curve_m"], n["curve"]]])
        matrix += PRIOR / 4 * np.diag([square, 1.0])
        pull = np.array([n["pull_m"], n["pull"]])
        free = float(np.linalg.solve(matrix, pull)[0])
        self.slope = max(free, LEAST_SLOPE / np.sqrt(square))
        self.offset = float((pull[1] - matrix[1, 0] * self.slope) / matrix[1, 1])
        self.rows += self.fresh
        window = min(WINDOW, SHARE * self.rows)
        for name in SUMS:
            n[name] *= window / (window + self.fresh)
        self.fresh = 0

    def log_odds(self, m: float) -> float:
        """The log odds that this side is right."""
        return self.slope * m + self.offset

    def held(self, m: float) -> float:
        """The same for two classes: 0 at 0, and rising with m."""
        steep = self.slope
        if self.offset > 0:
            steep += self.offset / (RAMP * np.sqrt(self.sums["squares"] / self.sums["weight"]))
        return float(min(steep * m, max(self.log_odds(m), LEAST_SLOPE * self.slope * m)))


class Calibration:
    """The sides (below 0, above 0) of the second of two classes, else those of every class."""

    def __init__(self, n_outputs: int) -> None:
        self.rows = 0
        self.classes = [(Side(), Side()) for _ in range(n_outputs)]

    def learn(self, f: Vector, code: int, weight: float = 1.0) -> None:
        """Count a row of class `code` with the decision f."""
        for k, m in enumerate(self.margins(f)):
            own = code == (1 if f.size == 1 else k)
            if m != 0:
                self.classes[k][int(m > 0)].learn(abs(m), own == (m > 0), weight)
        self.rows += 1
        if self.rows <= EACH or self.rows % BLOCK == 0:
            for side in self.sides:
                side.solve()

    @property
    def sides(self) -> list[Side]:
        return [side for pair in self.classes for side in pair]

    def probabilities(self, f: Vector) -> Vector:
        """The probability of every class, from the decision on a row."""
        if f.size == 1:
            second = int(f[0] >= 0)
            p = 1 / (1 + np.exp(-self.classes[0][second].held(abs(f[0]))))
            p = max(p, np.nextafter(0.5, 1))
            return np.array([1 - p, p] if second else [p, 1 - p])
        best = int(np.argmax(f))
        m = self.margins(f)
        z = [
            side[1].log_odds(m[k]) if k == best else -side[0].log_odds(-m[k])
            for k, side in enumerate(self.classes)
        ]
        p = 1 / (1 + np.exp(-np.array(z)))
        return hold(p / p.sum(), best)

    @staticmethod
    def margins(f: Vector) -> Vector:
        """Each output minus the best other one; a single output is its own margin."""
        if f.size == 1:
            return f
        return f - np.array([np.delete(f, k).max() for k in range(f.size)])


def hold(p: Vector, best: int) -> Vector:
    """Make the class `best` the likeliest: it and the likelier ones get their mean.

    >>> hold(np.array([0.5, 0.125, 0.375]), 1).round(3)
    array([0.333, 0.333, 0.333])
    >>> hold(np.array([0.375, 0.25, 0.375, 0.0]), 0).tolist()
    [0.37500000000000006, 0.25, 0.375, 0.0]
    """
    level = p[best]
    for k in np.argsort(-p):  # the likeliest first
        if k != best and p[k] > level:
            pool = [best, *(j for j in range(p.size) if j != best and p[j] >= p[k])]
            level = max(level, p[pool].mean())
    held = np.minimum(p, level)
    held[best] = max(level, np.nextafter(np.delete(held, best).max(), 2))
    return held
