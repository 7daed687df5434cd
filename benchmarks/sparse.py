"""Sparse streams: a9a against the dense row, and a wide hashed stream against a9a.

    python benchmarks/sparse.py

a9a, all rows, CSR, through `prequential` at B = 300: a round of three learners that update often,
against the bare dense row at the same B and d (`predict` with `set_look_ahead("never")` over rows
and stored examples without zeros), and against the bare sparse row.

The wide stream has a hundred words per row, drawn by Zipf's law or uniformly, hashed into 2^20
features. Memory should follow the nonzeros, not the width, and a round should cost no more than a
few rounds of a9a. Whole streams count with the best processor time of several passes, which a busy
machine affects least. float32, one thread.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from measuring import A9A, at_most, best, console, finish, load, table
from numpy.typing import NDArray
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from budgetron._csr import sparse_rows
from budgetron.catalogue import as_printed

BUDGET = 300
LEARNERS = ("rbp", "bogd", "bpas")
WIDTH, WORDS, WIDE_ROWS = 2**20, 100, 10_000
DENSE_SHARE, WIDE_ROUNDS = 0.3, 5.0
# The most bytes per stored nonzero: ten times a float32 and its int32 index.
BYTES_A_NONZERO = 80.0
SAME = 1.5  # relative to the memory of the same rows without empty features


def dense_row(width: int) -> float:
    """Microseconds of the bare dense row."""
    random = np.random.default_rng(0)
    X = random.standard_normal((5 * BUDGET, width)).astype(np.float32)
    model = as_printed("rbp", budget=BUDGET, gamma=1 / width, random_state=0)
    model.partial_fit(X, random.integers(0, 2, len(X)), classes=[0, 1])  # half are mistakes
    assert model.n_support_ == BUDGET, model.n_support_
    native = model._engine.native
    native.set_look_ahead("never")
    return best({"row": lambda: native.predict(X[:48])}, rows=48)["row"]


def rounds(name: str, X: Any, y: Any, *, gamma: float, passes: int) -> tuple[float, float, Any]:
    """Microseconds of a round over the whole stream in one call, and of a bare row at its end."""
    taken = float("inf")
    for _ in range(passes):
        model = as_printed(name, budget=BUDGET, gamma=gamma, random_state=0)
        began = time.thread_time()
        model.prequential(X, y, classes=[0.0, 1.0])
        taken = min(taken, time.thread_time() - began)
    # Enough to make the cost of the call negligible.
    native, rows = model._engine.native, sparse_rows(X[:960])
    row = best({"row": lambda: native.predict(rows)}, rows=rows.shape[0])["row"]
    return 1e6 * taken / X.shape[0], row, model


def hashed_words(rows: int, *, zipf: bool) -> tuple[csr_array[Any], NDArray[np.float64]]:
    """Rows of a hundred words of two topics, each word hashed to its feature."""
    random = np.random.default_rng(0)
    y = random.integers(0, 2, rows)
    if zipf:
        words = np.exp(random.random((rows, WORDS)) * np.log(10_000_000)).astype(np.int64)
        words = 2 * words + (random.random((rows, WORDS)) < 0.3 + 0.4 * y[:, None])
    else:
        words = random.integers(0, 10_000_000, (rows, WORDS))
    features = (words.astype(np.uint64) * np.uint64(11400714819323198485)) >> np.uint64(44)
    at = np.repeat(np.arange(rows), WORDS)
    ones = np.full(rows * WORDS, 1 / np.sqrt(WORDS), np.float32)
    X = csr_array((ones, (at, features.astype(np.int32).ravel())), shape=(rows, WIDTH))
    X.sum_duplicates()
    # As hashers return them.
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, y.astype(np.float64)


def main() -> None:
    out = console()
    bars, listed, wide = [], [], []
    with threadpool_limits(1):
        X, y, source = load(A9A, 40_000)
        dense = dense_row(A9A.features)
        a9a = {}
        for name in LEARNERS:
            a9a[name], row, _ = rounds(name, X, y, gamma=A9A.gamma, passes=60)
            per_second = 1e6 / a9a[name]
            listed.append((name, dense, row, a9a[name], row / dense, a9a[name] / dense, per_second))
            what = f"{name} on {source}, {X.shape[0]:,} rows of CSR: round to the dense row"
            bars.append(at_most(what, DENSE_SHARE, a9a[name] / dense))
        for kind in ("zipf", "uniform"):
            W, labels = hashed_words(WIDE_ROWS, zipf=kind == "zipf")
            for name in LEARNERS:
                taken, row, model = rounds(name, W, labels, gamma=1.0, passes=12)
                nonzeros = model.n_support_ * W.nnz / W.shape[0]
                each = model.memory_bytes_ / nonzeros
                narrow = csr_array((W.data, np.unique(W.indices, return_inverse=True)[1], W.indptr))
                same = rounds(name, narrow, labels, gamma=1.0, passes=1)[2].memory_bytes_
                wide.append(
                    (kind, name, row, taken, taken / a9a[name], model.memory_bytes_ / 1e6, each)
                )
                what = f"{name}, d = 2^20, {WORDS} {kind} words: round to that of a9a"
                bars.append(at_most(what, WIDE_ROUNDS, taken / a9a[name]))
            what = f"d = 2^20, {WORDS} {kind} words: memory to that without the empty features"
            bars.append(at_most(what, SAME, model.memory_bytes_ / same))
            what = f"rbp, d = 2^20, {WORDS} {kind} words: bytes a stored nonzero"
            bars.append(at_most(what, BYTES_A_NONZERO, wide[-len(LEARNERS)][-1], "B"))
    columns = ["learner", "dense row µs", "sparse row µs", "round µs"]
    columns += ["row / dense row", "round / dense row", "rows/s"]
    out.print(table(f"{source}, CSR, B = {BUDGET}, whole stream", columns, listed))
    columns = ["words", "learner", "row µs", "round µs", "rounds of a9a", "MB", "bytes a nonzero"]
    out.print(table(f"d = 2^20, {WORDS} words a row, B = {BUDGET}", columns, wide))
    finish("sparse", bars, a9a=listed, wide=wide)


if __name__ == "__main__":
    main()
