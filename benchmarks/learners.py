"""The cost of a round beyond its kernel row, for every learner of the catalogue.

    python benchmarks/learners.py [--budget 300] [--rows 4000] [--repeats 8] [NAME ...]

A learner first learns half of its rows. It gets the others in chunks: each chunk is first only
decided, one row at a time (`predict` with `set_look_ahead("never")`: the bare row, kernel values
and their sum over the stored examples) and then learned (`prequential`: the round, which begins
with the same row, though dense rows may be computed in blocks). Both run the same compiled loop
over the same float32 rows, so their ratio is the cost of learning. All of it is repeated on copies
of the model, and each chunk counts with its best time; the ratio of the sums is printed, and its
mean over the data sets has a bar. One thread.

Updates of Projectron and NOGD read a matrix, and have their own bar: the rounds that update, one
row at a time, against the bare row plus the BLAS-2 calls of the same size (two triangular solves,
two products with the landmarks' matrix), by SciPy's BLAS in the same run.

Learners with a budget get the same one, FOGD as many frequencies; the others store as much as they
need, which the table shows. Data: see `load` in measuring.py.
"""

from __future__ import annotations

import argparse
import pickle
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from measuring import SHAPES, Bar, at_most, best, console, finish, load
from numpy.typing import NDArray
from rich.table import Table
from scipy.linalg import blas
from scipy.sparse import issparse
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

import budgetron
from budgetron import _core
from budgetron._batch import Batch
from budgetron._csr import sparse_rows
from budgetron.catalogue import as_printed

CHUNK = 480  # rows: enough to make the cost of the call negligible
# The largest allowed ratio of round to bare row.
LINEAR = ("rbp", "forgetron", "bogd", "bogd++", "bpas", "pa", "ogd", "avm")
BARS = dict.fromkeys(LINEAR, 1.6) | {"ahpatron": 2.5, "bsgd-merge": 8.0}
BLAS2 = {"projectron": 2.0, "nogd": 2.0}


@dataclass(frozen=True)
class Cost:
    """Microseconds per row, and how many examples were stored at the end."""

    row: float
    round: float
    stored: int
    updates: float  # share of the rounds


def make(algorithm: Any, gamma: float, budget: int) -> Any:
    sizes = {"budget": budget, "n_components": budget}
    own = {name: value for name, value in sizes.items() if name in algorithm.parameters}
    # It scales rows in any case.
    build = budgetron.make if algorithm.name == "budgetron" else as_printed
    return build(algorithm.name, gamma=gamma, random_state=0, **own)


def measure(model: Any, X: Any, codes: NDArray[np.float64], repeats: int) -> Cost:
    half = X.shape[0] // 2
    model.partial_fit(X[:half], codes[:half], classes=[0.0, 1.0])
    before = model.n_updates_
    starts = range(half, X.shape[0], CHUNK)
    rows = sparse_rows(X) if issparse(X) else X
    chunks = [Batch(rows[at : at + CHUNK], codes[at : at + CHUNK], record=True) for at in starts]
    fastest = np.full((len(chunks), 2), np.inf)
    for _ in range(repeats):
        engine = pickle.loads(pickle.dumps(model._engine))
        for times, chunk in zip(fastest, chunks, strict=True):
            engine.native.set_look_ahead("never")
            times[0] = min(times[0], seconds(engine.native.predict, chunk.rows))
            engine.native.set_look_ahead("auto")
            times[1] = min(times[1], seconds(engine.native.learn, chunk))
    learned = X.shape[0] - half
    row, round_ = 1e6 * fastest.sum(axis=0) / learned
    updates = (engine.native.updates - before) / learned
    return Cost(float(row), float(round_), engine.native.size, updates)


def seconds(call: Callable[..., Any], *args: Any, **kwargs: Any) -> float:
    start = time.perf_counter()
    call(*args, **kwargs)
    return time.perf_counter() - start


