"""Kernels against one-liners, tails and misalignment, k(x, x) = 1, in every instruction set."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics.pairwise import pairwise_kernels

import budgetron
from budgetron import _core
from budgetron._engine import blas_of_scipy
from budgetron.catalogue import as_printed
from budgetron.parts import (
    Gaussian,
    Laplacian,
    Linear,
    PerceptronUpdate,
    Polynomial,
    Round,
    Sigmoid,
)
from tests.support.cases import KERNELS, stream
from tests.support.native import Engine, learn_rows, predict_rows

PARTS = {
    "rbf": Gaussian(0.5),
    "linear": Linear(),
    "poly": Polynomial(0.5, 2, 1.0),
    "laplacian": Laplacian(0.5),
    "sigmoid": Sigmoid(0.3, 0.1),
}


def kernel_matrix(kernel: str, stored: np.ndarray, probes: np.ndarray) -> np.ndarray:
    """k(stored_i, probe_j) as the core computes it, one stored example at a time."""
    columns = []
    for x in stored:
        engine = Engine(
            Round(PARTS[kernel], PerceptronUpdate()).spec(), "classification", 2, 0, stored.dtype
        )
        learn_rows(engine.native, x[None, :], np.array([1.0]))
        assert engine.native.size == 1, "a tie stores the example"
        columns.append(predict_rows(engine.native, probes)[:, 0])
    return np.array(columns)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", list(PARTS))
def test_kernels_are_scikit_learns(kernel: str, dtype: type) -> None:
    X = np.abs(stream(40, width=7, seed=3)[0]).astype(dtype) + dtype(0.1)
    words = {k: v for k, v in KERNELS[kernel].items() if k != "kernel"}
    expected = pairwise_kernels(X.astype(float), metric=kernel, filter_params=True, **words)
    rtol = 2e-6 if dtype is np.float32 else 1e-13
    np.testing.assert_allclose(kernel_matrix(kernel, X, X), expected, rtol=rtol, atol=1e-300)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 2, 7, 15, 16, 17, 31, 32, 33, 63, 65, 127, 129, 300])
def test_tails_and_padding(size: int, dtype: type) -> None:
    """Every number of stored examples, at every offset into a vector register."""
    rng = np.random.default_rng(size)
    X = rng.normal(size=(size, 5)).astype(dtype)
    y = rng.integers(2, size=size)
    # A huge gamma makes every decision a tie, so every row is stored.
    spec = Round(Gaussian(1e6), PerceptronUpdate()).spec()
    engine = Engine(spec, "classification", 2, 0, X.dtype)
    learn_rows(engine.native, X, y.astype(float))
    assert engine.native.size == size
    np.testing.assert_array_equal(predict_rows(engine.native, X)[:, 0], 2.0 * y - 1.0)
    engine.native.check_invariants()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("scale", [1e-20, 1e-3, 1.0, 1e4, 1e12])
def test_a_stored_duplicate_has_kernel_value_one(kernel: str, dtype: type, scale: float) -> None:
    X = (np.random.default_rng(0).normal(size=(20, 13)) * scale).astype(dtype)
    X[:, 3] += dtype(100 * scale)
    assert (np.diag(kernel_matrix(kernel, X, X)) == 1.0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exp_is_accurate_and_never_negative(dtype: type) -> None:
    distances = np.concatenate([np.linspace(0, 100, 4001), [1e-30, 200.0, 800.0, 1e6, 1e30]])
    spec = Round(Gaussian(1.0), PerceptronUpdate()).spec()
    engine = Engine(spec, "classification", 2, 0, np.dtype(dtype))
    learn_rows(engine.native, np.zeros((1, 1), dtype=dtype), np.array([1.0]))
    probes = np.sqrt(distances).astype(dtype)[:, None]
    got = predict_rows(engine.native, probes)[:, 0]
    d2 = (probes[:, 0] * probes[:, 0]).astype(float)  # the square as the core rounds it
    expected = np.exp(-d2)
    lowest = 1.2e-38 if dtype is np.float32 else 2.3e-308
    tiny = expected < 4 * lowest
    np.testing.assert_allclose(
        got[~tiny], expected[~tiny], rtol=3e-7 if dtype is np.float32 else 5e-16
    )
    assert ((got[tiny] >= 0) & (got[tiny] <= 4 * lowest)).all()
    assert tiny.any()


def test_gram_matrices_are_positive_semidefinite() -> None:
    X = stream(60, width=3, seed=8)[0]
    for kernel in ["rbf", "laplacian", "linear", "poly"]:
        K = kernel_matrix(kernel, X, X)
        np.testing.assert_allclose(K, K.T, rtol=1e-14)
        assert np.linalg.eigvalsh(K).min() > -1e-9


SCRIPT = """
import json, sys
import numpy as np
from scipy.sparse import csr_array
from budgetron import _core
from budgetron.catalogue import as_printed
rng = np.random.default_rng(0)
X = rng.normal(size=(400, 37)) * 50 + 1000
y = rng.integers(2, size=400)
out = {"isa": _core.instruction_set()}
for dtype in ("float32", "float64"):
    Z = X.astype(dtype)
    model = as_printed("perceptron", gamma=1e-4)
    import warnings; warnings.simplefilter("ignore")
    model.fit(Z, y)
    ones = rng.random((400, 37)) < 0.3
    sparse, dense = (
        as_printed("rbp", budget=50, gamma=0.1, random_state=0).fit(rows, y)
        for rows in (csr_array(ones.astype(dtype)), ones.astype(dtype))
    )
    single = as_printed("perceptron", gamma=1e-2).partial_fit(Z[:1], [1], classes=[0, 1])
    out[dtype] = {
        "self": single.decision_function(Z[:1]).tolist(),
        "decisions": model.decision_function(Z).tolist(),
        "ones": sparse.decision_function(ones.astype(dtype)).tolist(),
        "dense ones": dense.decision_function(ones.astype(dtype)).tolist(),
    }
