"""Whether probabilities are right: of the rows with probability 0.8, are 80 % of that class?

Rows are sorted into bins of equal width by their probability p. A bin of n rows shows its mean p
against its share s of rows that have the label, with Wilson's 95 % interval of s. The calibration
error is the mean of |p - s| over rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from budgetron.errors import BudgetronError
from budgetron.plot.axes import axis_of, marks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Z = 1.96  # of the normal distribution, for 95 %


def reliability_diagram(
    y: ArrayLike,
    probabilities: ArrayLike,
    *,
    classes: ArrayLike | None = None,
    bins: int = 10,
    label: str = "model",
    ax: Axes | None = None,
) -> Axes:
    """Draw how often a label is right against its predicted probability.

    Parameters
    ----------
    y : array of shape (n,)
        The true labels.
    probabilities : array of shape (n,) or (n, K)
        Probabilities of the second of two classes; or of every class, as `predict_proba` returns
        them. With more than two classes the most probable class of each row counts.
    classes : array of shape (K,), optional
        The label of each column, `classes_` of the model. None: the labels in y, sorted.
    bins : int
        Bins of equal width from 0 to 1; empty ones are not drawn.
    label : str
        Name in the legend, followed by the calibration error.
    ax : matplotlib.axes.Axes, optional
        None: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from budgetron import plot
    >>> axis = plot.reliability_diagram(["no", "no", "yes", "yes"], [0.1, 0.3, 0.3, 0.9], bins=5)
    >>> [line.get_label() for line in axis.lines if not line.get_label().startswith("_")]
    ['perfect', 'model: calibration error 0.150']
    """
    right, chances, what = _hits(np.asarray(y), np.asarray(probabilities, float), classes)
    if bins < 1:
        raise BudgetronError(f"bins must be at least 1, not {bins}")
    places = np.minimum((chances * bins).astype(int), bins - 1)
    rows = np.bincount(places, minlength=bins)
    there = rows > 0
    said = np.bincount(places, chances, bins)[there] / rows[there]
    share = np.bincount(places, right, bins)[there] / rows[there]
    low, high = _wilson(share, rows[there])
    error = float(np.sum(rows[there] * np.abs(said - share)) / len(right))

    axis = axis_of(ax)
    axis.plot([0, 1], [0, 1], color="0.5", linestyle="--", linewidth=1.2, label="perfect")
    axis.errorbar(
        said,
        share,
        [share - low, high - share],
        color=marks(["model"])[0][0],
        marker="o",
        linewidth=1.6,
        elinewidth=1,
        label="_interval",
    )
    axis.lines[-1].set_label(f"{label}: calibration error {error:.3f}")
    axis.set_xlabel(f"probability of {what}")
    axis.set_ylabel("share of rows that have it")
    axis.set_xlim(0, 1)
    axis.set_ylim(0, 1)
    axis.set_aspect("equal")
    axis.grid(alpha=0.25)
    axis.legend(loc="upper left")
    return axis


def _hits(
    y: NDArray[Any], probabilities: NDArray[np.float64], classes: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], str]:
    """Whether each row has the label in question, its probability; and the label's name."""
    if probabilities.ndim not in (1, 2) or y.ndim != 1 or len(probabilities) != len(y):
        raise BudgetronError(
            f"y has shape {y.shape} and probabilities {probabilities.shape}; give one label and "
            "one row of probabilities per row"
        )
    if not len(y):
        raise BudgetronError("there are no rows to draw")
    if not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise BudgetronError("probabilities must lie between 0 and 1, without NaN")
    known = np.unique(y) if classes is None else np.asarray(classes)
    wide = probabilities.shape[1] if probabilities.ndim == 2 else 2
    if len(known) != wide:
        given = f"{wide} columns" if probabilities.ndim == 2 else "one column, so two classes"
        raise BudgetronError(
            f"probabilities have {given}, but there are {len(known)} labels: give classes=, "
            "the label of each column"
        )
    if wide > 2:
        best = probabilities.argmax(axis=1)
        chances = probabilities[np.arange(len(y)), best]
        return (y == known[best]).astype(float), chances, "the most probable label"
    chances = probabilities[:, 1] if probabilities.ndim == 2 else probabilities
    return (y == known[1]).astype(float), chances, f"label {known[1]}"


def _wilson(share: NDArray[Any], rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The ends of Wilson's interval of a share of so many rows."""
    middle = (share + Z**2 / (2 * rows)) / (1 + Z**2 / rows)
    half = Z * np.sqrt(share * (1 - share) / rows + Z**2 / (4 * rows**2)) / (1 + Z**2 / rows)
    return np.minimum(middle - half, share), np.maximum(middle + half, share)
