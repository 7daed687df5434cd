"""Every learner follows its NumPy page, round by round."""

from __future__ import annotations

import numpy as np
import pytest
from cases import CASES, VARIANTS, Case, attempts, stream
from tracing import STARTS, find_field, run_trace

ROWS = 420
# Each learner with its first kernel in all four ways, with any other in two: kernel and classes,
# kernel and layout, classes and layout all meet. Outputs and layout know nothing of the kernel.
WAYS = [(2, "dense"), (3, "csr"), (2, "csr"), (3, "dense")]


@pytest.mark.parametrize(
    ("case", "kernel", "classes", "layout"),
    [
        pytest.param(case, kernel, *way, id=f"{case}-{kernel}-{way[0]}-{way[1]}")
        for case in CASES + VARIANTS
        for kernel in case.kernels
        for way in (WAYS if kernel == case.kernels[0] else WAYS[:2])
    ],
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
