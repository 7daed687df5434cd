"""A model in a plane: the predicted class at each point, and the stored examples.

The plane is that of two features; the others are set to the median of the rows. Stored examples
with more than two features may be shown along their first two principal components instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from budgetron.errors import BudgetronError
from budgetron.estimators._base.estimator import OnlineEstimator
from budgetron.plot.axes import add_legend, axis_of, marks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARGIN = 0.06  # share of a feature's range, around the rows
ROWS = 2000  # most rows drawn, evenly chosen

Floats = NDArray[np.float64]


def decision_boundary(
    model: Any,
    X: Any,
    y: ArrayLike | None = None,
    *,
    features: tuple[int, int] = (0, 1),
    points: int = 150,
    ax: Axes | None = None,
) -> Axes:
    """Draw the predictions of a model in the plane of two features.

    Regions have the colour of their class and end at a line; a regressor has filled contours and a
    colour bar.

    Parameters
    ----------
    model : estimator
        A learner of this library, or anything with `predict`, also a pipeline.
    X : array or pandas.DataFrame of shape (n, d)
        Rows of numbers: the plane contains all of them; features that are not drawn are set to
        their medians.
    y : array of shape (n,), optional
        Labels of the rows, which are then drawn too: all, or 2,000 if there are more.
    features : (int, int)
        The columns of X to draw, horizontal and vertical.
    points : int
        Points of the grid along each axis.
    ax : matplotlib.axes.Axes, optional
        None: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from budgetron import BudgetronClassifier, plot
    >>> from budgetron.streams import two_gaussians
    >>> X, y = two_gaussians(500, seed=0)
    >>> model = BudgetronClassifier(budget=50).fit(X, y)
    >>> axis = plot.decision_boundary(model, X, y)
    >>> axis = plot.stored_examples(model, ax=axis)
    >>> axis.get_xlabel(), axis.get_ylabel()
    ('feature 0', 'feature 1')
    """
    rows, names = _numbers(X)
    across, up = _columns(features, rows.shape[1])
    if points < 2:
        raise BudgetronError(f"points must be at least 2, not {points}")
    sides = [_side(rows[:, column], points) for column in (across, up)]
    grid = np.tile(np.nanmedian(rows, axis=0), (points * points, 1))
    grid[:, across], grid[:, up] = (each.ravel() for each in np.meshgrid(*sides))
    plane = type(X)(grid, columns=names) if hasattr(X, "iloc") else grid.astype(rows.dtype)
    labels = getattr(model, "classes_", None)
    classes = None if labels is None else np.asarray(labels)
    axis = axis_of(ax)
    shape = (points, points)
    norm = None
    if classes is None:
        shades = axis.contourf(*sides, np.reshape(model.predict(plane), shape), 12, cmap="viridis")
        axis.figure.colorbar(shades, ax=axis, label="prediction")
        norm = shades.norm
    else:
        _regions(axis, model, plane, sides, classes)
    if y is not None:
        _scatter_rows(axis, rows[:, [across, up]], np.asarray(y), classes, norm)
    axis.set_xlabel(names[across])
    axis.set_ylabel(names[up])
    return axis


def stored_examples(
    model: Any, *, features: tuple[int, int] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the examples that a model stores; larger ones have more weight.

    The colour is that of the class that the example votes for: the sign of its coef, beyond two
    classes its largest coef; for a regressor, whether it raises or lowers the prediction.

    Parameters
    ----------
    model : estimator
        A fitted learner of this library that stores examples.
    features : (int, int), optional
        The features to draw. None: both of two, else the first two principal components of the
        stored examples.
    ax : matplotlib.axes.Axes, optional
        An axis of `decision_boundary`, for instance. None: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from budgetron import BudgetronClassifier, plot
    >>> from budgetron.streams import two_gaussians
    >>> X, y = two_gaussians(500, seed=0)
    >>> model = BudgetronClassifier(budget=50).fit(X, y)
    >>> axis = plot.stored_examples(model)
    >>> sum(len(each.get_offsets()) for each in axis.collections) == model.n_support_
    True
    """
    if not isinstance(model, OnlineEstimator):
        kind = type(model).__name__
        last = "; of a pipeline give the last step, model[-1]" if hasattr(model, "steps") else ""
        raise BudgetronError(f"stored_examples takes a learner of budgetron, not {kind}{last}")
    rows = _stored(model)
    if not len(rows):
        raise BudgetronError(f"this {type(model).__name__} stores no examples")
    coefs = np.asarray(model.dual_coef_)
    weights = np.linalg.norm(coefs, axis=0)
    sides, titles = _flat(rows, features)
    names, groups = _spoken_for(model, coefs)
    axis = axis_of(ax)
    areas = 15 + 135 * weights / max(float(weights.max()), np.finfo(float).tiny)
    for number, (name, (colour, marker)) in enumerate(zip(names, marks(names), strict=True)):
        mine = groups == number
        x, y = sides[mine].T
        axis.scatter(
            x,
            y,
            s=areas[mine],
            marker=marker,
            facecolor=colour,
            edgecolor="black",
            linewidth=0.8,
            label=f"stored: {name} ({mine.sum()})",
            zorder=4,
        )
    if not axis.get_xlabel():
        axis.set_xlabel(titles[0])
        axis.set_ylabel(titles[1])
    add_legend(axis)
    return axis


