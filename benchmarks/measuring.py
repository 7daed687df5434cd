"""What the benchmarks share: best times taken in turns, the machine, bars and whether they hold.

A benchmark prints its tables, then its bars (`finish`), and stores both in ``build/bench``. Run
this file to see the bars of all benchmarks that have run, in one table:

    python benchmarks/measuring.py [--markdown]
"""

from __future__ import annotations

import gc
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from rich.console import Console
from rich.table import Table

import budgetron
from budgetron import _core, datasets

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "bench"

BURST_SECONDS = 300e-6
BURSTS = 200


@dataclass(frozen=True)
class Bar:
    """A bar: the expected limit of a number, and its measured value."""

    what: str
    expected: str
    measured: str
    reached: bool


def at_least(what: str, bound: float, value: float, unit: str = "x") -> Bar:
    return Bar(what, f">= {_short(bound)} {unit}", f"{_short(value)} {unit}", value >= bound)


def at_most(what: str, bound: float, value: float, unit: str = "x") -> Bar:
    return Bar(what, f"<= {_short(bound)} {unit}", f"{_short(value)} {unit}", value <= bound)


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"


# ---- timing --------------------------------------------------------------------------------------


def best(
    calls: Mapping[str, Callable[[], Any]],
    *,
    rows: int = 1,
    bursts: int = BURSTS,
    burst_seconds: float = BURST_SECONDS,
) -> dict[str, float]:
    """Microseconds per row of each call, the best of many bursts taken in turns."""
    counts: dict[str, int] = {}
    for name, call in calls.items():
        counts[name] = 1
        while _seconds(call, counts[name]) < burst_seconds:
            counts[name] *= 2
    times = dict.fromkeys(calls, float("inf"))
    gc.disable()
    try:
        for _ in range(bursts):
            for name, call in calls.items():
                seconds = _seconds(call, counts[name]) / (counts[name] * rows)
                times[name] = min(times[name], 1e6 * seconds)
    finally:
        gc.enable()
    return times


def _seconds(call: Callable[[], Any], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return time.perf_counter() - start


# ---- data ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shape:
    """A part of a data set, or the shape of a synthetic replacement."""

    name: str
    part: str
    gamma: float
    features: int
    nonzeros: int  # per row, about
    sparse: bool


A9A = Shape("a9a", "train", 0.125, 123, 14, sparse=True)
SHAPES = [
    A9A,
    Shape("ijcnn1", "train", 0.5, 22, 22, sparse=False),
    Shape("phishing", "all", 0.5, 68, 30, sparse=False),
]


def load(shape: Shape, rows: int) -> tuple[Any, Any, str]:
    """At most so many rows in random order, class codes, and their source.

    Rows of the data set; if it is not here, a synthetic stream of its shape.
    """
    rng = np.random.default_rng(0)
    if datasets.here(f"{shape.name}/{shape.part}"):
        X, y = _read(shape.name, shape.part)
        order = rng.permutation(len(y))[:rows]
        X, codes, source = scipy.sparse.csr_array(X[order]), y[order] > 0, shape.name
    else:
        X = rng.normal(size=(rows, shape.features))
        X[rng.random(X.shape) > shape.nonzeros / shape.features] = 0.0
        scores = X @ rng.normal(size=shape.features) + 0.3 * np.linalg.norm(X, axis=1)
        codes = scores + 0.5 * rng.normal(size=rows) > np.median(scores)
        X = scipy.sparse.csr_array((X / np.sqrt(shape.nonzeros)).astype(np.float32))
        source = f"synthetic, shaped as {shape.name}"
    return X if shape.sparse else X.toarray(), codes.astype(np.float64), source


@cache
def _read(name: str, part: str) -> Any:
    return datasets.load(name, [part])


# ---- output ---------------------------------------------------------------------------------


def machine() -> dict[str, str]:
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    return {
        "cpu": model,
        "cores": str(os.cpu_count()),
        "load": " ".join(f"{each:.1f}" for each in os.getloadavg()),
        "instruction_set": _core.instruction_set(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "budgetron": budgetron.__version__,
    }


def console() -> Console:
    return Console(highlight=False, width=None if sys.stdout.isatty() else 132)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    """Texts are left-aligned, numbers right-aligned."""
    made = Table(title=title)
    for i, column in enumerate(columns):
        words = all(isinstance(row[i], str) for row in rows)
        made.add_column(column, justify="left" if words else "right", no_wrap=words)
    for row in rows:
        made.add_row(*(cell if isinstance(cell, str) else _cell(cell) for cell in row))
    return made


def _cell(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.{0 if value >= 1000 else 2}f}"


def finish(name: str, bars: Sequence[Bar], **numbers: Any) -> None:
    """Print the machine and the bars, and store everything in build/bench/NAME.json."""
    results = {"machine": machine(), **numbers, "bars": [asdict(bar) for bar in bars]}
    BUILD.mkdir(parents=True, exist_ok=True)
    path = BUILD / f"{name}.json"
    path.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n")
    out = console()
    out.print("  ".join(f"{each}: {value}" for each, value in results["machine"].items()))
    out.print(_bar_table("Bars", results["bars"]))
    print(f"all numbers: {os.path.relpath(path)}\n")


def _bar_table(title: str, bars: Sequence[dict[str, Any]]) -> Table:
    made = Table(title=title)
    for column in ("what", "expected", "measured", ""):
        made.add_column(column, justify="right" if column in ("expected", "measured") else "left")
    for bar in bars:
        verdict = "[green]reached[/]" if bar["reached"] else "[yellow]missed[/]"
        made.add_row(bar["what"], bar["expected"], bar["measured"], verdict)
    return made


def main() -> None:
    markdown = sys.argv[1:] == ["--markdown"]
    out = console()
    for path in sorted(BUILD.glob("*.json")):
        results = json.loads(path.read_text())
        if not isinstance(results, dict) or "bars" not in results:
            continue
        if not markdown:
            out.print(_bar_table(path.stem, results["bars"]))
            continue
        print(f"\n`{path.stem}`, load {results['machine']['load']}:\n")
        print("| what | expected | measured | |\n|---|---:|---:|---|")
        for bar in results["bars"]:
            verdict = "reached" if bar["reached"] else "**missed**"
            what = bar["what"].replace("|", "\\|")
            print(f"| {what} | {bar['expected']} | {bar['measured']} | {verdict} |")


if __name__ == "__main__":
    main()
