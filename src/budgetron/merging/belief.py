"""The belief of a Budgetron in natural parameters, read from a saved state and written back.

A belief is a Gaussian over coordinates: first those of a full straight part, (c, w), then the coefs
of the stored examples, oldest first. A saved state has its mean, and its covariance as
P = U D U' with U unit upper triangular (core/hypothesis/covariance.hpp). In natural parameters

    Lambda = P^-1 = U^-T D^-1 U^-1        precision
    J      = Lambda - Lambda_base         what a worker has seen since the base
    eta    = (Lambda_base + g J) mean     information, one column per output

each row adds to Lambda and eta, so the contributions of several workers add up:

    Lambda = Lambda_base + sum J_w
    mean   = (Lambda_base + g sum J_w)^-1 (eta_base + sum (eta_w - eta_base))

g is 1 for up to two classes; the merge is then exact up to rounding and up to which rows have loss.
With more classes, a row takes only 1/(K - 1) of its information from the shared P
(docs/develop/decisions/0015), but moves the mean by all of it: g = K - 1.

A diagonal straight part has one variance per coordinate beside P: the same with numbers in place of
matrices. Each coordinate, and P, treats the others as known, so each row moves all of them too far,
and only the next row corrects it. The sum of the workers' moves would overshoot: g is at least 8,
which makes it nearly the mean (4 to 30 differ little, 1 can diverge: decision 0066).

Cost: O(n^3) for `read`, done by a worker, and one factorisation for `write`; between them sums
of n^2 numbers. All in float64, whatever the dtype of the state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetron.errors import BudgetronError

Floats = NDArray[Any]
State = dict[str, NDArray[Any]]

FULL, DIAGONAL = 1, 2  # forms of a straight part, as in states
STRAIGHT = "learner/straight/"


@dataclass
class Belief:
    """Mean and precision over the coordinates of a state.

    Parameters
    ----------
    precision : Lambda, (n, n)
    mean : (n, outputs)
    features : feature numbers of the straight part, in the order of their coordinates
    straight_mean : (c, w) of a diagonal straight part, (1 + features, outputs); else no rows
    straight_precision : 1 over its variances
    """

    precision: Floats
    mean: Floats
    features: NDArray[np.int32]
    straight_mean: Floats
    straight_precision: Floats


CAUTION = 8.0  # g of a diagonal straight part


def gain(state: State) -> float:
    """G."""
    outputs = int(state["learner/expansion/outputs"][0])
    classes = float(outputs - 1) if outputs > 2 else 1.0
    return max(classes, CAUTION) if form_of(state) == DIAGONAL else classes


# ---- reading -------------------------------------------------------------------------------------


def order_of(state: State) -> NDArray[np.intp]:
    """The positions of the stored examples, oldest first: the order of the belief."""
    count = len(state["learner/expansion/support/ends"])
    order: NDArray[np.intp] = np.argsort(state["learner/expansion/ids"][:count], kind="stable")
    return order


def coefs_of(state: State) -> Floats:
    """The coefs of the stored examples in the order of their positions, (examples, outputs)."""
    stored = len(state["learner/expansion/support/ends"])
    coefs = state["learner/expansion/coefs"].astype(np.float64)
    outputs = int(state["learner/expansion/outputs"][0])
    found: Floats = factor_of(state) * coefs.reshape(outputs, -1)[:, :stored].T
    return found


def factor_of(state: State) -> float:
    """The factor that turns the stored numbers into coefs."""
    numbers = (state["learner/expansion/" + name].astype(np.float64) for name in ("scale", "rate"))
    return float(np.prod([each[0] for each in numbers]))


def form_of(state: State) -> int:
    """The form of the straight part; 0 if there is none."""
    return int(state["learner/form"][0]) if "learner/form" in state else 0


def weights_of(state: State, name: str = "weights") -> Floats:
    """(c, w) of the straight part, (1 + features, outputs); no rows if there is none."""
    outputs = int(state["learner/expansion/outputs"][0])
    if not form_of(state):
        return np.zeros((0, outputs))
    return state[STRAIGHT + name].astype(np.float64).reshape(-1, outputs)


def read(state: State) -> Belief:
    """The belief in a Budgetron's state; costs two products of triangular matrices."""
    order, form = order_of(state), form_of(state)
    weights = weights_of(state)
    mean = coefs_of(state)[order]
    straight_mean, variances = weights[:0], np.zeros(0)
    if form == FULL:
        mean = np.vstack([weights, mean])
    elif form == DIAGONAL:
        straight_mean, variances = weights, state[STRAIGHT + "variances"].astype(np.float64)
    features = state[STRAIGHT + "features"] if form else np.zeros(0, np.int32)
    precision = precision_of(state["learner/belief"])
    return Belief(precision, mean, features.astype(np.int32), straight_mean, 1.0 / variances)


