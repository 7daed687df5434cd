"""Error against budget: what memory buys, one line per learner."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from budgetron.errors import BudgetronError
from budgetron.evaluate.loop import Evaluation
from budgetron.lab.compare import Comparison
from budgetron.lab.report.figures import scatter, styles
from budgetron.lab.statistics import ERRORS, Line
from budgetron.plot.axes import add_legend, axis_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TICKS = 8  # most budgets written below the axis
AGAINST = {
    "budget": "budget",
    "stored": "stored examples",
    "bytes": "memory of the model",
    "time": "time per row",
}


def budget_against_error(
    found: Comparison | Mapping[str, Mapping[int | str, Evaluation]],
    stream: str | None = None,
    *,
    against: str = "budget",
    ax: Axes | None = None,
) -> Axes:
    """Draw the error after the last row against the budget, one line per learner.

    Parameters
    ----------
    found : Comparison or mapping
        Result of `budgetron.compare.compare`, whose repeats give error bars and whose baselines
        give horizontal lines; or learner -> budget -> result of `budgetron.evaluate.prequential`.
        A budget is a number of examples or a text such as ``"64KB"``.
    stream : str, optional
        The stream to draw, if the comparison has several.
    against : {"budget", "stored", "bytes", "time"}
        The horizontal axis: the budget, the examples stored, the bytes of the model, or the
        processor time per row.
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
    >>> found = {name: {budget: prequential(budgetron.make(name, budget=budget), X, y)
    ...                 for budget in (10, 20, 40)}
    ...          for name in ("budgetron", "forgetron")}
    >>> axis = plot.budget_against_error(found)
    >>> axis.get_xlabel(), [text.get_text() for text in axis.get_legend().get_texts()]
    ('budget, examples', ['budgetron', 'forgetron'])
    """
    if against not in AGAINST:
        raise BudgetronError(f"against={against!r} is not one of {', '.join(map(repr, AGAINST))}")
    lines = _lines_of(found, stream) if isinstance(found, Comparison) else _lines(found)
    label = AGAINST[against]
    if against == "budget":
        sized = {isinstance(line.budget, str) for line in lines if line.budget is not None}
        if len(sized) != 1:
            what = "some budgets are examples and others bytes" if sized else "no line has a budget"
            raise BudgetronError(f"{what}: draw against 'bytes' or 'stored'")
        label += ", bytes" if sized == {True} else ", examples"
    axis = axis_of(ax)
    scatter(axis, lines, against, label, styles(lines))
    if against == "budget":
        _label_budgets(axis)
    axis.grid(alpha=0.25)
    axis.set_ylim(bottom=0)
    add_legend(axis)
    return axis


def _label_budgets(axis: Axes) -> None:
    """One tick per budget, if they are few."""
    containers: list[Any] = axis.containers
    drawn = {float(x) for each in containers for x in each.lines[0].get_xdata()}
    if len(drawn) <= TICKS:
        text = axis.xaxis.get_major_formatter()
        axis.set_xticks(ticks := sorted(drawn), [text(each) for each in ticks])
        axis.minorticks_off()


def _lines_of(found: Comparison, stream: str | None) -> Sequence[Line]:
    """The lines of one stream."""
    streams = list(found.summary)
    if stream is None and len(streams) == 1:
        stream = streams[0]
    if stream not in found.summary:
        named = "there are several streams" if stream is None else f"there is no stream {stream!r}"
        raise BudgetronError(f"{named}: give stream=, one of {', '.join(map(repr, streams))}")
    return found.summary[stream]


def _lines(found: Mapping[str, Mapping[int | str, Evaluation]]) -> Sequence[Line]:
    """Evaluations as lines of a comparison, with one repeat each."""
    lines = []
    for name, runs in found.items():
        for budget, each in runs.items():
            metric, _, factor, _ = ERRORS[each.task]
            errors = (factor * each.last[metric],)
            lines.append(Line(name, budget, each.task, errors, each.last, False, math.nan, ()))
    if not lines:
        raise BudgetronError("there is no evaluation to draw")
    return lines
