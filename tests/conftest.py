"""Fixtures: real data where it is there, streams made by the tests where it is not."""

from __future__ import annotations

import lzma
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from sklearn.datasets import load_svmlight_file

# Examples a property is tried on; `make soak` tries many more.
settings.register_profile(
    "budgetron",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
    max_examples=int(os.environ.get("BUDGETRON_EXAMPLES", "20")),
)
settings.load_profile("budgetron")


def data_folder() -> Path:
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("BUDGETRON_DATA", beside))


@pytest.fixture(scope="session")
def load_real() -> Callable[..., tuple[Any, np.ndarray]]:
    """`load_real("a9a", "a9a.t")`: the rows of these LIBSVM files, one after the other, float32."""

    def load(*names: str, n_features: int | None = None) -> tuple[Any, np.ndarray]:
        import scipy.sparse

        parts = []
        for name in names:
            path = data_folder() / f"{name}.libsvm.xz"
            if not path.exists():
                pytest.skip(f"real data not here: put {path.name} into $BUDGETRON_DATA")
            with lzma.open(path) as file:
                parts.append(load_svmlight_file(file, n_features=n_features, dtype=np.float32))
        X = scipy.sparse.csr_array(scipy.sparse.vstack([part[0] for part in parts]))
        return X, np.concatenate([part[1] for part in parts])

    return load