print(json.dumps(out))
"""


def in_instruction_set(name: str) -> dict:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "BUDGETRON_ISA": name},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.long
def test_every_instruction_set_agrees() -> None:
    best = _core.instruction_set()
    if best == "baseline":
        pytest.skip("this machine has no instruction set to choose from")
    names = ["baseline", "avx2", "avx512"]
    names = names[: names.index(best) + 1]
    results = {name: in_instruction_set(name) for name in names}
    for name, result in results.items():
        assert result["isa"] == name
        for dtype, tolerance in [("float32", 2e-2), ("float64", 1e-10)]:
            assert result[dtype]["self"] == [1.0]
            assert result[dtype]["ones"] == result[dtype]["dense ones"]
            np.testing.assert_allclose(
                result[dtype]["decisions"], results["avx2"][dtype]["decisions"], atol=tolerance
            )
    if "avx512" in results:  # same multiply-adds in the same order
        assert results["avx512"]["float32"] == results["avx2"]["float32"]
        assert results["avx512"]["float64"] == results["avx2"]["float64"]


def test_coarse_float32_warns_once() -> None:
    X = np.random.default_rng(0).normal(size=(50, 3)) + 1e4
    y = np.arange(50) % 2
    model = as_printed("perceptron", gamma=1.0)
    with pytest.warns(budgetron.PrecisionWarning, match="scale the data or pass float64"):
        model.partial_fit(X.astype(np.float32), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(X.astype(np.float32), y)
        as_printed("perceptron", gamma=1.0).partial_fit(X, y)  # float64 is fine
        as_printed("perceptron", gamma=1e-4).partial_fit((X / 1e4).astype(np.float32), y)


def test_the_blas_kept_to_one_thread_is_scipys() -> None:
    """For any order of the loaded libraries; NumPy's has `scipy` in its name too."""

    def library(path: str, api: str = "openblas") -> SimpleNamespace:
        return SimpleNamespace(internal_api=api, filepath=path)

    numpys = library("/lib/scipy-env/numpy.libs/libscipy_openblas64_-3.so")
    scipys = library("/lib/scipy-env/scipy.libs/libscipy_openblas-6.so")
    dylib = library("/lib/scipy-env/scipy/.dylibs/libscipy_openblas.dylib")
    openmp = library("/lib/scipy.libs/libgomp.so", "openmp")
    alone = library("/env/lib/libopenblas.so.0")
    for order in itertools.permutations([numpys, scipys, openmp]):
        assert blas_of_scipy(order) is scipys
    assert blas_of_scipy([numpys, dylib]) is dylib
    assert blas_of_scipy([openmp, alone]) is alone
    assert blas_of_scipy([openmp]) is None
