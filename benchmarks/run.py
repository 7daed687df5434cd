"""Speed as ratios: the kernel row and the round against NumPy and a plain C++ loop.

`make bench` builds `row_bench` (row_bench.cpp says what it times) and runs this file, which adds
the Python side, prints tables, and stores every number in ``build/bench/rows.json``. All times are
for one core, the best of many short bursts. Bars are printed with the measured values; missing one
is no error, because a time depends on the machine as much as on the code.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

import numpy as np
from measuring import BUILD, Bar, at_least, at_most, best, console, finish
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from budgetron._batch import Batch
from budgetron.catalogue import as_printed
from budgetron.streams.synthetic import two_gaussians

EXECUTABLE = BUILD / "row_bench"

# The shape of the bars, and how much a round without update may cost.
EXAMPLES, FEATURES = 400, 68
ROUND = 1.15


# ---- measurements ---------------------------------------------------------------------------


def native_times() -> dict[str, Any]:
    """The output of `row_bench`."""
    if not EXECUTABLE.exists():
        sys.exit(f"{EXECUTABLE} is missing: run `make bench`, which builds it first")
    done = subprocess.run([EXECUTABLE], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{EXECUTABLE.name} failed with exit code {done.returncode}")
    times: dict[str, Any] = json.loads(done.stdout)
    return times


def numpy_times(examples: int, features: int, dtype: str) -> dict[str, float]:
    """NumPy's Gaussian row: from norms and one matrix product, and from differences."""
    random = np.random.default_rng(0)
    X = random.standard_normal((examples, features)).astype(dtype)
    x = random.standard_normal(features).astype(dtype)
    norms = (X * X).sum(axis=1)
    gamma = X.dtype.type(1 / features)

    def from_norms() -> NDArray[Any]:
        row: NDArray[Any] = np.exp(-gamma * np.maximum(norms + x @ x - 2 * (X @ x), 0))
        return row

    def from_differences() -> NDArray[Any]:
        row: NDArray[Any] = np.exp(-gamma * ((X - x) ** 2).sum(axis=1))
        return row

    np.testing.assert_allclose(from_norms(), from_differences(), rtol=1e-3)
    return best({"numpy_norms": from_norms, "numpy_differences": from_differences})


def one_row_times() -> dict[str, float]:
    """One-row calls of the estimator beside the same rounds in one native loop, without updates."""
    random = np.random.default_rng(0)
    X = random.standard_normal((EXAMPLES + 64, FEATURES)).astype(np.float32)
    # So little aggressive that it stores a row only if y f(x) < 1e-9.
    model = as_printed("ahpatron", budget=EXAMPLES, epsilon=1 - 1e-9)
    model.partial_fit(X[:1], [1], classes=[0, 1])
    for x in X[1:EXAMPLES]:
        # Stored: its label differs from the prediction.
        model.learn_one(x, int(model.decision_one(x) < 0))
    queries = X[EXAMPLES:]
    labels = (model.decision_function(queries) >= 0).astype(int)
    pairs = list(zip(queries, labels.tolist(), strict=True))
    targets = labels.astype(np.float64)
    native = model._engine.native
    native.set_look_ahead("never")  # one row at a time, like the calls beside it
    updates = model.n_updates_
    assert model.n_support_ == EXAMPLES

    def learn_one() -> None:
        learn = model.learn_one
        for x, y in pairs:
            learn(x, y)

    def decision_one() -> None:
        decide = model.decision_one
        for x, _ in pairs:
            decide(x)

    times = best(
        {
            "learn_one": learn_one,
            "native_learn": lambda: native.learn(Batch(queries, targets)),
            "decision_one": decision_one,
            "native_predict": lambda: native.predict(queries),
        },
        rows=len(queries),
    )
    assert model.n_updates_ == updates, "a timed round updated the model"
    return times


def prequential_times() -> list[dict[str, Any]]:
    """Whole runs over the Forgetron paper's noisy stream, including updates."""
    X, y = two_gaussians(n_per_class=5000, flip=0.05, seed=0)
    runs = []
    for name in ("perceptron", "ahpatron"):
        for dtype in (np.float32, np.float64):
            rows = X.astype(dtype)
            params: dict[str, Any] = {"budget": 100} if name == "ahpatron" else {}
            fastest = float("inf")
            for _ in range(40):
                model = as_printed(name, gamma=0.5, **params)
                start = time.perf_counter()
                model.prequential(rows, y, classes=[-1, 1])
                fastest = min(fastest, time.perf_counter() - start)
            runs.append(
                {
                    "algorithm": name,
                    "dtype": np.dtype(dtype).name,
                    "rows": len(y),
                    "n_support": model.n_support_,
                    "n_updates": model.n_updates_,
                    "mistake_rate": model.n_mistakes_ / len(y),
                    "microseconds": 1e6 * fastest / len(y),
                }
            )
    return runs


# ---- report ---------------------------------------------------------------------------------


