"""Streams made from a seed: nothing to download, any length, known noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def two_gaussians(
    n_per_class: int = 5000, flip: float = 0.05, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The noisy stream of the Forgetron paper (Dekel, Shalev-Shwartz & Singer 2008, section 8).

    Two Gaussian clouds in the plane with means (1, 1) and (-1, -1) and, along the axes, standard
    deviations 0.2 and 2. (The paper calls these numbers the covariance; only as standard
    deviations do they give its results.) Each label is flipped with probability `flip`: no learner
    can then have a mistake rate below that. The order is random.

    Parameters
    ----------
    n_per_class : rows of each class, before flipping
    flip : probability that a label is flipped; the paper has 0.05 and 0.1
    seed : the same seed gives the same stream

    Returns
    -------
    X : (2 n_per_class, 2) float64
    y : (2 n_per_class,) labels -1 and 1
    """
    if n_per_class < 1:
        raise ValueError(f"n_per_class must be at least 1, not {n_per_class}")
    if not 0 <= flip <= 1:
        raise ValueError(f"flip must be a probability, not {flip}")
    random = np.random.default_rng(seed)
    y = np.repeat(np.array([1, -1]), n_per_class)
    X = y[:, None] + random.standard_normal((2 * n_per_class, 2)) * np.array([0.2, 2.0])
    y = np.where(random.random(2 * n_per_class) < flip, -y, y)
    order = random.permutation(2 * n_per_class)
    return X[order], y[order].astype(np.int64)
