"""What a round costs beyond its kernel row, for every learner of the catalogue.

    python benchmarks/learners.py [--budget 300] [--rows 4000] [--repeats 5] [NAME ...]

A learner first learns half of the rows it gets. The others it meets in chunks: each chunk is first
only decided (`predict`: the bare row, kernel values and their sum over what is stored at that
moment) and then learned (`prequential`: the round, which begins with that same row). Both go
through the same compiled loop over the same float32 rows, so their ratio is what learning adds. All
of it is repeated on copies of the model, and each chunk counts with its best time; the ratio of the
sums is printed. One thread.

Learners with a budget get the same one, FOGD as many frequencies, and the others store what they
like, which the table shows. Data: the LIBSVM files in $BUDGETRON_DATA, or in ../shared/data beside
the repository; where they are not, a synthetic stream of their shape.
"""

from __future__ import annotations

import argparse
import lzma
import os
import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

import budgetron
from budgetron import _core

CHUNK = 50


@dataclass(frozen=True)
class Shape:
    """A data set: its file, or what a stand-in must look like."""

    name: str
    gamma: float
    features: int
    nonzeros: int  # a row, about
    sparse: bool


SHAPES = [
    Shape("a9a", 0.125, 123, 14, sparse=True),
    Shape("ijcnn1", 0.5, 22, 22, sparse=False),
    Shape("phishing", 0.5, 68, 30, sparse=False),
]


def load(shape: Shape, rows: int) -> tuple[Any, NDArray[np.float64], str]:
    """Rows, class codes, and where they come from."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    path = Path(os.environ.get("BUDGETRON_DATA", beside)) / f"{shape.name}.libsvm.xz"
    rng = np.random.default_rng(0)
    if path.exists():
        from sklearn.datasets import load_svmlight_file

        with lzma.open(path) as file:
            X, y = load_svmlight_file(file, n_features=shape.features, dtype=np.float32)
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


@dataclass(frozen=True)
class Cost:
    """Microseconds a row, and how many examples were stored at the end."""

    row: float
    round: float
    stored: int
    updates: float  # share of the rounds


def make(algorithm: Any, gamma: float, budget: int) -> Any:
    sizes = {"budget": budget, "n_components": budget}
    own = {name: value for name, value in sizes.items() if name in algorithm.parameters}
    return budgetron.make(algorithm.name, gamma=gamma, random_state=0, **own)


def measure(model: Any, X: Any, codes: NDArray[np.float64], repeats: int) -> Cost:
    half = X.shape[0] // 2
    model.partial_fit(X[:half], codes[:half], classes=[0.0, 1.0])
    before = model.n_updates_
    starts = range(half, X.shape[0], CHUNK)
    chunks = [(X[at : at + CHUNK], codes[at : at + CHUNK]) for at in starts]
    best = np.full((len(chunks), 2), np.inf)
    for _ in range(repeats):
        engine = pickle.loads(pickle.dumps(model._engine))
        for times, (rows, targets) in zip(best, chunks, strict=True):
            times[0] = min(times[0], seconds(engine.predict, rows))
            times[1] = min(times[1], seconds(engine.learn, rows, targets, record=True))
    learned = X.shape[0] - half
    row, round_ = 1e6 * best.sum(axis=0) / learned
    updates = (engine.native.updates - before) / learned
    return Cost(float(row), float(round_), engine.native.size, updates)


def seconds(call: Callable[..., Any], *args: Any, **kwargs: Any) -> float:
    start = time.perf_counter()
    call(*args, **kwargs)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description="What a round costs beyond its kernel row.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="learners; all if none is given")
    parser.add_argument("--budget", type=int, default=300)
    parser.add_argument("--rows", type=int, default=4000, help="of which half are timed")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    console = Console()
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
            table.add_row(
                algorithm.name,
                str(cost.stored),
                f"{100 * cost.updates:.0f} %",
                f"{cost.row:.2f}",
                f"{cost.round:.2f}",
                f"{1e6 / cost.round:,.0f}",
                f"{cost.round / cost.row:.2f}",
            )
        console.print(table)


if __name__ == "__main__":
    main()
