"""Stored examples as int8: one step per column, and coefs that correct the rounding.

An example moves by at most half a step, but f is a difference of large shares, so that error rates
would rise by points. So f is projected onto the rounded examples: of all their combinations the
nearest to f in the norm of the kernel's space,

    a' = (K_qq + ridge)^-1 K_qs a      K_qq: kernel of the rounded ones, K_qs: with the exact ones

and if the kernel is not positive definite (sigmoid), the nearest at the examples.
Cost: O(B^3) once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse

from budgetron.export.description import Description, Floats

RIDGE = 1e-7  # share of the mean k(x, x)


def quantised(found: Description) -> tuple[Description, Floats]:
    """The same with examples that are whole multiples, up to 127, of the steps; and these."""
    assert found.kernel is not None
    exact: Any = scipy.sparse.csr_array(found.examples, dtype=np.float64)
    largest = np.abs(exact).max(axis=0).toarray().ravel() if exact.shape[0] else np.zeros(0)
    steps: Floats = (largest / 127).astype(np.float32).astype(np.float64)
    steps[steps == 0] = 1.0
    rounded = exact.copy()
    whole = np.clip(np.rint(exact.data / steps[exact.indices]), -127, 127)
    rounded.data = whole * steps[exact.indices]
    before, after = exact.toarray(), rounded.toarray()
    coefs = found.coefs
    if len(coefs) and found.kernel.kind == "sigmoid":
        K = found.kernel.values(before, after)
        target = found.kernel.values(before, before) @ coefs - K @ coefs
        ridge = RIDGE * np.trace(K.T @ K) / len(K)
        coefs = coefs + scipy.linalg.solve(K.T @ K + ridge * np.eye(len(K)), K.T @ target)
    elif len(coefs):
        K = found.kernel.values(after, after)
        ridge = RIDGE * np.trace(K) / len(K)
        target = found.kernel.values(after, before) @ coefs
        coefs = scipy.linalg.solve(K + ridge * np.eye(len(K)), target)
    return replace(found, examples=rounded, coefs=coefs), steps
