"""Exported models beside Python's: error rates of int8, and the time per row as a ratio.

    python benchmarks/export.py [--rows 20000] [--repeats 5]

Error rates are for rows that were not learned. Times: the compiled header (cc -O2), one row after
the other, and onnxruntime, if it is installed, in batches of 1,024 rows, relative to `predict` in
the same batches; in turns, each with its best time. One thread.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import budgetron
from budgetron.export import describe, to_c
from budgetron.export.quantised import quantised

LEARNED = 10_000
BATCH = 1024
DRIVER = """\
#include <stdio.h>
#include <time.h>
#include "model.h"
static double rows[ROWS][model_features];
int main(void) {
  MODEL_SUM f[model_outputs];
  clock_t start;
  double sum = 0;
  int i;
  if (fread(rows, sizeof rows, 1, stdin) != 1) return 1;
  start = clock();
  for (i = 0; i < ROWS; ++i) {
    model_decide(rows[i], f);
    sum += (double)f[0];
  }
  printf("%.9f %g\\n", (double)(clock() - start) / CLOCKS_PER_SEC, sum);
  return 0;
}
"""


def stream(rows: int, classes: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Four features in different units; a twentieth of the values is missing."""
    random = np.random.default_rng(3)
    X = random.normal(size=(rows, 4))
    score = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * random.normal(size=rows)
    X = X * [1.0, 1000.0, 0.01, 5.0] + [0.0, 500.0, 0.0, 10_000.0]
    X[random.random(X.shape) < 0.05] = np.nan
    return X, np.digitize(score, np.linspace(-0.5, 0.5, classes - 1))


def wrong(found: Any, X: NDArray[Any], y: NDArray[Any]) -> float:
    """The error rate of a description, in per cent."""
    f = found.decide(X)
    codes = f.argmax(axis=1) if f.shape[1] > 1 else f[:, 0] >= 0
    return float(100 * np.mean(codes != y))


def error_rates(rows: int) -> Table:
    table = Table("budgetron, B = 100", "float", "int8, only rounded", "int8")
    for classes, kernel in [(2, "rbf"), (4, "rbf"), (2, "laplacian"), (2, "poly"), (4, "poly")]:
        X, y = stream(LEARNED + rows, classes)
        model = budgetron.BudgetronClassifier(budget=100, kernel=kernel)
        found = describe(model.partial_fit(X[:LEARNED], y[:LEARNED]))
        small, _ = quantised(found)
        rounded = replace(small, coefs=found.coefs)
        rest, labels = X[LEARNED:], y[LEARNED:]
        rates = [wrong(each, rest, labels) for each in (found, rounded, small)]
        table.add_row(f"{classes} classes, {kernel}", *(f"{rate:.2f}" for rate in rates))
    return table


def compiled(model: Any, X: NDArray[Any], folder: Path, precision: str) -> Callable[[], float]:
    (folder / "model.h").write_text(to_c(model, precision=precision))
    (folder / "main.c").write_text(DRIVER)
    program = str(folder / precision)
    source = str(folder / "main.c")
    command = ["cc", "-std=c99", "-O2", f"-DROWS={len(X)}", source, "-o", program, "-lm"]
    subprocess.run(command, check=True)

    def run() -> float:
        done = subprocess.run([program], input=X.tobytes(), capture_output=True, check=True)
        return float(done.stdout.split()[0])

    return run


def timed(answer: Callable[[Any], Any], X: NDArray[Any]) -> Callable[[], float]:
    """The seconds for all rows, in batches."""

    def run() -> float:
        start = time.perf_counter()
        for at in range(0, len(X), BATCH):
            answer(X[at : at + BATCH])
        return time.perf_counter() - start

    return run


def in_onnx(model: Any, X: NDArray[Any]) -> Callable[[], float] | None:
    try:
        import onnxruntime

        from budgetron.onnx import to_onnx
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    graph = to_onnx(model, dtype="float32").SerializeToString()
    session = onnxruntime.InferenceSession(graph, options)
    return timed(lambda rows: session.run(["label"], {"X": rows}), X.astype(np.float32))


def times(rows: int, repeats: int) -> Table:
    X, y = stream(LEARNED + rows, 2)
    X = np.nan_to_num(X)
    table = Table("budgetron", "examples", "predict, us a row", "C", "C, int8", "onnxruntime")
    for budget in (50, 400):
        model = budgetron.BudgetronClassifier(budget=budget)
        model.partial_fit(X[:LEARNED], y[:LEARNED])
        rest = np.ascontiguousarray(X[LEARNED:])
        with tempfile.TemporaryDirectory() as name:
            runs = [timed(model.predict, rest), compiled(model, rest, Path(name), "float32")]
            runs += [compiled(model, rest, Path(name), "int8")]
            graph = in_onnx(model, rest)
            runs += [graph] if graph is not None else []
            taken = np.array([[run() for run in runs] for _ in range(repeats)]).min(axis=0)
        ratios = [f"{ratio:.1f}" for ratio in taken[1:] / taken[0]]
        held = str(model.n_support_)
        table.add_row(f"B = {budget}", held, f"{1e6 * taken[0] / rows:.2f}", *ratios)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description="Exported models beside Python's.")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    console = Console(width=80)
    console.print("Error rate in per cent", error_rates(given.rows))
    console.print("Time of one row over that of predict", times(given.rows, given.repeats))


if __name__ == "__main__":
    main()
