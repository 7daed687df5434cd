"""The kernel row against the machine's limits, rows in blocks, and the figure of growth.

    python benchmarks/roofline.py [--figure docs/images/growth.svg]

`make bench` builds `roofline` (roofline.cpp says what it times). The limit of a single row is the
slower of two things, plus the vectorised exp of its kernel values: its multiply-adds, done in
registers, and reading the support's bytes once from the cache level that holds them. A row of a
block shares the reading with others, so its limit is the multiply-adds. Everything is measured in
the same run, one core, float32.

The saving by blocks is measured again from Python, through `predict` and `prequential`, with
updates: the same rows with `look_ahead` "auto" and "never".
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from measuring import BUILD, ROOT, Bar, at_least, at_most, console, finish, table
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from budgetron._batch import Batch
from budgetron.catalogue import as_printed

EXECUTABLE = BUILD / "roofline"
FIGURE = ROOT / "docs" / "images" / "growth.svg"
# Examples, features, and the expected speedup by blocks.
BLOCKS = [(1000, 784, 3.0), (400, 68, 1.3)]
SHARE = 60.0  # per cent of the limit
GROWTH = 1.05  # allowed growth of the time per stored value as B grows; the noise of a measurement
CHUNK, CHUNKS, REPEATS = 60, 8, 25


def native() -> list[dict[str, Any]]:
    """The output of `roofline`, with each shape's limit."""
    if not EXECUTABLE.exists():
        sys.exit(f"{EXECUTABLE} is missing: run `make bench`, which builds it first")
    done = subprocess.run([EXECUTABLE], stdout=subprocess.PIPE, check=True)
    shapes: list[dict[str, Any]] = json.loads(done.stdout)["shapes"]
    for shape in shapes:
        times = shape["microseconds"]
        times["limit"] = max(times["multiply_adds"], times["read"]) + times["kernel_values"]
        times["block_limit"] = times["multiply_adds"] + times["kernel_values"]
        shape["level"] = cache_level(shape["bytes"])
    return shapes


def cache_level(size: int) -> str:
    """The smallest cache of the first core that holds so many bytes; "memory" if none does."""
    levels = []
    for index in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        if (index / "type").read_text().strip() != "Instruction":
            text = (index / "size").read_text().strip()
            room = int(text.rstrip("KM")) * (1 << 20 if text.endswith("M") else 1 << 10)
            levels.append((room, f"L{(index / 'level').read_text().strip()}"))
    return next((name for room, name in sorted(levels) if size <= room), "memory")


def blocks(examples: int, features: int) -> dict[str, float]:
    """Microseconds per row of `predict` and of `prequential`, with and without looking ahead.

    Uses a full Random Budget Perceptron, over rows of two overlapping clouds. Each chunk counts
    with its best time.
    """
    random = np.random.default_rng(0)
    n = 4 * examples + CHUNK * CHUNKS
    y = random.integers(0, 2, n)
    X = random.standard_normal((n, features)) + np.where(y, 1, -1)[:, None] / np.sqrt(features)
    X = X.astype(np.float32)
    model = as_printed("rbp", budget=examples, gamma=0.5 / features, random_state=0)
    model.partial_fit(X[: 4 * examples], y[: 4 * examples])
    assert model.n_support_ == examples
    start = pickle.dumps(model._engine)
    starts = range(4 * examples, n, CHUNK)
    codes = y.astype(np.float64)
    times = {
        f"{call} {when}": np.full(CHUNKS, np.inf)
        for call in ("predict", "prequential")
        for when in ("auto", "never")
    }
    for repeat in range(REPEATS):
        engines = {when: pickle.loads(start) for when in ("auto", "never")}
        for i, at in enumerate(starts):
            rows, targets = X[at : at + CHUNK], codes[at : at + CHUNK]
            turns = list(engines.items())
            for when, engine in turns if repeat % 2 else reversed(turns):
                engine.native.set_look_ahead(when)
                engine.native.predict(rows[:6])  # the caches hold the other model's support
                for call in ("predict", "prequential"):
                    began = time.perf_counter()
                    if call == "predict":
                        engine.native.predict(rows)
                    else:
                        engine.native.learn(Batch(rows, targets, record=True))
                    spent = time.perf_counter() - began
                    taken = times[f"{call} {when}"]
                    taken[i] = min(taken[i], spent)
    auto = engines["auto"].native
    found = {name: float(1e6 * each.sum() / (CHUNK * CHUNKS)) for name, each in times.items()}
    learned = pickle.loads(start).native.updates
    found["updates"] = (auto.updates - learned) / (CHUNK * CHUNKS)
    return found