def update_rounds(model: Any, X: Any, codes: NDArray[np.float64], repeats: int) -> float:
    """Microseconds of a round that updates; rows one at a time, each with its best time."""
    rows = X.toarray() if hasattr(X, "toarray") else X
    rows, codes = rows[-600:], codes[-600:]
    start = pickle.dumps(model._engine)
    times = np.full(len(codes), np.inf)
    updating = np.zeros(len(codes), bool)
    for _ in range(repeats):
        native = pickle.loads(start).native
        learn = native.learn_one
        for i, (x, target) in enumerate(zip(rows, codes, strict=True)):
            before = native.updates
            began = time.perf_counter()
            learn(x, target)
            times[i] = min(times[i], time.perf_counter() - began)
            updating[i] = native.updates > before
    return float(1e6 * times[updating].mean())


def blas2(name: str, stored: int, rank: int) -> float:
    """Microseconds of the BLAS-2 calls that an update needs at least."""
    rng = np.random.default_rng(0)
    if name == "projectron":
        packed = rng.uniform(0.0, 0.01, stored * (stored + 1) // 2)
        packed[np.cumsum(np.arange(stored, 0, -1)) - np.arange(stored, 0, -1)] = 1.0
        k = rng.uniform(size=stored)
        return 2 * best({"solve": lambda: blas.dtpsv(stored, packed, k, lower=1)})["solve"]
    matrix = np.asfortranarray(rng.uniform(size=(stored, rank)))
    k = rng.uniform(size=stored)
    return 2 * best({"product": lambda: blas.dgemv(1.0, matrix, k, trans=1)})["product"]


def bars(ratios: dict[str, list[float]], bounds: dict[str, list[float]]) -> list[Bar]:
    listed = [
        at_most(f"{name}: round to bare row, mean of {len(ratios[name])}", bar, mean(ratios[name]))
        for name, bar in BARS.items()
        if name in ratios
    ]
    for name, bar in BLAS2.items():
        if name in bounds:
            what = f"{name}: rounds that update, to row and BLAS-2"
            listed.append(at_most(what, bar, mean(bounds[name])))
    return listed


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def main() -> None:
    parser = argparse.ArgumentParser(description="What a round costs beyond its kernel row.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="learners; all if none is given")
    parser.add_argument("--budget", type=int, default=300)
    parser.add_argument("--rows", type=int, default=4000, help="of which half are timed")
    parser.add_argument("--repeats", type=int, default=8)
    options = parser.parse_args()
    out = console()
    ratios, bounds = defaultdict(list), defaultdict(list)
    costs = []
    for shape in SHAPES:
        X, codes, source = load(shape, options.rows)
        layout = "CSR" if shape.sparse else "dense"
        table = Table(
            title=f"{source} ({layout}, d = {shape.features}, B = {options.budget}, float32, "
            f"{_core.instruction_set()})"
        )
        table.add_column("learner", no_wrap=True)
        for heading in ("stored", "updating", "bare row us", "round us", "rows/s", "round / row"):
            table.add_column(heading, justify="right")
        for algorithm in budgetron.algorithms():
            if options.names and algorithm.name not in options.names:
                continue
            with threadpool_limits(limits=1):
                model = make(algorithm, shape.gamma, options.budget)
                cost = measure(model, X, codes, options.repeats)
                if algorithm.name in BLAS2:
                    rank = model.get_params().get("rank") or round(0.2 * cost.stored)
                    least = cost.row + blas2(algorithm.name, cost.stored, rank)
                    taken = update_rounds(model, X, codes, options.repeats)
                    bounds[algorithm.name].append(taken / least)
            ratios[algorithm.name].append(cost.round / cost.row)
            costs.append({"data": source, "learner": algorithm.name, **asdict(cost)})
            table.add_row(
                algorithm.name,
                str(cost.stored),
                f"{100 * cost.updates:.0f} %",
                f"{cost.row:.2f}",
                f"{cost.round:.2f}",
                f"{1e6 / cost.round:,.0f}",
                f"{cost.round / cost.row:.2f}",
            )
        out.print(table)
    finish("learners", bars(ratios, bounds), budget=options.budget, costs=costs)


if __name__ == "__main__":
    main()
