"""Every learner follows its NumPy page, round by round."""

from __future__ import annotations

import pytest
from cases import CASES, Case, stream
from tracing import find_field, run_trace

ROWS = 420


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    ("case", "kernel"),
    [pytest.param(c, k, id=f"{c}-{k}") for c in CASES for k in c.kernels],
)
def test_follows_its_page(case: Case, kernel: str, classes: int, layout: str) -> None:
    X, y = stream(ROWS, classes=classes, sparse=layout == "csr")
    model = run_trace(case, kernel, X, y, classes, layout)
    if case.budget is not None:
        assert model.n_support_ <= case.budget
        assert model.n_updates_ >= 3 * case.budget, "the stream was too easy to mean anything"
    state = model._engine.native.save()
    for branch in case.branches:
        assert find_field(state, branch)[0] >= 2, f"{branch} hardly happened"
