"""Charts of the tables of docs/results/speed.md: as many times faster, or of what was allowed.

The numbers are read from the page, so that chart and table cannot disagree. Each chart is drawn
twice, for light and for dark pages.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[1] / "results" / "speed.md"
ROW = re.compile(
    r"^\| (?P<what>.+?) \| (?P<bar>[<>]=) (?P<expected>[\d.,]+) (?P<unit>\S+) "
    r"\| (?P<measured>[\d.,]+) "
)
INK = {"light": "#333333", "dark": "#d0d0d0"}
BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#8c8c8c"  # seen alike by colour-blind readers


def write(pages: Path) -> list[Path]:
    """Two charts in two themes each."""
    written = []
    for theme in INK:
        for name, draw in (("peers", _peers), ("rounds", _rounds)):
            path = pages / "speed" / f"{name}-{theme}.svg"
            if not path.exists() or path.stat().st_mtime < PAGE.stat().st_mtime:
                path.parent.mkdir(parents=True, exist_ok=True)
                draw(path, theme)
            written.append(path)
    return written


def table(section: str) -> list[dict[str, Any]]:
    """The rows below the line that begins with the name of a benchmark."""
    text = PAGE.read_text(encoding="utf-8")
    body = re.search(rf"^`{section}`.*?\n\n(.*?)\n\n", text, re.M | re.S)
    if body is None:
        raise ValueError(f"{PAGE} has no table `{section}`")
    rows = [found.groupdict() for line in body[1].split("\n") if (found := ROW.match(line))]
    for row in rows:
        row |= {key: float(row[key].replace(",", "")) for key in ("expected", "measured")}
    return rows


def _peers(path: Path, theme: str) -> None:
    rows = [row for row in table("peers") if "NumPy" not in row["what"]]
    rows.sort(key=lambda row: row["measured"])
    names = [_short(row["what"]) for row in rows]
    _bars(path, theme, names, rows, "times as fast as the peer", log=True)


def _short(what: str) -> str:
    """`bogd`, beside River's LogisticRegression; another peer is named."""
    name, _, peer = what.replace("\\|", "|").partition(", to ")
    name = name.split(",")[0]
    if "RBFSampler" in peer:
        return f"{name}, peer: {peer.split(' ')[0].removesuffix(chr(39) + 's')}\nRBFSampler"
    return name


def _rounds(path: Path, theme: str) -> None:
    rows = [row for row in table("learners") if "bare row" in row["what"]]
    rows.sort(key=lambda row: -row["measured"])
    names = [row["what"].split(":")[0] for row in rows]
    _bars(path, theme, names, rows, "times the bare kernel row")


def _bars(
    path: Path,
    theme: str,
    names: list[str],
    rows: list[dict[str, Any]],
    label: str,
    *,
    log: bool = False,
) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    ink = INK[theme]
    style = {"text.color": ink, "axes.labelcolor": ink, "xtick.color": ink, "ytick.color": ink}
    with plt.rc_context({**style, "axes.edgecolor": ink, "font.size": 11, "svg.hashsalt": "speed"}):
        figure, axis = plt.subplots(figsize=(5.2, 1.0 + 0.34 * len(rows)), layout="constrained")
        kept = [(row["measured"] >= row["expected"]) == (row["bar"] == ">=") for row in rows]
        colors = [BLUE if good else ORANGE for good in kept]
        axis.barh(range(len(rows)), [row["measured"] for row in rows], color=colors, height=0.7)
        for i, row in enumerate(rows):
            axis.plot([row["expected"]] * 2, [i - 0.42, i + 0.42], color=ink, linewidth=2)
            text = f"  {row['measured']:,.4g}"
            near = row["expected"] < 1.5 * row["measured"]
            end = max(row["measured"], row["expected"]) if near else row["measured"]
            axis.text(end, i, text, va="center", fontsize=9)
        if log:
            axis.set_xscale("log")
            axis.set_xlim(1, 4 * max(row["measured"] for row in rows))
        axis.set_yticks(range(len(rows)), names, fontsize=9)
        axis.set_xlabel(label, fontsize=9)
        axis.spines[["top", "right"]].set_visible(False)
        figure.savefig(path, transparent=True, metadata={"Date": None})
        plt.close(figure)
