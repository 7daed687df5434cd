"""Explicit zeros in sparse rows take no memory beyond a budget in bytes."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from budgetron.catalogue import as_printed


def test_zeros_of_merged_rows_take_no_memory() -> None:
    generator = np.random.default_rng(0)
    width, rows, kept, zeros = 20_000, 300, 8, 1_000
    frequent = generator.choice(width, 60, replace=False)
    indices, values, ends = [], [], [0]
    for row in range(rows):
        others = generator.choice(width, zeros if row > 0 else 0)
        features = np.unique(np.r_[generator.choice(frequent, kept), others])
        is_kept = np.isin(features, frequent)
        indices.append(features)
        values.append(np.where(is_kept, generator.standard_normal(len(features)), 0.0))
        ends.append(ends[-1] + len(features))
    X = scipy.sparse.csr_array(
        (np.concatenate(values).astype(np.float32), np.concatenate(indices), ends), (rows, width)
    )
    y = (X.sum(axis=1) > 0).astype(int)
    model = as_printed("bsgd-merge", kernel="rbf", gamma=0.1, budget="64KB", random_state=0)
    model.partial_fit(X[:1], y[:1], classes=[0, 1])
    taken = model.memory_bytes_
    model.partial_fit(X[1:], y[1:])
    assert model.n_support_ == model.budget_
    assert model.memory_bytes_ <= taken <= 64_000
