"""Figures of a comparison, as PNG and SVG: error against rows, stored examples, bytes and time.

An algorithm has the same colour, dash and marker in every figure. Colours are Okabe and Ito's,
which colour-blind people can tell apart; beyond seven algorithms dashes and markers do.
"""

from __future__ import annotations

import itertools
import math
import re
import statistics
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from budgetron._text import shown
from budgetron.lab.compare.summary import ERRORS, Line, columns
from budgetron.lab.workers import Workers

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))
_MARKERS = "osD^vPX*"
_LONGEST = 50  # letters of a stream's name in that of its files
_STYLE: Any = {
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "svg.hashsalt": "budgetron",  # the same ids every time
    "text.parse_math": False,  # a $ in a name is a $
}


@dataclass(frozen=True)
class Drawn:
    """A figure's files, without ending, and what it shows."""

    path: Path
    caption: str


@dataclass(frozen=True)
class _Job:
    """What a worker is told: what to make with what, and where it goes."""

    stream: str
    drawn: Drawn
    make: Callable[..., Any]
    given: tuple[Any, ...]


def draw(
    folder: Path, summary: Mapping[str, Sequence[Line]], pool: Workers
) -> Iterator[tuple[str, list[Drawn]]]:
    """Every stream with its figures, which workers begin to draw at once."""
    folder.mkdir(parents=True, exist_ok=True)
    stems = file_names(summary)
    jobs = [
        job
        for stream, lines in summary.items()
        for job in _jobs(folder / stems[stream], stream, lines)
    ]
    return _drawn(summary, jobs, pool.unordered(_draw, jobs))


def _drawn(
    streams: Iterable[str], jobs: list[_Job], outcomes: Iterator[tuple[_Job, bool | Exception]]
) -> Iterator[tuple[str, list[Drawn]]]:
    there = set()
    for job, outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome
        if outcome:
            there.add(job.drawn)
    for stream in streams:
        yield stream, [job.drawn for job in jobs if job.stream == stream and job.drawn in there]


def file_names(names: Iterable[str]) -> dict[str, str]:
    """A file name for each of these names, readable, and no two alike.

    Not even where the file system takes upper and lower case, or the two ways to write an accent,
    for the same.

    Examples
    --------
    >>> file_names(["a9a", "my rows", "my/rows", "My rows"])
    {'a9a': 'a9a', 'my rows': 'my-rows', 'my/rows': 'my-rows-2', 'My rows': 'My-rows-3'}
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        composed = unicodedata.normalize("NFC", name)
        stem = re.sub(r"[^\w.+-]+", "-", composed).lstrip(".")[:_LONGEST] or "-"
        numbers = itertools.count(2)
        free = stem
        while _folded(free) in taken:
            free = f"{stem}-{next(numbers)}"
        taken.add(_folded(free))
        found[name] = free
    return found


def _folded(name: str) -> str:
    """What a file system may take a name for."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def _jobs(stem: Path, stream: str, lines: Sequence[Line]) -> Iterator[_Job]:
    """The figures of a stream."""
    plain = [replace(line, records=()) for line in lines]
    budgets = columns(lines)
    bounded = [budget for budget in budgets if budget != "no budget"] or budgets
    suffixes = file_names(bounded)
    for budget in bounded:
        chosen = [_thin(line) for line in lines if line.budget_shown in (budget, "no budget")]
        suffix = f"-{suffixes[budget]}" if len(bounded) > 1 else ""
        where = "" if budget == "no budget" else f", budget {budget}"
        drawn = Drawn(_beside(stem, f"rows{suffix}"), f"Error so far, row by row{where}")
        yield _Job(stream, drawn, _curves, (chosen, plain, f"{stream}{where}"))
    for name, (axis, caption) in _AMOUNTS.items():
        drawn = Drawn(_beside(stem, name), caption)
        yield _Job(stream, drawn, _amounts, (plain, name, axis, stream))


def _beside(stem: Path, kind: str) -> Path:
    return stem.with_name(f"{stem.name}-{kind}")


def _thin(line: Line) -> Line:
    """With what its curve needs of the records: they go from process to process."""
    names = ("rows", ERRORS[line.task][0])
    points = [
        [{name: point[name] for name in names} for point in record["checkpoints"]]
        for record in line.records
    ]
    return replace(line, records=tuple({"checkpoints": each} for each in points))


def _draw(job: _Job) -> bool:
    """In a worker: whether there was anything to draw."""
    figure = job.make(*job.given)
    if figure is not None:
        _save(figure, job.drawn.path)
    return figure is not None


# Amount -> axis and caption.
_AMOUNTS = {
    "stored": ("stored examples", "Error against stored examples, after the last row"),
    "bytes": ("memory of the model", "Error against memory, after the last row"),
    "time": ("time a row", "Error against time"),
}


