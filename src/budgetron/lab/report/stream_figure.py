"""The figure of one run: its errors over the rows, beside those of the simplest guess."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from budgetron.lab.report.figures import INK, add_legend, looks_of, save_as, sheet, thousands

if TYPE_CHECKING:
    from budgetron.evaluate.curve import Point

WINDOWS = 50  # windows that a stream is about as long as
LEAST = 100  # rows of a window


def draw_stream(path: Path, task: str, points: Sequence[Point], title: str) -> None:
    """Draw a run into a file, .png, .svg or .pdf.

    Three lines: the error of the last rows, of all rows so far, and of the simplest guess over the
    latter: the commonest class so far, or the mean of the targets before.

    Parameters
    ----------
    path : of the file
    task : "classification" or "regression"
    points : along the stream
    title : above the figure
    """
    regression = task == "regression"
    guess = "the mean so far" if regression else "the commonest class"

    def error(loss: float, scored: float) -> float:
        share = max(loss, 0.0) / scored if scored > 0 else math.nan
        return share**0.5 if regression else 100 * share

    figure, (axis,) = sheet([title])
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
    axis.set_ylabel("RMSE" if regression else "mistakes, %")
    axis.locator_params(axis="x", nbins=5)
    axis.xaxis.set_major_formatter(thousands())
    add_legend(figure)
    save_as(figure, path)
