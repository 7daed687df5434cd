"""Probabilities from decisions: an online sigmoid of the margin, in plain NumPy.

    P(class | m) = 1/(1 + exp(-(slope m + offset)))

Two classes: one sigmoid, m = f(x), of the second class. More: one a class, m_k = f_k - max_j f_j
over the others, and the answers are normalised. Each sees the margins made before their rows were
learned.

J. C. Platt, *Probabilistic outputs for support vector machines and comparisons to regularized
likelihood methods*, 1999: the sigmoid and its targets (n+ + 1)/(n+ + 2) and 1/(n- + 2).
T. S. Jaakkola, M. I. Jordan, *Bayesian parameter estimation via variational methods*, 2000: with
c(z) = tanh(z/2)/(2 z) the log likelihood has a quadratic bound, whose maximum is the solution of

    [ sum c m m   sum c m ] [ slope  ]   [ sum (t - 1/2) m ]
    [ sum c m     sum c   ] [ offset ] = [ sum (t - 1/2)   ]

Ours: the sums are kept row by row, and forgotten slowly; see
core/model/calibration.hpp for the reasons.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

WINDOW = 2000.0  # rows the sums keep at most, about
EACH = 256  # rows after each of which the sigmoids are solved, and then ...
BLOCK = 32  # ... after every so many
PRIOR = 1.0  # rows of "nobody knows"
LEAST_SLOPE = 1e-3  # times 1/(root mean square of m)
SUMS = ("positives", "negatives", "positive_m", "negative_m")
SUMS += ("squares", "curve_mm", "curve_m", "curve")


def bend(z: Vector) -> Vector:
    """tanh(z/2)/(2 z) to a part in 10,000: a fraction of its expansion, tanh = 1 from 10 on."""
    x = np.abs(z) / 2
    s = np.minimum(x, 5.0) ** 2
    inner = (135135 + 17325 * s + 378 * s**2 + s**3) / (
        135135 + 62370 * s + 3150 * s**2 + 28 * s**3
    )
    return np.where(x < 5, inner, 1 / np.maximum(x, 5.0)) / 4


class Calibration:
    """One sigmoid for two classes, else one a class; all numbers are arrays over sigmoids."""

    def __init__(self, n_outputs: int) -> None:
        self.rows = 0
        self.sums = {name: np.zeros(n_outputs) for name in SUMS}
        self.slope, self.offset = np.ones(n_outputs), np.zeros(n_outputs)

    def learn(self, f: Vector, code: int, weight: float = 1.0) -> None:
        """A row of class `code`, on which the decision was f."""
        m = self.margins(f)
        own = np.array([code == 1]) if f.size == 1 else np.arange(f.size) == code
        c = bend(self.slope * m + self.offset)
        counted = {
            "positives": own,
            "negatives": ~own,
            "positive_m": own * m,
            "negative_m": ~own * m,
            "squares": m**2,
            "curve_mm": c * m**2,
            "curve_m": c * m,
            "curve": c,
        }
        for name, number in counted.items():
            self.sums[name] = self.sums[name] + weight * number
        self.rows += 1
        if self.rows <= EACH:
            self.solve(1)
        elif self.rows % BLOCK == 0:
            self.solve(BLOCK)

    def solve(self, rows: int) -> None:
        """The sigmoids of the sums, of which then the share of so many rows is forgotten."""
        total = {name: self.sums[name] for name in SUMS}
        up = (total["positives"] + 1) / (total["positives"] + 2) - 0.5
        down = 1 / (total["negatives"] + 2) - 0.5
        for k in range(self.slope.size):
            n = {name: float(total[name][k]) for name in SUMS}
            square = n["squares"] / (n["positives"] + n["negatives"])
            prior = PRIOR / 4 * np.diag([square, 1.0])
            matrix = np.array([[n["curve_mm"], n["curve_m"]], [n["curve_m"], n["curve"]]]) + prior
            pull = np.array(
                [
                    up[k] * n["positive_m"] + down[k] * n["negative_m"],
                    up[k] * n["positives"] + down[k] * n["negatives"],
                ]
            )
            self.slope[k] = 1.0
            if square > 0:  # else no margin was anything but 0
                free = float(np.linalg.solve(matrix, pull)[0])
                self.slope[k] = max(free, LEAST_SLOPE / np.sqrt(square))
            self.offset[k] = (pull[1] - matrix[1, 0] * self.slope[k]) / matrix[1, 1]
        window = min(WINDOW, 1 + self.rows / 4)
        for name in SUMS:
            self.sums[name] = self.sums[name] * (1 - rows / window)

    def probabilities(self, f: Vector) -> Vector:
        """Of every class, by the decision on a row."""
        p = 1 / (1 + np.exp(-(self.slope * self.margins(f) + self.offset)))
        return np.array([1 - p[0], p[0]]) if f.size == 1 else np.asarray(p / p.sum())

    @staticmethod
    def margins(f: Vector) -> Vector:
        """What each output has over the best other one; a single one is its own margin."""
        if f.size == 1:
            return f
        return f - np.array([np.delete(f, k).max() for k in range(f.size)])