def _curves(chosen: Sequence[Line], lines: Sequence[Line], title: str) -> Any:
    """Mean error over the rows so far, with a band of one standard deviation."""
    name, label, factor, _ = ERRORS[lines[0].task]
    figure, axis = _figure(title, len(chosen))
    styles = _styles(lines)
    top = 0.0
    for line in chosen:
        curves = [[factor * point[name] for point in r["checkpoints"]] for r in line.records]
        at = [point["rows"] for point in line.records[0]["checkpoints"]]
        middle = [statistics.fmean(values) for values in zip(*curves, strict=True)]
        style = {key: styles[line.algorithm][key] for key in ("color", "linestyle")}
        shown = line.algorithm + (" (no budget)" if line.budget is None else "")
        axis.plot(at, middle, label=shown, linewidth=1.6, **style)
        top = max(top, *middle[len(middle) // 10 :])
        if len(curves) > 1:
            spread = [statistics.stdev(values) for values in zip(*curves, strict=True)]
            low = [m - s for m, s in zip(middle, spread, strict=True)]
            high = [m + s for m, s in zip(middle, spread, strict=True)]
            axis.fill_between(at, low, high, color=style["color"], alpha=0.1, linewidth=0)
    axis.set_xlabel("rows")
    axis.set_ylabel(label)
    axis.set_ylim(0, 1.08 * top if top > 0 else None)  # the first rows, all mistakes, may leave
    axis.set_xlim(0, None)
    axis.xaxis.set_major_formatter(_thousands())
    _legend(figure, axis)
    return figure


def _amounts(lines: Sequence[Line], name: str, axis_label: str, title: str) -> Any:
    """Error after the last row against an amount; an algorithm's budgets are joined by a line."""
    label = ERRORS[lines[0].task][1]
    styles = _styles(lines)
    points: dict[str, list[tuple[float, Line]]] = {}
    for line in lines:
        amount = line.microseconds / 1e6 if name == "time" else line.means[name]
        if math.isfinite(amount) and amount > 0:
            points.setdefault(line.algorithm, []).append((amount, line))
    if not points:
        return None
    figure, axis = _figure(title, len(points))
    for algorithm, found in points.items():
        found.sort(key=lambda point: point[0])
        axis.errorbar(
            [amount for amount, _ in found],
            [line.mean for _, line in found],
            [line.deviation for _, line in found],
            label=algorithm + (" (no budget)" if found[0][1].budget is None else ""),
            linewidth=1.2,
            elinewidth=1,
            markersize=5,
            **styles[algorithm],
        )
    axis.set_xscale("log")
    axis.set_xlabel(axis_label)
    axis.set_ylabel(label)
    _label_log(axis, {"bytes": "B", "time": "s"}.get(name, ""))
    _legend(figure, axis)
    return figure


def _figure(title: str, entries: int) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    with _style():
        figure = Figure(figsize=(5.2, 3.4 + 0.19 * math.ceil(entries / 2)), layout="constrained")
        axis = figure.subplots()
        axis.set_title(title, loc="left")
    return figure, axis


def _legend(figure: Any, axis: Any) -> None:
    """Below the axes, where it covers nothing."""
    handles, labels = axis.get_legend_handles_labels()
    longest = max(map(len, labels))
    columns = 3 if longest <= 14 else 2 if longest <= 28 else 1
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)


def _styles(lines: Sequence[Line]) -> dict[str, dict[str, Any]]:
    names = list(dict.fromkeys(line.algorithm for line in lines))
    return {
        name: {
            "color": _COLOURS[i % len(_COLOURS)],
            "linestyle": _DASHES[i // len(_COLOURS) % len(_DASHES)],
            "marker": _MARKERS[i % len(_MARKERS)],
        }
        for i, name in enumerate(names)
    }


def _label_log(axis: Any, unit: str) -> None:
    """Numbers like 200 and 5 kB, not powers of ten; at least three, however short the axis is."""
    from matplotlib.ticker import EngFormatter, Locator, LogLocator, MaxNLocator, NullFormatter

    low, high = axis.get_xlim()
    decades = math.log10(high / low)
    subs = (1.0, 2.0, 5.0) if decades < 2 else (1.0, 3.0) if decades < 3 else (1.0,)
    locator: Locator = LogLocator(subs=subs, numticks=8)
    if decades < 1:  # even steps are nearly even on the axis
        for steps in (4, 6, 8):
            locator = MaxNLocator(steps, steps=[1, 2, 5, 10])
            if sum(low <= tick <= high for tick in locator.tick_values(low, high)) >= 3:
                break
    axis.xaxis.set_major_locator(locator)
    axis.xaxis.set_major_formatter(EngFormatter(unit) if unit else _thousands())
    axis.xaxis.set_minor_formatter(NullFormatter())


def _thousands() -> Any:
    from matplotlib.ticker import FuncFormatter

    return FuncFormatter(lambda value, _: f"{value:,.0f}")


@contextmanager
def _style() -> Iterator[None]:
    """Matplotlib's own settings and ours, whatever this process has."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def _save(figure: Any, path: Path) -> None:
    """As PNG, which lays it out, and as SVG; by the canvases, for `savefig` draws each twice."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.text import Text

    with _style():
        for text in figure.findobj(Text):  # those of the legend were made without our settings
            text.set_parse_math(False)
            text.set_text(shown(text.get_text(), keep="\n"))
        figure.set_dpi(150)
        png: Any = FigureCanvasAgg(figure)
        png.print_png(f"{path}.png")
        figure.set_layout_engine("none")
        svg: Any = FigureCanvasSVG(figure)
        svg.print_svg(f"{path}.svg", metadata={"Date": None})
