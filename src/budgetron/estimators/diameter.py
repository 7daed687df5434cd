"""How wide AVM's cells should be: a range for `delta` from the distances in a sample."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from budgetron.errors import BudgetronError

# Squared distances from norms and dot products have errors of about 1e-15 of the largest: a
# distance below the root of that counts as 0.
_NO_DISTANCE = 1e-7


class SuggestedDelta(NamedTuple):
    """A diameter, and the range to look in for a better one.

    Attributes
    ----------
    delta : twice the mean distance
    low, high : two standard deviations of the distances below and above it
    """

    delta: float
    low: float
    high: float


def suggest_delta(
    X: Any, *, n_rows: int = 1000, random_state: int | np.random.Generator | None = 0
) -> SuggestedDelta:
    """Suggest a diameter for the cells of AVM, from the distances between rows of a sample.

    The mean distance between two rows is taken as a radius. Around twice that, and up to two
    standard deviations away, larger cells mean fewer core points and more mistakes: `low` is the
    end with the better predictions, `high` the one with the smaller model. The distances are those
    of the given rows: scale them first as they will be learned, and learn them with scale=None.

    Parameters
    ----------
    X : array or sparse matrix, shape (n, d)
        A sample of the stream, at least two different rows.
    n_rows : int, default 1000
        Number of rows drawn from a larger sample: all their pairs are measured.
    random_state : int, Generator or None, default 0
        Seed of the draw.

    Returns
    -------
    SuggestedDelta
        `delta`, `low` and `high`. If two deviations reach below zero, `low` is the smallest
        distance, if that is below `delta`: such narrow cells hold one row each.

    References
    ----------
    Le, Nguyen, Nguyen and Phung, "Approximation Vector Machines for Large-scale Online Learning",
    JMLR 18, 2017, section 9.2.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from budgetron import AVMClassifier, suggest_delta
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> suggested = suggest_delta(X[:500])
    >>> [round(value, 2) for value in suggested]
    [2.49, 1.13, 3.84]
    >>> for delta in suggested:
    ...     model = AVMClassifier(delta=delta, gamma=2.0, scale=None, shuffle=False).fit(X, y)
    ...     print(model.n_support_, round(model.score(X, y), 1))
    4 0.9
    11 1.0
    2 0.8
    """
    from scipy.sparse import issparse
    from sklearn.metrics.pairwise import euclidean_distances

    from budgetron.estimators._base.scikit import check_array

    if n_rows < 2:
        raise BudgetronError(f"n_rows is {n_rows}; a distance needs at least 2")
    X = check_array(X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)
    if X.shape[0] > n_rows:
        generator = np.random.default_rng(random_state)
        X = X[np.sort(generator.choice(X.shape[0], n_rows, replace=False))]
    if not issparse(X):
        X = X - X.mean(axis=0)  # changes no distance, but reduces the rounding of large offsets
    size = float(abs(X).max()) or 1.0
    distances = euclidean_distances(X / size)[np.triu_indices(X.shape[0], k=1)]
    apart = distances[distances > _NO_DISTANCE * distances.max()]
    if apart.size == 0:
        raise BudgetronError("all rows of the sample are equal; delta needs two different rows")
    middle, reach = 2 * float(distances.mean()), 2 * float(distances.std())
    low = middle - reach if reach < middle else min(middle, float(apart.min()))
    return SuggestedDelta(size * middle, size * low, size * (middle + reach))
