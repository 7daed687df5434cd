"""Every learner follows its NumPy page, round by round."""

from __future__ import annotations

import numpy as np
import pytest
from cases import CASES, VARIANTS, Case, attempts, stream
from tracing import STARTS, find_field, run_trace

ROWS = 420


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    ("case", "kernel"),
    [pytest.param(c, k, id=f"{c}-{k}") for c in CASES + VARIANTS for k in c.kernels],
)
def test_follows_its_page(case: Case, kernel: str, classes: int, layout: str) -> None:
    X, y = stream(ROWS, classes=classes, sparse=layout == "csr")
    model = run_trace(
        case, kernel, X, y, classes, layout, first=max(STARTS[layout], 1 if classes == 2 else 120)
    )
    if case.budget is not None:
        assert model.n_support_ <= case.budget
        assert attempts(model) >= 3 * case.budget, "the stream was too easy to mean anything"
    state = model._engine.native.save()
    for branch in case.branches:
        assert find_field(state, branch)[0] >= 2, f"{branch} hardly happened"


@pytest.mark.parametrize("case", CASES + VARIANTS, ids=str)
def test_follows_its_page_with_weights(case: Case) -> None:
    X, y = stream(150, classes=3)
    weights = np.random.default_rng(0).choice([0.25, 1.0, 3.0], size=len(y))
    model = run_trace(case, "rbf", X, y, 3, "dense", weights)
    plain = case.make(random_state=1).partial_fit(X, y)
    assert not np.array_equal(model.decision_function(X), plain.decision_function(X))


def test_an_example_with_no_partner_to_merge_with_leaves() -> None:
    case = next(case for case in CASES if str(case) == "bsgd-merge of two")
    X, y = stream(ROWS, sparse=True)
    state = run_trace(case, "rbf", X, y, 2, "csr")._engine.native.save()
    assert find_field(state, "removals")[0] >= 2