def growth_bars(shapes: list[dict[str, Any]]) -> list[Bar]:
    """Time per stored value: most examples over fewest, within one cache level."""
    bars = []
    for features in sorted({shape["features"] for shape in shapes}):
        for level in ("L1", "L2", "L3"):
            same = [
                s
                for s in shapes
                # Clearly in this level: half as many bytes would be, too.
                if s["features"] == features
                and s["level"] == level
                and (level == "L1" or cache_level(s["bytes"] // 2) == level)
            ]
            if len(same) < 2:
                continue
            least, most = (same[0], same[-1])
            value = [
                s["microseconds"]["row"] / (s["examples"] * s["features"]) for s in (least, most)
            ]
            span = f"B={least['examples']} to {most['examples']}"
            what = f"row, time a stored value, d={features} {span} ({level})"
            bars.append(at_most(what, GROWTH, value[1] / value[0]))
            if level == "L3":  # shared with others: what it gave each of the two in this run
                reads = [
                    s["microseconds"]["row"] / s["microseconds"]["read"] for s in (least, most)
                ]
                what = f"row, to reading as many bytes, d={features} {span} ({level})"
                bars.append(at_most(what, GROWTH, reads[1] / reads[0]))
    return bars


def draw(shapes: list[dict[str, Any]], path: Path) -> None:
    """Time per row against examples, one line per number of features, with the limits."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "growth"
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.2), sharey=True)
    colours = plt.get_cmap("viridis")(np.linspace(0.0, 0.85, 5))
    for axis, over, by, names in (
        (left, "examples", "features", ("stored examples B", "d")),
        (right, "features", "examples", ("features d", "B")),
    ):
        for colour, value in zip(colours, sorted({s[by] for s in shapes}), strict=True):
            line = sorted((s for s in shapes if s[by] == value), key=lambda s: s[over])
            x = [s[over] for s in line]
            times = {
                name: [s["microseconds"][name] for s in line] for name in ("row", "limit", "blocks")
            }
            axis.plot(x, times["row"], "o-", color=colour, label=f"{names[1]} = {value}", ms=4)
            axis.plot(x, times["limit"], "--", color=colour, lw=1)
            axis.plot(x, times["blocks"], "x:", color=colour, lw=1, ms=4)
        axis.set(xscale="log", yscale="log", xlabel=names[0])
        axis.grid(which="major", alpha=0.3)
        legend = axis.legend(fontsize=8, loc="upper left")
        axis.add_artist(legend)
    left.set_ylabel("microseconds a row")
    styles = [("o-", "row alone"), ("--", "its limit"), ("x:", "row of a block")]
    marks = [right.plot([], [], style, color="black", label=name)[0] for style, name in styles]
    right.legend(handles=marks, fontsize=8, loc="lower right")
    figure.suptitle("Time per row against what is stored, float32, one core", fontsize=11)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description="The kernel row against the machine's limits.")
    parser.add_argument("--figure", type=Path, help=f"write it here; docs has it as {FIGURE.name}")
    options = parser.parse_args()
    shapes = native()
    with threadpool_limits(1):
        ahead = {(B, d): blocks(B, d) for B, d, _ in BLOCKS}
    rows = [
        (
            s["examples"],
            s["features"],
            f"{s['bytes'] / 1024:,.0f} kB {s['level']}",
            times["multiply_adds"],
            times["read"],
            s["bytes"] / times["read"] / 1e3,
            times["kernel_values"],
            times["row"],
            100 * times["limit"] / times["row"],
            1e3 * times["row"] / (s["examples"] * s["features"]),
            times["blocks"],
            times["alone"] / times["blocks"],
            times["alone"] / times["block_limit"],
        )
        for s in shapes
        for times in [s["microseconds"]]
    ]
    out = console()
    columns = [
        "B",
        "d",
        "support",
        "multiply-\nadds µs",
        "read\nµs",
        "GB/s",
        "exp\nµs",
        "row\nµs",
        "% of\nlimit",
        "ns a\nvalue",
        "block\nµs",
        "times as\nfast",
        "at\nmost",
    ]
    out.print(table("The kernel row and its limit, a row", columns, rows))
    bars = []
    by_shape = {(s["examples"], s["features"]): s["microseconds"] for s in shapes}
    for B, d in ((400, 68), (1000, 784)):
        times = by_shape[B, d]
        share = 100 * times["limit"] / times["row"]
        bars.append(at_least(f"row, B={B} d={d}, of its roofline", SHARE, share, "%"))
    bars += growth_bars(shapes)
    listed = []
    for B, d, bound in BLOCKS:
        times = ahead[B, d]
        most = by_shape[B, d]["alone"] / by_shape[B, d]["block_limit"]
        for call in ("prequential", "predict"):
            ratio = times[f"{call} never"] / times[f"{call} auto"]
            at = f"B={B} d={d}"
            listed.append((at, call, times[f"{call} never"], times[f"{call} auto"], ratio, most))
            what = f"{call} in blocks, {at} (multiply-adds allow {most:.2f} x)"
            bars.append(at_least(what, bound, ratio))
    titles = ["shape", "call", "never µs", "auto µs", "times as fast", "at most"]
    out.print(table("Rows in blocks, from Python: rbp, full, updates included", titles, listed))
    if options.figure:
        draw(shapes, options.figure)
        print(f"figure: {os.path.relpath(options.figure)}")
    named = {f"{B}x{d}": times for (B, d), times in ahead.items()}
    finish("roofline", bars, shapes=shapes, blocks=named)


if __name__ == "__main__":
    main()
