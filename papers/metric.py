"""A learned metric: which features f depends on, in plain NumPy.

    f(x) = w.x + c + sum_i a_i exp(-gamma |x_i - x|^2)
    df/dx_j = w_j + 2 gamma sum_i a_i k_i (x_ij - x_j)
    relevance of feature j = sqrt(G_j v_j / mean_j G_j v_j)    at least LEAST; 1 if it does not vary

G_j is the mean of (df/dx_j)^2 and v_j the variance of x_j over counted rows: the root of the
diagonal of the average gradient outer product (Radhakrishnan, Beaglehole, Pandit & Belkin,
"Mechanism for feature learning in neural networks and backpropagation-free machine learning
models", Science 2024). Rows are then shown as sqrt(relevance_j) z_j, z in units.

The online form is our addition: core/learners/relevance.hpp, core/model/metric.hpp,
docs/develop/decisions/0054.
"""

from __future__ import annotations

import numpy as np

from papers.kernels import Matrix
from papers.page import Vector

FIRST = 400  # the round of the first change; then 800, 1600, ...
GATE = 0.1  # mean |change of a kernel value| that a change must make
LEAST = 0.01


def due(rounds: int) -> bool:
    """Whether the metric may change after this many rounds."""
    return rounds >= FIRST and rounds % FIRST == 0 and (rounds // FIRST).bit_count() == 1


def counts(round_: int) -> bool:
    """Whether the row of this round is counted: one in 4, 8, 16, ..."""
    every = 4
    while every * 2 * FIRST <= round_:
        every *= 2
    chosen = (round_ // every * 0x9E3779B97F4A7C15 % 2**64) >> 32
    return round_ % every == chosen % every


def gradient(x: Vector, support: Matrix, coef: Vector, w: Vector, gamma: float) -> Vector:
    """The gradient df/dx."""
    differences = support - x
    k = np.exp(-gamma * np.square(differences).sum(axis=1))
    return np.asarray(w + 2.0 * gamma * (coef * k) @ differences)


def relevance(rows: Matrix, gradients: Matrix) -> Vector:
    """The relevance of each feature."""
    variance = np.square(rows).mean(axis=0) - np.square(rows.mean(axis=0))
    share = np.square(gradients).sum(axis=0) * variance
    varies = variance > 0
    root = np.sqrt(np.where(varies, share, 0.0) / share[varies].mean())
    return np.maximum(np.where(varies, root, 1.0), LEAST)
