"""The axis of a picture, and its colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from budgetron.errors import BudgetronError
from budgetron.lab.report.figures import looks_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 6  # largest number of legend entries inside the axis


def axis_of(ax: Axes | None) -> Axes:
    """The given axis, or that of a new figure; BudgetronError without Matplotlib."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        text = "budgetron.plot needs Matplotlib: pip install 'budgetron[lab]'"
        raise BudgetronError(text) from None
    _, found = pyplot.subplots(layout="constrained")
    return found


def marks(names: Sequence[Any]) -> list[tuple[str, str]]:
    """A unique colour and marker per name, up to 28, the same in every picture."""
    places = [str(place) for place in range(len(names))]
    found = looks_of(places)
    shapes = "osD^"
    several = len({look["color"] for look in found.values()})
    return [
        (found[place]["color"], shapes[number // several % len(shapes)])
        for number, place in enumerate(places)
    ]


def add_legend(axis: Axes) -> None:
    """Put the legend inside the axis where it covers least; a long one beside it."""
    count = len(axis.get_legend_handles_labels()[0])
    if count > MOST:
        axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    elif count:
        axis.legend()
