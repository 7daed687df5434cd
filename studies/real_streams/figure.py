"""The figure: error against time per row, one point per learner.

One large panel for the geometric mean over the classification streams, one small panel per stream.
Left and below is better. Budgetron is the large blue point; important points have names. A learner
that has not run on all streams is hollow; one that has run on less than half is left out. The large
panel can also be drawn from the table of the page (`draw_from_page`), without the cells.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

from budgetron.lab.report.figures import GREY, INK, label_log, save, style
from studies.build import OURS
from studies.real_streams.results import Table, kind_of

WIDTH = 5.2  # inches: 390 pixels show text of 10 points as 10 pixels
COLOURS = {"budgetron": "#2a85c4", "ours": GREY, "River": "#d95f02", "Vowpal Wabbit": "#109e77"}
COLOURS["no feature"] = INK
MARKERS = {"budgetron": "o", "ours": "o", "River": "s", "Vowpal Wabbit": "D", "no feature": "X"}
SIZES = {"budgetron": 150, "ours": 16, "River": 44, "Vowpal Wabbit": 36, "no feature": 36}
NAMED = 1  # the best of our others gets a name
TITLES = {
    "ARF(10)": "River forest (ARF)",
    "HoeffdingAdaptiveTree": "River Hoeffding tree",
    "KNN": "River KNN",
    "LogisticRegression": "River logistic regression",
    "VW linear": "Vowpal Wabbit",
}
ACROSS = 3

Point = tuple[str, float, float]  # learner, microseconds, error


def draw(table: Table, path: Path) -> None:
    """Write PATH.png and PATH.svg, and PATH-streams for the panels of the streams."""
    streams = table.streams("classification")
    counts = {name: table.mean(name, streams)[1] for name in table.learners}
    points = [
        (name, table.microseconds(name, streams), table.mean(name, streams)[0])
        for name in table.learners
        if 2 * counts[name] >= len(streams) and math.isfinite(table.mean(name, streams)[0])
    ]
    partly = {name: n for name, n in counts.items() if n < len(streams)}
    _large(points, len(streams), path, partly)
    _small(table, Path(f"{path}-streams"))


def draw_from_page(text: str, path: Path) -> None:
    """Write PATH.png and PATH.svg of the large panel, from the page's table of all learners."""
    lines = text.partition("## All learners")[2].partition("\n## ")[0].splitlines()
    table = [[cell.strip(" *") for cell in line.split("|")[1:-1]] for line in lines if "|" in line]
    heads, rows = table[0], table[2:]
    streams = int(heads[2].removeprefix("all "))
    points: list[Point] = []
    partly: dict[str, int] = {}
    for name, _, error, _, _, micro, _ in rows:
        mean, _, count = error.partition(" (")
        if count:
            partly[name] = int(count.partition(" of ")[0])
        if 2 * partly.get(name, streams) >= streams:
            points.append((name, float(micro.replace(",", "")), float(mean)))
    _large(points, streams, path, partly)


