"""All figures of the laboratory, in one style, as PNG and SVG.

A learner has the same colour, dash and marker in every figure of a comparison. Colours are those of
Okabe and Ito, which colour-blind people can tell apart, without black; beyond seven learners dashes
and markers differ too, and of many learners only the best seven have a colour. The background is
transparent and the ink has a middle tone, so that a figure is readable on light and dark pages.
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
from budgetron.estimators._base.sizes import parse_bytes
from budgetron.lab.statistics import ERRORS, Line, columns
from budgetron.lab.workers import Workers

INK = "#7d838c"
GREY = "#a3a8b0"  # for lines that only show where the others are
_COLOURS = ("#2a85c4", "#d95f02", "#109e77", "#c76ba0", "#d99000", "#46aee0", "#8c6bb1")
_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))
_MARKERS = "osD^vPX*"
_MOST = 14  # learners with their own style; of more learners only the best have one
_GREATEST = 1e100  # largest error that is drawn: Matplotlib's sums would overflow
_LONGEST = 50  # letters of a stream's name in its file names
_STYLE: Any = {
    "font.size": 10,
    "axes.titlesize": 10,
    "figure.titlesize": 11,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "legend.labelcolor": INK,
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
    """For a worker: what to draw, and where to write it."""

    stream: str
    drawn: Drawn
    make: Callable[..., Any]
    given: tuple[Any, ...]


def draw(
    folder: Path, summary: Mapping[str, Sequence[Line]], pool: Workers
) -> dict[str, list[Drawn]]:
    """Stream -> its figures, drawn in parallel."""
    folder = folder.absolute()  # a worker may have been started elsewhere
    folder.mkdir(parents=True, exist_ok=True)
    stems = file_names(summary)
    jobs = [
        job
        for stream, lines in summary.items()
        for job in _jobs(folder / stems[stream], stream, lines)
    ]
    there = set()
    for job, outcome in pool.unordered(_draw, jobs):
        if isinstance(outcome, Exception):
            raise outcome
        if outcome:
            there.add(job.drawn)
    return {
        stream: [job.drawn for job in jobs if job.stream == stream and job.drawn in there]
        for stream in summary
    }


def file_names(names: Iterable[str]) -> dict[str, str]:
    """A unique, readable file name for each of these names.

    They also differ on file systems that ignore case, or treat the two ways to write an accent as
    the same.

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
    """The form in which a file system may compare a name."""
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
    """With only the part of the records that its curve needs: they go between processes."""
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
        save(figure, job.drawn.path)
    return figure is not None


# Amount -> axis and caption.
_AMOUNTS = {
    "stored": ("stored examples", "Error against stored examples, after the last row"),
    "bytes": ("memory of the model", "Error against memory, after the last row"),
    "time": ("time per row", "Error against time"),
}


