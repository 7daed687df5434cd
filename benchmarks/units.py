"""The cost of units that follow the stream (scale="auto") per round.

    python benchmarks/units.py

rbp and forgetron through `prequential` at B = 100, on ijcnn1 (dense) and a9a (CSR): scale="auto"
beside scale=None, once where nothing needs scaling and once with every column multiplied by a
number of its own. In the second case scale=None gets the rows in the final units of the other
learner, so that both run the same rounds, or nearly; gamma is fixed. Processor time of the rows
after the first 1,000, the best of several passes taken in turns.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from measuring import SHAPES, Shape, at_most, console, finish, load, table
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

import budgetron

BUDGET, ROWS, START, PASSES = 100, 30_000, 1000, 15
LEARNERS = ("rbp", "forgetron")
# Allowed ratio to a round with scale=None: dense and CSR, without and with a need for scaling.
BARS = {False: (1.10, 1.25), True: (1.25, 1.5)}


def taken(name: str, X: Any, y: Any, gamma: float, scale: str | None) -> tuple[float, Any]:
    """Processor time of the stream in seconds, and the model."""
    model = budgetron.make(name, budget=BUDGET, gamma=gamma, scale=scale, random_state=0)
    model.prequential(X[:START], y[:START], classes=[0.0, 1.0])
    rows, labels = X[START:], y[START:]
    began = time.thread_time()
    model.prequential(rows, labels)
    return time.thread_time() - began, model


def streams(shape: Shape) -> list[tuple[bool, Any, Any, Any]]:
    """Whether rows need scaling, the rows for scale=None, those for "auto", and the labels."""
    X, y, _ = load(shape, ROWS)
    factors = 10.0 ** np.random.default_rng(1).uniform(-3, 3, size=X.shape[1]).astype(X.dtype)
    dense = (X.toarray() if shape.sparse else X) * factors
    as_given = csr_array if shape.sparse else np.ascontiguousarray
    needy = as_given(dense)
    state = taken("rbp", needy, y, shape.gamma, "auto")[1]._engine.native.save()
    features = state["preparation/units/features"]
    numbers = state["preparation/units/numbers"].reshape(len(features), -1)
    centre, unit = np.zeros(X.shape[1]), np.full(X.shape[1], np.inf)
    centre[features], unit[features] = numbers[:, 10], numbers[:, 11]
    shown = ((dense - centre) / unit).clip(-4, 4).astype(X.dtype)
    return [(False, X, X, y), (True, as_given(shown), needy, y)]


def main() -> None:
    rows, bars = [], []
    for shape in SHAPES[:2]:
        layout = "CSR" if shape.sparse else "dense"
        for needs, plain, X, y in streams(shape):
            for name in LEARNERS:
                best = {None: float("inf"), "auto": float("inf")}
                mistakes = {}
                for _ in range(PASSES):
                    for scale, given in ((None, plain), ("auto", X)):
                        seconds, model = taken(name, given, y, shape.gamma, scale)
                        best[scale] = min(best[scale], seconds)
                        mistakes[scale] = model.n_mistakes_
                per = {scale: 1e6 * seconds / (len(y) - START) for scale, seconds in best.items()}
                ratio = per["auto"] / per[None]
                what = f"{name}, {shape.name} {layout}, {'scaled' if needs else 'nothing to scale'}"
                rows.append([what, per[None], per["auto"], mistakes[None], mistakes["auto"], ratio])
                bars.append(at_most(what, BARS[needs][shape.sparse], ratio))
    out = console()
    columns = ["round", "None, us", "auto, us", "mistakes", "mistakes, auto", "ratio"]
    out.print(table(f"scale='auto' beside None, B = {BUDGET}", columns, rows))
    finish("units", bars, rounds=rows)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
