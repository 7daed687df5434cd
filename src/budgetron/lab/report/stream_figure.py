"""The figure of one run: its errors over the rows, beside those of the simplest baseline."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from budgetron.lab.report.figures import INK, add_legend, looks_of, save_as, sheet, thousands

if TYPE_CHECKING:
    from budgetron.evaluate.curve import Point

WINDOWS = 50  # about so many windows per stream
LEAST = 100  # least rows of a window


def draw_stream(
    path: Path,
    task: str,
    points: Sequence[Point],
    title: str,
    covered: tuple[float, Sequence[Any]] | None = None,
) -> None:
    """Draw a run into a file, .png, .svg or .pdf.

    Three lines: the error of the last rows, of all rows so far, and of the simplest guess over the
    latter: the commonest class so far, or the mean of the targets before. Of a detector the share
    of alarms, beside that asked for.

    Parameters
    ----------
    path : of the file
    task : "classification", "regression" or "novelty"
    points : along the stream
    title : above the figure
    covered : the coverage asked for and points with `rows`, `scored`, `inside` and `width`: two
        more panels, with the share of labels inside intervals or sets, and their widths or sizes
    """
    regression = task == "regression"
    guesses = {"regression": "the mean so far", "novelty": "asked for"}
    guess = guesses.get(task, "the commonest class")
    what = {"regression": "RMSE", "novelty": "alarms, %"}.get(task, "mistakes, %")

    def error(loss: float, scored: float) -> float:
        share = max(loss, 0.0) / scored if scored > 0 else math.nan
        return share**0.5 if regression else 100 * share

    panels = [title] if covered is None else [title, "labels inside", "how wide"]
    figure, (axis, *others) = sheet(panels)
    step = points[0].rows
    width = step * math.ceil(max(points[-1].rows / WINDOWS, LEAST) / step)
    starts = (point for point in points)
    start, following = next(starts), next(starts, None)
    at, windows = [], []
    for point in points:
        while following is not None and point.rows - following.rows >= width:
            start, following = following, next(starts, None)
        if point.rows - start.rows >= width:
            at.append(point.rows)
            windows.append(error(point.loss - start.loss, point.scored - start.scored))
    rows = [point.rows for point in points]
    so_far = [error(point.loss, point.scored) for point in points]
    guessed = [error(point.guess, point.scored) for point in points]
    colour = looks_of(["model"])["model"]["color"]
    if at:
        size = f"{int(width):,}"
        axis.plot(at, windows, color=colour, alpha=0.45, lw=1, label=f"last {size} rows")
    axis.plot(rows, so_far, color=colour, linewidth=1.8, label="all rows so far")
    axis.plot(rows, guessed, color=INK, linewidth=1.2, linestyle="--", label=guess)
    late = slice(len(rows) // 20, None)
    seen = [each for each in (*so_far[late], *guessed[late], *windows) if math.isfinite(each)]
    top = max(seen, default=0.0)
    axis.set_ylim(0, 1.08 * top if top > 0 else None)
    axis.set_xlim(0, 1.01 * rows[-1])
    axis.set_xlabel("rows")
    axis.set_ylabel(what)
    axis.locator_params(axis="x", nbins=5)
    axis.xaxis.set_major_formatter(thousands())
    if covered is not None:
        _draw_coverage(others, *covered, colour, regression=regression)
    add_legend(figure)
    save_as(figure, path)


def _draw_coverage(
    axes: Sequence[Any],
    asked: float,
    points: Sequence[Any],
    colour: str,
    *,
    regression: bool,
) -> None:
    """The share of labels inside, and the mean width or size, of the rows between two points."""
    inside, wide = axes
    step = max(1, len(points) // WINDOWS)
    ends = points[step - 1 :: step]
    pairs = [
        (after, after.scored - before.scored, after.inside - before.inside, after, before)
        for before, after in pairwise(ends)
        if after.scored > before.scored
    ]
    at = [after.rows for after, *_ in pairs]
    held = [100 * part / rows for _, rows, part, _, _ in pairs]
    widths = [(after.width - before.width) / rows for _, rows, _, after, before in pairs]
    inside.plot(at, held, color=colour, linewidth=1.2)
    inside.axhline(100 * asked, color=INK, linewidth=1.2, linestyle="--")
    inside.set_ylabel("inside, %")
    low = min([*held, 100 * asked])
    inside.set_ylim(max(0.0, low - 5), 100.5)
    wide.plot(at, widths, color=colour, linewidth=1.2)
    wide.set_ylabel("mean width" if regression else "mean set size")
    wide.set_ylim(0, None)
    for axis in (inside, wide):
        axis.set_xlabel("rows")
        axis.locator_params(axis="x", nbins=5)
        axis.xaxis.set_major_formatter(thousands())
