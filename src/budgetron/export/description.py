"""What `predict` needs of a model, and nothing else: the input of all writers.

    row                x, one number per feature; NaN is a missing value where `missing` is given
    filled             x_j = missing_j where it is missing, then one flag per feature if `flagged`
    units              z_j = stretch_j clip((x_j - center_j) inverse_j)
    expansion          k_i = kernel(example_i, z)
    or feature map     k   = cos(z.frequencies), then sin(z.frequencies)
    decision           f   = sum_i coef_i k_i + straight.z + intercept, one number per output

In regression f is in the units of the targets; in classification it is the result of
`decision_function`. `Link` turns it into probabilities. `Description.decide` is all of this in
NumPy: the shortest definition of the format; the reader of models checks descriptions with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetron.errors import BudgetronError
from budgetron.tables.encoding import Encoding

Floats = NDArray[np.float64]

# Examples with a smaller share of non-zero numbers are written as lists of these.
DENSE = 0.3
LEAST_SLOPE = (
    1e-3  # share of a line's slope that log odds keep below 0 (core/model/calibration.hpp)
)


class ExportError(BudgetronError):
    """A model that cannot be exported; the text says why."""


@dataclass(frozen=True)
class Units:
    """The units in which the learner sees rows; all arrays have one number per column of z.

    Parameters
    ----------
    center, inverse : z = (x - center) * inverse; inverse is 0 for a feature without a unit
    clip : largest absolute value of z; infinite if nothing is clipped
    stretch : of a learned metric; all 1 without one
    missing : one per feature, replaces a missing value; None if there may be none
    flagged : whether flags follow the features, 1 for a missing value
    """

    center: Floats
    inverse: Floats
    clip: float
    stretch: Floats
    missing: Floats | None
    flagged: bool

    @property
    def plain(self) -> bool:
        """Whether rows are not changed."""
        return bool(
            (self.center == 0).all()
            and (self.inverse == 1).all()
            and (self.stretch == 1).all()
            and np.isinf(self.clip)
        )

    def show(self, X: Floats) -> Floats:
        """Rows as the learner sees them."""
        gaps = np.isnan(X)
        if self.missing is not None:
            X = np.where(gaps, self.missing, X)
        if self.flagged:
            X = np.hstack([X, gaps])
        return self.stretch * np.clip((X - self.center) * self.inverse, -self.clip, self.clip)


@dataclass(frozen=True)
class Kernel:
    """Kind and parameters, by scikit-learn's names: rbf, laplacian, poly, linear, sigmoid."""

    kind: str
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 1

    def values(self, Z: Floats, examples: Floats) -> Floats:
        """k(z, example) of all pairs."""
        if self.kind == "laplacian":
            far = np.stack([np.abs(z - examples).sum(axis=1) for z in Z]) if len(Z) else Z[:, :0]
            return np.asarray(np.exp(-self.gamma * far))
        dots = Z @ examples.T
        if self.kind == "rbf":
            squares = (Z**2).sum(axis=1)[:, None] + (examples**2).sum(axis=1) - 2 * dots
            return np.asarray(np.exp(-self.gamma * np.maximum(squares, 0)))
        if self.kind == "poly":
            return np.asarray((self.gamma * dots + self.coef0) ** self.degree)
        return np.tanh(self.gamma * dots + self.coef0) if self.kind == "sigmoid" else dots


@dataclass(frozen=True)
class Link:
    """From decisions to probabilities (core/model/calibration.hpp, decision 0038).

    Parameters
    ----------
    below, above : (outputs, 3) each: slope, offset and steepest slope of the line for margins
        below 0, where another class is predicted, and above
    """

    below: Floats
    above: Floats

    def probabilities(self, classes: int, f: Floats) -> Floats:
        """The probability of each class from one decision, (outputs,): decision 0038 in NumPy."""
        if classes == 1:
            return np.ones(1)
        if len(f) == 1:
            second = bool(f[0] >= 0)
            slope, offset, steep = (self.above if second else self.below)[0]
            m = abs(float(f[0]))
            z = max(0.0, min(steep * m, max(slope * m + offset, LEAST_SLOPE * slope * m)))
            small = float(np.exp(-z))
            pair = np.array([small / (1 + small), max(1 / (1 + small), np.nextafter(0.5, 1))])
            return pair if second else pair[::-1]
        best = int(np.argmax(f))
        second_best = np.max(np.delete(f, best))
        margins = f - np.where(np.arange(len(f)) == best, second_best, f[best])
        own = self.above[:, 0] * margins + self.above[:, 1]
        other = self.below[:, 0] * margins - self.below[:, 1]
        odds = np.where(np.arange(len(f)) == best, own, other)
        logs = np.minimum(odds, 0) - np.log1p(np.exp(-np.abs(odds)))
        shares: Floats = np.exp(logs - logs.max())
        shares /= shares.sum()
        # Classes that are more likely than the predicted one get the mean of these and its own.
        rest = np.sort(np.delete(shares, best))[::-1]
        means = (shares[best] + np.cumsum(rest)) / np.arange(2, len(f) + 1)
        level = max(shares[best], means.max())
        shares = np.minimum(shares, level)
        shares[best] = max(level, np.nextafter(np.delete(shares, best).max(), 2))
        return shares


@dataclass(frozen=True, eq=False)
class Description:
    """What `predict` needs of a model.

    Parameters
    ----------
    learner : name of its class
    classes : labels; None in regression
    features : names, one per number of a row
    dtype : float32 or float64, type of the learned rows
    units : units of the rows
    kernel : None for a feature map
    examples : (n, columns) in units, CSR; None for a feature map
    frequencies : (columns, D) of a feature map, else None
    coefs : (n, outputs), of a feature map (2 D, outputs)
    straight : (columns, outputs) or None
    intercept : (outputs,)
    link : None in regression
    table : how columns of a table become features, or None

    Examples
    --------
    >>> import budgetron
    >>> from budgetron.export import describe
    >>> model = budgetron.make("rbp", budget=20).partial_fit([[0.0], [1.0]] * 5, ["no", "yes"] * 5)
    >>> described = describe(model)
    >>> described.learner, described.features
    ('BudgetPerceptronClassifier', ['x0'])
    """

    learner: str
    classes: list[Any] | None
    features: list[str]
    dtype: str
    units: Units
    kernel: Kernel | None
    examples: Any
    frequencies: Floats | None
    coefs: Floats
    straight: Floats | None
    intercept: Floats
    link: Link | None
    table: Encoding | None = None

    @property
    def outputs(self) -> int:
        return len(self.intercept)

    @property
    def columns(self) -> int:
        """Numbers in a row as the learner sees it."""
        return len(self.units.center)

    @property
    def sparse(self) -> bool:
        """Whether the examples are better written as lists of non-zeros."""
        if self.examples is None:
            return False
        rows, columns = self.examples.shape
        return bool(self.examples.nnz < DENSE * rows * columns)

    def decide(self, X: Any) -> Floats:
        """The decisions for rows, (n, outputs), in plain NumPy."""
        dense = X.toarray() if hasattr(X, "toarray") else X
        Z = self.units.show(np.asarray(dense, dtype=np.float64))
        f: Floats = self.values(Z) @ self.coefs + self.intercept
        return f if self.straight is None else f + Z @ self.straight

    def values(self, Z: Floats) -> Floats:
        """What coefs are multiplied by, for rows in units: kernel values, or the feature map."""
        if self.frequencies is not None:
            angles = Z @ self.frequencies
            return np.hstack([np.cos(angles), np.sin(angles)])
        assert self.kernel is not None
        return self.kernel.values(Z, self.examples.toarray().astype(np.float64))
