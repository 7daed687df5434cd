"""`explain`: the stored examples behind a decision, their shares and when they were stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

from budgetron.checks import contracts
from tests.support.cases import BY_NAME, CASES, KINDS, REGRESSION, Case, numeric_stream, stream


def learned(case: Case, classes: int, **more: Any) -> tuple[Any, np.ndarray]:
    X, y = numeric_stream(150) if case.task == "regression" else stream(150, classes=classes)
    return case.make(**more).partial_fit(X, y), X


@pytest.mark.parametrize(
    ("case", "classes"),
    [(case, 2) for case in CASES + REGRESSION] + [(case, 3) for case in KINDS],
    ids=str,
)
def test_shares_sum_to_the_decision(case: Case, classes: int) -> None:
    for prepared in ({}, {"scale": "standard", "gamma": "median"}):
        if case.name == "fogd":
            model, X = learned(case, classes, **prepared)
            with pytest.raises(ValueError, match="stores no examples"):
                model.explain(X[0])
            continue
        contracts.check_shares_sum_to_the_decision(case.make(**prepared), classes=classes)


@pytest.mark.parametrize(
    "case",
    [case for case in CASES + REGRESSION if case.name not in ("fogd", "bsgd-merge")],
    ids=str,
)
def test_examples_are_the_rows_of_their_rounds(case: Case) -> None:
    model, X = learned(case, 3)
    why = model.explain(X[3])
    np.testing.assert_array_equal(why.examples, X[why.rounds])
    reference = case.make()._kernel_part(4)
    if reference.kind == "rbf":
        distances = ((why.examples - X[3]) ** 2).sum(axis=1)
        np.testing.assert_allclose(why.kernels, np.exp(-0.5 * distances), rtol=1e-9)


def test_a_merged_example_counts_from_its_merger() -> None:
    model, X = learned(BY_NAME["bsgd-merge"], 2)
    why = model.explain(X[0])
    assert (why.rounds < model.n_seen_).all()
    made = [not (example == X).all(axis=1).any() for example in why.examples]
    assert any(made)


def test_sparse_rows_and_one_row_matrices_are_the_same() -> None:
    model, X = learned(BY_NAME["ahpatron"], 3)
    why = model.explain(X[5])
    for x in (X[5:6], scipy.sparse.csr_array(X[5:6]), list(X[5])):
        np.testing.assert_array_equal(model.explain(x).shares, why.shares)
    for bad, says in ((X[:2], "one row, not 2"), (X[5, :3], "features"), (X[5] * np.nan, "NaN")):
        with pytest.raises(ValueError, match=says):
            model.explain(bad)


def test_the_text_shows_the_largest_and_the_sum() -> None:
    X, y = stream(200)
    model = BY_NAME["rbp"].make(budget=15).fit(X, np.array(["no", "yes"])[y])
    lines = repr(model.explain(X[3])).splitlines()
    assert lines[0] == "15 stored examples"
    assert lines[1].split() == ["round", "k(x_i,", "x)", "towards", "yes"]
    assert len(lines) == 2 + 10 + 2
    assert lines[-2].startswith("5 more")
    assert float(lines[-1].split()[1]) == pytest.approx(model.decision_function(X[3:4])[0], 1e-3)
    several, _ = learned(BY_NAME["rbp"], 3)
    assert repr(several.explain(X[3])).splitlines()[1].split()[-3:] == ["0", "1", "2"]


def test_averaged_hypotheses_are_explained_by_their_averaged_coefs() -> None:
    case = next(case for case in CASES if str(case) == "avm suffix")
    model, X = learned(case, 2)
    why = model.explain(X[0])
    order = np.argsort(why.rounds)
    last = model.dual_coef_[0] * why.kernels[order]  # core points lie in the order they came in
    assert not np.allclose(why.shares[order, 0], last)
