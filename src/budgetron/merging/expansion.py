"""Stored examples with their coefs: the mean of several expansions, cut to a budget.

    f = sum_w n_w f_w / sum_w n_w

over the union of the stored examples; n_w is the number of rows that worker w has learned. Equal
examples become one. Beyond the budget, the example whose removal changes f least in the norm of the
kernel is removed, and f is projected onto the others:

    i = argmin a_i^2/(K^-1)_ii ;   a -= (K^-1)_i a_i/(K^-1)_ii

this conditions a belief that has seen nothing, P = K^-1, on a_i = 0. Cost: O(n^3) for a union of n.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from budgetron.merging.belief import Floats, State, coefs_of, factor_of

SUPPORT = "learner/expansion/support/"
JITTER = 1e-10  # times the mean of k(x, x), added to K, which may be singular


def read(state: State) -> State:
    """The examples of a state and their coefs, as arrays of a delta."""
    stored = len(state[SUPPORT + "ends"])
    arrays: State = {
        "example/" + name: state[SUPPORT + name] for name in ("ends", "widths", "indices", "values")
    }
    arrays["example/ids"] = state["learner/expansion/ids"][:stored]
    arrays["example/coefs"] = coefs_of(state).ravel()
    return arrays


def mixed(several: list[State], shares: Floats) -> State:
    """The union of the examples, with the mean of their coefs."""
    rows: dict[bytes, int] = {}
    parts: list[tuple[Any, Any, int, int]] = []  # values, indices, width, id
    coefs: list[Floats] = []
    for each, share in zip(several, shares, strict=True):
        count = len(each["example/ends"])
        own = each["example/coefs"].reshape(count, -1) * share if count else np.zeros((0, 1))
        for place, (values, indices) in enumerate(_rows(each)):
            width = int(each["example/widths"][place])
            key = values.tobytes() + b"|" + indices.tobytes() + str(width).encode()
            if key in rows:
                coefs[rows[key]] = coefs[rows[key]] + own[place]
                continue
            rows[key] = len(parts)
            parts.append((values, indices, width, int(each["example/ids"][place])))
            coefs.append(own[place])
    if not parts:
        return {}
    order = sorted(range(len(parts)), key=lambda at: (parts[at][3], at))
    return {
        "example/ends": np.cumsum([len(parts[at][0]) for at in order]).astype(np.int64),
        "example/widths": np.array([parts[at][2] for at in order], np.int32),
        "example/indices": np.concatenate(
            [np.zeros(0), *(parts[at][1] for at in order if parts[at][2] < 0)]
        ).astype(np.int32),
        "example/values": np.concatenate([parts[at][0] for at in order]),
        "example/ids": np.array([parts[at][3] for at in order], np.int64),
        "example/coefs": np.array([coefs[at] for at in order]).ravel(),
    }


def write(state: State, arrays: State, kernel: dict[str, Any], capacity: int) -> None:
    """Put examples and coefs into a state, at most so many (0: all)."""
    count = len(arrays["example/ends"])
    outputs = int(state["learner/expansion/outputs"][0])
    coefs = arrays["example/coefs"].reshape(count, outputs).astype(np.float64)
    rows = as_matrix(arrays)
    gram = gram_matrix(rows, kernel)
    kept = np.arange(count)
    if capacity and count > capacity:
        kept, coefs = reduced(gram, coefs, capacity)
    write_examples(state, [list(_rows(arrays))[at] for at in kept], arrays["example/widths"][kept])
    ids = _ages(arrays["example/ids"][kept])
    write_coefs(state, coefs, ids)
    write_gram(state, gram[np.ix_(kept, kept)], coefs)


def write_examples(state: State, rows: list[tuple[Any, Any]], widths: NDArray[Any]) -> None:
    """Put examples, each with values and feature numbers, into a state."""
    dtype = state[SUPPORT + "values"].dtype
    none = np.zeros(0)
    state[SUPPORT + "ends"] = np.cumsum([len(values) for values, _ in rows]).astype(np.int64)
    state[SUPPORT + "widths"] = widths.astype(np.int32)
    state[SUPPORT + "values"] = np.concatenate([none, *(v for v, _ in rows)]).astype(dtype)
    found = (rows[at][1] for at in range(len(rows)) if widths[at] < 0)
    state[SUPPORT + "indices"] = np.concatenate([none, *found]).astype(np.int32)


def write_coefs(state: State, coefs: Floats, ids: NDArray[Any]) -> None:
    """The coefs and ages of the examples, padded as in states."""
    stride = -(-max(len(coefs), 1) // 16) * 16
    numbers = np.zeros((coefs.shape[1], stride))
    numbers[:, : len(coefs)] = coefs.T / factor_of(state)
    state["learner/expansion/coefs"] = numbers.ravel()
    state["learner/expansion/ids"] = np.pad(ids, (0, stride - len(ids))).astype(np.int64)


def write_gram(state: State, gram: Floats, coefs: Floats) -> None:
    """Update what depends on the examples: the norm of f, and the Gram matrix if it is kept."""
    norm = float(np.einsum("ik,ij,jk->", coefs, gram, coefs)) * (1 if coefs.shape[1] == 1 else 2)
    state["learner/expansion/squared_norm"] = np.array([max(norm, 0.0) / factor_of(state) ** 2])
    packed = gram[np.tril_indices(len(gram))]
    if len(state["learner/expansion/gram"]):
        state["learner/expansion/gram"] = packed.astype(state["learner/expansion/gram"].dtype)
    for name in [name for name in state if name.endswith("/projection/factor")]:
        jitter = name.replace("/factor", "/jitter")
        root = _root(state, jitter, gram)
        state[name] = root[np.tril_indices(len(gram))]
        size = name.replace("/factor", "/size")
        state[size] = np.array([len(gram)]).astype(state[size].dtype)


def _root(state: State, jitter: str, gram: Floats) -> Floats:
    """The Cholesky factor of the Gram matrix; with more jitter if it is singular."""
    unit = np.eye(len(gram))
    try:
        return np.linalg.cholesky(gram + float(state[jitter][0]) * unit)
    except np.linalg.LinAlgError:
        state[jitter] = state[jitter] + 1e-8 * float(gram.diagonal().mean())
        return np.linalg.cholesky(gram + float(state[jitter][0]) * unit)


def _ages(ids: NDArray[Any]) -> NDArray[np.int64]:
    """New unique ids in the order of the old ones."""
    order = np.argsort(ids, kind="stable")
    ages = np.asarray(ids, np.int64).copy()
    last = -1
    for at in order:
        last = max(last + 1, int(ids[at]))
        ages[at] = last
    return ages


def reduced(gram: Floats, coefs: Floats, size: int) -> tuple[NDArray[np.intp], Floats]:
    """The positions of the examples to keep, and f projected onto them."""
    jitter = JITTER * float(np.abs(gram.diagonal()).mean())
    inverse = np.linalg.pinv(gram + jitter * np.eye(len(gram)), hermitian=True)
    return dropped(inverse, coefs.copy(), size)


def dropped(
    covariance: Floats, mean: Floats, size: int, first: int = 0
) -> tuple[NDArray[np.intp], Floats]:
    """The coordinates of a belief to keep; the least certain to differ from 0 are removed.

    The first `first` coordinates always stay, and `size` others; each removed one is set to 0.
    Returns positions and mean of those that stay; changes the covariance in place.
    """
    places = np.arange(len(mean))
    there = np.ones(len(mean), dtype=bool)
    for _ in range(len(mean) - first - size):
        variances = np.maximum(covariance.diagonal(), 1e-300)
        scores = np.where(there, (mean**2).sum(1) / variances, np.inf)
        scores[:first] = np.inf
        worst = int(np.argmin(scores))
        column = covariance[:, worst].copy()
        mean -= np.outer(column / variances[worst], mean[worst])
        covariance -= np.outer(column, column / variances[worst])
        there[worst] = False
        mean[worst] = 0.0
    return places[there], mean[there]


def gram_matrix(rows: Any, kernel: dict[str, Any]) -> Floats:
    """Kernel values of stored examples, in float64; distances from differences, as in the core."""
    from scipy.spatial.distance import cdist

    used = np.unique(rows.indices)
    dense = rows.tocsc()[:, used].toarray() if len(used) else np.zeros((rows.shape[0], 1))
    kind, gamma = kernel["kind"], float(kernel.get("gamma", 1.0))
    values: Floats
    if kind == "rbf":
        values = np.exp(-gamma * cdist(dense, dense, "sqeuclidean"))
    elif kind == "laplacian":
        values = np.exp(-gamma * cdist(dense, dense, "cityblock"))
    elif kind == "linear":
        values = dense @ dense.T
    elif kind == "poly":
        values = (gamma * (dense @ dense.T) + float(kernel["coef0"])) ** int(kernel["degree"])
    else:
        values = np.tanh(gamma * (dense @ dense.T) + float(kernel["coef0"]))
    return values


def as_matrix(arrays: State, width: int = 0) -> Any:
    """Examples as a sparse float64 matrix."""
    rows = list(_rows(arrays))
    columns = [indices for _, indices in rows]
    width = max([width, 1, *(int(each.max(initial=-1)) + 1 for each in columns)])
    ends = np.concatenate([[0], np.cumsum([len(each) for each in columns])]).astype(np.int64)
    none = np.zeros(0)
    data = np.concatenate([none, *(values for values, _ in rows)]).astype(np.float64)
    found = np.concatenate([none, *columns]).astype(np.int64)
    return scipy.sparse.csr_array((data, found, ends), shape=(len(rows), width))


def _rows(arrays: State) -> Any:
    """Values and feature numbers of each example; dense rows have the numbers from 0 on."""
    ends = arrays["example/ends"].tolist()
    sparse_at = 0
    for place, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
        values = arrays["example/values"][start:end]
        if arrays["example/widths"][place] >= 0:
            yield values, np.arange(len(values), dtype=np.int32)
        else:
            indices = arrays["example/indices"][sparse_at : sparse_at + len(values)]
            sparse_at += len(values)
            yield values, indices
