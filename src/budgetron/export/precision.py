"""Whether float is enough for a model, tested on some rows.

It is enough for most. It is not if coefs cancel, as with a linear or polynomial kernel of unscaled
rows, nor for frequencies of the Cauchy distribution (the feature map of a Laplacian kernel).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from budgetron.export.description import Description
from budgetron.export.reading import trial_rows

# Largest error of float on the rows tried, as a share of the largest decision; 1e-5 is promised.
TOLERATED = 2.5e-6


def needs_double(found: Description) -> bool:
    """Whether the error of float would be above `TOLERATED`, tested on some rows.

    For a feature map of unclipped rows the size of the angles is unknown.
    """
    if found.frequencies is not None and np.isinf(found.units.clip):
        return True
    X = trial_rows(found)
    return _off(_in_float(found, X), found.decide(X))


def stores_double(found: Description) -> bool:
    """Whether examples must be stored as double: float fails even if computed in double."""
    if found.examples is None:
        return needs_double(found)
    X = trial_rows(found)
    single = found.examples.astype(np.float32).astype(np.float64)
    return _off(replace(found, examples=single).decide(X), found.decide(X))


def _off(decisions: Any, truth: Any) -> bool:
    sound = np.isfinite(truth).all(axis=1)
    most = TOLERATED * np.abs(truth[sound]).max(initial=0.0)
    return bool(not (np.abs(decisions - truth)[sound] <= most).all())


def _in_float(found: Description, X: Any) -> Any:
    """The decision with everything in float but the sum of f."""
    Z = found.units.show(X).astype(np.float32)
    coefs = found.coefs.astype(np.float32)
    with np.errstate(all="ignore"):
        if found.frequencies is not None:
            angles = Z @ found.frequencies.astype(np.float32)
            values = np.hstack([np.cos(angles), np.sin(angles)])
        else:
            values = _float_kernel(found, Z)
        f = values.astype(np.float64) @ coefs + found.intercept
    return f if found.straight is None else f + Z.astype(np.float64) @ found.straight


def _float_kernel(found: Description, Z: Any) -> Any:
    assert found.kernel is not None
    examples, kernel = found.examples.toarray().astype(np.float32), found.kernel
    if kernel.kind == "rbf":
        far = np.array([((z - examples) ** 2).sum(axis=1) for z in Z])
        return np.exp(np.float32(-kernel.gamma) * far)
    return kernel.values(Z, examples)  # Python numbers do not change float32