def precision_of(packed: NDArray[np.generic]) -> Floats:
    """U^-T D^-1 U^-1 of a packed covariance: columns of U above the diagonal, each with its D."""
    from scipy.linalg.lapack import dtrtri

    upper, variances = unpacked(packed)
    inverse, _ = dtrtri(upper, lower=0, unitdiag=1)
    inverse = np.triu(inverse, 1) + np.eye(len(variances))
    scaled = inverse / np.sqrt(variances)[:, None]
    precision: Floats = scaled.T @ scaled
    return precision


def unpacked(packed: NDArray[np.generic]) -> tuple[Floats, Floats]:
    """U and D."""
    numbers = packed.astype(np.float64)
    size = (int(np.sqrt(8 * len(numbers) + 1)) - 1) // 2
    columns = np.zeros((size, size))
    columns[np.tril_indices(size)] = numbers  # row j: column j of U, D_j on the diagonal
    variances = columns.diagonal().copy()
    np.fill_diagonal(columns, 1.0)
    return columns.T, variances


# ---- writing -------------------------------------------------------------------------------------


def solve(precision: Floats, information: Floats) -> Floats:
    """The mean of a belief, from its natural parameters."""
    from scipy.linalg import cho_factor, cho_solve

    if len(precision) == 0:
        return information
    mean: Floats = cho_solve(cho_factor(precision, lower=True), information)
    return mean


def packed_covariance(precision: Floats) -> Floats:
    """Lambda^-1 = U D U', packed: with Lambda = L D^-1 L', U = L^-T."""
    from scipy.linalg.lapack import dtrtri

    if len(precision) == 0:
        return np.zeros(0)
    factor = np.linalg.cholesky(precision)
    root = factor.diagonal().copy()
    inverse, _ = dtrtri(factor / root, lower=1, unitdiag=1)  # row j: column j of U
    inverse[np.diag_indices_from(inverse)] = 1.0 / root**2
    packed: Floats = inverse[np.tril_indices(len(inverse))]
    return packed


def positive(precision: Floats, base: Floats) -> Floats:
    """The precision, made positive definite: up to rounding, rows only add to the base.

    If rounding has removed too much, only the positive part of the sum is kept.
    """
    try:
        np.linalg.cholesky(precision)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(precision - base)
        precision = base + (vectors * np.maximum(values, 0.0)) @ vectors.T
        try:
            np.linalg.cholesky(precision)
        except np.linalg.LinAlgError:
            raise BudgetronError(
                "the merged covariance is not positive definite: merge more often"
            ) from None
    return precision


def write(state: State, belief: Belief) -> None:
    """Replace the belief in a state.

    It may have more features than the state; these come after the state's own.
    """
    order, form = order_of(state), form_of(state)
    count, outputs = len(order), belief.mean.shape[1]
    first = len(belief.mean) - count
    coefs = np.zeros((outputs, len(state["learner/expansion/ids"])))
    coefs[:, order] = belief.mean[first:].T / factor_of(state)
    _set(state, "learner/expansion/coefs", coefs.ravel())
    _set(state, "learner/belief", packed_covariance(belief.precision))
    if not form:
        return
    weights = belief.mean[:first] if form == FULL else belief.straight_mean
    _set(state, STRAIGHT + "weights", weights.ravel())
    _set(state, STRAIGHT + "features", belief.features)
    _set(state, STRAIGHT + "coordinates", np.array([len(weights)]))
    if form == DIAGONAL:
        _set(state, STRAIGHT + "variances", 1.0 / belief.straight_precision)


def _set(state: State, name: str, values: NDArray[np.generic]) -> None:
    """Numbers in the dtype that the state has there."""
    state[name] = np.ascontiguousarray(values.astype(state[name].dtype))
