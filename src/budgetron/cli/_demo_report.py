"""What `budgetron demo` leaves behind: a figure, and a page with the figure and all numbers."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from budgetron._text import bytes_text

if TYPE_CHECKING:
    from budgetron.cli.demo import Trial

# Okabe and Ito's colours, for a learner of each way to keep a budget; all others are grey.
STRONG = {
    "budgetron": "#0072B2",
    "ahpatron": "#D55E00",
    "projectron++": "#009E73",
    "bsgd-merge": "#CC79A7",
    "forgetron": "#E69F00",
    "nogd": "#56B4E9",
    "fogd": "#000000",
}
GREY = "#999999"


def draw(trials: Sequence[Trial], path: Path) -> None:
    """Mistakes against memory, all learners, a panel a stream; PNG and SVG."""
    import matplotlib
    from matplotlib.figure import Figure

    titles = list(dict.fromkeys(trial.stream for trial in trials))
    with matplotlib.rc_context({"font.size": 10, "svg.hashsalt": "budgetron"}):
        figure = Figure(figsize=(11, 4.4), layout="constrained")
        for axis, title in zip(figure.subplots(1, len(titles)), titles, strict=True):
            _panel(axis, title, [trial for trial in trials if trial.stream == title])
        figure.axes[0].set_ylabel("mistakes, % of rows")
        figure.legend(handles=_legend(trials), loc="outside right upper", frameon=False)
        figure.savefig(path.with_suffix(".png"), dpi=130)
        figure.set_layout_engine("none")
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})


def _legend(trials: Sequence[Trial]) -> list[Any]:
    from matplotlib.lines import Line2D

    others = len({trial.algorithm for trial in trials if not trial.grows} - set(STRONG))
    growing = len({trial.algorithm for trial in trials if trial.grows})
    shown = [(name, _style(name, grows=False)) for name in STRONG]
    shown += [(f"{others} more on a budget", _style("", grows=False))]
    shown += [(f"{growing} that grow", {**_style("", grows=True), "linewidth": 0})]
    return [Line2D([], [], label=label, **style) for label, style in shown]


def _style(name: str, *, grows: bool) -> dict[str, Any]:
    colour = STRONG.get(name, GREY)
    if name not in STRONG:
        return {
            "color": colour,
            "marker": "D" if grows else "o",
            "markerfacecolor": "white" if grows else colour,
            "markersize": 5 if grows else 3,
            "linewidth": 0.8,
            "zorder": 2,
        }
    marker = "os^vPX*"[list(STRONG).index(name)]
    return {"color": colour, "marker": marker, "markersize": 6, "linewidth": 2.2, "zorder": 3}


def _panel(axis: Any, title: str, trials: Sequence[Trial]) -> None:
    from matplotlib.ticker import EngFormatter, FixedLocator, FuncFormatter

    axis.set(xscale="log", yscale="log", xlabel="memory of the model")
    axis.set_title(title, loc="left")
    for name in dict.fromkeys(trial.algorithm for trial in trials):
        mine = [trial for trial in trials if trial.algorithm == name]
        points = sorted((trial.memory_bytes, 100 * trial.mistake_rate) for trial in mine)
        axis.plot(*zip(*points, strict=True), **_style(name, grows=mine[0].grows))
    axis.xaxis.set_major_formatter(EngFormatter("B"))
    axis.yaxis.set_major_locator(FixedLocator([1, 2, 3, 5, 7, 10, 15, 20, 30, 50]))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.minorticks_off()
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(alpha=0.25)


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>budgetron demo</title>
<link rel="icon" href="data:,">
<style>
{style}svg {{ width: 100%; height: auto; }}</style>
</head>
<body>
<h1>All learners on two streams</h1>
<p>Each row was predicted first, then learned. Nothing was tuned: every learner has its defaults,
the kernel width is the median distance between the first rows.</p>
{figure}
{tables}
<script>
{script}</script>
</body>
</html>
"""
_HEADS = ("algorithm", "budget", "mistakes, %", "stored", "memory", "µs a row")


def write_report(trials: Sequence[Trial], path: Path, svg: str) -> None:
    """One page that needs nothing else; tables sort by a click on a column's head."""
    own = resources.files("budgetron.lab.compare")
    titles = dict.fromkeys(trial.stream for trial in trials)
    tables = [_table(title, [t for t in trials if t.stream == title]) for title in titles]
    page = _PAGE.format(
        style=(own / "report.css").read_text(encoding="utf-8"),
        script=(own / "report.js").read_text(encoding="utf-8"),
        figure=svg[svg.index("<svg") :],
        tables="\n".join(tables),
    )
    path.write_text(page, encoding="utf-8")


def _table(title: str, trials: Sequence[Trial]) -> str:
    heads = "".join(f"<th><button>{head}</button></th>" for head in _HEADS)
    rows = []
    for trial in sorted(trials, key=lambda trial: trial.mistake_rate):
        cells = (
            (trial.algorithm, trial.algorithm),
            ("grows" if trial.grows else str(trial.budget or "–"), trial.budget or ""),
            (f"{100 * trial.mistake_rate:.2f}", trial.mistake_rate),
            (f"{trial.stored:,}", trial.stored),
            (bytes_text(trial.memory_bytes), trial.memory_bytes),
            (f"{trial.microseconds_a_row:.2f}", trial.microseconds_a_row),
        )
        row = "".join(f'<td data-value="{value}">{escape(text)}</td>' for text, value in cells)
        rows.append(f"<tr>{row}</tr>")
    return (
        f'<h2>{escape(title)}</h2><div class="scroll"><table class="sortable">'
        f"<thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )
