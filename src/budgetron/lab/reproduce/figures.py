"""A figure from the runs of a table: one panel per set, one curve per algorithm."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from budgetron.lab.report.figures import Look, add_legend, label_log, looks_of, save, sheet, style
from budgetron.lab.reproduce.protocols import PROTOCOLS
from budgetron.lab.reproduce.report import Results, measured
from budgetron.lab.reproduce.runner import Measured
from budgetron.lab.reproduce.tables import Figure, Row, Table

# What a run itself can show; any other axis is a parameter that the lines sweep.
_OF_A_RUN = ("rows", "value", "seconds", "stored")

Line = tuple[Row, Measured]


def draw(table: Table, figure: Figure, results: Results, path: Path) -> bool:
    """Write the figure as PNG and SVG; False, and no file, if none of its sets was run."""
    panels: dict[str, list[Line]] = {}
    for data_set, row, ours in measured(results):
        chosen = not figure.algorithms or row.algorithm in figure.algorithms
        if row.reference or not ours.ended or not chosen:
            continue
        if not figure.sets or data_set.name in figure.sets:
            panels.setdefault(data_set.name, []).append((row, ours))
    if not panels:
        return False
    algorithms = list(dict.fromkeys(row.algorithm for each in panels.values() for row, _ in each))
    looks = looks_of(algorithms)
    several = figure.colour is None and len(figure.algorithms) != 1
    canvas, axes = sheet(list(panels))
    for axis, lines in zip(axes, panels.values(), strict=True):
        axis.set_xlabel(_title(table, figure.x))
        axis.set_ylabel(_title(table, figure.y))
        if figure.colour is not None:
            _map(canvas, axis, table, figure, lines)
        else:
            _curves(axis, figure, lines, looks)
        for name, scaled in (("x", axis.xaxis), ("y", axis.yaxis)):
            if name in figure.log:
                getattr(axis, f"set_{name}scale")("log")
                label_log(scaled)
    with style():
        title = f"{table.title}, figure {figure.number}\n{figure.title}"  # one panel holds it
        canvas.suptitle(title, x=0.01, ha="left")
    if several:
        add_legend(canvas)
    save(canvas, path)
    return True


def _curves(axis: Any, figure: Figure, lines: list[Line], looks: dict[str, Look]) -> None:
    for algorithm, look in looks.items():
        mine = [line for line in lines if line[0].algorithm == algorithm]
        if not mine:
            continue
        points = _along(figure, mine[0][1]) if figure.x == "rows" else _ends(figure, mine)
        xs, ys, lows, highs = (list(column) for column in zip(*points, strict=True))
        shown = look if len(xs) < 15 else look.without("marker", "markersize")
        axis.plot(xs, ys, label=algorithm, **shown)
        if figure.spread == "range" and lows != highs:
            axis.fill_between(xs, lows, highs, color=look["color"], alpha=0.25, lw=0)


def _along(figure: Figure, ours: Measured) -> list[tuple[float, float, float, float]]:
    """The mean over the permutations at each checkpoint, with the least and the largest."""
    column = {"value": 1, "seconds": 2}[figure.y]
    points = []
    for moments in zip(*(outcome.curve for outcome in ours.outcomes), strict=True):
        seen = [moment[column] for moment in moments]
        points.append((moments[0][0], statistics.fmean(seen), min(seen), max(seen)))
    return points


def _ends(figure: Figure, lines: list[Line]) -> list[tuple[float, float, float, float]]:
    """One point per line: the result for each value of the swept parameter."""
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
        return ours.of(name)
    if name == "budget" and name not in row.params:
        return ours.of("stored")
    return float(row.params[name])


def _title(table: Table, name: str) -> str:
    names = {
        "value": PROTOCOLS[table.protocol].value,
        "budget": "budget B",
        "stored": "examples stored",
    }
    return names.get(name, name)