def _numbers(X: Any) -> tuple[Floats, list[str]]:
    """Rows as an array, and its column names."""
    try:
        rows = np.asarray(X.toarray() if hasattr(X, "toarray") else X)
        rows = rows if rows.dtype.kind == "f" else rows.astype(np.float64)
    except (TypeError, ValueError):
        raise BudgetronError(
            "decision_boundary takes rows of numbers: encode words and dates first (TableEncoder)"
        ) from None
    if rows.ndim != 2 or not len(rows):
        raise BudgetronError(f"X must have rows and columns, not shape {rows.shape}")
    named = getattr(X, "columns", None)
    count = rows.shape[1]
    return rows, [f"feature {i}" for i in range(count)] if named is None else list(map(str, named))


def _columns(features: Sequence[int], count: int) -> tuple[int, int]:
    """Two different columns of so many."""
    chosen = [int(each) for each in features]
    if len(chosen) != 2 or chosen[0] == chosen[1] or not all(0 <= c < count for c in chosen):
        raise BudgetronError(
            f"features={tuple(chosen)} must be two different columns from 0 to {count - 1}"
        )
    return chosen[0], chosen[1]


def _side(values: Floats, points: int) -> Floats:
    """Evenly spaced values of a feature, a little beyond its range."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    margin = MARGIN * (high - low) or 0.5
    return np.linspace(low - margin, high + margin, points)


def _regions(
    axis: Axes, model: Any, plane: Any, sides: list[Floats], classes: NDArray[Any]
) -> None:
    """A class per region, with a line at its border: f = 0, if there are two."""
    shape = (len(sides[1]), len(sides[0]))
    if len(classes) == 2 and hasattr(model, "decision_function"):
        f = np.reshape(model.decision_function(plane), shape)
        levels, line = [-np.inf, 0.0, np.inf], [0.0]
    else:
        f = np.searchsorted(classes, model.predict(plane)).reshape(shape).astype(float)
        levels = list(np.arange(-0.5, len(classes)))
        line = levels[1:-1]
    # Matplotlib draws no infinite level; the ends only need to be beyond all values.
    most = 1.0 + float(np.abs(f).max())
    levels = [float(np.clip(each, -most, most)) for each in levels]
    shades = [colour for colour, _ in marks(list(classes))]
    axis.contourf(*sides, f, levels=levels, colors=shades, alpha=0.18)
    axis.contour(*sides, f, levels=line, colors="0.35", linewidths=1.2)


def _scatter_rows(
    axis: Axes, rows: Floats, y: NDArray[Any], classes: NDArray[Any] | None, norm: Any
) -> None:
    """Rows with their labels."""
    if len(y) != len(rows):
        raise BudgetronError(f"X has {len(rows):,} rows and y {len(y):,}")
    chosen = np.unique(np.linspace(0, len(y) - 1, min(len(y), ROWS)).astype(int))
    rows, y = rows[chosen], y[chosen]
    if classes is None:
        x, up = rows.T
        axis.scatter(x, up, c=y, s=14, norm=norm, edgecolor="white", linewidth=0.3, zorder=3)
        return
    for label, (colour, marker) in zip(classes, marks(list(classes)), strict=True):
        x, up = rows[y == label].T
        axis.scatter(
            x, up, s=8, color=colour, marker=marker, linewidth=0, label=f"{label}", zorder=3
        )
    add_legend(axis)


def _stored(model: OnlineEstimator) -> Floats:
    """The stored examples in the units of the rows, dense, without flags of missing values."""
    from budgetron.estimators.budgetron import BudgetronClassifier, BudgetronRegressor

    ready = isinstance(model, BudgetronClassifier | BudgetronRegressor)  # in units of rows
    rows = model.support_vectors_
    dense: Floats = np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), np.float64)
    dense = dense[:, : model.n_features_in_]
    if not ready:
        centres, sizes, _ = model._native.units(np.arange(dense.shape[1], dtype=np.int32))
        dense = dense * np.where(np.isinf(sizes), 0.0, sizes) + centres
    return dense


def _flat(rows: Floats, features: tuple[int, int] | None) -> tuple[Floats, list[str]]:
    """Two numbers per example, and their names."""
    if features is None and rows.shape[1] > 2:
        centred = rows - rows.mean(axis=0)
        _, _, directions = np.linalg.svd(centred, full_matrices=False)
        if len(directions) < 2:
            directions = np.vstack([directions, np.zeros(rows.shape[1])])
        return centred @ directions[:2].T, ["principal component 1", "principal component 2"]
    if features is None and rows.shape[1] == 1:
        return np.column_stack([rows[:, 0], np.zeros(len(rows))]), ["feature 0", ""]
    chosen = _columns(features or (0, 1), rows.shape[1])
    return rows[:, list(chosen)], [f"feature {each}" for each in chosen]


def _spoken_for(model: Any, coefs: Floats) -> tuple[list[str], NDArray[np.intp]]:
    """What examples vote for, and the vote of each example."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        return ["lowers", "raises"], (coefs[0] > 0).astype(np.intp)
    names = [str(each) for each in classes]
    return names, (coefs[0] > 0).astype(np.intp) if len(coefs) == 1 else coefs.argmax(axis=0)
