"""Curves over the rows of a stream: of all rows so far, and of the last rows with events.

A learning curve falls slowly and hides late changes of the stream; the error of the last rows
shows them. Vertical lines mark events that the model saw: drift and changes of units.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from budgetron.errors import BudgetronError
from budgetron.evaluate.loop import Evaluation
from budgetron.events import Event
from budgetron.lab.report.figures import looks_of, thousands
from budgetron.lab.statistics import ERRORS
from budgetron.plot.axes import axis_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Kind of event -> its name in the picture, its colour, which no learner has, and dashes.
MARKS: dict[str, tuple[str, str, Any]] = {
    "drift": ("drift seen", "0.15", (0, (5, 2))),
    "units": ("units changed", "0.5", (0, (1, 2))),
}


def learning_curve(
    found: Evaluation | Mapping[str, Evaluation],
    *,
    metric: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a metric over all rows so far against the number of rows.

    Parameters
    ----------
    found : Evaluation or mapping of str to Evaluation
        Result of `budgetron.evaluate.prequential`; for several learners, results by name.
    metric : str, optional
        A key of the checkpoints: ``"mistake_rate"``, ``"rmse"``, ``"auc"``, ``"stored"``,
        ``"bytes"``... None: the mistake rate, or the RMSE of a regression.
    ax : matplotlib.axes.Axes, optional
        None: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import budgetron
    >>> from budgetron import plot
    >>> from budgetron.evaluate import prequential
    >>> from budgetron.streams import two_gaussians
    >>> X, y = two_gaussians(500, seed=0)
    >>> found = {name: prequential(budgetron.make(name, budget=20), X, y, every=100)
    ...          for name in ("budgetron", "forgetron")}
    >>> axis = plot.learning_curve(found)
    >>> axis.get_ylabel(), [line.get_label() for line in axis.lines]
    ('mistakes, %', ['budgetron', 'forgetron'])
    """
    return _curves(found, metric, "", ax)


def error_over_time(
    found: Evaluation | Mapping[str, Evaluation],
    events: Iterable[Event | int] = (),
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw the error of the last rows against the number of rows, and mark what changed.

    Parameters
    ----------
    found : Evaluation or mapping of str to Evaluation
        Result of `budgetron.evaluate.prequential`; for several learners, results by name.
    events : iterable of Event or int
        What to mark by a vertical line: events of a watched model (drift and changes of units
        are drawn), or row numbers, such as ``drift_log_``, each drawn as drift.
    ax : matplotlib.axes.Axes, optional
        None: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import numpy as np
    >>> from budgetron import BudgetronClassifier, plot
    >>> from budgetron.evaluate import prequential
    >>> from budgetron.streams import two_gaussians
    >>> X, y = two_gaussians(1500, seed=0)
    >>> y[1500:] = -y[1500:]  # the labels are exchanged in the middle
    >>> events = []
    >>> model = BudgetronClassifier(budget=50).watch(events.append)
    >>> axis = plot.error_over_time(prequential(model, X, y, every=50, window=200), events)
    >>> axis.get_ylabel()
    'mistakes in the last 200 rows, %'
    """
    axis = _curves(found, None, "window_", ax)
    kinds: dict[str, list[int]] = {kind: [] for kind in MARKS}
    for each in events:
        kind, row = (each.kind, each.round) if isinstance(each, Event) else ("drift", int(each))
        if kind in kinds:
            kinds[kind].append(row)
    for kind, rows in kinds.items():
        name, colour, dashes = MARKS[kind]
        for number, row in enumerate(rows):
            label = f"{name} ({len(rows)})" if number == 0 else f"_{name}"
            axis.axvline(row, color=colour, linestyle=dashes, linewidth=1.2, label=label, zorder=1)
    if any(kinds.values()):
        axis.legend()
    return axis


def _curves(
    found: Evaluation | Mapping[str, Evaluation], metric: str | None, before: str, ax: Axes | None
) -> Axes:
    """One line per evaluation, of `before` + metric."""
    named = {"": found} if isinstance(found, Evaluation) else dict(found)
    if not named:
        raise BudgetronError("there is no evaluation to draw")
    first = next(iter(named.values()))
    error, label, factor, _ = ERRORS[first.task]
    name = before + (metric or error)
    for each in named.values():
        if each.task != first.task:
            raise BudgetronError("evaluations of classification and regression share no axis")
        if name not in each.last:
            there = ", ".join(key for key in each.last if key != "rows")
            raise BudgetronError(f"no metric {name!r} in the checkpoints; there are {there}")
    axis = axis_of(ax)
    scale = factor if name.endswith(error) else 1.0
    looks = looks_of(list(named))
    for who, each in named.items():
        look = looks[who].without("marker", "markersize")
        rows, values = each.column("rows"), scale * each.column(name)
        axis.plot(rows, values, label=who or f"_{name}", **look)
    axis.set_xlabel("rows")
    axis.set_ylabel(_label(name, error, label, first.window))
    axis.set_xlim(left=0)
    if scale == factor and np.nanmin(axis.dataLim.intervaly) >= 0:
        axis.set_ylim(bottom=0)
    axis.xaxis.set_major_formatter(thousands())
    axis.grid(alpha=0.25)
    if any(named):
        axis.legend()
    return axis


def _label(name: str, error: str, label: str, window: int | None) -> str:
    """The label of the vertical axis."""
    if name == error:
        return label
    if name == f"window_{error}":
        last = "the last rows" if window is None else f"the last {window:,} rows"
        what, comma, unit = label.partition(", ")
        return f"{what} {'in' if comma else 'of'} {last}{comma}{unit}"
    return name.replace("_", " ")
