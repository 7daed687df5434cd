"""A figure from the runs of a table: a panel a set, a curve an algorithm."""

from __future__ import annotations

import math
import statistics
from pathlib import Path
from typing import Any

from budgetron.lab.reproduce.protocols import PROTOCOLS
from budgetron.lab.reproduce.report import Results, measured
from budgetron.lab.reproduce.runner import Measured
from budgetron.lab.reproduce.tables import Figure, Row, Table

# What a run itself has to show; any other axis is a parameter the lines sweep.
_OF_A_RUN = ("rows", "value", "seconds", "stored")

Line = tuple[Row, Measured]


def draw(table: Table, figure: Figure, results: Results, path: Path) -> bool:
    """Write the figure as PNG; False, and no file, if none of its sets was run."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    panels: dict[str, list[Line]] = {}
    for data_set, row, ours in measured(results):
        chosen = not figure.algorithms or row.algorithm in figure.algorithms
        if ours.ended and chosen and (not figure.sets or data_set.name in figure.sets):
            panels.setdefault(data_set.name, []).append((row, ours))
    if not panels:
        return False
    algorithms = dict.fromkeys(row.algorithm for lines in panels.values() for row, _ in lines)
    colours: Any = plt.get_cmap("tab10" if len(algorithms) <= 10 else "tab20")
    colour_of = {algorithm: colours(number) for number, algorithm in enumerate(algorithms)}
    across = min(2, len(panels))
    down = math.ceil(len(panels) / across)
    size = (5.2 * across, 3.6 * down + 0.8)
    canvas, axes = plt.subplots(down, across, figsize=size, layout="constrained", squeeze=False)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    for axis, (name, lines) in zip(axes.flat, panels.items(), strict=False):
        axis.set_title(name, loc="left")
        axis.set_xlabel(_title(table, figure.x))
        axis.set_ylabel(_title(table, figure.y))
        axis.spines[["top", "right"]].set_visible(False)
        if figure.colour is not None:
            _map(canvas, axis, table, figure, lines)
        else:
            _curves(axis, figure, lines, colour_of)
        if "x" in figure.log:
            axis.set_xscale("log")
        if "y" in figure.log:
            axis.set_yscale("log")
    title = (
        f"{table.title}, figure {figure.number}\n{figure.title}"  # in two lines one panel holds it
    )
    canvas.suptitle(title, x=0.01, ha="left")
    if figure.colour is None and len(figure.algorithms) != 1:
        handles = {
            text: handle
            for axis in axes.flat
            for handle, text in zip(*axis.get_legend_handles_labels(), strict=True)
        }
        canvas.legend(handles.values(), handles, loc="outside lower center", ncols=4, frameon=False)
    canvas.savefig(path, dpi=130)
    plt.close(canvas)
    return True


def _curves(axis: Any, figure: Figure, lines: list[Line], colour_of: dict[str, Any]) -> None:
    for algorithm, colour in colour_of.items():
        mine = [line for line in lines if line[0].algorithm == algorithm]
        if not mine:
            continue
        points = _along(figure, mine[0][1]) if figure.x == "rows" else _ends(figure, mine)
        xs, ys, lows, highs = (list(column) for column in zip(*points, strict=True))
        marker = "o" if len(xs) < 15 else None
        axis.plot(xs, ys, marker=marker, markersize=4, lw=1.3, color=colour, label=algorithm)
        if figure.spread == "range" and lows != highs:
            axis.fill_between(xs, lows, highs, color=colour, alpha=0.25, lw=0)


def _along(figure: Figure, ours: Measured) -> list[tuple[float, float, float, float]]:
    """The mean over the permutations at each checkpoint, with the least and the largest."""
    column = {"value": 1, "seconds": 2}[figure.y]
    points = []
    for moments in zip(*(outcome.curve for outcome in ours.outcomes), strict=True):
        seen = [moment[column] for moment in moments]
        points.append((moments[0][0], statistics.fmean(seen), min(seen), max(seen)))
    return points


def _ends(figure: Figure, lines: list[Line]) -> list[tuple[float, float, float, float]]:
    """A point a line: where each value of the swept parameter ended."""
    points = []
    for row, ours in lines:
        seen = [float(getattr(o, figure.y)) for o in ours.outcomes]
        points.append((_place(figure.x, row, ours), statistics.fmean(seen), min(seen), max(seen)))
    return sorted(points)


def _map(canvas: Any, axis: Any, table: Table, figure: Figure, lines: list[Line]) -> None:
    """Colour over two swept parameters."""
    places = {
        (_place(figure.x, *line), _place(figure.y, *line)): _place(str(figure.colour), *line)
        for line in lines
    }
    xs, ys = sorted({x for x, _ in places}), sorted({y for _, y in places})
    values = [[places[x, y] for x in xs] for y in ys]
    mesh = axis.pcolormesh(xs, ys, values, shading="nearest", cmap="viridis")
    canvas.colorbar(mesh, ax=axis, label=_title(table, str(figure.colour)))


def _place(name: str, row: Row, ours: Measured) -> float:
    if name == "value":
        return ours.mean
    if name in _OF_A_RUN:
        return float(getattr(ours, name))
    if name == "budget" and name not in row.params:
        return ours.stored
    return float(row.params[name])


def _title(table: Table, name: str) -> str:
    names = {
        "value": PROTOCOLS[table.protocol].value,
        "budget": "budget B",
        "stored": "examples stored",
    }
    return names.get(name, name)
