"""The five kernels as one-liners on matrices: ``kernel(A, B)[i, j] = k(a_i, b_j)``.

Formulas and parameter names are scikit-learn's.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Kernel = Callable[[Matrix, Matrix], Matrix]


def make_kernel(kind: str, gamma: float = 1.0, degree: int = 3, coef0: float = 0.0) -> Kernel:
    """The kernel called ``kind``: "rbf", "laplacian", "poly", "linear" or "sigmoid"."""

    def differences(A: Matrix, B: Matrix) -> Matrix:
        return A[:, None, :] - B[None, :, :]

    kernels: dict[str, Kernel] = {
        "rbf": lambda A, B: np.exp(-gamma * (differences(A, B) ** 2).sum(axis=2)),
        "laplacian": lambda A, B: np.exp(-gamma * np.abs(differences(A, B)).sum(axis=2)),
        "poly": lambda A, B: (gamma * (A @ B.T) + coef0) ** degree,
        "linear": lambda A, B: A @ B.T,
        "sigmoid": lambda A, B: np.tanh(gamma * (A @ B.T) + coef0),
    }
    return kernels[kind]
