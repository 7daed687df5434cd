"""What the examples share: options, colours that colour-blind people can distinguish, saving."""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt

# Okabe and Ito's colours.
BLUE, ORANGE, GREEN, PINK, YELLOW, SKY = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
)
plt.rcParams.update(
    {"axes.spines.top": False, "axes.spines.right": False, "axes.titlelocation": "left"}
)


def options(about: str, rows: int) -> argparse.Namespace:
    """`--rows` and `--out`; the default is the script's name with .png."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--rows", type=int, default=rows, help="of the stream (%(default)s)")
    parser.add_argument("--out", type=Path, help="the figure")
    return parser.parse_args()


def save(figure: plt.Figure, out: Path | None, script: str) -> None:
    """Write the figure and print where."""
    path = out or Path(script).with_suffix(".png").name
    figure.savefig(path, dpi=120)
    print(path)