def _large(points: Sequence[Point], streams: int, path: Path, partly: Mapping[str, int]) -> None:
    from matplotlib.figure import Figure

    with style():
        figure = Figure(figsize=(WIDTH, 4.4), layout="constrained")
        axis = figure.subplots()
        axis.set_title(f"{streams} streams in their own order, geometric mean", loc="left")
    _plot(axis, points, hollow=partly)
    axis.set_xlabel("time per row, µs of processor time")
    axis.set_ylabel("error, relative to budgetron's")
    low = min(y for _, _, y in points)
    axis.set_ylim(0.82 * low, 1.12 * max(y for _, _, y in points))
    axis.set_xlim(0.6 * min(x for _, x, _ in points), 4.5 * max(x for _, x, _ in points))
    axis.axhline(1.0, color=COLOURS["budgetron"], linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    label_log(axis.xaxis)
    axis.set_yticks(ticks := [each for each in (1, 1.5, 2, 3, 4, 6, 8) if each >= low])
    axis.set_yticklabels([f"{each:g}" for each in ticks])
    axis.minorticks_off()
    ours = sorted((y, name) for name, _, y in points if kind_of(name) == "ours")
    named = {name for _, name in ours[:NAMED]} | {
        name for name, _, _ in points if kind_of(name) != "ours"
    }
    titles = {name: TITLES.get(name, name) for name in named}
    titles |= {
        name: f"{titles[name]}, {n} of {streams}"
        for name, n in partly.items()
        if n and name in named
    }
    with style():
        _label(figure, axis, [each for each in points if each[0] in named], titles)
        left = min(x for name, x, _ in points if kind_of(name) == "ours")
        middle = sorted(y for y, _ in ours)[len(ours) // 2]
        others = f"our {len(ours)} others,\nmost with the\nsame budget"
        place = (-12, 0)
        axis.annotate(
            others,
            (left, middle),
            place,
            textcoords="offset points",
            ha="right",
            va="center",
            fontsize=9,
        )
    save(figure, path)


def _small(table: Table, path: Path) -> None:
    from matplotlib.figure import Figure

    streams = table.streams()
    down = math.ceil(len(streams) / ACROSS)
    with style():
        figure = Figure(figsize=(WIDTH, 1.5 * down), layout="constrained")
        axes = list(figure.subplots(down, ACROSS, squeeze=False).flat)
    for axis in axes[len(streams) :]:
        axis.set_visible(False)
    every = [run.microseconds for s in streams for run in table.runs[s].values()]
    wide = (0.6 * min(each for each in every if each > 0), 1.7 * max(every))
    for axis, stream in zip(axes, streams, strict=False):
        runs = table.runs[stream]
        points = [
            (name, run.microseconds, run.errors[run.rows])
            for name, run in runs.items()
            if math.isfinite(run.errors[run.rows]) and run.microseconds > 0
        ]
        least = max(min(y for _, _, y in points), 1e-3)
        most = max(least * 12, runs[OURS].errors[runs[OURS].rows] * 1.5)
        if runs[OURS].task == "classification":
            most = min(most, 100.0)
        _plot(axis, [each for each in points if each[2] <= most], 0.45)
        axis.set_xlim(*wide)
        axis.set_ylim(0.8 * least, 1.3 * most)
        label_log(axis.yaxis)
        axis.set_xticks([1, 100, 10_000], ["1", "100", "10k"])
        axis.minorticks_off()
        with style():
            axis.set_title(stream.replace("incremental", "incr."), loc="left", fontsize=8)
        axis.tick_params(labelsize=7)
        if axes.index(axis) < len(streams) - ACROSS:
            axis.tick_params(labelbottom=False)
    with style():
        figure.supxlabel("time per row, µs", fontsize=8)
        figure.supylabel("mistakes, % (airlines: RMSE in minutes)", fontsize=8)
    save(figure, path)


def _plot(
    axis: Any, points: Sequence[Point], size: float = 1.0, hollow: Container[str] = ()
) -> None:
    axis.set_xscale("log")
    axis.set_yscale("log")
    for name, x, y in points:
        kind = kind_of(name)
        axis.scatter(
            [x],
            [y],
            s=size * SIZES[kind],
            facecolor="none" if name in hollow else COLOURS[kind],
            edgecolor=COLOURS[kind],
            marker=MARKERS[kind],
            linewidths=1.5 if name in hollow else 0,
            zorder=5 if kind == "budgetron" else 3,
        )


def _label(figure: Any, axis: Any, points: Sequence[Point], titles: Mapping[str, str]) -> None:
    """Put each name beside its point, inside the axes, where it covers no other name or named
    point.

    Budgetron's comes first and is the largest; a name without a free place is left out.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.transforms import Bbox

    canvas: Any = FigureCanvasAgg(figure)
    figure.set_dpi(150)
    canvas.draw()  # computes the layout, so that positions are known
    renderer = canvas.get_renderer()
    inside = axis.get_window_extent(renderer)
    taken = []
    for _, x, y in points:
        cx, cy = axis.transData.transform((x, y))
        taken.append(Bbox.from_bounds(cx - 6, cy - 6, 12, 12))
    for name, x, y in sorted(points, key=lambda each: (each[0] != OURS, each[2])):
        kind = kind_of(name)
        for dx, dy, across, up in _OURS if name == OURS else _PLACES:
            text = axis.annotate(
                titles.get(name, name),
                (x, y),
                xytext=(dx, dy),
                textcoords="offset points",
                ha=across,
                va=up,
                fontsize=12 if name == OURS else 9,
                fontweight="bold" if name == OURS else "normal",
                color=INK if kind == "ours" else COLOURS[kind],
            )
            box = text.get_window_extent(renderer)
            fits = inside.x0 <= box.x0 and box.x1 <= inside.x1
            if fits and not any(box.overlaps(each) for each in taken):
                taken.append(box)
                break
            text.remove()


_OURS = ((9, 5, "left", "bottom"), (9, -5, "left", "top"))
_PLACES = (
    (8, 0, "left", "center"),
    (-8, 0, "right", "center"),
    (0, 8, "center", "bottom"),
    (0, -8, "center", "top"),
    (7, 7, "left", "bottom"),
    (7, -7, "left", "top"),
    (-7, 7, "right", "bottom"),
    (-7, -7, "right", "top"),
    (14, 14, "left", "bottom"),
    (14, -14, "left", "top"),
    (-14, -14, "right", "top"),
    (-14, 14, "right", "bottom"),
)
