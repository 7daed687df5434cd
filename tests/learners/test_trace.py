"""Every learner follows its NumPy page, round by round."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from papers.lsokl.nogd import NOGD
from papers.perceptron.perceptron import Perceptron
from papers.pomdr.pomdr import POMDR
from tests.support.cases import BY_NAME, CASES, VARIANTS, Case, stream
from tests.support.native import state_of
from tests.support.tracing import find_field, ran_through, run_trace

ROWS = {2: 420, 3: 200}  # by classes; each case's branches are taken in both
# Each learner with its first kernel in all four ways, with any other in two: kernel and classes,
# kernel and layout, classes and layout all occur together. Outputs and layout do not use the
# kernel.
WAYS = [(2, "dense"), (3, "csr"), (2, "csr"), (3, "dense")]


def each_way(first: int) -> Any:
    """Every case with every kernel: `first` ways with its first kernel, two with any other."""
    return pytest.mark.parametrize(
        ("case", "kernel", "classes", "layout"),
        [
            pytest.param(case, kernel, *way, id=f"{case}-{kernel}-{way[0]}-{way[1]}")
            for case in CASES + VARIANTS
            for kernel in case.kernels
            for way in WAYS[: first if kernel == case.kernels[0] else 2]
        ],
    )


@each_way(4)
def test_follows_its_page(case: Case, kernel: str, classes: int, layout: str) -> None:
    X, y = stream(ROWS[classes], classes=classes, sparse=layout == "csr")
    ran_through(run_trace(case, kernel, X, y, classes, layout), case)


@each_way(2)
def test_follows_its_page_in_float32(case: Case, kernel: str, classes: int, layout: str) -> None:
    X, y = stream(200, classes=classes, sparse=layout == "csr")
    ran_through(run_trace(case, kernel, X, y, classes, layout, dtype="float32"), case)


@pytest.mark.parametrize("case", CASES + VARIANTS, ids=str)
def test_follows_its_page_with_weights(case: Case) -> None:
    X, y = stream(150, classes=3)
    weights = np.random.default_rng(0).choice([0.25, 1.0, 3.0], size=len(y))
    model = run_trace(case, "rbf", X, y, 3, "dense", weights)
    plain = case.make(random_state=1).partial_fit(X, y)
    assert not np.array_equal(model.decision_function(X), plain.decision_function(X))


def test_an_example_with_no_partner_to_merge_with_leaves() -> None:
    case = next(case for case in CASES if str(case) == "bsgd-merge of two")
    X, y = stream(ROWS[2], sparse=True)
    state = state_of(run_trace(case, "rbf", X, y, 2, "csr"))
    assert find_field(state, "removals")[0] >= 2


def half_a_change_over(page: Any, change_over: Any = NOGD.change_over) -> None:
    change_over(page)
    page.weights = 0.5 * page.weights


def halve_and_forget(page: Any, halve: Any = POMDR.halve) -> None:
    halve(page)
    page.halvings -= 1


@pytest.mark.parametrize(
    ("name", "page", "method", "wrong"),
    [
        ("nogd", NOGD, "change_over", half_a_change_over),
        ("pomdr", POMDR, "halve", halve_and_forget),
    ],
)
def test_what_happens_once_is_held_too(
    name: str, page: Any, method: str, wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page with an error in a single round of the stream does not pass."""
    X, y = stream(ROWS[2])
    monkeypatch.setattr(page, method, wrong)
    with pytest.raises(AssertionError, match=r"^round "):
        run_trace(BY_NAME[name], "rbf", X, y, 2, "dense")


def test_a_margin_of_1_is_no_tie_of_the_perceptron(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong step is accepted only where the learner itself takes another branch."""
    X, y = np.array([[0.0], [0.0], [0.0]]), np.array([1, 1, 1])  # margins 0, 1, 1

    def too_late(page: Any, x: Any, row: Any, f: Any, margin: float, u: Any) -> None:
        if margin <= 1:
            page.add(x, u)

    monkeypatch.setattr(Perceptron, "step", too_late)
    with pytest.raises(AssertionError, match=r"^round 1: "):
        run_trace(BY_NAME["perceptron"], "rbf", X, y, 2, "dense")
