"""Resident memory does not grow with the rows, storage not with the width, work not unnoticed."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array

from budgetron.catalogue import as_printed
from tests.support.repository import ROOT

BENCHMARKS = ROOT / "benchmarks"
BUDGET, NONZEROS = 40, 100


def test_resident_memory_of_a_run_is_flat() -> None:
    script = (
        f"import sys, json; sys.path.insert(0, {str(BENCHMARKS)!r}); import memory; "
        "print(json.dumps(memory.long_run('rbp', 400_000)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    seen = json.loads(done.stdout)
    assert len(seen) == 4
    assert max(seen) - seen[0] < 5.0  # megabytes after the first 100,000 rows


def hashed(rows: int, width: int) -> tuple[csr_array, np.ndarray]:
    """Rows of a hundred nonzeros each, all in different columns."""
    random = np.random.default_rng(0)
    places = random.permutation(rows * NONZEROS).reshape(rows, NONZEROS)  # no two rows share one
    spread = np.sort(places, axis=1) * (width // places.size)
    ends = np.arange(0, rows * NONZEROS + 1, NONZEROS)
    values = random.standard_normal(rows * NONZEROS).astype(np.float32)
    return csr_array((values, spread.ravel(), ends), shape=(rows, width)), places[:, 0] % 2


@pytest.mark.parametrize("name", ["rbp", "bogd", "bpas"])
def test_storage_follows_the_nonzeros_not_the_width(name: str) -> None:
    taken = {}
    for width in (2**20, 2**24):
        X, y = hashed(300, width)
        model = as_printed(name, budget=BUDGET, gamma=0.01, random_state=0)
        model.prequential(X, y, classes=[0, 1])
        assert model.n_support_ == BUDGET
        taken[width] = model.memory_bytes_
    # Bytes per stored value: its place and its feature, a table of features in powers of two, and
    # once more for values that left; features below 2^16 have their own table.
    assert max(taken.values()) < 100 * BUDGET * NONZEROS + 4 * 2**16


def test_the_guard_detects_more_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import guard

    recorded = json.loads(guard.RECORDED.read_text())
    for counts in recorded.values():
        assert guard.worse(counts, counts) == []
        assert guard.worse({name: int(1.049 * each) for name, each in counts.items()}, counts) == []
        more = {**counts, "rbp": int(1.06 * counts["rbp"])}
        (line,) = guard.worse(more, counts)
        assert line.startswith("rbp: ")
        assert line.endswith("(+6.0 %)")