def _curves(chosen: Sequence[Line], lines: Sequence[Line], title: str) -> Any:
    """Mean error over the rows so far, with a band of one standard deviation."""
    name, label, factor, _ = ERRORS[lines[0].task]
    figure, (axis,) = sheet([title])
    looks = styles(lines)
    top = 0.0
    for line in chosen:
        curves = [[factor * point[name] for point in r["checkpoints"]] for r in line.records]
        at = [point["rows"] for point in line.records[0]["checkpoints"]]
        middle = [_over(statistics.fmean, values) for values in zip(*curves, strict=True)]
        look = looks[line.algorithm].without("marker", "markersize")
        axis.plot(at, middle, label=_legend_text(line, looks), **look)
        top = max([top, *filter(math.isfinite, middle[len(middle) // 10 :])])
        if len(curves) > 1 and not line.reference:
            spread = [_over(statistics.stdev, values) for values in zip(*curves, strict=True)]
            low = [m - s for m, s in zip(middle, spread, strict=True)]
            high = [m + s for m, s in zip(middle, spread, strict=True)]
            axis.fill_between(at, low, high, color=look["color"], alpha=0.12, linewidth=0)
    axis.set_xlabel("rows")
    axis.set_ylabel(label)
    axis.set_ylim(0, 1.08 * top if top > 0 else None)  # the first rows, all mistakes, may leave
    axis.set_xlim(0, None)
    axis.xaxis.set_major_formatter(thousands())
    add_legend(figure)
    return figure


def _over(statistic: Callable[[Sequence[float]], float], values: Sequence[float]) -> float:
    """The mean of an error's repeats; nan, which is not drawn, if one diverged."""
    return statistic(values) if all(map(_drawable, values)) else math.nan


def _drawable(value: float) -> bool:
    return math.isfinite(value) and abs(value) < _GREATEST


def _amounts(lines: Sequence[Line], name: str, axis_label: str, title: str) -> Any:
    """Error after the last row against an amount."""
    figure, (axis,) = sheet([title])
    if not scatter(axis, lines, name, axis_label, styles(lines)):
        return None
    add_legend(figure)
    return figure


def draw_panels(
    path: Path,
    summary: Mapping[str, Sequence[Line]],
    strong: Sequence[str] = (),
    most: float = 15.0,
    against: str = "bytes",
) -> None:
    """Error against memory, or another amount, one panel per stream, in one figure.

    `strong` are the learners with a colour; none: the best. Panels show errors up to so many times
    the least one. `against` is "stored", "bytes" or "time".
    """
    every = [line for lines in summary.values() for line in lines]
    looks = styles(every, strong)
    figure, axes = sheet(list(summary), min(5, len(summary)))
    for axis, lines in zip(axes, summary.values(), strict=True):
        least = min(line.mean for line in lines if not line.reference)
        if not _drawable(least):
            continue
        shown = [line for line in lines if line.mean <= most * least or not line.reference]
        scatter(axis, shown, against, _AMOUNTS[against][0], looks)
        axis.set_yscale("log")
        axis.set_ylim(0.9 * least, min(most * least, 1.1 * max(line.mean for line in shown)))
        label_log(axis.yaxis)
    add_legend(figure)
    save(figure, path)


def scatter(
    axis: Any, lines: Sequence[Line], name: str, axis_label: str, looks: Mapping[str, Look]
) -> bool:
    """Errors against an amount: "stored", "bytes", "time" or "budget".

    The budgets of a learner are joined by a line; False if there is nothing to show.
    """
    points: dict[str, list[tuple[float, Line]]] = {}
    for line in lines:
        if not _drawable(line.mean):
            continue
        amount = _amount(line, name)
        if line.reference:
            axis.axhline(line.mean, label=line.algorithm, **looks[line.algorithm].without("marker"))
        elif math.isfinite(amount) and amount > 0:
            points.setdefault(line.algorithm, []).append((amount, line))
    for algorithm, found in points.items():
        found.sort(key=lambda point: point[0])
        amounts, errors = [amount for amount, _ in found], [line.mean for _, line in found]
        axis.errorbar(
            amounts,
            errors,
            [line.deviation for _, line in found],
            label=_legend_text(found[0][1], looks),
            elinewidth=1,
            **looks[algorithm],
        )
    axis.set_xscale("log")
    axis.set_xlabel(axis_label)
    axis.set_ylabel(ERRORS[lines[0].task][1])
    if points:
        sized = name == "budget" and any(isinstance(line.budget, str) for line in lines)
        label_log(axis.xaxis, "B" if sized else {"bytes": "B", "time": "s"}.get(name, ""))
    return bool(points)


def _amount(line: Line, name: str) -> float:
    """What a line is drawn at; nan if it has no such amount."""
    if name == "time":
        return line.microseconds / 1e6
    if name != "budget":
        return line.means[name]
    if line.budget is None:
        return math.nan
    return parse_bytes(line.budget) if isinstance(line.budget, str) else line.budget


def sheet(titles: Sequence[str], across: int = 2) -> tuple[Any, list[Any]]:
    """A figure with one panel per title, so many side by side."""
    from matplotlib.figure import Figure

    across = min(across, len(titles))
    down = math.ceil(len(titles) / across)
    wide, high = (5.2, 3.4) if across == 1 else (4.4, 3.2) if across == 2 else (3.0, 2.7)
    with style():
        figure = Figure(figsize=(wide * across, high * down), layout="constrained")
        axes = list(figure.subplots(down, across, squeeze=False).flat)
        for axis in axes[len(titles) :]:
            axis.set_visible(False)
        for axis, title in zip(axes, titles, strict=False):
            axis.set_title(title, loc="left")
    return figure, axes[: len(titles)]


def add_legend(figure: Any) -> None:
    """Below the axes, where it covers nothing: every label once."""
    handles = {
        text: handle
        for axis in figure.axes
        for handle, text in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    if not handles:
        return
    wide, high = figure.get_size_inches()
    columns = max(1, int(wide / (0.62 + 0.085 * max(map(len, handles)))))
    figure.set_size_inches(wide, high + 0.21 * math.ceil(len(handles) / columns))
    with style():
        figure.legend(handles.values(), handles, loc="outside lower center", ncols=columns)


class Look(dict[str, Any]):
    """The style of a learner; `others` if it has none."""

    others = False

    def without(self, *names: str) -> dict[str, Any]:
        return {name: value for name, value in self.items() if name not in names}


def styles(lines: Sequence[Line], strong: Sequence[str] = ()) -> dict[str, Look]:
    """How each line of a comparison is drawn."""
    references = sorted({line.algorithm for line in lines if line.reference})
    names = list(dict.fromkeys(line.algorithm for line in lines if not line.reference))
    if not strong and len(names) > _MOST:
        best = {name: min(line.mean for line in lines if line.algorithm == name) for name in names}
        strong = sorted(names, key=lambda name: best[name])[: len(_COLOURS)]
    found = looks_of(names, strong)
    for number, name in enumerate(references):
        dash = _DASHES[1 + number % 3]
        found[name] = Look(color=INK, linestyle=dash, linewidth=1.2, marker="", zorder=2)
    return found


def looks_of(names: Sequence[str], strong: Sequence[str] = ()) -> dict[str, Look]:
    """Colour, dash and marker of each; if some are strong, the others are grey."""
    own = list(strong or names)
    found = {}
    for name in names:
        look = Look(color=GREY, linestyle="-", linewidth=0.8, marker="o", markersize=2.5, zorder=1)
        look.others = name not in own
        if name in own:
            place = own.index(name)
            look.update(
                color=_COLOURS[place % len(_COLOURS)],
                linestyle=_DASHES[place // len(_COLOURS) % len(_DASHES)],
                marker=_MARKERS[place % len(_MARKERS)],
                linewidth=1.6,
                markersize=5,
                zorder=3,
            )
        found[name] = look
    return found


def _legend_text(line: Line, looks: Mapping[str, Look]) -> str:
    if line.reference:
        return line.algorithm
    if looks[line.algorithm].others:
        return f"{sum(look.others for look in looks.values())} others"
    return line.algorithm + (" (no budget)" if line.budget is None else "")


def label_log(axis: Any, unit: str = "") -> None:
    """Ticks of a logarithmic axis: numbers like 200 and 5 kB, at least three."""
    from matplotlib.ticker import EngFormatter, Locator, LogLocator, MaxNLocator, NullFormatter

    low, high = axis.get_view_interval()
    decades = math.log10(high / low)
    subs = (1.0, 2.0, 5.0) if decades < 2 else (1.0, 3.0) if decades < 3 else (1.0,)
    locator: Locator = LogLocator(subs=subs, numticks=8)
    if decades < 1:  # even steps are nearly even on the axis
        for steps in (4, 6, 8):
            locator = MaxNLocator(steps, steps=[1, 2, 5, 10])
            if sum(low <= tick <= high for tick in locator.tick_values(low, high)) >= 3:
                break
    axis.set_major_locator(locator)
    axis.set_major_formatter(EngFormatter(unit) if unit else thousands())
    axis.set_minor_formatter(NullFormatter())


def thousands() -> Any:
    """Tick labels with commas: 20,000."""
    from matplotlib.ticker import FuncFormatter

    return FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 10 else f"{value:g}")


@contextmanager
def style() -> Iterator[None]:
    """Matplotlib's own settings and ours, whatever this process has set."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def save(figure: Any, path: Path) -> None:
    """Save as PATH.png, which computes the layout, and PATH.svg.

    Uses the canvases, since `savefig` draws each twice.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    with _plain_text(figure):
        figure.set_dpi(150)
        png: Any = FigureCanvasAgg(figure)
        png.print_png(f"{path}.png")
        figure.set_layout_engine("none")
        svg: Any = FigureCanvasSVG(figure)
        svg.print_svg(f"{path}.svg", metadata={"Date": None})


def save_as(figure: Any, path: Path) -> None:
    """Save as this one file, on white; its ending gives the format."""
    form = path.suffix[1:].lower()
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with _plain_text(figure):
        figure.savefig(path, format=form, dpi=150, facecolor="white", metadata=undated.get(form))


@contextmanager
def _plain_text(figure: Any) -> Iterator[None]:
    """Our settings, and plain texts: without markup and control characters."""
    from matplotlib.text import Text

    with style():
        for text in figure.findobj(Text):  # those of the legend were made without our settings
            text.set_parse_math(False)
            text.set_text(shown(text.get_text(), keep="\n"))
        yield