def find(shapes: list[dict[str, Any]], **wanted: Any) -> dict[str, float]:
    """The times of one shape."""
    for shape in shapes:
        if all(shape[name] == value for name, value in wanted.items()):
            times: dict[str, float] = shape["microseconds"]
            return times
    raise LookupError(f"no shape with {wanted}")


def bars(shapes: list[dict[str, Any]], one_row: dict[str, float]) -> list[Bar]:
    floats = [shape for shape in shapes if shape["dtype"] == "float32"]
    main = find(floats, examples=EXAMPLES, features=FEATURES)
    dense = find(floats, features=123, nonzeros=123)
    sparse = find(floats, features=123, nonzeros=14, storage="sparse")
    at = f"B={EXAMPLES} d={FEATURES} float32"
    loop = min(main["row_major_plain"], main["row_major_vectorised"])
    differences = main["numpy_differences"]
    listed = [
        at_least(f"row, {at}: faster than the better row-major loop", 2.5, loop / main["row"]),
        at_least(f"row, {at}: faster than NumPy (norms)", 15, main["numpy_norms"] / main["row"]),
        at_least(f"row, {at}: faster than NumPy (differences)", 15, differences / main["row"]),
        at_least("row, B=300 d=123: 14 nonzeros to dense", 4, dense["row"] / sparse["row"]),
    ]
    for shape in floats:
        times = shape["microseconds"]
        what = f"round without update, {title(shape)}"
        bare = times["row"] + times["dot"]  # the kernel values and the decision: `predict`
        listed.append(at_most(what, ROUND, times["round"] / bare, "rows"))
    for call, native in (("learn_one", "native_learn"), ("decision_one", "native_predict")):
        over = one_row[call] - one_row[native]
        listed.append(at_most(f"{call}, over the native loop", 1.0, over, "µs"))
    return listed


def title(shape: dict[str, Any]) -> str:
    text = f"B={shape['examples']} d={shape['features']}"
    if shape["nonzeros"] < shape["features"]:
        text += f" nnz={shape['nonzeros']} {shape['storage']}"
    return text


def show(results: dict[str, Any], console: Console) -> None:
    table = Table(title="Microseconds a row; in brackets how many times the row")
    for column, justify in (
        ("shape", "left"),
        ("type", "left"),
        ("row function", "right"),
        ("row", "right"),
        ("round", "right"),
        ("row-major\nplain", "right"),
        ("row-major\nvectorised", "right"),
        ("NumPy\nnorms", "right"),
        ("NumPy\ndifferences", "right"),
    ):
        table.add_column(column, justify=justify)  # type: ignore[arg-type]
    for shape in results["shapes"]:
        times = shape["microseconds"]
        cells = [
            f"{times[name]:.2f} ({times[name] / times['row']:.1f})" if name in times else ""
            for name in (
                "round",
                "row_major_plain",
                "row_major_vectorised",
                "numpy_norms",
                "numpy_differences",
            )
        ]
        table.add_row(
            title(shape),
            shape["dtype"],
            f"{times['row_function']:.2f}",
            f"{times['row']:.2f}",
            *cells,
        )
    console.print(table)

    table = Table(title=f"Rows from Python, B={EXAMPLES} d={FEATURES} float32, µs")
    for column in ("call", "one row", "native loop", "overhead"):
        table.add_column(column, justify="left" if column == "call" else "right")
    one_row = results["one_row"]
    for call, native in (("learn_one", "native_learn"), ("decision_one", "native_predict")):
        table.add_row(
            call,
            f"{one_row[call]:.2f}",
            f"{one_row[native]:.2f}",
            f"{one_row[call] - one_row[native]:.2f}",
        )
    console.print(table)

    table = Table(title="Prequential, two Gaussians with 5 % noise, updates included")
    for column in ("algorithm", "type", "rows", "stored", "updates", "mistakes", "µs/row"):
        table.add_column(column, justify="left" if column in ("algorithm", "type") else "right")
    for run in results["prequential"]:
        table.add_row(
            run["algorithm"],
            run["dtype"],
            str(run["rows"]),
            str(run["n_support"]),
            str(run["n_updates"]),
            f"{100 * run['mistake_rate']:.1f} %",
            f"{run['microseconds']:.2f}",
        )
    console.print(table)


def main() -> None:
    print("timing the compiled side, then the Python side: about a minute", file=sys.stderr)
    native = native_times()
    shapes = native["shapes"]
    with threadpool_limits(1):
        for shape in shapes:
            if shape["nonzeros"] == shape["features"]:
                shape["microseconds"] |= numpy_times(
                    shape["examples"], shape["features"], shape["dtype"]
                )
        one_row = one_row_times()
        prequential = prequential_times()
    results = {"shapes": shapes, "one_row": one_row, "prequential": prequential}
    show(results, console())
    finish("rows", bars(shapes, one_row), bursts=native["bursts"], **results)


if __name__ == "__main__":
    main()
